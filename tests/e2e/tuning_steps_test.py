#!/usr/bin/python3
"""The tuning steps of docs/stages.md: a compile pauses at each of them and goes on with the file
that is there then, unedited or through its text; the product has the bytes of one that never
paused.

usage: tuning_steps_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import glob
import os
import re
import sys
import unittest

from models import make_convolutions, make_mlp
from programs import STAGES, ProgramCase, bytes_of, need

PROFILE = "--profile=cpu-generic"  # runs everywhere
STEPS = ["before_ub_match", "after_ub_match", "after_merge", "before_build", "after_builder"]
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "stages.md")


def steps_of_page():
    """The value of --stop-after by the name of a step."""
    with open(PAGE, encoding="utf-8") as file:
        return dict(re.findall(r"^\| `(\w+)` \| `--stop-after ([\w:-]+)` \|", file.read(), re.M))


class TuningSteps(ProgramCase):
    def setUp(self):
        super().setUp()
        self.model = self.path("model.onnx")

    def compile(self, source, product, *options):
        self.program(0, "sluice-compile", "-q", source, "-o", self.path(product), *options)
        return bytes_of(self.path(product))

    def check(self):
        """Whether each step ends in the product of a compile without a pause."""
        steps = steps_of_page()
        self.assertEqual(list(steps), STEPS)
        whole, paused = self.compile(self.model, "whole.om", PROFILE), set()
        for name, step in steps.items():
            with self.subTest(name):
                paused.add(self.compile(self.model, "paused.sg", PROFILE, "--stop-after", step))
                self.assertEqual(self.compile(self.path("paused.sg"), "resumed.om"), whole)
                self.program(0, "sluice-show", "--header", self.path("paused.sg"), "-o",
                             self.path("edit.txt"))
                self.program(0, "sluice-as", self.path("edit.txt"), "--with",
                             self.path("paused.sg"), "-o", self.path("edited.sg"))
                self.assertEqual(self.compile(self.path("edited.sg"), "edited.om"), whole)
        self.assertEqual(len(paused), len(STEPS), "two steps are one")

    def test_matrix_products(self):
        make_mlp(self.model)
        self.check()

    def test_convolutions(self):
        make_convolutions(self.model)
        self.check()

    def test_subgraphs_to_tune_are_files(self):
        """Before the match each subgraph can be a file, whose lowered form is linked again."""
        make_mlp(self.model)
        whole = self.compile(self.model, "whole.om", PROFILE)
        self.compile(self.model, "paused.sg", PROFILE, "--stop-after",
                     steps_of_page()["before_ub_match"])
        self.program(0, "sluice-partition", self.path("paused.sg"), "--split", self.path("split"))
        root = self.path("split/root.sg")
        parts = sorted(set(glob.glob(self.path("split/*.sg"))) - {root})
        self.assertTrue(parts)
        lowered = []
        for number, part in enumerate(parts):
            lowered.append(self.path(f"{number}.sg"))
            self.program(0, "sluice-subgraph-optimize", part, "-o", lowered[-1])
        self.program(0, "sluice-build", root, *lowered, "-o", self.path("linked.om"))
        self.assertEqual(bytes_of(self.path("linked.om")), whole)


if __name__ == "__main__":
    TuningSteps.programs = need(sys.argv.pop(1), ["as", "compile", "show", *STAGES])
    unittest.main(verbosity=2)
