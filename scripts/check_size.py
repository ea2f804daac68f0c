#!/usr/bin/env python3
"""Checks the length of the project's files and functions; one that exceeds a limit should be split.

Prints one line per fault; exit status 1 when there is any.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDERS = ("src", "tests", "python", "scripts", "bench")
KINDS = {".h", ".cc", ".def", ".py", ".sh", ".fbs", ".js", ".cmake"}
MAX_LINES = 400
MAX_HEADER_LINES = 150  # a warning: a longer header may still have one purpose
MAX_FUNCTION_LINES = 60  # from the first line of its signature to its closing brace
MAX_TEST_CASE_LINES = 80

# Comments, literals and preprocessor lines, whose braces do not count.
TEXT = re.compile(
    r"""//[^\n]*
    |/\*.*?\*/
    |(?P<literal>R"(?P<end>[^()\s\\]{0,16})\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*")
    |(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'
    |^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
ACCESS = re.compile(r"\s*(?:(?:public|private|protected)\s*:\s*)*")  # before a declaration
TEMPLATE = re.compile(r"^\s*template\s*<")
TYPE = re.compile(r"^\s*(?:typedef\s+)?(?:class|struct|union|enum)\b")
NAMESPACE = re.compile(r"^\s*(?:inline\s+)?(?:namespace\b|extern\s*\"\")")
OPERATOR = re.compile(r"\boperator\s*(?:\(\s*\)|[^\s\w(]+)")
TEST_CASE = re.compile(r"^\s*(?:TEMPLATE_)?(?:TEST_CASE|SCENARIO)\w*\s*\(")
NAME = re.compile(r"([~\w]+(?:::[~\w]+)*|operator\S*)\s*\(")


@dataclass(frozen=True)
class Function:
    name: str
    line: int  # of its first, from 1
    lines: int
    is_test_case: bool = False

    @property
    def limit(self) -> int:
        return MAX_TEST_CASE_LINES if self.is_test_case else MAX_FUNCTION_LINES


def blank(match: re.Match) -> str:
    """The newlines of the match, after "" if it is a string literal."""
    return ('""' if match.group("literal") else "") + "\n" * match.group().count("\n")


def without_template(head: str) -> str:
    """A declaration without its `template <...>`."""
    while TEMPLATE.match(head):
        depth = 0
        for at in range(head.index("<"), len(head)):
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            if depth == 0:
                break
        head = head[at + 1 :]
    return head


def outside_parentheses(text: str) -> str:
    """`text` with the contents of parentheses removed; each pair becomes "()"."""
    kept, depth = [], 0
    for char in text:
        depth -= char == ")"
        if depth == 0:
            kept.append(char)
        depth += char == "("
    return "".join(kept)


def scope_of(head: str) -> str:
    """What a brace after `head` opens, at namespace or class scope: "namespace", "type", "function" or "value"."""
    head = without_template(head[ACCESS.match(head).end() :])
    if NAMESPACE.match(head):
        return "namespace"
    flat = outside_parentheses(OPERATOR.sub("operator", head))
    if TYPE.match(head) and not flat.rstrip().endswith(")"):
        return "type"
    # An initialiser follows "=" or directly a name, a body follows a space (as clang-format writes it).
    is_value = "(" not in flat or re.search(r"(?<![<>=!])=(?!=)", flat) or not head.endswith((" ", "\n"))
    return "value" if is_value else "function"


def cpp_functions(text: str) -> Iterator[Function]:
    """Every function of a C++ source, with those of its classes; lambdas belong to the function around them."""
    code = TEXT.sub(blank, text)
    scopes: list[str] = []  # of the open braces
    begin = 0  # of the declaration, at namespace or class scope
    opened: tuple[int, str] | None = None  # the function that is open: its scope's depth is in `depth`
    depth = parentheses = 0
    for match in re.finditer(r"[{}();]", code):
        char, at = match.group(), match.start()
        declaring = opened is None and "value" not in scopes
        if char in "()":
            parentheses += 1 if char == "(" else -1
        elif char == "{":
            scope = "value"
            if declaring and parentheses == 0:
                scope = scope_of(code[begin:at])
            if scope == "function":
                opened, depth = (begin, code[begin:at]), len(scopes)
            scopes.append(scope)
            if scope in ("namespace", "type"):
                begin = at + 1
        elif char == "}" and scopes:
            scope = scopes.pop()
            if opened is not None and len(scopes) == depth:
                yield described(code, *opened, at)
                opened = None
            if scope != "value":
                begin = at + 1
        elif char == ";" and declaring and parentheses == 0:
            begin = at + 1


def described(code: str, begin: int, head: str, end: int) -> Function:
    """The function whose declaration begins at `begin` with `head`, and whose last brace is at `end`."""
    skipped = ACCESS.match(head).end()
    begin, head = begin + skipped, head[skipped:]
    first = code.count("\n", 0, begin) + 1
    plain = without_template(head)
    test = TEST_CASE.match(plain) is not None
    name = NAME.search(plain)
    lines = code.count("\n", begin, end) + 1
    return Function("TEST_CASE" if test else name.group(1) if name else "?", first, lines, test)


def python_functions(text: str) -> Iterator[Function]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(node.name, node.lineno, node.end_lineno - node.lineno + 1)


def check_file(path: Path, name: str) -> tuple[list[str], list[str]]:
    """(faults, warnings) of one file, each beginning with `name`."""
    faults, warnings = [], []
    text = path.read_text(encoding="utf-8", errors="replace")
    count = len(text.splitlines())
    if count > MAX_LINES:
        faults.append(f"{name}: {count} lines, at most {MAX_LINES}")
    elif path.suffix == ".h" and count > MAX_HEADER_LINES:
        warnings.append(f"{name}: {count} lines in a header, aim for {MAX_HEADER_LINES}")
    functions = python_functions if path.suffix == ".py" else cpp_functions
    if path.suffix in (".h", ".cc", ".py"):
        for function in functions(text):
            if function.lines > function.limit:
                where = f"{name}:{function.line}"
                faults.append(f"{where}: {function.name} has {function.lines} lines, at most {function.limit}")
    return faults, warnings


def check_tree(root: Path) -> tuple[list[str], list[str]]:
    """(faults, warnings) of the project at `root`."""
    faults, warnings = [], []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in KINDS and path.is_file():
                found = check_file(path, str(path.relative_to(root)))
                faults += found[0]
                warnings += found[1]
    return faults, warnings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="the project")
    faults, warnings = check_tree(parser.parse_args().root)
    for line in warnings:
        print(f"warning: {line}", file=sys.stderr)
    for line in faults:
        print(line, file=sys.stderr)
    print(f"sizes: {len(faults)} faults, {len(warnings)} warnings")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
