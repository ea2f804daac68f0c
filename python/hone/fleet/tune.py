"""The whole run: kernels on all nodes at once, then the program on one of them; handles lost nodes."""

import concurrent.futures
import contextlib
import json
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any

from ..errors import Error
from . import plan

SNAPSHOT_S = 5.0  # maximum age of the rows of a running call: a lost node costs no more
MOST_TRIES = 3  # of one task, including those on lost nodes
MOST_KERNELS = 3000  # whose rows are sent: the limit of a command line
HELLO_S = 300.0  # for a node's first answer: a node in use by others does not answer


class NodeLost(Exception):
    """The machine is lost, with its work since the last snapshot."""


class RunFailed(Error):
    """The request was valid but could not be carried out: exit code 1."""


class Fleet:
    """The nodes of one run.

    nodes: objects with a `name` and `call(method, *arguments)`, which returns a concurrent future of the result of
    node.Node's method; the future of a lost node raises NodeLost. say: called with a line of progress.
    """

    def __init__(
        self,
        nodes: Iterable[Any],
        request: dict,
        say: Callable[[str], None] = lambda line: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.nodes = list(nodes)
        self.request = request
        self.say = say
        self.clock = clock
        self.start = clock()
        self.url = request["db"] if "://" in request["db"] else None
        self.fresh = ["--fresh"] in request["options"]
        self.interrupted = False
        if self.fresh and self.url:
            raise Error("a shared database cannot be fresh", "--fresh", "name a file with --db")

    def run(self) -> dict:
        """Tunes and returns {"summary", "files", "package"}; the rows are in the request's database."""
        with tempfile.TemporaryDirectory(prefix="hone-fleet-") as folder:
            self.own = pathlib.Path(folder) / "run.db"  # the rows this run may use: with --fresh, only its own
            self.folder = pathlib.Path(folder)
            self.keep_to_one_type()
            self.prepare()
            inspection = self.anywhere("inspect", what="the program")
            kernels = sorted(inspection["kernel_list"], key=lambda k: -k["share"])[:MOST_KERNELS]
            self.about = [inspection["fingerprint"], *(k["fingerprint"] for k in kernels)]
            self.share_rows()
            self.start = self.clock()  # the budget is for the search only
            self.tune_kernels(plan.share_out(inspection["kernel_list"], len(self.nodes)))
            if self.interrupted:
                raise RunFailed("interrupted before there was a result", "", "what was measured is kept")
            return self.tune_program()

    # ---- before the work

    def keep_to_one_type(self) -> None:
        """Leaves only nodes of one host type: measurements of different machines are never mixed."""
        asked = [(node, node.call("describe")) for node in self.nodes]
        types = {}
        for node, future in asked:
            try:
                hello = self.good(future.result(timeout=HELLO_S))
            except (NodeLost, Error, concurrent.futures.TimeoutError) as error:
                why = str(error) or "it does not answer, or is in use by others"
                self.say(f"{node.name} is left out: {why}")
                continue
            types[node] = plan.HostType(f"{hello['cpu']}, {hello['cores']} cores", hello["xla_version"])
        if not types:
            raise RunFailed(
                "no node of the cluster can run hone", "--address", "build it at the same path on every node"
            )
        chosen = plan.choose_type(list(types.values()), self.request.get("own_type"))
        for node, of in types.items():
            if of != chosen:
                self.say(f"{node.name} is left out: it is another kind of machine ({of})")
        self.nodes = [node for node, of in types.items() if of == chosen]
        self.say(f"{len(self.nodes)} node{'s' if len(self.nodes) > 1 else ''} of type {chosen}")

    def prepare(self) -> None:
        files, options = {}, []
        program = pathlib.Path(self.request["program"])
        for path in [program] if program.is_file() else sorted(p for p in program.rglob("*") if p.is_file()):
            files[str(path.relative_to(program.parent))] = path.read_bytes()
        for words in self.request["options"]:
            if words == ["--fresh"]:
                continue  # respected in share_rows()
            if words[0] == "--inputs":
                path = pathlib.Path(words[1])
                files["inputs" + path.suffix] = path.read_bytes()
                words = ["--inputs", "{folder}/inputs" + path.suffix]
            elif words[0].endswith(("-model", "--models")) and pathlib.Path(words[1]).exists():
                words = [words[0], str(pathlib.Path(words[1]).absolute())]
            options.append(words)
        self.everywhere("prepare", files, program.name, options, self.url)

    def share_rows(self) -> None:
        """Sends the known rows of the program and its kernels to every node."""
        if self.url:
            return
        if not self.fresh and pathlib.Path(self.request["db"]).exists():
            self.merge(self.request["db"], into=self.own, only=True)
        if self.own.exists():
            self.everywhere("take_database", self.own.read_bytes())

    # ---- the work

    def tune_kernels(self, tasks: list[plan.Task]) -> None:
        """Idle nodes take the next task; a task of a lost node returns to the front of the queue."""
        waiting, done, total = list(tasks), 0, len(tasks)
        deadline = self.start + plan.KERNEL_SHARE * self.request["budget_s"]
        running = {}  # future -> (node, task)
        snapshots = Snapshots(self)
        idle = list(self.nodes)
        while running or (waiting and not self.interrupted and self.clock() < deadline):
            while waiting and idle and not self.interrupted and self.clock() < deadline:
                node, task = idle.pop(0), waiting.pop(0)
                task.tries += 1
                seconds = plan.task_seconds(deadline - self.clock(), len(self.nodes), len(waiting) + len(running) + 1)
                running[node.call("tune_kernels", task.kernels, seconds)] = (node, task)
            if not running:
                break
            for future in self.wait(running, snapshots):
                node, task = running.pop(future)
                try:
                    answer = future.result()
                    self.keep(answer["database"])
                    self.good(answer["answer"])
                except NodeLost:
                    self.lose(node)
                    if task.tries < MOST_TRIES:
                        waiting.insert(0, task)
                    continue
                except RunFailed as error:
                    self.say(f"{node.name}: {error}")
                    if task.tries < MOST_TRIES:
                        waiting.append(task)
                else:
                    done += 1
                    self.say(self.kernel_line(done, total, deadline))
                idle.append(node)

    def kernel_line(self, done: int, total: int, deadline: float) -> str:
        spent = self.clock() - self.start
        return (
            f"kernels: {done}/{total} tasks on {len(self.nodes)} nodes, {60 * done / max(spent, 1e-9):.1f} a minute, "
            f"{max(0.0, deadline - self.clock()):.0f} s left"
        )

    def tune_program(self) -> dict:
        """Tunes the program itself, on one node: every duel is against the best so far, so duels are sequential."""
        for _ in range(MOST_TRIES):
            node = self.nodes[0]
            budget_s = self.request["budget_s"]
            seconds = max(plan.FINAL_SHARE * budget_s, budget_s - (self.clock() - self.start))
            try:
                if not self.url and self.own.exists():
                    node.call("take_database", self.own.read_bytes()).result()
                self.say(f"program: on {node.name}, {seconds:.0f} s")
                future = node.call("tune_program", pathlib.Path(self.request["output"]).name, seconds)
                snapshots = Snapshots(self)
                while not self.wait({future: (node, None)}, snapshots):
                    pass
                result = future.result()
                self.keep(result["database"])
                return {
                    "summary": self.good(result["answer"]),
                    "files": result["files"],
                    "package": result["package"],
                }
            except NodeLost:
                self.lose(node)
        raise RunFailed("three nodes were lost one after another", "--address", "what was measured is kept")

    # ---- nodes

    def wait(self, running: dict, snapshots: "Snapshots") -> Collection[concurrent.futures.Future]:
        """Futures of `running` that are done; waits at most until the next snapshots are due. Ctrl-C is forwarded."""
        try:
            timeout = snapshots.due_in()
            done, _ = concurrent.futures.wait(running, timeout, return_when=concurrent.futures.FIRST_COMPLETED)
        except KeyboardInterrupt:
            if self.interrupted:
                raise
            self.interrupted = True
            self.say("interrupted: nodes end with the best they have")
            for node, _ in running.values():
                node.call("stop")
            return []
        if not done:
            snapshots.take([node for node, _ in running.values()])
        return done

    def lose(self, node: Any) -> None:
        self.nodes = [other for other in self.nodes if other is not node]
        self.say(f"{node.name} is lost, and what it measured since its last snapshot; {len(self.nodes)} left")
        if not self.nodes:
            raise RunFailed(
                "every node of the fleet is lost", "--address", "what was measured is kept: the same command continues"
            )

    def everywhere(self, method: str, *arguments: Any) -> None:
        for node, future in [(node, node.call(method, *arguments)) for node in self.nodes]:
            try:
                future.result()
            except NodeLost:
                self.lose(node)

    def anywhere(self, method: str, *arguments: Any, what: str) -> Any:
        while True:
            try:
                return self.good(self.nodes[0].call(method, *arguments).result())
            except NodeLost:
                self.lose(self.nodes[0])

    @staticmethod
    def good(answer: dict) -> dict:
        """Returns the answer of a call of hone; raises Error or RunFailed if it is an error."""
        if "error" not in answer:
            return answer
        error = answer["error"]
        kind = Error if answer.get("code") == 2 else RunFailed
        raise kind(error.get("message", "failed"), error.get("where", ""), error.get("hint", ""))

    # ---- rows

    def keep(self, content: bytes | None) -> None:
        """Merges a node's rows into this run's and the user's database."""
        if content is None:
            return
        path = self.folder / "from-node.db"
        path.write_bytes(content)
        self.merge(path, into=self.own)
        self.merge(path, into=self.request["db"])
        path.unlink()

    def merge(self, source: pathlib.Path, into: str | pathlib.Path, only: bool = False) -> None:
        """Merges rows with `hone db merge`, which also checks them. Ctrl-C waits for it: rows are kept, and nothing
        writes into the folder of this run any more when that is removed."""
        command = [self.request["hone"], "db", "merge", str(source), "--db", str(into), "--json"]
        if only:
            command += ["--only", ",".join(self.about)]
        # Python interrupts this thread alone, and the end of the block waits for the other one.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()  # starts it, while an interrupt loses nothing yet
            how = {"capture_output": True, "text": True, "start_new_session": True}
            process = pool.submit(subprocess.run, command, **how).result()
        try:
            answer = json.loads(process.stdout)
        except ValueError:
            raise RunFailed("rows cannot be merged: " + process.stderr.strip()[-300:], str(into)) from None
        if "error" in answer:
            answer["code"] = process.returncode
        return self.good(answer)


class Snapshots:
    """Fetches the rows of running nodes at intervals."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.next = fleet.clock() + SNAPSHOT_S

    def due_in(self) -> float:
        return max(0.0, self.next - self.fleet.clock())

    def take(self, nodes: Iterable[Any]) -> None:
        if self.fleet.clock() < self.next:
            return
        self.next = self.fleet.clock() + SNAPSHOT_S
        for node in nodes:
            with contextlib.suppress(NodeLost, concurrent.futures.TimeoutError):  # the running call reports it
                self.fleet.keep(node.call("rows").result(timeout=SNAPSHOT_S))


def write_package(output: str | pathlib.Path, files: dict[str, bytes], package: str) -> None:
    """Writes the package's files in one step; replaces the node's path in them by the real one."""
    output = pathlib.Path(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".hone-", dir=output.parent) as aside:
        new = pathlib.Path(aside) / "new"
        for name, content in files.items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name.startswith("report."):
                content = content.replace(package.encode(), str(output).encode())
            path.write_bytes(content)
        if output.is_dir():
            output.rename(pathlib.Path(aside) / "old")
        elif output.exists():
            output.unlink()
        new.rename(output)
