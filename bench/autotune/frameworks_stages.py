"""The half of frameworks.py that loads the frameworks, one program in a process: tuning by TVM, checking, timing.

The only argument is a JSON request (run_stage in frameworks.py writes it), the last line of the output a JSON answer.
"""

import contextlib
import ctypes
import json
import math
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import frameworks_models
import numpy as np
import torch
from hone import Tuned, arrays, files, runtime
from larger import modules
from larger.sizes import INTEGERS

ONNX = "model.onnx"
MODELS = frameworks_models.MODELS | modules.MODELS
EXAMPLES = Path(__file__).resolve().parents[2] / "scripts"  # where example_programs.py is
WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
# Threads of OpenMP and of others poll for some milliseconds before they sleep, on cores that the next contender needs.
SETTLE_S = 0.03
TIMED_NS = 3e6  # one time is the mean over calls that take about this long together
TOLERANCE = {  # relative, as in src/xla/measure/measure.cc
    "float64": 1024 * 2.0**-52,
    "float32": 1024 * 2.0**-23,
    "bfloat16": 16 * 2.0**-8,
    "float16": 16 * 2.0**-11,
}


@dataclass
class Contender:
    """One implementation of the program. `call` runs it once; `results` returns the last outputs as NumPy arrays."""

    call: Callable[[], object]
    results: Callable[[object], list[np.ndarray]]


class Case:
    """A program, its weights and inputs: the same values for all contenders."""

    def __init__(self, request: dict):
        self.request, self.folder = request, Path(request["folder"])
        self.threads, self.constants = request["threads"], request["constants"]
        self.package = self.folder / "tuned.hone"
        generator = np.random.default_rng(request["seed"])
        specs = [self.spec(text) for text in request["parameters"]]
        bound = INTEGERS.get(request["name"], 2)
        self.values = [self.value(spec, i < self.constants, bound, generator) for i, spec in enumerate(specs)]

    @staticmethod
    def spec(text: str) -> runtime.Spec:
        """Of f32[2,3], as hone inspect writes it."""
        kind, _, sizes = text.rstrip("]").partition("[")
        dtype = {"f32": "float32", "s32": "int32"}[kind]
        return runtime.Spec(tuple(int(size) for size in sizes.split(",") if size), np.dtype(dtype))

    def program(self, default: bool) -> runtime.Program:
        library = runtime.open_library(files.find(files.RUNTIME, self.request["build"]))
        return runtime.Program(library, self.package, self.threads, default)

    @staticmethod
    def value(spec: runtime.Spec, is_weight: bool, bound: int, generator: np.random.Generator) -> np.ndarray:
        """Weights small enough that activations keep their scale, and not negative where they may be variances."""
        if spec.dtype.kind in "iu":
            values = generator.integers(0, bound, spec.shape)
        elif not is_weight:
            values = generator.standard_normal(spec.shape)
        elif len(spec.shape) == 1:
            values = generator.uniform(0.1, 1.0, spec.shape)
        else:
            values = generator.standard_normal(spec.shape) / math.sqrt(np.prod(spec.shape[:-1]))
        out = arrays.empty(spec.shape, spec.dtype)
        out[...] = values
        return out

    def module(self) -> torch.nn.Module:
        weights = iter([torch.from_numpy(value) for value in self.values[: self.constants]])
        module = MODELS[self.request["name"]](weights).eval()
        if next(weights, None) is not None:
            raise ValueError("the module does not take all weights")
        return module

    def inputs(self) -> tuple[torch.Tensor, ...]:
        return tuple(torch.from_numpy(value) for value in self.values[self.constants :])


def bound(program: runtime.Program, values: list[np.ndarray | None]) -> Contender:
    """A call into the runtime with pointers made once: the overhead of a C++ program that embeds it."""
    results = [arrays.empty(spec.shape, spec.dtype) for spec in program.outputs]
    inputs = (ctypes.c_void_p * len(values))(*[None if v is None else v.ctypes.data for v in values])
    outputs = (ctypes.c_void_p * len(results))(*[result.ctypes.data for result in results])
    run = program.library.hone_program_run

    def call() -> None:
        if run(program.handle, inputs, outputs) != 0:
            raise RuntimeError((program.library.hone_last_error() or b"").decode())

    return Contender(call, lambda _: results)


def make_default(case: Case) -> Contender:
    return bound(case.program(default=True), case.values)


def make_tuned(case: Case) -> Contender:
    program = case.program(default=False)
    for i in program.weights:
        program.set_weight(i, case.values[i])
    return bound(program, [None if i in program.weights else value for i, value in enumerate(case.values)])


def make_call(case: Case) -> Contender:
    tuned = Tuned(case.package, case.threads, case.request["build"])
    tuned(*case.values)
    values = [None if i < case.constants else value for i, value in enumerate(case.values)]

    def results(out: object) -> list[np.ndarray]:
        return list(out) if isinstance(out, tuple) else [out]

    return Contender(lambda: tuned(*values), results)


def torch_results(out: tuple[torch.Tensor, ...]) -> list[np.ndarray]:
    return [value.numpy() for value in out]


def make_eager(case: Case) -> Contender:
    module, inputs = case.module(), case.inputs()
    return Contender(lambda: module(*inputs), torch_results)


def make_compile(case: Case) -> Contender:
    """Takes compiled code from the cache of the stage "compile"; the compiler repeats its own measurements."""
    import torch._inductor.config as config

    config.freezing = True  # the weights are constant for us, too
    config.compile_threads = 1
    config.fx_graph_cache = config.autotune_local_cache = False
    module, inputs = case.module(), case.inputs()
    compiled = torch.compile(module, mode="max-autotune", dynamic=False)
    compiled(*inputs)
    return Contender(lambda: compiled(*inputs), torch_results)


def make_jax(case: Case) -> Contender:
    """jax.jit of the function that the example was exported from, its weights and inputs on the device already."""
    sys.path.insert(0, str(EXAMPLES))
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = (
        f"--xla_cpu_multi_thread_eigen={str(case.threads > 1).lower()} intra_op_parallelism_threads={case.threads}"
    )
    import jax

    if case.request["name"] in modules.MODELS:
        from larger.programs import PROGRAMS

        program = PROGRAMS[case.request["name"]]()
    else:
        from example_programs import EXAMPLES as PROGRAMS

        program = PROGRAMS[case.request["name"]][0]()
    weights, tree = jax.tree.flatten(program.weights)
    values = jax.device_put([np.asarray(value) for value in case.values])
    weights = jax.tree.unflatten(tree, values[: len(weights)])
    inputs = jax.tree.unflatten(jax.tree.structure(program.inputs), values[tree.num_leaves :])
    function = jax.jit(program.function)

    def results(out: object) -> list[np.ndarray]:
        return [np.asarray(value) for value in jax.tree.leaves(out)]

    return Contender(lambda: jax.block_until_ready(function(weights, *inputs)), results)


def export_onnx(case: Case) -> dict:
    if (case.folder / ONNX).exists():
        return {}
    torch.onnx.export(case.module(), case.inputs(), dynamo=True, verbose=False).save(case.folder / ONNX)
    return {}


def make_onnxruntime(case: Case) -> Contender:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = case.threads, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(str(case.folder / ONNX), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for node, value in zip(session.get_inputs(), case.values[case.constants :], strict=True):
        binding.bind_ortvalue_input(node.name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
    results = []
    for node in session.get_outputs():
        kind = {"tensor(float)": np.float32, "tensor(int32)": np.int32}[node.type]
        results.append(onnxruntime.OrtValue.ortvalue_from_numpy(np.empty(node.shape, kind)))
        binding.bind_ortvalue_output(node.name, results[-1])
    call = session.run_with_iobinding
    return Contender(lambda: call(binding), lambda _: [value.numpy() for value in results])


def make_openvino(case: Case) -> Contender:
    """In f32: by itself it computes in bf16 where the CPU has instructions for it."""
    import openvino

    options = {
        "INFERENCE_NUM_THREADS": case.threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = openvino.Core().compile_model(str(case.folder / ONNX), "CPU", options)
    request = compiled.create_infer_request()
    for port, value in zip(compiled.inputs, case.values[case.constants :], strict=True):
        request.set_tensor(port, openvino.Tensor(value, shared_memory=True))

    def call() -> None:
        request.start_async()
        request.wait()

    return Contender(call, lambda _: [request.get_output_tensor(i).data for i in range(len(compiled.outputs))])


def tune_tvm(case: Case) -> dict:
    import frameworks_tvm

    return frameworks_tvm.tune(case)


def make_tvm(case: Case) -> Contender:
    import frameworks_tvm

    call, results = frameworks_tvm.load(case)
    return Contender(call, results)


MAKERS = {
    "default": make_default,
    "tuned": make_tuned,
    "call": make_call,
    "jax": make_jax,
    "eager": make_eager,
    "compile": make_compile,
    "onnxruntime": make_onnxruntime,
    "openvino": make_openvino,
    "tvm": make_tvm,
}


def difference(expected: list[np.ndarray], got: list[np.ndarray]) -> float:
    """The largest difference in units of the tolerance of its type; at most 1 is equal (as in
    src/xla/measure/measure.cc)."""
    if [value.shape for value in expected] != [value.shape for value in got]:
        return math.inf
    worst = 0.0
    for reference, value in zip(expected, got, strict=True):
        if not np.isfinite(reference).all():
            raise ValueError("default XLA's outputs are not finite: the inputs are unfit for a comparison")
        a, b = reference.astype(np.float64), value.astype(np.float64)
        allowed = TOLERANCE.get(str(reference.dtype), 0.0) * (np.sqrt(np.mean(a * a)) + np.abs(a)) + 1e-300
        worst = max(worst, float(np.nanmax(np.where(np.isfinite(b), np.abs(a - b) / allowed, math.inf), initial=0)))
    return worst


def make_all(case: Case) -> tuple[dict[str, Contender], dict[str, dict]]:
    """The contenders whose outputs are right, and the results of checking each."""
    contenders, known, expected = {}, {}, None
    for name in [name for name in MAKERS if name in case.request["contenders"]]:
        try:
            contender = MAKERS[name](case)
            got = contender.results(contender.call())
            expected = expected or [value.copy() for value in got]
            known[name] = {"difference": difference(expected, got)}
            if known[name]["difference"] <= 1:
                contenders[name] = contender
            else:
                known[name]["error"] = f"its outputs differ by {known[name]['difference']:.3g} tolerances"
        except Exception as error:  # an exception of a framework affects only its own column
            if name == "default":
                raise
            text = " ".join(str(error).split())[:200]
            known[name] = {"error": f"{type(error).__name__}: {text}"}
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    return contenders, known


def time_ns(call: Callable[[], object], repeats: int, clock: Callable[[], int]) -> float:
    call()  # warm up: the other contenders used the caches
    begin = clock()
    for _ in range(repeats):
        call()
    return (clock() - begin) / repeats


def interleave(
    contenders: dict[str, Contender], rounds: int, clock: Callable[[], int], settle: bool = False
) -> dict[str, np.ndarray]:
    """Nanoseconds per call, one per round; each round begins with the next contender. `settle`: each turn begins when
    the threads of the contender before have gone to sleep, and with a call that is not timed."""
    names = list(contenders)
    repeats = {}
    for name, contender in contenders.items():
        once = min(time_ns(contender.call, 1, clock) for _ in range(5))
        repeats[name] = max(1, min(200, round(TIMED_NS / once)))
    times = {name: np.empty(rounds) for name in names}
    for i in range(rounds):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            if settle:
                time.sleep(SETTLE_S)
                contenders[name].call()
            times[name][i] = time_ns(contenders[name].call, repeats[name], clock)
    return times


def measure(case: Case) -> dict:
    contenders, known = make_all(case)
    if case.request["stage"] == "check":
        return {"contenders": known}
    clock = {"wall": time.perf_counter_ns, "cpu": time.process_time_ns}[case.request["clock"]]
    times = interleave(contenders, case.request["rounds"], clock, settle=case.threads > 1)
    rounds = case.request["rounds"]
    # Order statistics that enclose the median with 95 % confidence (normal approximation of the binomial).
    low, high = (
        max(0, int(rounds / 2 - 0.98 * rounds**0.5)),
        min(rounds - 1, math.ceil(rounds / 2 + 0.98 * rounds**0.5)),
    )
    for name, values in times.items():
        ratios = np.sort(times["default"] / values)
        known[name]["ns"] = float(np.median(values))
        known[name]["least_ns"] = float(values.min())
        known[name]["speedup"] = float(np.median(ratios))
        known[name]["interval"] = [float(ratios[low]), float(ratios[high])]
    return {"contenders": known, "rounds": rounds}


def compile_once(case: Case) -> dict:
    make_compile(case)
    return {}


# The stages before the first call, each in a separate process, and the two stages that follow.
STAGES = {
    "compile": compile_once,
    "onnxruntime": export_onnx,
    "openvino": export_onnx,
    "tvm": tune_tvm,
    "check": measure,
    "measure": measure,
}


def cpu_s() -> float:
    """Of this process and the compilers that it started."""
    return sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime for who in WHO)


def main() -> int:
    request = json.loads(sys.argv[1])
    warnings.filterwarnings("ignore")
    torch.set_num_threads(request["threads"])
    with contextlib.redirect_stdout(sys.stderr), torch.inference_mode():
        case = Case(request)
        begin, cpu = time.monotonic(), cpu_s()
        answer = STAGES[request["stage"]](case)
        answer |= {"seconds": time.monotonic() - begin, "cpu_s": cpu_s() - cpu}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
