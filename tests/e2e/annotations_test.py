#!/usr/bin/python3
"""What annotations of nodes do, from the rules to the results of the compiled model.

usage: annotations_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import sys
import unittest

import numpy as np
from onnx import helper

from models import floats, save
from programs import STAGES, ProgramCase, need

PROFILE = "--profile=cpu-generic"  # runs everywhere


def save_choice(path):
    """An If whose condition is a constant, and true: y = 2 * x; the other branch has -x."""
    def branch(name, node):
        return helper.make_graph([node], name, [], [floats(name + "_y", [4])])

    yes = branch("yes", helper.make_node("Add", ["x", "x"], ["yes_y"], "twice"))
    no = branch("no", helper.make_node("Neg", ["x"], ["no_y"], "negative"))
    node = helper.make_node("If", ["c"], ["y"], "choice", then_branch=yes, else_branch=no)
    save(path, [node], [floats("x", [4])], [floats("y", [4])], {"c": True})


class Annotations(ProgramCase):
    def rules(self, *rules):
        with open(self.path("rules.json"), "w") as file:
            json.dump(rules, file)
        return "--annotate=" + self.path("rules.json")

    def test_an_if_with_a_constant_condition_is_kept(self):
        model, om = self.path("choice.onnx"), self.path("choice.om")
        save_choice(model)
        inputs = self.bindings({"x": np.array([1, -2, 3, 0.5], np.float32)})
        keep = self.rules({"op": "If", "set": {"keep": True}})
        for options, ops in (((), []), ((keep,), ["If"])):
            report = json.loads(self.program(0, "sluice-check", model, PROFILE, "--format=json",
                                             *options))
            self.assertEqual([node["op"] for node in report["host_nodes"]], ops)
            self.program(0, "sluice-compile", "-q", model, "-o", om, PROFILE, *options)
            np.testing.assert_array_equal(self.outputs_of("sluice-loader", om, *inputs)["y"],
                                          np.array([2, -4, 6, 1], np.float32))


if __name__ == "__main__":
    Annotations.programs = need(sys.argv.pop(1), ["check", "compile", "loader", *STAGES])
    unittest.main(verbosity=2)
