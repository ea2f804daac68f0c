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
        (self.root / "src").mkdir()

    def write(self, name: str, text: str):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self, name: str, text: str) -> list[str]:
        self.write(name, text)
        return check_layers.check_tree(self.root)

    def assert_clean(self, name: str, text: str):
        self.assertEqual(self.check(name, text), [])

    def assert_fault(self, name: str, text: str, expected: str):
        faults = self.check(name, text)
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(expected, faults[0])


class Ranks(CheckLayersTest):
    def test_lower_rank_and_own_folder_are_fine(self):
        self.assert_clean("src/place/a.cc", '#include "place/a.h"\n#include "search/b.h"\n#include <vector>\n')

    def test_higher_rank_is_a_fault(self):
        self.assert_fault("src/base/a.cc", '#include <vector>\n#include "tune/b.h"\n', "src/base/a.cc:2: tune/b.h")

    def test_same_rank_is_a_fault(self):
        self.assert_fault("src/search/a.cc", '#include "data/b.h"\n', "search (rank 3) may not include data (rank 3)")

    def test_wire_may_include_graph_but_not_the_reverse(self):
        self.assert_clean("src/wire/a.h", '#include "graph/decision.h"\n')
        self.assert_fault("src/graph/a.h", '#include "wire/client.h"\n', "graph (rank 1)")

    def test_src_xla_sees_only_base_graph_wire(self):
        for folder in ("data", "search", "features", "tune"):
            with self.subTest(folder):
                self.assert_fault("src/xla/a.cc", f'#include "{folder}/b.h"\n', "xla (rank 2) may not include")

    def test_stepping_out_of_the_folder_is_a_fault(self):
        self.assert_fault("src/base/a.cc", '#include "../tune/b.h"\n', "steps out")

    def test_commented_includes_do_not_count(self):
        self.assert_clean("src/base/a.cc", '// #include "tune/b.h"\n')

    def test_unknown_folder_is_a_fault(self):
        self.assert_fault("src/misc/a.cc", "\n", "unknown folder")


class Compilers(CheckLayersTest):
    def test_xla_headers_stay_in_src_xla(self):
        for header in ("xla/literal.h", "tsl/platform/errors.h", "absl/status/status.h", "mlir/IR/MLIRContext.h"):
            with self.subTest(header):
                self.assert_fault("src/tune/a.cc", f'#include "{header}"\n', "only src/xla")
                self.assert_fault("src/tune/a.cc", f"#include <{header}>\n", "only src/xla")
        (self.root / "src/tune/a.cc").unlink()
        self.assert_clean("src/xla/a.cc", '#include "xla/literal.h"\n#include "status.h"\n#include "wire/client.h"\n')

    def test_torch_headers_stay_in_src_learn(self):
        self.assert_clean("src/learn/nets/a.h", "#include <torch/torch.h>\n")
        self.assert_fault("src/cost/a.h", "#include <torch/torch.h>\n", "torch's")


class Rooms(CheckLayersTest):
    def test_rooms_include_rooms_of_lower_rank(self):
        self.assert_clean("src/tune/program/a.cc", '#include "tune/kernel/b.h"\n#include "tune/session/c.h"\n')
        self.assert_clean("src/xla/service/a.cc", '#include "measure/b.h"\n#include "xla/service/hlo.pb.h"\n')
        self.assert_clean("src/learn/go/a.cc", '#include "learn/train/b.h"\n#include "learn/nets/c.h"\n')

    def test_never_upwards(self):
        expected = "session (room 0) may not include program (room 2)"
        self.assert_fault("src/tune/session/a.cc", '#include "tune/program/b.h"\n', expected)
        (self.root / "src/tune/session/a.cc").unlink()
        expected = "passes (room 0) may not include decisions (room 1)"
        self.assert_fault("src/xla/passes/a.cc", '#include "decisions/b.h"\n', expected)

    def test_nor_beside(self):
        expected = "agents (room 2) may not include go (room 2)"
        self.assert_fault("src/learn/agents/a.cc", '#include "learn/go/b.h"\n', expected)

    def test_sources_above_the_rooms_include_all_and_headers_none(self):
        self.assert_clean("src/learn/commands.cc", '#include "learn/go/b.h"\n#include "learn/agents/c.h"\n')
        self.assert_fault("src/learn/commands.h", '#include "learn/go/b.h"\n', "a header directly in src/learn")

    def test_unknown_room_is_a_fault(self):
        self.assert_fault("src/tune/bedroom/a.cc", '#include "tune/session/b.h"\n', "src/tune/bedroom: unknown room")


class Links(CheckLayersTest):
    def test_links_are_what_is_included(self):
        self.write("src/graph/a.cc", '#include "base/error.h"\n')
        self.write("src/wire/a.cc", '#include "base/error.h"\n#include "graph/a.h"\n')
        links = "hone_library(base LIBRARIES fmt::fmt)\nhone_library(graph LINKS base)\n"
        self.assert_clean(
            "CMakeLists.txt", links + "hone_library(wire LINKS base graph\n  LIBRARIES z EXCLUDE main.cc)\n"
        )
        self.assert_fault(
            "CMakeLists.txt",
            links + "hone_library(wire LINKS base)\n",
            "wire includes graph (src/wire/a.cc:2) without linking it",
        )
        self.assert_fault(
            "CMakeLists.txt",
            links + "hone_library(wire LINKS base graph data)\n",
            "wire links data without including any of its headers",
        )

    def test_learn_and_xla_say_theirs_in_their_own_files(self):
        self.write("src/learn/nets/a.cc", '#include "base/error.h"\n#include "cost/b.h"\n')
        self.write("src/xla/passes/a.cc", '#include "wire/b.h"\n#include "xla/literal.h"\n')
        self.write("src/xla/CMakeLists.txt", "set(xla_links hone_wire)\n")
        self.assert_clean("src/learn/CMakeLists.txt", "set(learn_links hone_base hone_cost)\n")
        self.assert_fault("src/learn/CMakeLists.txt", "set(learn_links hone_base)\n", "learn includes cost")
        self.write("src/learn/CMakeLists.txt", "set(learn_links hone_base hone_cost)\n")
        self.assert_fault("src/xla/CMakeLists.txt", "set(xla_links hone_base hone_wire)\n", "xla links base")


class Circles(CheckLayersTest):
    def test_a_header_and_its_source_are_one_module(self):
        self.write("src/base/a.h", "\n")
        self.write("src/base/b.h", '#include "base/a.h"\n')
        self.assert_clean("src/base/a.def", "\n")
        self.assert_fault("src/base/a.cc", '#include "base/a.h"\n#include "base/b.h"\n', "base/a -> base/b -> base/a")

    def test_one_long_circle_is_reported_with_its_path(self):
        for name, next_ in (("p", "q"), ("q", "r"), ("r", "s"), ("start", "p")):
            self.write(f"src/base/{name}.h", f'#include "base/{next_}.h"\n')
        expected = "a circle of includes: base/p -> base/q -> base/r -> base/s -> base/p"
        self.assert_fault("src/base/s.cc", '#include "base/p.h"\n', expected)

    def test_src_xla_names_its_headers_from_its_own_folder(self):
        self.write("src/xla/passes/a.h", '#include "passes/b.h"\n#include "status.h"\n')
        self.assert_fault("src/xla/passes/b.cc", '#include "passes/a.h"\n', "xla/passes/a -> xla/passes/b")


class Project(CheckLayersTest):
    def test_exit_status_tells(self):
        script = [sys.executable, str(ROOT / "scripts/check_layers.py"), "--root", str(self.root)]
        self.assert_clean("src/base/a.cc", "\n")
        self.assertEqual(subprocess.run(script, capture_output=True).returncode, 0)
        self.assert_fault("src/base/a.cc", '#include "cli/b.h"\n', "cli")
        self.assertEqual(subprocess.run(script, capture_output=True).returncode, 1)

    def test_the_project_itself(self):
        self.assertEqual(check_layers.check_tree(ROOT), [])


if __name__ == "__main__":
    unittest.main()
