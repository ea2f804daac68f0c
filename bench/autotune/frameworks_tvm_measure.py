"""Builder, runner and strategy for MetaSchedule: candidates are timed in forked children, failing tasks are given up.

TVM's own LocalBuilder starts a new Python for its candidates, which imports TVM's tensor intrinsics for minutes (see
frameworks_tvm.py), longer than the 30 s it gives a candidate: none ever came back. A forked child has all that already.
It needs no linker either, since it runs the code in the same process. A crash or a timeout affects only that candidate.
"""

import json
import os
import select
import signal
import sys
import time

import tvm
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.builder.local_builder import default_build
from tvm.s_tir.meta_schedule.runner.local_runner import LocalRunnerFuture, default_alloc_argument

LIMIT_S = 10.0  # of one candidate, compilation and timing together
TIMING = ms.runner.EvaluatorConfig(number=1, repeat=1, min_repeat_ms=40, enable_cpu_cache_flush=False)


def seconds_of(mod: tvm.IRModule, target: tvm.target.Target, args_info: list) -> list[float]:
    """Compiles and runs in this process, on random inputs."""
    compiled = default_build(mod, target, None)
    device = tvm.cpu()
    arguments = default_alloc_argument(device, args_info, 1)
    return ms.runner.utils.run_evaluator_common(compiled, device, TIMING, arguments)


def in_child(work, limit_s: float):
    """The result of work() in a forked child, passed as JSON. Throws RuntimeError with the reason when it fails."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(out)
            answer = {"value": work()}
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:2000]}
        try:
            os.write(into, json.dumps(answer).encode())  # below a pipe's 64 KiB: written at once
        finally:
            os._exit(0)  # without the parent's exit handlers
    os.close(into)
    deadline, text = time.monotonic() + limit_s, b""
    try:
        while select.select([out], [], [], max(0.0, deadline - time.monotonic()))[0]:
            part = os.read(out, 65536)
            if not part:
                break
            text += part
        else:
            raise RuntimeError(f"no answer within {limit_s:g} s")
    finally:
        os.close(out)
        os.kill(child, signal.SIGKILL)  # not waited for yet, so the number is still its own
        status = os.waitpid(child, 0)[1]
    if not text:
        raise RuntimeError(f"the child ended with status {status}")
    answer = json.loads(text)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["value"]


class Candidates:
    """Modules passed from the builder, which only stores them, to the runner; their paths are numbers."""

    def __init__(self):
        self.waiting, self.count = {}, 0

    def add(self, mod: tvm.IRModule, target: tvm.target.Target) -> str:
        self.count += 1
        self.waiting[str(self.count)] = (mod, target)
        return str(self.count)


@derived_object
class ForkBuilder(ms.builder.PyBuilder):
    def __init__(self, candidates: Candidates):
        super().__init__()
        self.candidates = candidates

    def build(self, build_inputs) -> list[ms.builder.BuilderResult]:
        return [ms.builder.BuilderResult(self.candidates.add(one.mod, one.target), None) for one in build_inputs]


@derived_object
class ForkRunner(ms.runner.PyRunner):
    def __init__(self, candidates: Candidates):
        super().__init__()
        self.candidates = candidates

    def run(self, runner_inputs) -> list:
        return [self.time(one) for one in runner_inputs]

    def time(self, one):
        mod, target = self.candidates.waiting.pop(str(one.artifact_path))
        args_info = [info.as_json() for info in one.args_info]
        try:
            return LocalRunnerFuture(in_child(lambda: seconds_of(mod, target, args_info), LIMIT_S), None)
        except RuntimeError as error:
            print(f"candidate {one.artifact_path}: {error}", file=sys.stderr)
            return LocalRunnerFuture(None, str(error))


@derived_object
class Guarded(ms.search_strategy.PySearchStrategy):
    """A strategy that gives up its task where TVM throws; otherwise one unsupported task would end the search."""

    def __init__(self, inner: ms.SearchStrategy, given_up: list[str]):
        super().__init__()
        self.inner, self.given_up, self.name = inner, given_up, ""

    def _initialize_with_tune_context(self, context) -> None:
        self.name = str(context.task_name)
        self.inner._initialize_with_tune_context(context)

    def pre_tuning(self, max_trials, num_trials_per_iter, design_spaces, database=None, cost_model=None) -> None:
        self.inner.pre_tuning(max_trials, num_trials_per_iter, design_spaces, database, cost_model)

    def post_tuning(self) -> None:
        self.inner.post_tuning()

    def generate_measure_candidates(self):
        try:
            return self.inner.generate_measure_candidates()
        except (RuntimeError, ValueError) as error:
            self.given_up.append(self.name)
            print(f"{self.name}: {error}", file=sys.stderr)
            return None  # the scheduler takes it as finished

    def notify_runner_results(self, measure_candidates, results) -> None:
        self.inner.notify_runner_results(measure_candidates, results)

    def clone(self):
        return Guarded(self.inner.clone(), self.given_up)
