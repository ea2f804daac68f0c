"""The options of `hone tune` and `hone optimize` by their names in Python, and what is said about other names."""

import difflib
from collections.abc import Iterable, Mapping

# What hone.tune and hone.jit set by parameters of their own, and what makes no sense there.
OWN = frozenset(["budget", "db", "inputs", "json", "output", "quiet", "seed", "threads", "weights"])
UNSUITED = frozenset(["help", "help_all", "kernels"])  # `kernels` writes no package
_TUNE = """
address allow_fast_math cache decide engine exact exhaustive force fresh fusion_budget fusion_chains fusion_model
fusion_only fusion_start fusion_workers layout_model layouts_measured max_isa memory_limit models no_adaption
no_cache no_fusion no_in_place no_known no_operations no_packing no_prepare no_transfer operation_model pick
precision strategy tile_model top_k verbose
"""
_OPTIMIZE = """
allow_fast_math cache force gains max_isa max_options memory_limit models no_cache no_forms no_layouts no_verify
operation_model tile_model verbose
"""
TUNE = frozenset(_TUNE.split())
OPTIMIZE = frozenset(_OPTIMIZE.split())
# The same of hone.optimize.
OPTIMIZE_OWN = frozenset(["guard", "inputs", "json", "output", "quiet", "seed", "threads", "weights"])
_CALIBRATION = ["calibrate", "calibrate_forms", "calibrate_rewrites", "judge", "part", "split"]
OPTIMIZE_UNSUITED = frozenset(["help", "help_all", "rank_only", *_CALIBRATION])  # they write no package


def check(given: Mapping[str, object], known: Iterable[str], function: str, parameters: Iterable[str]) -> None:
    """TypeError for the first of `given` that is not in `known`, with the nearest of these and of `parameters`."""
    known = set(known)
    for name in given:
        if name in known:
            continue
        near = difflib.get_close_matches(name, sorted(known | set(parameters)), 1)
        command = "optimize" if function == "hone.optimize" else "tune"
        hint = f"did you mean {near[0]!r}?" if near else f"'hone {command} --help' lists the options"
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}: {hint}")
