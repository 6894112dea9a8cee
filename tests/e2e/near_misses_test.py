#!/usr/bin/python3
"""Rules on graphs that they match, and on graphs that they nearly match: sluice rules why names the
node and the condition.

usage: near_misses_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import sys
import unittest

import numpy as np

from programs import ProgramCase, need
from rule_library import LIBRARY


class NearMisses(ProgramCase):
    def graph(self, text):
        """The text as a graph file. Types that an edit changes are those of operands: results are
        declared without a type, and inferred."""
        with open(self.path("g.txt"), "w", encoding="ascii") as file:
            file.write("sluice 1 typed\n" + text)
        self.done(0, "sluice-as", self.path("g.txt"), "-o", self.path("g.sg"))
        return self.path("g.sg")

    def rules(self, entry):
        with open(self.path("r.rules"), "w", encoding="ascii") as file:
            file.write(entry.rule)
        return self.path("r.rules")

    def why(self, entry, text):
        done = self.done(0, "sluice-rules", "why", "--json", self.rules(entry), self.graph(text))
        return json.loads(done.stdout)[0]

    def values(self, graph):
        folder = graph + ".values"
        self.done(0, "sluice-eval", "--random=7", graph, "--output-dir", folder)
        return np.load(os.path.join(folder, "z.npy"))

    def test_each_rule_computes_the_same(self):
        for entry in LIBRARY.values():
            self.done(0, "sluice-rules", "check", self.rules(entry))

    def test_each_rule_matches_what_is_written_for_it(self):
        for name, entry in LIBRARY.items():
            with self.subTest(name):
                self.assertEqual(len(self.why(entry, entry.graph)["matches"]), 1)
                self.done(0, "sluice-optimize", "--opt-level=O0", "--rules", self.path("r.rules"),
                          self.path("g.sg"), "--stats", self.path("stats.json"), "-o",
                          self.path("o.sg"))
                with open(self.path("stats.json"), encoding="ascii") as file:
                    passes = {row["name"]: row for row in json.load(file)["passes"]}
                self.assertEqual(passes["r.rules"]["rules"][0]["effect_times"], 1)
                values = [self.values(self.path(graph)) for graph in ("g.sg", "o.sg")]
                np.testing.assert_allclose(*values, rtol=0.003, atol=0.003)

    def test_near_misses(self):
        answered = 0
        for name, entry in LIBRARY.items():
            self.assertGreaterEqual(len(entry.misses), 10, name)
            for before, after, node, reason in entry.misses:
                with self.subTest(name, edit=after):
                    self.assertIn(before, entry.graph)
                    found = self.why(entry, entry.graph.replace(before, after))
                    self.assertEqual(found["matches"], [])
                    self.assertIn(reason, found["reason"])
                    if node is not None:
                        self.assertIn(f"'{node}'", found["node"])
                    answered += 1
        self.assertGreaterEqual(answered, 100)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["as", "rules", "optimize", "eval", "diff"])
    unittest.main()
