"""The kinds and families of decisions, read from their tables in src/graph, as a page."""

import re

KIND = ("enumerator", "name", "former", "scope", "stage", "grouped", "words", "keys", "values")
FAMILY = (
    "enumerator",
    "kind",
    "prefix",
    "infix",
    "scope",
    "stage",
    "alone",
    "transition",
    "words",
    "sentence",
    "values",
)

# What the enumerators of DecisionScope and DecisionStage (src/graph/decision.h) mean, in their order.
SCOPES = {
    "Edge": "an edge from a producer to a consumer",
    "Kernel": "a kernel of the lowered program, told by its fingerprint",
    "Operation": "all operations of one form: the same operands, shapes and attributes",
    "Parameter": "a parameter of the program, or all that stay constant",
    "Program": "the whole program",
    "Instruction": "an instruction, told by its name",
}
STAGES = {
    "Program": "to the program as loaded, before XLA's own passes",
    "Options": "as an option of XLA's compiler",
    "Layouts": "in XLA's layout assignment",
    "Fusion": "in XLA's fusion, and where it gives operations to libraries",
    "Kernels": "to the kernels of the lowered program, before code is generated",
}


def rows(text, macro, columns):
    """The rows `macro(...)` of a .def table, one dictionary each; texts without their quotation marks."""
    code = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    begun = len(re.findall(rf"^{macro}\(", code, re.MULTILINE))
    found = re.findall(rf'^{macro}\(((?:"[^"]*"|[^"()])*)\)$', code, re.MULTILINE)
    if len(found) != begun:
        raise ValueError(f"{begun} rows of {macro} begin and {len(found)} can be read")
    for row in found:
        cells = [plain or quoted for quoted, plain in re.findall(r'"([^"]*)"|([^\s,"]+)', row)]
        yield dict(zip(columns, cells, strict=True))


def tables(folder):
    """The rows of kinds and those of families, from the tables in `folder`."""
    kinds = list(rows((folder / "decisions.def").read_text(), "DECISION", KIND))
    families = list(rows((folder / "decision_families.def").read_text(), "FAMILY", FAMILY))
    return kinds, families


def _key(family):
    """How keys of a family look."""
    prefix, infix = family["prefix"], family["infix"].rstrip()
    shape = prefix if not prefix.endswith(":") else f"{prefix}...{infix}{' ...' if infix else ''}"
    return f"`{shape}` ({family['words']})"


def _keys(kinds, families):
    """A line for each family and for each kind's other keys, in the order in which a key is looked up."""
    for kind in kinds:
        own = [(_key(family), family) for family in families if family["kind"] == kind["enumerator"]]
        own += [(kind["keys"], kind)] if kind["keys"] else []
        for key, row in own:
            scope, stage = row["scope"].lower(), row["stage"].lower()
            yield f"| `{kind['name']}` | {key} | {row['values']} | {scope} | {stage} |"


def _meanings(title, meanings):
    return [f"| {title} | meaning |", "|---|---|", *(f"| {name.lower()} | {text} |" for name, text in meanings.items())]


def page(folder):
    """docs/reference/decisions.md, from the tables in `folder` (src/graph)."""
    kinds, families = tables(folder)
    for row in (*kinds, *families):
        if row["scope"] not in SCOPES or row["stage"] not in STAGES:
            raise ValueError(f"{row['enumerator']}: no words for its scope or its stage")
    lines = [
        "# Decisions\n",
        "Made from the rows of `src/graph/decisions.def` and `src/graph/decision_families.def`. A decision is a kind, "
        "a key and a value; what is not decided stays as XLA does it. `hone tune --decide` takes the names of kinds, "
        "`hone inspect` counts what there is to decide in a program, and packages, reports and databases hold "
        "decisions by these names. How to add one: [howto/add-a-decision.md](../howto/add-a-decision.md).\n",
        "## Kinds\n",
        "Kinds that are *moved together* have dozens of keys in a program: the search tries one value for all of them, "
        "then for halves and quarters, and single ones last. Earlier names are those of versions before 0.2, which are "
        "still read.\n",
        "| kind | what is decided | moved together | earlier names |",
        "|---|---|---|---|",
    ]
    for kind in kinds:
        together = "yes" if kind["grouped"] == "true" else ""
        former = ", ".join(f"`{name}`" for name in kind["former"].split())
        lines.append(f"| `{kind['name']}` | {kind['words']} | {together} | {former} |")
    lines += [
        "\n## Keys and values\n",
        "A key belongs to the first line of its kind that it fits.\n",
        "| kind | key | values | scope | stage |",
        "|---|---|---|---|---|",
        *_keys(kinds, families),
        "\n## Scopes: what one key stands for\n",
        *_meanings("scope", SCOPES),
        "\n## Stages: when the worker applies a decision\n",
        "In their order. The worker looks at a decision at its stage and at no other.\n",
        *_meanings("stage", STAGES),
    ]
    return "\n".join(lines) + "\n"
