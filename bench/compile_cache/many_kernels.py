#!/usr/bin/env python3
"""Write a program of many different kernels as HLO text: layers of a dot and an activation with constants of its own.

many_kernels.py LAYERS > program.hlo
"""

import sys

OPS = ("tanh", "exponential", "sine", "cosine", "logistic", "sqrt", "rsqrt", "log-plus-one")


def layer(number: int, before: str) -> tuple[list[str], str]:
    """Lines of one layer, and the name of its result."""
    op, other = OPS[number % len(OPS)], OPS[number // len(OPS) % len(OPS)]
    n = f"l{number}"
    shape = "f32[32,32]"
    lines = [
        f"{n}.d = {shape} dot({before}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
        f"{n}.c = f32[] constant({1 + number / 1000:.3f})",
        f"{n}.b = {shape} broadcast({n}.c), dimensions={{}}",
        f"{n}.a = {shape} abs({n}.d)",
        f"{n}.s = {shape} add({n}.a, {n}.b)",
        f"{n}.o = {shape} {op}({n}.s)",
        f"{n}.q = {shape} abs({n}.o)",
        f"{n}.t = {shape} add({n}.q, {n}.b)",
        f"{n}.r = {shape} {other}({n}.t)",
        f"{n}.k = {shape} divide({n}.r, {n}.s)",
    ]
    return lines, f"{n}.k"


def main() -> None:
    lines, last = ["x = f32[32,32] parameter(0)", "w = f32[32,32] parameter(1)"], "x"
    for number in range(int(sys.argv[1])):
        more, last = layer(number, last)
        lines += more
    lines.append(f"ROOT out = f32[32,32] negate({last})")
    print("HloModule many_kernels\n\nENTRY main {\n  " + "\n  ".join(lines) + "\n}")


if __name__ == "__main__":
    main()
