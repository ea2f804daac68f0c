"""The shipped models of kernels on measurements of five validation programs, which no training saw.

They must stay as good as they were, and need no learning library.
"""

import json
import lzma
import shutil

from cli_case import HONE, ROOT, CliTest

KERNELS = ROOT / "tests" / "cli" / "validation_kernels.db.xz"
ERROR = {"tile": "ape_top1", "fusion": "mape"}
# A little beyond what the shipped trees reach: APE 3.41 %, MAPE 15.0 %, tau 0.719 and 0.845.
LIMITS = {"ape_top1": 3.6, "distinct_tau": 0.7, "mape": 15.8, "kendall_tau": 0.83}
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
        self.hone("collect", "export", "--db", self.dir / "kernels.db", "--kind", task, "-o", self.dir / task)
        model = ROOT / "data" / "models" / task
        result = self.json(
            "eval", task, self.dir / task, "--split", self.split, "--part", "validation", "--model-file", model
        )
        self.assertEqual([row["program"] for row in result["programs"]], PROGRAMS, json.dumps(result))
        self.assertLess(result["geometric_mean"]["learned"][ERROR[task]], result["mean"]["learned"][ERROR[task]])
        return result["mean"]

    def test_options(self):
        mean = self.evaluated("tile")
        self.assertLess(mean["learned"]["ape_top1"], LIMITS["ape_top1"])
        self.assertLess(mean["learned"]["ape_top1"], mean["xla"]["ape_top1"])
        self.assertGreater(mean["learned"]["distinct_tau"], LIMITS["distinct_tau"])

    def test_run_times(self):
        mean = self.evaluated("fusion")
        self.assertLess(mean["learned"]["mape"], LIMITS["mape"])
        self.assertGreater(mean["learned"]["kendall_tau"], LIMITS["kendall_tau"])
