"""Makes broken programs: mutations of good ones, and inputs that never were programs."""

import functools
import gzip
import random
import re
from collections.abc import Iterator
from pathlib import Path

CYCLIC = b"""HloModule cyclic
ENTRY main {
  a = f32[4]{0} add(b, c)
  b = f32[4]{0} multiply(a, c)
  ROOT c = f32[4]{0} parameter(0)
}
"""
SELF_CALL = b"""HloModule self_call
f {
  x = f32[4]{0} parameter(0)
  ROOT y = f32[4]{0} call(x), to_apply=f
}
ENTRY main {
  p = f32[4]{0} parameter(0)
  ROOT r = f32[4]{0} call(p), to_apply=f
}
"""
MLIR_CYCLE = b"""module @cycle {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %1, %arg0 : tensor<4xf32>
    %1 = stablehlo.add %0, %arg0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
"""
MLIR_SELF_CALL = b"""module @recursive {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = func.call @main(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""
HUGE = b"""HloModule huge
ENTRY main {
  p = f32[%s]{%s} parameter(0)
  ROOT r = f32[%s]{%s} add(p, p)
}
"""
LAYOUT = b"""HloModule layout
ENTRY main {
  p = f32[8,16]{%s} parameter(0)
  q = f32[16,8]{%s} transpose(p), dimensions={%s}
  ROOT r = f32[16,8]{1,0} add(q, q)
}
"""


def cyclic(seed: bytes, rng: random.Random) -> bytes:
    return rng.choice([CYCLIC, SELF_CALL, MLIR_CYCLE, MLIR_SELF_CALL])


def huge_shape(seed: bytes, rng: random.Random) -> bytes:
    """Shapes no machine can hold, written anew or put into a good program."""
    dims = rng.choice(
        [b"4000000000,4000000", b"9223372036854775807", b"1000000,1000000,1000000", b"-1,4", b"3037000500," * 2 + b"8"]
    )
    if rng.random() < 0.5:
        layout = b",".join(b"%d" % i for i in reversed(range(dims.count(b",") + 1)))
        return HUGE % (dims, layout, dims, layout)
    big = dims.replace(b",", b"x").replace(b"-1", b"4000000000")
    return re.sub(rb"tensor<[0-9x]+x", b"tensor<" + big + b"x", re.sub(rb"\[[0-9,]+\]", b"[" + dims + b"]", seed))


def wrong_layout(seed: bytes, rng: random.Random) -> bytes:
    layouts = [b"5,3", b"1,1", b"0", b"0,1,2", b"-1,0", b"1,99999999999999999999", b"1,0:T(0,0)", b"1,0:S(99)", b""]
    return LAYOUT % (rng.choice(layouts), rng.choice(layouts), rng.choice([b"1,0", b"0,0", b"2,1", b"1"]))


def truncated(seed: bytes, rng: random.Random) -> bytes:
    return seed[: rng.randrange(len(seed))]


def mutated_bytes(seed: bytes, rng: random.Random) -> bytes:
    data = bytearray(seed)
    for _ in range(rng.choice([1, 4, 32, 256])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def mutated_numbers(seed: bytes, rng: random.Random) -> bytes:
    """Some numbers of a text replaced by others: shapes, dimensions and indices that no longer fit each other."""
    values = [b"0", b"1", b"7", b"-1", b"4294967296", b"9223372036854775808"]
    share = rng.choice([0.002, 0.02, 0.2])
    return re.sub(rb"\d+", lambda m: rng.choice(values) if rng.random() < share else m.group(), seed)


def shuffled_lines(seed: bytes, rng: random.Random) -> bytes:
    lines = seed.split(b"\n")
    for _ in range(rng.choice([1, 3, 20])):
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        operation = rng.randrange(3)
        if operation == 0:
            lines[i], lines[j] = lines[j], lines[i]
        elif operation == 1:
            lines.insert(i, lines[j])
        elif len(lines) > 1:
            del lines[i]
    return b"\n".join(lines)


def swapped_words(seed: bytes, rng: random.Random) -> bytes:
    """One kind of operation or type renamed to another throughout."""
    words = sorted(set(re.findall(rb"stablehlo\.\w+|\b[fsuib]\d+\b|x[fi]\d+|\b(?:add|dot|reduce|transpose)\b", seed)))
    if len(words) < 2:
        return mutated_bytes(seed, rng)
    old, new = rng.sample(words, 2)
    return seed.replace(old, new)


def random_bytes(seed: bytes, rng: random.Random) -> bytes:
    return rng.choice([b"", b"ML\xefR", b"HloModule ", b"\x0a\x04", b"PK\x03\x04"]) + rng.randbytes(
        rng.choice([8, 512, 65536])
    )


def deep_nesting(seed: bytes, rng: random.Random) -> bytes:
    depth = rng.choice([1_000, 100_000])
    return rng.choice(
        [b"HloModule m\nENTRY e { ROOT r = " + b"(" * depth, b"module " + b"{ module " * depth, b"(" * depth]
    )


def gzip_of_garbage(seed: bytes, rng: random.Random) -> bytes:
    whole = gzip.compress(rng.randbytes(1000), mtime=0)
    return rng.choice(
        [whole, whole[:100], whole[:20] + rng.randbytes(200), gzip.compress(truncated(seed, rng), mtime=0)]
    )


@functools.cache
def bomb() -> bytes:
    return gzip.compress(b" " * (64 << 20), mtime=0)


def gzip_bomb(seed: bytes, rng: random.Random) -> bytes:
    return bomb()


def empty(seed: bytes, rng: random.Random) -> bytes:
    return rng.choice([b"", b"\n", b"   \n\n", b"\0", b"// nothing\n"])


def absent(seed: bytes, rng: random.Random) -> None:
    return None


# Kind -> (how often, maker); the kinds `directory` and `missing` are made by the caller from no bytes at all.
KINDS = {
    "truncated": (8, truncated),
    "mutated_bytes": (8, mutated_bytes),
    "mutated_numbers": (7, mutated_numbers),
    "shuffled_lines": (6, shuffled_lines),
    "swapped_words": (6, swapped_words),
    "random_bytes": (4, random_bytes),
    "huge_shape": (4, huge_shape),
    "wrong_layout": (3, wrong_layout),
    "cyclic": (2, cyclic),
    "deep_nesting": (1, deep_nesting),
    "gzip_of_garbage": (2, gzip_of_garbage),
    "gzip_bomb": (1, gzip_bomb),
    "empty": (1, empty),
    "directory": (1, absent),
    "missing": (1, absent),
}


def make(seeds: list[Path], count: int, rng: random.Random) -> Iterator[tuple[str, bytes | None]]:
    """`count` pairs (kind, bytes); None where there is no file to write. Every kind appears when count allows."""
    kinds = list(KINDS)
    weights = [KINDS[kind][0] for kind in kinds]
    for number in range(count):
        kind = kinds[number] if number < len(kinds) else rng.choices(kinds, weights)[0]
        seed = rng.choice(seeds).read_bytes()
        yield kind, KINDS[kind][1](seed, rng)
