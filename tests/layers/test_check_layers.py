"""scripts/check_layers.py on small trees made for one fault each, and on the project itself."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import check_layers  # noqa: E402


class CheckLayersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def check(self, name: str, text: str) -> tuple[list[str], list[str]]:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        (self.root / "src").mkdir(exist_ok=True)
        return check_layers.check_tree(self.root)

    def assert_clean(self, name: str, text: str):
        self.assertEqual(self.check(name, text), ([], []))

    def assert_fault(self, name: str, text: str, expected: str):
        faults, _ = self.check(name, text)
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(expected, faults[0])

    def test_lower_rank_and_own_folder_are_fine(self):
        self.assert_clean("src/tune/a.cc", '#include "tune/a.h"\n#include "search/b.h"\n#include <vector>\n')

    def test_higher_rank_is_a_fault(self):
        self.assert_fault("src/base/a.cc", '#include <vector>\n#include "tune/b.h"\n', "src/base/a.cc:2: tune/b.h")

    def test_same_rank_is_a_fault(self):
        self.assert_fault("src/search/a.cc", '#include "data/b.h"\n', "search (rank 3) may not include data (rank 3)")

    def test_wire_may_include_graph_but_not_the_reverse(self):
        self.assert_clean("src/wire/a.h", '#include "graph/decision.h"\n')
        self.assert_fault("src/graph/a.h", '#include "wire/client.h"\n', "graph (rank 1)")

    def test_xla_headers_stay_in_src_xla(self):
        for header in ("xla/literal.h", "tsl/platform/errors.h", "absl/status/status.h", "mlir/IR/MLIRContext.h"):
            with self.subTest(header):
                self.assert_fault("src/tune/a.cc", f'#include "{header}"\n', "only src/xla")
                self.assert_fault("src/tune/a.cc", f"#include <{header}>\n", "only src/xla")
        (self.root / "src/tune/a.cc").unlink()
        self.assert_clean("src/xla/a.cc", '#include "xla/literal.h"\n#include "session.h"\n#include "wire/client.h"\n')

    def test_src_xla_sees_only_base_graph_wire(self):
        for folder in ("data", "search", "features", "tune"):
            with self.subTest(folder):
                self.assert_fault("src/xla/a.cc", f'#include "{folder}/b.h"\n', "xla (rank 2) may not include")

    def test_torch_headers_stay_with_the_models(self):
        self.assert_clean("src/models/a.h", "#include <torch/torch.h>\n")
        (self.root / "src/models/a.h").unlink()
        self.assert_fault("src/search/a.h", "#include <torch/torch.h>\n", "torch's")

    def test_stepping_out_of_the_folder_is_a_fault(self):
        self.assert_fault("src/base/a.cc", '#include "../tune/b.h"\n', "steps out")

    def test_commented_includes_do_not_count(self):
        self.assert_clean("src/base/a.cc", '// #include "tune/b.h"\n')

    def test_unknown_folder_is_a_fault(self):
        self.assert_fault("src/misc/a.cc", "\n", "unknown folder")

    def test_length_limits(self):
        self.assert_clean("src/base/a.cc", "\n" * 500)
        self.assert_fault("src/base/a.cc", "\n" * 501, "501 lines")
        faults, warnings = self.check("src/base/b.h", "\n" * 151)
        self.assertEqual(len(faults), 1)
        self.assertIn("151 lines in a header", warnings[0])

    def test_tests_have_the_same_length_limit(self):
        self.assert_fault("tests/a_test.cc", "\n" * 501, "501 lines")

    def test_exit_status_tells(self):
        script = [sys.executable, str(ROOT / "scripts/check_layers.py"), "--root", str(self.root)]
        self.assert_clean("src/base/a.cc", "\n")
        self.assertEqual(subprocess.run(script, capture_output=True).returncode, 0)
        self.assert_fault("src/base/a.cc", '#include "cli/b.h"\n', "cli")
        self.assertEqual(subprocess.run(script, capture_output=True).returncode, 1)

    def test_the_project_itself(self):
        faults, _ = check_layers.check_tree(ROOT)
        self.assertEqual(faults, [])


if __name__ == "__main__":
    unittest.main()
