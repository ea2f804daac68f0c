#!/usr/bin/env python3
"""Packs the measured part of a collection into one compressed file, unpacks it, and describes it.

The database is shipped, not the shards: features are computed again from the kernels' modules, so a new version of the
features needs no new file. Kernels that were lowered and never measured are left out.

    scripts/dataset.py pack collect.db data/kernels.db.xz
    scripts/dataset.py pack collect.db data/cold-kernels.db.xz --cold      # cold kernels, for hone db merge
    scripts/dataset.py pack collect.db data/xeon-visits.db.xz --since 2026-11-27  # later visits, for hone db merge
    scripts/dataset.py bare kernels.db other.db [--like FILE]  # kernels without records, or with those like another's
    scripts/dataset.py bare kernels.db other.db --without FILE  # without the defaults that another's are in place of
    scripts/dataset.py unpack data/kernels.db.xz build/kernels.db
    scripts/dataset.py describe build/kernels.db
    scripts/dataset.py noise build/kernels.db [--split data/splits/random.txt --part test]
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


def measured_only(source: Path, target: Path, scope: str, since: str = "") -> None:
    """Copies the schema, programs, kernels, machines and records with a valid measurement.

    Of cold kernels no programs and kernels, and of what was measured `since` a day the records and their machines.
    """
    connection = sqlite3.connect(target)
    connection.execute("attach ? as s", (str(source),))
    for (statement,) in connection.execute(
        "select sql from s.sqlite_master where sql is not null and name not like 'sqlite_%' order by type desc"
    ).fetchall():
        connection.execute(statement)
    measured = f"(select distinct kernel from s.records where scope = '{scope}' and status = 'ok')"
    if scope == "kernel" and not since:
        connection.execute("insert into programs select * from s.programs order by name")
        connection.execute(
            f"insert into kernels select * from s.kernels where fingerprint in {measured} order by fingerprint"
        )
        repack(connection)
    connection.execute(
        f"insert into records select * from s.records where scope = '{scope}' and kernel in {measured} "
        "and created >= ?",
        (since,),
    )
    hosts = "where host in (select host from records)" if since else ""
    connection.execute(f"insert into machines select * from s.machines {hosts} order by host")
    for mark in ("application_id", "user_version"):  # these identify hone's databases
        connection.execute(f"pragma {mark} = {connection.execute(f'pragma s.{mark}').fetchone()[0]}")
    connection.commit()
    connection.execute("detach s")
    connection.execute("vacuum")
    connection.close()


def bare(source: Path, target: Path, like: Path | None = None, without: Path | None = None) -> None:
    """Copies a database without its records.

    `like`: with the careful duels of that database's hosts' and kernels' defaults. `without`: with all but the defaults
    of its hosts, and without these machines' records.
    """
    target.unlink(missing_ok=True)
    connection = sqlite3.connect(target)
    with sqlite3.connect(f"file:{source}?mode=ro", uri=True) as whole:
        whole.backup(connection)
    if without:
        connection.execute("attach ? as w", (str(without),))
        connection.execute(
            "delete from records where decisions = 'default' and scope = 'kernel' and "
            "host in (select host from w.records)"
        )
        connection.execute("delete from machines where host in (select host from w.machines)")
    elif like is None:
        connection.execute("delete from records")
    else:
        connection.execute("attach ? as l", (str(like),))
        connection.execute(
            "delete from records where decisions != 'default' or rounds < ? or scope != 'kernel' or "
            "host not in (select host from l.records) or "
            "kernel not in (select kernel from l.records where status = 'ok')",
            (CAREFUL_ROUNDS,),
        )
    connection.commit()
    connection.close()


def pack(source: Path, target: Path, scope: str = "kernel", since: str = "") -> None:
    with tempfile.TemporaryDirectory() as folder:
        slim = Path(folder) / "kernels.db"
        measured_only(source, slim, scope, since)
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


LEAST_NS = 5000  # shorter kernels do not count, as in hone eval
CAREFUL_ROUNDS = 6  # of a visit by `hone collect fusion`
DISTURBED = 1.2  # of a core's probe at its best (src/base/core_probe.h)

Visit = tuple[str, float, float, float]  # program, time of one side of the duel, of the other, the core's probe or 0


def visits_of(database: Path, programs: set[str] | None) -> dict[str, dict[str, list[Visit]]]:
    """Host -> kernel -> each careful duel of its default, oldest first."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    watched = any(row[1] == "core_ns" for row in connection.execute("pragma table_info(records)"))
    found: dict[str, dict[str, list[Visit]]] = {}
    for host, kernel, program, a, b, core in connection.execute(
        f"select host, r.kernel, k.program, baseline_ns, candidate_ns, {'core_ns' if watched else 0} from records r "
        "join kernels k on k.fingerprint = r.kernel where scope = 'kernel' and status = 'ok' "
        "and r.decisions = 'default' and rounds >= ? order by r.created",
        (CAREFUL_ROUNDS,),
    ):
        if programs is None or program in programs:
            found.setdefault(host, {}).setdefault(kernel, []).append((program, a, b, core))
    return found


def kendall(first: list[float], second: list[float], least: float = 1.0) -> float | None:
    """Agreement of two orders, over pairs that differ by a factor of `least` or more in the second; None without."""
    agreed = pairs = 0
    for i, j in itertools.combinations(range(len(first)), 2):
        if max(second[i], second[j]) < least * min(second[i], second[j]) or second[i] == second[j]:
            continue
        pairs += 1
        agreed += 1 if (first[i] < first[j]) == (second[i] < second[j]) else -1
    return agreed / pairs if pairs else None


def show_errors(what: str, kernels: list[tuple[str, float, float]]) -> None:
    """`kernels`: program, predicted and measured ns. Errors are of programs, then over programs, as in hone eval."""
    programs: dict[str, list[tuple[float, float]]] = {}
    for program, predicted, measured in kernels:
        if measured >= LEAST_NS:
            programs.setdefault(program, []).append((predicted, measured))
    if not programs:
        return
    errors = [statistics.fmean(abs(p - m) / m for p, m in rows) for rows in programs.values()]
    sums = [abs(sum(p for p, _ in rows) / sum(m for _, m in rows) - 1) for rows in programs.values()]
    all_taus = [kendall([p for p, _ in rows], [m for _, m in rows]) for rows in programs.values()]
    taus = [tau for tau in all_taus if tau is not None]
    geometric = statistics.geometric_mean(max(error, 1e-5) for error in errors)
    print(
        f"  {what}: {sum(map(len, programs.values()))} kernels of {len(programs)} programs, "
        f"MAPE {100 * statistics.fmean(errors):.1f} % mean, {100 * statistics.median(errors):.1f} % median, "
        f"{100 * geometric:.1f} % geometric; sums {100 * statistics.median(sums):.1f} % median; "
        f"tau {statistics.fmean(taus):.3f}"
    )


def option_noise(database: Path, programs: set[str] | None) -> None:
    """Agreement of the options' ratios between two visits."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    visits: dict[str, dict[str, dict[str, list[float]]]] = {}
    for host, kernel, program, value, ratio in connection.execute(
        "select host, r.kernel, k.program, r.decisions, ratio from records r "
        "join kernels k on k.fingerprint = r.kernel where scope = 'kernel' and status = 'ok' "
        "and r.decisions <> 'default' order by r.created"
    ):
        if programs is None or program in programs:
            visits.setdefault(host, {}).setdefault(kernel, {}).setdefault(value, []).append(ratio)
    for host, kernels in visits.items():
        taus, distinct, losses = [], [], []
        for options in kernels.values():
            pairs = [(found[0], found[1]) for found in options.values() if len(found) > 1]
            if len(pairs) < 2:
                continue
            first, second = [[1 / pair[side] for pair in pairs] for side in (0, 1)]
            taus.append(kendall(first, second))
            distinct.append(kendall(first, second, least=1.1))
            losses.append(second[first.index(min(first))] / min(second) - 1)
        if losses:
            known = [tau for tau in taus if tau is not None]
            apart = [tau for tau in distinct if tau is not None]
            print(
                f"{host}: options of {len(losses)} kernels by another visit: "
                f"APE {100 * statistics.fmean(losses):.1f} % mean, tau {statistics.fmean(known):.3f}, "
                f"over pairs that differ by a tenth {statistics.fmean(apart or [0]):.3f}"
            )


def side_mean(visit: Visit) -> float:
    return (visit[1] + visit[2]) / 2


def show_watched(kernels: list[list[Visit]]) -> None:
    """Agreement of the last two visits whose core was watched, by whether it was disturbed in one of them."""
    pairs = [[visit for visit in visits if visit[3] > 0][-2:] for visits in kernels]
    pairs = [pair for pair in pairs if len(pair) == 2]
    best = min((visit[3] for pair in pairs for visit in pair), default=0)
    quiet = {True: [], False: []}
    for first, second in pairs:
        both = max(first[3], second[3]) <= DISTURBED * best
        quiet[both].append((first[0], side_mean(first), side_mean(second)))
    show_errors("watched visits, neither on a disturbed core", quiet[True])
    show_errors("watched visits, one or both on a disturbed core", quiet[False])


def noise(database: Path, programs: set[str] | None) -> None:
    """The error of a perfect model, by machine: between the sides of a duel, and of a visit predicting another."""
    for host, kernels in visits_of(database, programs).items():
        print(host)
        show_errors("one side of a duel by the other", [rows[0][:3] for rows in kernels.values()])
        repeated = [rows for rows in kernels.values() if len(rows) > 1]
        show_errors("the second visit by the first", [(r[0][0], side_mean(r[0]), side_mean(r[1])) for r in repeated])
        more = [rows for rows in repeated if len(rows) > 2]
        show_errors("the last visit by the one before", [(r[0][0], side_mean(r[-2]), side_mean(r[-1])) for r in more])
        show_watched(list(kernels.values()))
    option_noise(database, programs)


def parts_of(split: Path) -> dict[str, str]:
    """The part of a split that each program belongs to."""
    lines = [line for line in split.read_text().splitlines() if "\t" in line and not line.startswith("#")]
    return {program: part for part, program in (line.split("\t") for line in lines)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("pack", "unpack"):
        command = commands.add_parser(name)
        command.add_argument("source", type=Path)
        command.add_argument("target", type=Path)
        if name == "pack":
            command.add_argument("--cold", action="store_true", help="the records of cold kernels alone")
            command.add_argument("--since", metavar="DAY", default="", help="the records of this day and later alone")
    command = commands.add_parser("bare")
    command.add_argument("source", type=Path)
    command.add_argument("target", type=Path)
    kept = command.add_mutually_exclusive_group()
    kept.add_argument("--like", type=Path, help="a database: keep the records of its hosts and kernels")
    kept.add_argument("--without", type=Path, help="a database: leave out the defaults of its hosts, for hone db merge")
    commands.add_parser("describe").add_argument("source", type=Path)
    command = commands.add_parser("noise")
    command.add_argument("source", type=Path)
    command.add_argument("--split", type=Path, help="only programs of one part of this split")
    command.add_argument("--part", default="test")
    options = parser.parse_args()
    source = options.source
    if not source.is_file():
        print(f"{source}: there is no such file", file=sys.stderr)
        return 2
    if options.command == "bare":
        bare(source, options.target, options.like, options.without)
    elif options.command == "describe":
        describe(source)
    elif options.command == "noise":
        parts = parts_of(options.split) if options.split else None
        noise(source, {program for program, part in parts.items() if part == options.part} if parts else None)
    else:
        os.makedirs(options.target.parent, exist_ok=True)
        if options.command == "pack":
            pack(source, options.target, "cold kernel" if options.cold else "kernel", options.since)
        else:
            unpack(source, options.target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
