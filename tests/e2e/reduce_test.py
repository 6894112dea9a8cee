#!/usr/bin/python3
"""sluice-reduce on models with a seeded failure.

usage: reduce_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import re
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models import floats, model_of, save, value, write
from programs import ProgramCase, bytes_of, need

BOOL, I64 = TensorProto.BOOL, TensorProto.INT64
DULL = ["Relu", "Sin", "Neg", "Abs", "Cos", "Erf", "Sigmoid"]
# Exits 9 for a Softplus that reads a Tanh, wherever they are.
PAIR = """
import sys, onnx
def look(graph):
    made = {name: node.op_type for node in graph.node for name in node.output}
    for node in graph.node:
        if node.op_type == "Softplus" and made.get(node.input[0]) == "Tanh": sys.exit(9)
        for attribute in node.attribute:
            if attribute.HasField("g"): look(attribute.g)
look(onnx.load(sys.argv[1]).graph)
"""


def chain(count, begin, prefix, special):
    """Nodes one after the other with an Add of something older now and then; `special`: {position:
    operator}."""
    nodes, names = [], [begin]
    for i in range(count):
        name = f"{prefix}{i}"
        nodes.append(helper.make_node(special.get(i, DULL[i % len(DULL)]), [names[-1]], [name]))
        names.append(name)
        if i % 7 == 3 and i not in special and i - 1 not in special:
            nodes.append(helper.make_node("Add", [name, names[max(0, i - 6)]], [name + "s"]))
            names.append(name + "s")
    return nodes, names[-1]


def count(graph):
    return len(graph.node) + sum(count(a.g) for node in graph.node for a in node.attribute
                                 if a.HasField("g"))


class Reduce(ProgramCase):
    def setUp(self):
        super().setUp()
        with open(self.path("pair.py"), "w", encoding="utf-8") as file:
            file.write(PAIR)
        self.pair = ["/usr/bin/python3", self.path("pair.py"), "%"]

    def shrink(self, made, command, options=()):
        done = self.done(0, "sluice-reduce", *options, write(self.path("whole.onnx"), made), "-o",
                         self.path("small.onnx"), "--", *command, timeout=600)
        small = onnx.load(self.path("small.onnx"))
        last = done.stdout.splitlines()[-1]
        self.assertEqual(last, f"{count(small.graph)} of {count(made.graph)} nodes left")
        return small, int(re.search(r"(\d+) runs; ", done.stdout).group(1))

    def is_valid(self, path):
        return self.run_program("sluice-preprocess", path, "-o", "/dev/null").returncode == 0

    def test_a_pair_among_200_nodes(self):
        nodes, last = chain(180, "x", "v", {90: "Tanh", 91: "Softplus"})
        small, runs = self.shrink(model_of(nodes, [floats("x", [4, 6])],
                                           [floats(last, [4, 6]), floats("v20", [4, 6])]),
                                  self.pair)
        self.assertEqual([node.op_type for node in small.graph.node], ["Tanh", "Softplus"])
        self.assertLess(runs, 60)
        self.assertEqual([d.dim_value for d in small.graph.input[0].type.tensor_type.shape.dim],
                         [1, 1])
        self.assertTrue(self.is_valid(self.path("small.onnx")))
        onnx.checker.check_model(small)

    def test_a_pair_in_a_branch_in_a_loop(self):
        inner, inner_last = chain(40, "s", "i", {20: "Tanh", 21: "Softplus"})
        other, other_last = chain(10, "s", "o", {})
        branch = helper.make_node(
            "If", ["c"], ["t"],
            then_branch=helper.make_graph(inner, "then", [], [floats(inner_last)]),
            else_branch=helper.make_graph(other, "else", [], [floats(other_last)]))
        around, around_last = chain(30, "t", "l", {})
        body = helper.make_graph(
            [branch, *around, helper.make_node("Identity", ["more"], ["again"])], "body",
            [value("n", [], I64), value("more", [], BOOL), floats("s", [4, 6])],
            [value("again", [], BOOL), floats(around_last, [4, 6])])
        before, begin = chain(60, "x", "b", {})
        after, last = chain(60, "loop", "a", {})
        loop = helper.make_node("Loop", ["trips", ""], ["loop"], body=body)
        loop.input.append(begin)
        small, _ = self.shrink(model_of([*before, loop, *after],
                                        [floats("x", [4, 6]), value("c", [], BOOL)],
                                        [floats(last, [4, 6])], {"trips": 3}), self.pair)
        self.assertEqual([node.op_type for node in small.graph.node], ["Tanh", "Softplus"])
        self.assertTrue(self.is_valid(self.path("small.onnx")))

    def test_two_nodes_far_apart_among_3000(self):
        nodes, last = chain(2700, "x", "v", {100: "Tanh", 2500: "Softplus"})
        both = ["sh", "-c", "grep -q Tanh % && grep -q Softplus % && exit 9; exit 0"]
        made = model_of(nodes, [floats("x", [4, 6])], [floats(last, [4, 6])])
        small, runs = self.shrink(made, both, ["--exit-code=9"])
        self.assertEqual(sorted(node.op_type for node in small.graph.node), ["Softplus", "Tanh"])
        self.assertLess(runs, 200)

    def test_sizes_and_constants(self):
        nodes = [helper.make_node("Reshape", ["x", "s"], ["r"]),
                 helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0]),
                 helper.make_node("MatMul", ["t", "w"], ["y"])]
        made = model_of(nodes, [floats("x", [32, 64])], [floats("y", [32, 48])],
                        {"w": np.ones((64, 48), np.float32), "s": [64, 32]})
        small, _ = self.shrink(made, ["sh", "-c", "grep -q MatMul % && exit 9; exit 0"])
        self.assertEqual(len(small.graph.node), 1)
        for item in [*small.graph.input]:
            self.assertEqual([d.dim_value for d in item.type.tensor_type.shape.dim], [1, 1])
        for item in small.graph.initializer:
            self.assertEqual(numpy_helper.to_array(item).shape, (1, 1))

    def test_a_node_that_is_refused(self):
        nodes, last = chain(150, "x", "v", {})
        bad = helper.make_node("MatMul", [last, "w"], ["bad"])
        after, end = chain(40, "bad", "a", {})
        made = model_of([*nodes, bad, *after], [floats("x", [4, 6])], [floats(end)],
                        {"w": np.ones((5, 3), np.float32)})
        command = [os.path.join(self.programs, "sluice-preprocess"), "%", "-o", "/dev/null"]
        small, _ = self.shrink(made, command)
        self.assertEqual([node.op_type for node in small.graph.node], ["MatMul"])

    def test_signals_and_no_end(self):
        for length, options, ending in (30, [], "kill -SEGV $$"), (8, ["--timeout=1"], "sleep 60"):
            nodes, last = chain(length, "x", "v", {5: "Tanh"})
            made = model_of(nodes, [floats("x", [4, 6])], [floats(last, [4, 6])])
            small, _ = self.shrink(made, ["sh", "-c", f"grep -q Tanh % || exit 0; {ending}"],
                                   options)
            self.assertEqual([node.op_type for node in small.graph.node], ["Tanh"])

    def test_unsupported(self):
        nodes, last = chain(5, "x", "v", {})
        whole = save(self.path("whole.onnx"), nodes, [floats("x", [4, 6])], [floats(last, [4, 6])])
        before = bytes_of(whole)
        for arguments, code, text in [
                ([whole, "--", "true"], 3, "does not fail"),
                ([whole, "-o", whole, "--", "false"], 3, "whole.onnx"), ([whole], 2, "missing"),
                ([self.path("pair.py"), "--", "false"], 3, "not an ONNX model"),
                ([whole, "--", "no-such-program-here"], 3, "cannot be started"),
                (["--timeout=x", whole, "--", "false"], 3, "--timeout")]:
            done = self.done(code, "sluice-reduce", *arguments)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stderr.count(": error SL"), 1)
        self.assertEqual(bytes_of(whole), before)


if __name__ == "__main__":
    Reduce.programs = need(sys.argv.pop(1), ["reduce", "preprocess"])
    unittest.main()
