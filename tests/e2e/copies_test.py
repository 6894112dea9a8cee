#!/usr/bin/python3
"""What still moves elements in models with Concat and Split, as the loader counts it, and how close
their arenas are to the bytes that are live at once.

usage: copies_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import re
import subprocess
import sys
import unittest

import onnx

from programs import STAGES, ProgramCase, need

# By model and op: at most so many tasks. TransData changes formats: behind the first convolution,
# before the outputs, and in ShuffleNet around the permutations of its channels; a MemCopy there is
# the half of a Split that the next Concat keeps beside another half.
ALLOWED = {
    "densenet121": {"TransData": 1},
    "inception-v3": {"TransData": 1},
    "unet": {"TransData": 2},
    "yolo": {"TransData": 7},
    "shufflenet-v2": {"MemCopy": 13, "TransData": 36, "Transpose": 16},
}
# Results of Concat and Split that loop kernels compute within.
IN_KERNELS = {"yolo": {"/model.22/Split_output_0", "/model.22/Split_output_1",
                       "/model.22/Concat_4_output_0", "output0"}}


class Copies(ProgramCase):
    def test_concat_and_split_are_no_tasks_and_arenas_have_no_gaps(self):
        for model, allowed in ALLOWED.items():
            with self.subTest(model):
                om = self.compile(model)
                self.check_trace(model, om)
                bench = json.loads(self.program(0, "sluice-loader", om, "--bench", "--runs=1",
                                                "--random", "--json", "-q"))
                for op, row in bench["copies"].items():
                    self.assertLessEqual(row["tasks"], allowed.get(op, 0), op)
                arena, live = map(int, re.match(r"arena_bytes (\d+) live_bytes (\d+)",
                                                self.program(0, "sluice-verify", "--memory",
                                                             om)).groups())
                self.assertLessEqual(arena, 1.02 * live)

    def check_trace(self, model, om):
        """Results of Concat and Split are instants of the trace."""
        self.program(0, "sluice-loader", om, "--random", "--trace", self.path("trace.json"), "-q")
        with open(self.path("trace.json")) as file:
            events = json.load(file)["traceEvents"]
        instants = {event["name"] for event in events if event["ph"] == "i"}
        graph = onnx.load(self.path(model + ".onnx"), load_external_data=False).graph
        results = {name for node in graph.node if node.op_type in ("Concat", "Split")
                   for name in node.output}
        self.assertGreater(len(results), 0)
        self.assertEqual(results - instants, IN_KERNELS.get(model, set()))

    def compile(self, model):
        make = os.path.join(os.path.dirname(__file__), "../../scripts/models/make")
        subprocess.run([make, model, "-o", self.folder], check=True, capture_output=True)
        om = self.path(model + ".om")
        self.program(0, "sluice-compile", "-q", "--profile=cpu-avx2", self.path(model + ".onnx"),
                     "-o", om)
        return om


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "loader", "verify", *STAGES])
    unittest.main(verbosity=2)
