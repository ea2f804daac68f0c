"""The shipped models of kernels on measurements of five validation programs, which no training saw.

The Xeon's run times of defaults are those of a watched core, as models learn them (make labels). They must stay as good
as they were, and need no learning library.
"""

import json
import lzma
import shutil

from cli_case import HONE, ROOT, CliTest

KERNELS = ROOT / "tests" / "cli" / "validation_kernels.db.xz"
ERROR = {"tile": "ape_top1", "fusion": "mape"}
# A little beyond what the shipped trees reach, by machine.
XEON, EPYC, EPYC_AVX2 = "intel-r-xeon-r-processor-2-cores", "amd-epyc-2-cores", "amd-epyc-2-cores-at-most-avx2"
OPTIONS = {
    XEON: {"ape_top1": 3.7, "distinct_tau": 0.71},
    EPYC: {"ape_top1": 2.4, "distinct_tau": 0.72},
    EPYC_AVX2: {"ape_top1": 1.6, "distinct_tau": 0.89},
}
RUN_TIMES = {
    XEON: {"mape": 14.6, "kendall_tau": 0.845},
    EPYC: {"mape": 12.5, "kendall_tau": 0.83},
    EPYC_AVX2: {"mape": 15.9, "kendall_tau": 0.807},
}
PROGRAMS = ["elman_rnn_b32", "gcn_b1", "paged_attention_b1", "softmax_statistics_b64", "vgg16_b1"]


class ShippedModelsTest(CliTest):
    def setUp(self):
        super().setUp()
        (self.dir / "kernels.db").write_bytes(lzma.decompress(KERNELS.read_bytes()))
        self.split = self.dir / "split.txt"
        self.split.write_text("".join(f"validation\t{program}\n" for program in PROGRAMS))
        # A hone without libhone_learn.so beside it.
        self.alone = self.dir / "bin" / "hone"
        self.alone.parent.mkdir()
        shutil.copy(HONE, self.alone)

    def arguments(self, *arguments):
        return [str(self.alone), *map(str, arguments)]

    def evaluated(self, task):
        """The means by machine."""
        self.hone(
            "collect", "export", "--db", self.dir / "kernels.db", "--kind", task, "--each-host", "-o", self.dir / task
        )
        model = ROOT / "data" / "models" / task
        means = {}
        for dataset in sorted((self.dir / task).iterdir()):
            result = self.json(
                "eval", task, dataset, "--split", self.split, "--part", "validation", "--model-file", model
            )
            self.assertEqual([row["program"] for row in result["programs"]], PROGRAMS, json.dumps(result))
            self.assertLess(result["geometric_mean"]["learned"][ERROR[task]], result["mean"]["learned"][ERROR[task]])
            means[dataset.name] = result["mean"]
        return means

    def check(self, means, limits):
        self.assertEqual(set(means), set(limits))
        for machine, mean in means.items():
            for metric, limit in limits[machine].items():
                better = self.assertGreater if metric.endswith("tau") else self.assertLess
                better(mean["learned"][metric], limit, f"{machine}: {metric}")

    def test_options(self):
        means = self.evaluated("tile")
        self.check(means, OPTIONS)
        for machine, mean in means.items():
            self.assertLess(mean["learned"]["ape_top1"], mean["xla"]["ape_top1"], machine)

    def test_run_times(self):
        self.check(self.evaluated("fusion"), RUN_TIMES)
