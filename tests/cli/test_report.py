"""hone report from outside: the page in a real browser, the trace, and errors for invalid packages.

Tunes one small program, then opens its report in headless Chromium. Tests that need the browser are skipped with a
message without it. Needs only the standard library and, for those tests, the Debian package chromium.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser
from cli_case import HONE, own_environment
from programs import TWO_KERNELS

LOOKS = [(width, dark) for width in (1280, 400) for dark in (False, True)]


def hone(folder, *arguments):
    command = [str(HONE), *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, env=own_environment(folder), capture_output=True, timeout=300, check=False
    )


# Shared by all tests: the folder with the tuned program's package and page, and the output of the commands.
made = {}


def setUpModule():
    if not HONE.exists():
        raise unittest.SkipTest(f"SKIPPED: {HONE} is missing, build it first")
    made["folder"] = tempfile.TemporaryDirectory(prefix="hone-report-test-")
    unittest.addModuleCleanup(made["folder"].cleanup)
    folder = made["dir"] = pathlib.Path(made["folder"].name)
    (folder / "two.hlo").write_text(TWO_KERNELS)
    done = hone(folder, "tune", "two.hlo", "--threads", "1", "--budget", "12s", "--db", "two.db", "-q")
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    done = hone(folder, "report", "two.hone", "--db", "two.db", "--trace", "two.pftrace", "--json")
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    made["summary"] = json.loads(done.stdout)
    made["report"] = json.loads((folder / "two.hone/report.json").read_text())


class Tuned(unittest.TestCase):
    def setUp(self):
        self.dir, self.summary, self.report = made["dir"], made["summary"], made["report"]


class ReportTest(Tuned):
    def package(self, name):
        """A copy of the package to damage."""
        copy = self.dir / name
        shutil.copytree(self.dir / "two.hone", copy)
        self.addCleanup(shutil.rmtree, copy, ignore_errors=True)
        return copy

    def refuse(self, *arguments, code=2, says=""):
        before = sorted(path.name for path in self.dir.iterdir())
        done = hone(self.dir, "report", *arguments)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        self.assertEqual(done.stderr.decode().count("\n"), 1, done.stderr.decode())
        self.assertIn(says, done.stderr.decode())
        self.assertEqual(done.stdout, b"")
        self.assertEqual(sorted(path.name for path in self.dir.iterdir()), before)  # nothing written

    def test_summary(self):
        self.assertEqual(self.summary["output"], "two.html")
        self.assertEqual(self.summary["bytes"], (self.dir / "two.html").stat().st_size)
        self.assertTrue(self.summary["graphs"])
        self.assertTrue(self.summary["profiled"])
        self.assertGreater(self.summary["candidates"], 3)
        self.assertGreater((self.dir / "two.pftrace").stat().st_size, 500)

    def test_the_timeline_is_whole(self):
        timeline = self.report["timeline"]
        self.assertEqual({trial["scope"] for trial in timeline} - {"kernel", "program", "lower"}, set())
        for before, after in zip(timeline, timeline[1:], strict=False):
            self.assertLessEqual(before["end_s"], after["start_s"])
        self.assertTrue(any(trial.get("confirms") for trial in timeline))

    def test_bad_packages_leave_nothing(self):
        self.refuse("nothing.hone", "-o", "x.html", says="not a package")
        self.refuse("two.hlo", "-o", "x.html", says="not a package")
        damages = {"{": "not JSON", "[]": "damaged", '{"program": 3}': "'program'", '{"program": "p"}': "'fingerprint'"}
        for text, says in damages.items():
            (self.package("bad.hone") / "report.json").write_text(text)
            self.refuse("bad.hone", "-o", "x.html", "--trace", "x.pftrace", says=says)
            shutil.rmtree(self.dir / "bad.hone")
        (self.package("bad.hone") / "report.json").unlink()
        self.refuse("bad.hone", "-o", "x.html", says="no report.json")

    def test_old_packages_have_a_page_but_no_trace(self):
        old = dict(self.report)
        del old["timeline"]
        (self.package("old.hone") / "report.json").write_text(json.dumps(old))
        done = hone(self.dir, "report", "old.hone", "-o", "old.html", "--no-graph", "--json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        (self.dir / "old.html").unlink()
        self.refuse("old.hone", "-o", "old.html", "--trace", "old.pftrace", says="no timeline")

    def test_only_reports_are_replaced(self):
        (self.dir / "notes.html").write_text("mine")
        self.refuse("two.hone", "-o", "notes.html", says="no report of ours")
        self.assertEqual((self.dir / "notes.html").read_text(), "mine")
        shutil.copy(self.dir / "two.html", self.dir / "notes.html")
        again = hone(self.dir, "report", "two.hone", "-o", "notes.html", "--no-graph")
        self.assertEqual(again.returncode, 0, again.stderr.decode())
        (self.dir / "notes.html").unlink()

    def test_a_named_database_must_exist(self):
        self.refuse("two.hone", "-o", "x.html", "--db", "nowhere.db", says="no database")


@unittest.skipUnless(browser.program(), "SKIPPED: no Chromium here (Debian package chromium)")
class PageTest(Tuned):
    """The page in a browser."""

    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def open(self, width=1280, dark=False):
        self.browser.open(self.dir / "two.html", width, dark)

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])
        outside = [url for url in self.browser.requests if not url.startswith(("file:", "data:"))]
        self.assertEqual(outside, [])

    def test_nothing_sticks_out(self):
        for width, dark in LOOKS:
            self.open(width, dark)
            inner, shown = self.browser.run(
                "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
            )
            self.assertLessEqual(inner, shown, f"at {width} pixels")
            self.assertLessEqual(shown, width)
            for part in ("decisions", "profile", "kernels", "tiles", "fusion", "search", "predictions", "about"):
                box = self.browser.run(
                    f"(b => [b.left, b.right, b.height])(document.getElementById('{part}').getBoundingClientRect())"
                )
                self.assertGreaterEqual(box[0], 0, part)
                self.assertLessEqual(box[1], width, part)
                self.assertGreater(box[2], 20, part)

    def test_both_themes_can_be_read(self):
        for dark in (False, True):
            self.open(1280, dark)
            paper, ink, soft = self.browser.run(
                "(s => [s.backgroundColor, s.color, getComputedStyle(document.querySelector('.lead')).color])"
                "(getComputedStyle(document.body))"
            )
            self.assertEqual(luminance(paper) < 0.1, dark)
            self.assertGreater(contrast(paper, ink), 12)
            self.assertGreater(contrast(paper, soft), 4.5)

    def test_the_table_sorts(self):
        self.open()
        column = "[...document.querySelectorAll('#kernel-table tbody tr')].map(r => r.cells[%d].innerText)"
        rows = self.browser.run("document.querySelectorAll('#kernel-table tbody tr').length")
        self.assertGreater(rows, 1)
        state = "document.querySelector('[data-column=%s]').parentElement.getAttribute('aria-sort')"
        self.assertEqual(self.browser.run(state % "share"), "descending")
        self.browser.click("[data-column=kernel]")
        self.assertEqual(self.browser.run(state % "kernel"), "ascending")
        self.assertEqual(self.browser.run(state % "share"), "none")
        names = self.browser.run(column % 0)
        self.assertEqual(names, sorted(names))
        self.browser.click("[data-column=kernel]")
        self.assertEqual(self.browser.run(column % 0), sorted(names, reverse=True))
        self.browser.click("[data-column=gain]")
        gains = [float(text.rstrip("×")) for text in self.browser.run(column % 5)]
        self.assertEqual(gains, sorted(gains, reverse=True))

    def test_the_page_tells_the_story(self):
        self.open()
        text = self.browser.run("document.body.innerText")
        self.assertIn("two", text)
        self.assertIn("Outputs verified", text)
        self.assertIn("no model was asked", text)
        self.assertIn("XLA’s own profiler", text)
        self.assertGreater(self.browser.run("document.querySelectorAll('#profile .stack span').length"), 2)
        if self.report["decisions"]:
            self.assertIn(f"{self.report['speedup']:.2f}×", text)
        circles = self.browser.run("document.querySelectorAll('#search circle').length")
        self.assertGreater(circles, 1)

    def test_a_map_for_every_kernel_with_measured_tiles(self):
        self.open()
        tiles = {}
        for trial in self.report["timeline"]:
            if trial["scope"] == "kernel" and trial["what"].startswith("tile=") and ";" not in trial["what"]:
                tiles.setdefault(trial["kernel"], set()).add(trial["what"])
        mapped = {kernel for kernel, values in tiles.items() if len(values) > 1}
        found = self.browser.run("[...document.querySelectorAll('#tiles figure')].map(f => f.dataset.kernel)")
        self.assertEqual(set(found), mapped)
        cells = self.browser.run("document.querySelectorAll('#tiles rect[data-tip]').length")
        self.assertGreaterEqual(cells, 2 * len(mapped))

    def test_the_graphs_move(self):
        self.open()
        drawn = (
            "views.map(v => new Set(v.canvas.getContext('2d')"
            ".getImageData(0, 0, v.canvas.width, v.canvas.height).data).size)"
        )
        for colours in self.browser.run(drawn):
            self.assertGreater(colours, 4)  # something is on the canvas
        scale = self.browser.run("views[0].scale")
        self.browser.click("#fusion .zoom button:nth-child(2)")
        self.assertGreater(self.browser.run("views[0].scale"), scale)
        self.browser.click("#fusion .zoom button:nth-child(3)")
        self.assertAlmostEqual(self.browser.run("views[0].scale"), scale, places=6)
        self.browser.run("(document.querySelector('#fusion input').value = 'reduce', 0)")
        self.browser.click("#fusion .tools button")
        self.assertIn("in tuned", self.browser.run("document.querySelector('.about-node').innerText"))
        self.browser.click("#kernel-table tbody button.name")
        self.assertIn("is in", self.browser.run("document.querySelector('.about-node').innerText"))

    def test_large_graphs_draw_what_is_in_view(self):
        self.open()
        all_of_it, near, labels = self.browser.run(
            """(() => {
              const graph = {nodes: [], edges: [], parts: [], width: 7200, height: 7200, box_height: 38,
                             instructions: 6000, fusions: 0, fused: 0};
              for (let i = 0; i < 6000; ++i) {
                const place = {x: (i % 60) * 120, y: Math.floor(i / 60) * 72, w: 100};
                graph.nodes.push({name: 'kernel.' + i, op: 'fusion', shape: 'f32[8]', ...place});
                if (i >= 60) graph.edges.push([i - 60, i]);
              }
              const view = new GraphView(graph, graph, 'large'), paint = view.paint_node;
              document.body.append(view.canvas);
              view.resize();
              let drawn = 0, labels = 0;
              view.paint_node = (...args) => { ++drawn; paint.apply(view, args); };
              view.elided = () => { ++labels; return ''; };
              const count = () => { drawn = labels = 0; view.paint(); return [drawn, labels]; };
              view.fit();
              const [all, unread] = count();
              view.centre(graph.nodes[3000]);
              const [near] = count();
              view.canvas.remove();
              return [all, near, unread];
            })()"""
        )
        self.assertEqual(all_of_it, 6000)
        self.assertEqual(labels, 0)  # too small to read: not drawn
        self.assertLess(near, 200)
        self.assertGreater(near, 5)


def luminance(colour):
    """Of "rgb(r, g, b)", by the definition of WCAG 2."""
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


if __name__ == "__main__":
    unittest.main()
