"""TVM for frameworks.py: a PyTorch module through Relax, tuned by MetaSchedule for a time, and called.

The passes are those of TVM's own pipeline for static shapes (relax.pipeline.static_shape_tuning_pipeline, with weight
layouts rewritten for the CPU), with a search that ends after a time instead of a number of trials.
"""

import sys
import time
import types

# Intrinsics of other processors: parsing their scripts looks through all loaded modules each time, for minutes.
for other in ("arm_cpu", "cuda", "hexagon", "metal", "riscv_cpu", "rocm"):
    sys.modules[f"tvm.s_tir.tensor_intrin.{other}"] = types.ModuleType(other)

import numpy as np  # noqa: E402
import torch  # noqa: E402
import tvm  # noqa: E402
from frameworks_tvm_measure import Candidates, ForkBuilder, ForkRunner, Guarded  # noqa: E402
from tvm import relax  # noqa: E402
from tvm.ir.transform import PassContext  # noqa: E402
from tvm.ir.utils import derived_object  # noqa: E402
from tvm.relax.frontend import detach_params  # noqa: E402
from tvm.relax.frontend.torch import from_exported_program  # noqa: E402
from tvm.s_tir import meta_schedule as ms  # noqa: E402
from tvm.s_tir.analysis import estimate_tir_flops  # noqa: E402
from tvm.s_tir.meta_schedule.relax_integration import extract_tasks, extracted_tasks_to_tune_contexts  # noqa: E402
from tvm.s_tir.meta_schedule.tune import tune_tasks  # noqa: E402

LIBRARY, PARAMETERS = "tvm.so", "tvm.npz"
TRIALS_A_TURN = 4  # of one task; small, so that every task gets a turn within the budget
SECONDS_A_TASK = 2.0  # of the budget; tasks beyond it use TVM's default schedules
# TVM's own 512 traces and four generations are half a minute of Python and C++ before the first candidate of each task.
POPULATION, GENERATIONS = 48, 2


@derived_object
class StopInTime(ms.measure_callback.PyMeasureCallback):
    """Ends the search with an exception when the time is over, after all measurements are in the database."""

    def __init__(self, deadline: float):
        super().__init__()
        self.deadline, self.trials, self.good, self.tasks = deadline, 0, 0, set()

    def apply(self, task_scheduler, task_id, measure_candidates, builder_results, runner_results) -> None:
        self.tasks.add(task_id)
        self.trials += len(runner_results)
        self.good += sum(result.error_msg is None for result in runner_results)
        if time.monotonic() > self.deadline:
            raise TimeoutError("time is over")


def target_of(threads: int) -> tvm.target.Target:
    cpu = tvm.target.codegen.llvm_get_system_cpu()
    return tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": threads})


def search(mod: tvm.IRModule, target: tvm.target.Target, case, budget_s: float) -> tuple[ms.Database, dict]:
    # The tasks that compute most, in the order of their first turns. Before the search a space of schedules is made for
    # every task, in about a second each, and copies and reshapes are often more than half of the tasks.
    found = extract_tasks(mod, target, {})
    tasks = sorted(found, key=lambda task: -task.weight * estimate_tir_flops(task.mod))
    tasks = tasks[: max(1, int(budget_s / SECONDS_A_TASK))]
    folder = str(case.folder / "tvm-work")
    strategy = ms.search_strategy.EvolutionarySearch(
        population_size=POPULATION, init_min_unmeasured=POPULATION // 2, genetic_num_iters=GENERATIONS
    )
    given_up = []
    contexts, weights = extracted_tasks_to_tune_contexts(
        tasks, folder, strategy=Guarded(strategy, given_up), num_threads=1, seed=case.request["seed"] + 1
    )
    database = ms.database.MemoryDatabase()
    stop = StopInTime(time.monotonic() + budget_s)
    record = ms.measure_callback.AddToDatabase()
    update = ms.measure_callback.UpdateCostModel()
    candidates = Candidates()
    try:
        tune_tasks(
            tasks=contexts,
            task_weights=weights,
            work_dir=folder,
            max_trials_global=10**6,
            num_trials_per_iter=TRIALS_A_TURN,
            builder=ForkBuilder(candidates),
            runner=ForkRunner(candidates),
            database=database,
            measure_callbacks=[record, update, stop],
        )
    except TimeoutError:
        pass
    except Exception as error:
        if "time is over" not in str(error):
            raise
    trials = {"trials": stop._inst.trials, "good": stop._inst.good}
    return database, trials | {
        "tasks": len(found),
        "searched": len(stop._inst.tasks),
        "given_up": sorted(set(given_up)),
    }


def tune(case) -> dict:
    """Writes the library and the weights in its layout into the case's folder."""
    exported = torch.export.export(case.module(), case.inputs())
    mod = from_exported_program(exported, keep_params_as_input=True, unwrap_unit_return_tuple=False)
    mod, parameters = detach_params(mod)
    target = target_of(case.threads)
    with target, PassContext(opt_level=3):
        mod = tvm.transform.Sequential(
            [
                relax.transform.DecomposeOpsForInference(),
                relax.transform.CanonicalizeBindings(),
                relax.pipeline.zero_pipeline(),
                relax.transform.AttachAttrLayoutFreeBuffers(),
            ]
        )(mod)
        answer = {"trials": 0}
        if case.request["tvm_budget_s"] > 0:
            database, answer = search(mod, target, case, case.request["tvm_budget_s"])
            with database:
                mod = relax.transform.MetaScheduleApplyDatabase()(mod)
        mod = tvm.transform.Sequential(
            [
                relax.transform.SplitLayoutRewritePreproc(),
                relax.transform.LiftTransformParams(),
                relax.transform.FoldConstant(),
            ]
        )(mod)
        executable = tvm.compile(mod, target=target)
    executable.export_library(str(case.folder / LIBRARY))
    values = [value.numpy() for value in parameters["main"]]
    np.savez(case.folder / PARAMETERS, *values)
    return answer


def load(case):
    """(a call, its outputs as NumPy arrays)"""
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(case.folder / LIBRARY)), tvm.cpu())
    with np.load(case.folder / PARAMETERS) as stored:
        weights = [tvm.runtime.tensor(stored[name]) for name in stored.files]
    if machine.module.implements_function("main_transform_params"):
        weights = list(machine["main_transform_params"](weights))
    inputs = [tvm.runtime.tensor(value) for value in case.values[case.constants :]]
    arguments = [*inputs, *weights]
    machine.set_input("main", *arguments)

    def results(_):
        out = machine.get_outputs("main")
        return [value.numpy() for value in (out if isinstance(out, list | tuple) else list(out))]

    return (lambda: machine.invoke_stateful("main")), results
