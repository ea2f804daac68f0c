"""scripts/check_size.py on small files made for one fault each, and on the project itself."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import check_size  # noqa: E402


def body(lines: int) -> str:
    """Statements that make a function of a line of signature and a closing one `lines` long."""
    return "  x = {1, 2};\n" * (lines - 2)


class CheckSizeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def check(self, name: str, text: str) -> tuple[list[str], list[str]]:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return check_size.check_tree(self.root)

    def assert_fault(self, name: str, text: str, expected: str):
        faults, _ = self.check(name, text)
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(expected, faults[0])


class Files(CheckSizeTest):
    def test_files_of_every_kind_have_a_limit(self):
        for name in ("src/base/a.cc", "src/wire/a.fbs", "src/report/page/a.js", "tests/a.sh", "bench/a.py"):
            with self.subTest(name):
                self.assertEqual(self.check(name, "\n" * 400), ([], []))
                self.assert_fault(name, "\n" * 401, f"{name}: 401 lines, at most 400")
                (self.root / name).unlink()

    def test_texts_and_data_have_none(self):
        self.assertEqual(self.check("tests/cases/a.hlo", "\n" * 500), ([], []))

    def test_a_long_header_is_a_warning(self):
        faults, warnings = self.check("src/base/b.h", "\n" * 151)
        self.assertEqual(faults, [])
        self.assertIn("151 lines in a header", warnings[0])


class Functions(CheckSizeTest):
    def found(self, text: str) -> list[tuple]:
        return [(f.name, f.line, f.lines) for f in check_size.cpp_functions(text)]

    def test_a_function_has_a_limit(self):
        head = "namespace a {\n\nint f(int x,\n      int y) {\n"
        self.assertEqual(self.check("src/base/a.cc", head + body(59) + "}\n}\n"), ([], []))
        self.assert_fault("src/base/a.cc", head + body(60) + "}\n}\n", "src/base/a.cc:3: f has 61 lines, at most 60")

    def test_a_test_case_has_a_higher_one(self):
        head = 'TEST_CASE("a { brace", "[b]") {\n'
        self.assertEqual(self.check("tests/a_test.cc", head + body(80) + "}\n"), ([], []))
        self.assert_fault("tests/a_test.cc", head + body(81) + "}\n", "TEST_CASE has 81 lines, at most 80")

    def test_a_python_function_has_a_limit(self):
        text = "class A:\n    def f(self):\n" + "        pass\n" * 60
        self.assert_fault("scripts/a.py", text, "scripts/a.py:2: f has 61 lines, at most 60")

    def test_functions_of_classes_are_found(self):
        text = """template <class T = std::vector<int>>
class A : public B {
 public:
  explicit A(int x = f(1)) : x_{x}, y_(x) {
    use(x);
  }
  bool operator==(const A&) const = default;
  bool operator<(const A& other) const { return x_ < other.x_; }
  int operator()(int x) { return x; }

 private:
  struct State {
    int a = 0;
    int g() const { return a; }
  };
  int x_{0}, y_ = 1;
};
"""
        names = [("A", 4, 3), ("operator<", 8, 1), ("operator", 9, 1), ("g", 14, 1)]
        self.assertEqual([(n.split("(")[0], line, lines) for n, line, lines in self.found(text)], names)

    def test_what_is_no_function(self):
        text = """#define BEGIN {
extern "C" {
int f();
}
// void g() {
constexpr char kText[] = R"(void h() {
)";
const Row kTable[] = {
    {"a", [](int x) { return x; }},
};
const auto twice = [](int x) {
  return 2 * x;
};
enum class E : int { A, B };
const char kBrace = '{';
auto x = make(Options{.a = 1});
std::vector<int> v{1, 2};
"""
        self.assertEqual(self.found(text), [])

    def test_lambdas_and_blocks_belong_to_their_function(self):
        text = """int f(const std::vector<int>& v) {
  const auto g = [&](int x) {
    return x;
  };
  if (v.empty()) {
    return g({});
  }
  return 1'000;
}
template <class T>
T h(T x) {
  struct Local {
    int y() { return 1; }
  };
  return x;
}
"""
        self.assertEqual(self.found(text), [("f", 1, 9), ("h", 10, 7)])


class Project(CheckSizeTest):
    def test_exit_status_tells(self):
        script = [sys.executable, str(ROOT / "scripts/check_size.py"), "--root", str(self.root)]
        self.check("src/base/a.cc", "\n")
        self.assertEqual(subprocess.run(script, capture_output=True).returncode, 0)
        self.check("src/base/a.cc", "\n" * 401)
        self.assertEqual(subprocess.run(script, capture_output=True).returncode, 1)

    def test_the_project_itself(self):
        faults, _ = check_size.check_tree(ROOT)
        self.assertEqual(faults, [])


if __name__ == "__main__":
    unittest.main()
