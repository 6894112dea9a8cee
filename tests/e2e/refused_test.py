#!/usr/bin/python3
"""What this release cannot do as a user asked is refused before anything is written, by compile and
by check in the same words, and all of a model at once: engines that an annotation names, stream
control, engines that a profile only describes.

usage: refused_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import re
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from models import constant, floats, model_of_graph, value, write
from programs import STAGES, ProgramCase, need

PROFILE = "--profile=cpu-generic"  # runs everywhere


def without_place(error):
    """The text of an error without the program and the pass that found it."""
    return re.sub(r"^sluice-[a-z-]+: (error SL[0-9]+: )([a-z-]+: )?", r"\1", error)


WEIGHTS = [constant("w", np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4))]


def network(*more):
    """Relu, Exp and a product of f32[2, 8] by 8x4; `more` nodes after them."""
    nodes = [helper.make_node("Relu", ["x"], ["a"], "first"),
             helper.make_node("Exp", ["a"], ["b"], "second"),
             helper.make_node("MatMul", ["b", "w"], ["y"], "third"), *more]
    return helper.make_graph(nodes, "g", [floats("x", [2, 8])], [floats("y", [2, 4])], WEIGHTS)


def choice():
    """An If with a product and a Relu in each branch, which an optimizer may fuse."""
    def branch(name):
        nodes = [helper.make_node("MatMul", ["x", "w"], [name + "_m"], name + "_product"),
                 helper.make_node("Relu", [name + "_m"], [name + "_y"], name + "_relu")]
        return helper.make_graph(nodes, name, [], [floats(name + "_y", [2, 4])])

    node = helper.make_node("If", ["c"], ["y"], "choice", then_branch=branch("yes"),
                            else_branch=branch("no"))
    inputs = [floats("x", [2, 8]), value("c", [], TensorProto.BOOL)]
    return helper.make_graph([node], "g", inputs, [floats("y", [2, 4])], WEIGHTS)


class Refused(ProgramCase):
    def save(self, graph):
        write(self.path("model.onnx"), model_of_graph(graph, domains={"sluice": 1}))

    def write(self, name, what):
        with open(self.path(name), "w") as file:
            json.dump(what, file)
        return self.path(name)

    def annotate(self, engines):
        return "--annotate=" + self.write("rules.json", [{"node": node, "set": {"engine": engine}}
                                                         for node, engine in engines.items()])

    def compile(self, code, *options):
        return self.program(code, "sluice-compile", "-q", self.path("model.onnx"), "-o",
                            self.path("model.om"), *options)

    def both(self, *options):
        """What compile and check print when they refuse the model."""
        printed = self.compile(4, *options)
        self.assertFalse(os.path.exists(self.path("model.om")))
        checked = self.program(4, "sluice-check", self.path("model.onnx"), *options)
        self.assertEqual(without_place(checked), without_place(printed))
        self.assertEqual(printed.count("error SL"), 1, printed)
        return printed

    def test_engines_of_annotations(self):
        self.save(network())
        printed = self.both(PROFILE,
                            self.annotate({"first": "rts", "second": "aicore", "third": "dvpp"}))
        for line in ("SL4001",
                     "'first' (Relu) of f32: annotated with engine rts: only memory copies",
                     "'second' (Exp) of f32: annotated with engine aicore: Exp is no contraction",
                     "'third' (MatMul) of f32: annotated with engine dvpp: profile 'cpu-generic' "
                     "has no such engine"):
            self.assertIn(line, printed)

    def test_engines_that_support_the_node_are_taken(self):
        self.save(network())
        self.compile(0, PROFILE, self.annotate({"first": "host_cpu", "third": "host_cpu"}))
        printed = self.program(0, "sluice-check", self.path("model.onnx"), PROFILE, "--format=json",
                               self.annotate({"*": "host_cpu"}))
        self.assertEqual(list(json.loads(printed)["engines"]), ["host_cpu"])
        self.program(0, "sluice-loader", self.path("model.om"), "--random")

    def test_engines_inside_control_flow(self):
        self.save(choice())
        self.compile(0, PROFILE)
        os.remove(self.path("model.om"))
        printed = self.both(PROFILE, self.annotate({"yes_*": "aicore"}))
        self.assertIn("annotated with engine aicore: it runs where node 'choice' (If) runs, on "
                      "host_cpu", printed)

    def test_engines_that_a_profile_describes(self):
        self.save(network())
        with open(os.path.join(os.path.dirname(__file__),
                               "../../common/target/profiles/cpu-generic.json")) as file:
            profile = json.load(file)
        for member, value in (
                ("described_engines", [{"name": "simd", "cost": 2, "ops": ["Relu"]}]),
                ("described_engines", [{"name": "simd", "cost": 2, "ops": []}]),
                ("composites", [{"name": "aicore+simd", "members": ["aicore", "host_cpu"]}])):
            printed = self.both("--profile=" + self.write("study.json", {**profile, "name": "study",
                                                                         member: value}))
            for word in ("SL5002", "device profile 'study'", "simd", "sluice-partition alone"):
                self.assertIn(word, printed)
        self.compile(0, "--profile=" + self.write("plain.json", {**profile, "name": "plain"}))


if __name__ == "__main__":
    Refused.programs = need(sys.argv.pop(1), ["check", "compile", "loader", *STAGES])
    unittest.main(verbosity=2)
