"""A product without libhone_learn.so: its commands work, and those that train say in one line what they need."""

import json
import shutil

from cli_case import BUILD, HONE, ROOT, CliTest

EXAMPLES = ROOT / "examples"


class WithoutTorchTest(CliTest):
    def setUp(self):
        super().setUp()
        self.alone = self.dir / "bin" / "hone"
        self.alone.parent.mkdir()
        shutil.copy(HONE, self.alone)
        (self.dir / "bin" / "hone-xla").symlink_to((BUILD / "hone-xla").resolve())
        (self.dir / "data").symlink_to(ROOT / "data")

    def arguments(self, *arguments):
        return [str(self.alone), *map(str, arguments)]

    def test_what_trains_or_evaluates_networks_names_what_to_do(self):
        layouts = ROOT / "data" / "layouts"
        for command in (
            ("gym", "train", "softmax.hlo", "-o", "policy.safetensors"),
            ("train", "layout", layouts, "-o", "layout.safetensors"),
            ("eval", "layout", layouts, "--model-file", ROOT / "data/models/layout/ranker.safetensors"),
            ("go", "train", EXAMPLES / "transformer_block.mlir", "--devices", "gpu2-nvlink"),
            ("go", "place", EXAMPLES / "transformer_block.mlir", "--devices", "gpu2-nvlink", "--iterations", "1"),
        ):
            with self.subTest(command):
                done = self.hone(*command, "-q", code=1)
                self.assertEqual(done.stderr.decode().count("\n"), 1, done.stderr)
                self.assertIn("make train-tools", done.stderr.decode())

    def test_the_shipped_graph_policy_places(self):
        devices = EXAMPLES / "transformer_block.mlir", "--devices", "gpu2-nvlink"
        found = self.json("go", "place", *devices, "-o", "plan.json", "--online", "mine.safetensors")
        self.assertLessEqual(found["seconds"], found["start_seconds"])
        self.assertGreater(found["simulations"], 16 * 4)
        self.assertTrue(json.loads((self.dir / "plan.json").read_text()))
        again = self.json("go", "place", *devices, "--samples", "0", "--online", "mine.safetensors")  # it remembers
        self.assertEqual(again["known_seconds"], found["seconds"])
        for damaged in ("text", [[0]], lambda actions: [[-1] * len(task) for task in actions]):
            with self.subTest(damaged):  # counts as unknown
                self.change_known(self.dir / "mine.safetensors", damaged)
                last = self.json("go", "place", *devices, "--samples", "0", "--online", "mine.safetensors")
                self.assertEqual(last["known_seconds"], found["start_seconds"])
        tasks = "placement,fusion,schedule"
        placed = self.json("place", *devices, "--strategy", "go", "--tasks", tasks)
        self.assertEqual((placed["strategy"], placed["valid"]), ("go", True))
        self.assertLessEqual(placed["step_seconds"], found["start_seconds"])

    @staticmethod
    def change_known(path, value):
        """Replaces what an online policy's file remembers of each graph."""
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        known = json.loads(header["__metadata__"]["known"])
        changed = {key: value(actions) if callable(value) else value for key, actions in known.items()}
        header["__metadata__"]["known"] = json.dumps(changed)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])

    def test_the_shipped_policy_orders(self):
        result = self.json("order", "softmax.hlo", "--budget", "60s", "--max-applications", "30")
        self.assertEqual(result["strategy"], "ppo")
        self.assertTrue(result["verified"])

    def test_the_shipped_ranker_ranks_layouts(self):
        result = self.json("tune", "dot.hlo", "--decide", "layout", "--budget", "3s", "--db", self.db, "-o", "dot.hone")
        self.assertTrue(result["verified"])
        self.assertTrue((self.dir / "dot.hone").is_dir())

    def test_what_is_shipped_predicts_and_places(self):
        self.assertTrue(self.json("predict", "softmax.hlo")["kernels"])
        self.json("place", EXAMPLES / "transformer_block.mlir", "--devices", "gpu2-nvlink")
