"""The commands of hone, read from their help texts, as a page and as a table."""

import re
import subprocess
from dataclasses import dataclass, field

COLUMN = 30  # where CLI11 begins descriptions; it never looks at the terminal's width
# A whole name column: a longer one stands on a line by itself, its description on the next.
NAME_ONLY = re.compile(
    r"^  (-{1,2}[\w-]+(,-{1,2}[\w-]+)*|[A-Z]+)( [A-Z]+(:\S+( in \[[^]]*\])?)?)?( \.\.\.)?( REQUIRED)?"
    r"( (Excludes|Needs): [-\w ]+)*( \(Env:\w+\))?$"
)


@dataclass
class Row:
    """A positional, an option or a subcommand."""

    name: str  # "--threads INT"
    about: str


@dataclass
class Command:
    """One command with what its help text says; subcommands are commands again."""

    name: str  # "hone collect tile"
    summary: str = ""
    usage: str = ""
    positionals: list = field(default_factory=list)
    groups: dict = field(default_factory=dict)  # heading -> options
    subcommands: list = field(default_factory=list)
    texts: dict = field(default_factory=dict)  # heading -> lines of other parts, for example examples in a footer

    @property
    def options(self):
        return [row for rows in self.groups.values() for row in rows]

    def leaves(self):
        """The commands without subcommands."""
        return [leaf for command in self.subcommands for leaf in command.leaves()] if self.subcommands else [self]


def read(hone, words=()):
    """The command `hone WORDS` and all its subcommands, from the program's help texts."""
    text = _help(hone, words, "--help")
    if "--help-all" in text:
        text = _help(hone, words, "--help-all")
    command = parse(" ".join(["hone", *words]), text)
    command.subcommands = [read(hone, (*words, row.name)) for row in command.subcommands]
    return command


def _help(hone, words, flag):
    return subprocess.run([hone, *words, flag], check=True, capture_output=True, text=True).stdout


def parse(name, text):
    """A help text of CLI11 2.1; subcommands stay rows."""
    command = Command(name)
    heading = None
    lines = text.rstrip("\n").splitlines()
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if re.match(r"^\S.*:$", line):
            heading = line[:-1]
        elif heading is None:
            if line.startswith("Usage: "):
                command.usage = line.removeprefix("Usage: ")
            elif line.strip():
                command.summary += (" " if command.summary else "") + line.strip()
        elif line.strip():
            _add(command, "" if line[0] != " " else heading, line, following)
    return command


def _add(command, heading, line, following):
    """One line of a section: an entry, or more text of the last one."""
    row = _entry(line, following)
    known = heading == "Positionals" or row is None or re.match(r"-|[a-z][\w-]*$", row.name)
    if heading in command.texts or not heading or not known:
        command.texts.setdefault(heading, []).append(line)
    elif row is None:
        last = _last(command, heading)
        last.about += (" " if last.about else "") + line.strip()
    elif heading == "Positionals":
        command.positionals.append(row)
    elif row.name.startswith("-"):
        command.groups.setdefault(heading, []).append(row)
    else:
        command.subcommands.append(row)


def _entry(line, following):
    """The entry that `line` begins, or None where it continues one."""
    if line.startswith(" " * COLUMN):
        return None
    alone = len(line) < COLUMN or (following.startswith(" " * COLUMN) and NAME_ONLY.match(line))
    if alone:
        return Row(line.strip(), "")
    return Row(line[:COLUMN].strip(), line[COLUMN:].strip())


def _last(command, heading):
    if heading == "Positionals":
        return command.positionals[-1]
    return command.groups[heading][-1] if heading in command.groups else command.subcommands[-1]


def _cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def _common(leaves):
    """Options that every command without subcommands has, with the same text."""
    sets = [{(row.name, row.about) for row in leaf.options} for leaf in leaves]
    shared = set.intersection(*sets)
    return [row for row in leaves[0].options if (row.name, row.about) in shared]


def _name(name):
    """A name column as code: types without validators, unless these are a list of words or a range."""
    name, _, others = name.partition(" Excludes: ")
    mark = f" (not with `{others}`)" if others else ""
    if name.endswith(" REQUIRED"):
        name, mark = name.removesuffix(" REQUIRED"), " (required)" + mark
    name = re.sub(r"[A-Z]+:(\{|[A-Z]+ in \[)", r"\1", name)  # TEXT:{a,b}, INT:INT in [1 - 64]
    name = re.sub(r"([A-Z]+):[A-Z]+", r"\1", name)  # INT:POSITIVE
    if not name.startswith("-"):
        name = name.replace(" TEXT", "")
    return f"`{_cell(name)}`{mark}"


def _rows(rows, title):
    lines = [f"| {title} | meaning |", "|---|---|"]
    return "\n".join([*lines, *(f"| {_name(row.name)} | {_cell(row.about)} |" for row in rows)]) + "\n"


def _anchor(command):
    return command.name.replace(" ", "-")


def _section(command, common, level):
    """Markdown of one command and those below it."""
    parts = [f"{'#' * level} {command.name}\n", f"{_sentence(command.summary)}\n"]
    if command.subcommands:
        parts.append("\n".join(f"- [`{c.name}`](#{_anchor(c)}): {c.summary}" for c in command.subcommands) + "\n")
        parts += [_section(c, common, level + 1) for c in command.subcommands]
        return "\n".join(parts)
    parts.append(f"```\n{command.usage}\n```\n")
    if command.positionals:
        parts.append(_rows(command.positionals, "argument"))
    known = {(row.name, row.about) for row in common}
    for heading, rows in command.groups.items():
        own = [row for row in rows if (row.name, row.about) not in known]
        if own:
            parts.append(_rows(own, "option" if heading == "Options" else heading))
    for heading, lines in command.texts.items():
        parts += [f"{heading}:\n" if heading else "", "```\n" + "\n".join(lines) + "\n```\n"]
    return "\n".join(parts)


def _sentence(text):
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def page(program):
    """docs/reference/commands.md."""
    common = _common(program.leaves())
    parts = [
        "# Commands\n",
        f"{_sentence(program.summary)}\n",
        "Results go to standard output, progress and messages to standard error. Exit codes: 0 success, 1 the request "
        "was valid and could not be carried out, 2 bad input. Output with `--json`: [json.md](json.md).\n",
        "\n".join(f"- [`{c.name}`](#{_anchor(c)}): {c.summary}" for c in program.subcommands) + "\n",
        "## Options of every command\n",
        _rows(common, "option"),
        *(_section(command, common, 2) for command in program.subcommands),
    ]
    return "\n".join(parts)


def table(program):
    """The table of README.md."""
    lines = ["| command | what it does |", "|---|---|"]
    for command in program.subcommands:
        below = r"\|".join(c.name.rsplit(" ", 1)[1] for c in command.subcommands)
        name = f"{command.name} {below}" if below else command.name
        lines.append(f"| [`{name}`](docs/reference/commands.md#{_anchor(command)}) | {_cell(command.summary)} |")
    return "\n".join(lines) + "\n"
