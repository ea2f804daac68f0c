"""hone gym leaderboard: the table of results whose names were written to look like something else."""

import hashlib
import json
import unittest

from cli_case import CliTest
from programs import ELEMENTWISE

AGENT = "me | 9.000 | 99.0 % | 1/1 |`<b>[x](y)\\"


class GymLeaderboardTest(CliTest):
    def setUp(self):
        super().setUp()
        instructions = sum(" = " in line for line in ELEMENTWISE.splitlines())
        program = {
            "name": "elementwise",
            "file": "elementwise.hlo",
            "sha256": hashlib.sha256(ELEMENTWISE.encode()).hexdigest(),
            "instructions": instructions,
        }
        content = {"format": "hone-benchmark-1", "name": "own-v1", "max_passes": 5, "programs": [program]}
        (self.dir / "own-v1.json").write_text(json.dumps(content))
        self.entry = {"program": "elementwise", "passes": [], "instructions": instructions}

    def table(self, agent, *arguments):
        """The last line of the table of one result by `agent`."""
        content = {
            "format": "hone-gym-result-1",
            "agent": agent,
            "benchmark": "own-v1",
            "entries": [self.entry],
        }
        (self.dir / "result.json").write_text(json.dumps(content))
        command = ("gym", "leaderboard", "result.json", "--sets", ".", "--programs", ".", "--quiet")
        return self.hone(*command, *arguments).stdout.decode().splitlines()[-1]

    def test_an_agents_name_forges_no_cell_of_markdown(self):
        row = self.table(AGENT, "--markdown")
        escaped = "me \\| 9.000 \\| 99.0 % \\| 1/1 \\|\\`\\<b>\\[x](y)\\\\"
        self.assertEqual(row, f"| own-v1 | {escaped} | 1.000 | 0.0 % | 1/1 |")

    def test_an_agents_name_stays_in_its_column(self):
        plain = self.table("me")
        forged = self.table("me" + " " * 27 + "9.000x    99.0 %        1/1")
        self.assertEqual(forged, plain)


if __name__ == "__main__":
    unittest.main()
