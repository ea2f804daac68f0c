#!/usr/bin/env python3
"""Packs the measured part of a collection into one compressed file, unpacks it, and describes it.

The database is shipped, not the shards: features are computed again from the kernels' modules, so a new version of the
features needs no new file. Kernels that were lowered and never measured are left out.

    scripts/dataset.py pack collect.db data/kernels.db.xz
    scripts/dataset.py unpack data/kernels.db.xz build/kernels.db
    scripts/dataset.py describe build/kernels.db
    scripts/dataset.py noise build/kernels.db [second-collection.db]
"""

import argparse
import itertools
import lzma
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import zlib
from pathlib import Path

TIME_EDGES_US = [0, 1, 5, 20, 100, 1000, 1e12]


def repack(connection: sqlite3.Connection) -> None:
    """Stores texts and modules uncompressed inside their zlib streams: together they compress tenfold better."""

    def stored(blob: bytes) -> bytes:
        return blob[:8] + zlib.compress(zlib.decompress(blob[8:]), 0)  # 8 bytes: the length

    connection.create_function("stored", 1, stored)
    connection.execute("update kernels set hlo = stored(hlo), module_proto = stored(module_proto)")


def measured_only(source: Path, target: Path) -> None:
    """Copies the schema, the programs, and the kernels and records with a valid measurement."""
    connection = sqlite3.connect(target)
    connection.execute("attach ? as s", (str(source),))
    for (statement,) in connection.execute(
        "select sql from s.sqlite_master where sql is not null and name not like 'sqlite_%' order by type desc"
    ).fetchall():
        connection.execute(statement)
    measured = "(select distinct kernel from s.records where scope = 'kernel' and status = 'ok')"
    connection.execute("insert into programs select * from s.programs order by name")
    connection.execute(
        f"insert into kernels select * from s.kernels where fingerprint in {measured} order by fingerprint"
    )
    repack(connection)
    connection.execute(f"insert into records select * from s.records where scope = 'kernel' and kernel in {measured}")
    for mark in ("application_id", "user_version"):  # these identify hone's databases
        connection.execute(f"pragma {mark} = {connection.execute(f'pragma s.{mark}').fetchone()[0]}")
    connection.commit()
    connection.execute("detach s")
    connection.execute("vacuum")
    connection.close()


def pack(source: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        slim = Path(folder) / "kernels.db"
        measured_only(source, slim)
        partial = target.with_name(target.name + ".part")
        with open(slim, "rb") as raw, lzma.open(partial, "wb", preset=6) as packed:
            shutil.copyfileobj(raw, packed, 1 << 20)
        partial.rename(target)
        print(f"{target}: {target.stat().st_size / 1e6:.1f} MB, {slim.stat().st_size / 1e6:.1f} MB unpacked")


def unpack(source: Path, target: Path) -> None:
    if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
        return
    partial = target.with_name(target.name + ".part")
    with lzma.open(source) as packed, open(partial, "wb") as raw:
        shutil.copyfileobj(packed, raw, 1 << 20)
    partial.rename(target)


def describe(database: Path) -> None:
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)

    def rows(query: str):
        return connection.execute(query).fetchall()

    ok = "scope = 'kernel' and status = 'ok'"
    kernels = rows("select count(*) from kernels")[0][0]
    print(
        f"{kernels} kernels of {rows('select count(distinct program) from kernels')[0][0]} programs, "
        f"{rows('select count(distinct family) from kernels')[0][0]} families; "
        f"{rows(f'select count(*) from records where {ok}')[0][0]} sound measurements\n"
    )
    print("| status | measurements |\n|---|---:|")
    for status, count in rows("select status, count(*) from records group by 1 order by 2 desc"):
        print(f"| {status} | {count} |")
    print("\n| kind | kernels | options measured, median |\n|---|---:|---:|")
    for (kind,) in rows("select distinct kind from kernels order by 1"):
        counts = sorted(
            n
            for (n,) in rows(
                f"select count(distinct decisions) from records join kernels on fingerprint = kernel "
                f"where {ok} and kind = '{kind}' group by kernel"
            )
        )
        print(f"| {kind} | {len(counts)} | {counts[len(counts) // 2]} |")
    print("\n| run time of the default | kernels |\n|---|---:|")
    times = [t / 1e3 for (t,) in rows(f"select min(baseline_ns) from records where {ok} group by kernel")]
    for low, high in itertools.pairwise(TIME_EDGES_US):
        name = f"{low:g} to {high:g} us" if high < 1e12 else f"over {low:g} us"
        print(f"| {name} | {sum(low <= t < high for t in times)} |")
    print("\n| family | kernels |\n|---|---:|")
    for family, count in rows("select family, count(*) from kernels group by 1 order by 2 desc"):
        print(f"| {family} | {count} |")


def defaults_ns(database: Path) -> dict[str, float]:
    """Run time of each kernel's default by its longest duel against itself, ns."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    found = {}
    for kernel, a, b in connection.execute(
        "select kernel, baseline_ns, candidate_ns from records where scope = 'kernel' and status = 'ok' and "
        "decisions = 'default' and rounds >= 6 order by rounds"
    ):
        found[kernel] = (a, b)
    return found


def noise(first: Path, second: Path | None) -> None:
    """The error of a perfect model: between the sides of one duel, and of a second collection predicting the first."""

    def show(what: str, errors: list[float]) -> None:
        print(
            f"{what}: {len(errors)} kernels of at least 5 us, MAPE {100 * statistics.fmean(errors):.1f} % mean, "
            f"{100 * statistics.median(errors):.1f} % median"
        )

    ours = {kernel: pair for kernel, pair in defaults_ns(first).items() if pair[0] >= 5000}
    show("both sides of a duel", [abs(a - b) / b for a, b in ours.values()])
    if second is not None:
        theirs = defaults_ns(second)
        means = [(sum(ours[k]) / 2, sum(theirs[k]) / 2) for k in ours if k in theirs]
        show("another collection", [abs(a - b) / a for a, b in means])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("pack", "unpack"):
        command = commands.add_parser(name)
        command.add_argument("source", type=Path)
        command.add_argument("target", type=Path)
    commands.add_parser("describe").add_argument("source", type=Path)
    command = commands.add_parser("noise")
    command.add_argument("source", type=Path)
    command.add_argument("target", type=Path, nargs="?", help="another collection of the same kernels")
    options = parser.parse_args()
    source = options.source
    if not source.is_file():
        print(f"{source}: there is no such file", file=sys.stderr)
        return 2
    if options.command == "describe":
        describe(source)
    elif options.command == "noise":
        noise(source, options.target)
    else:
        os.makedirs(options.target.parent, exist_ok=True)
        (pack if options.command == "pack" else unpack)(source, options.target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
