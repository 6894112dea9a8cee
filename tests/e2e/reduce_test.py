#!/usr/bin/python3
"""sluice-reduce on models with a seeded failure.

usage: reduce_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BIN = None
F32, BOOL, I64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
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


def tensor(name, dims, kind=F32):
    return helper.make_tensor_value_info(name, kind, dims)


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


def model(nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "whole", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def count(graph):
    return len(graph.node) + sum(count(a.g) for node in graph.node for a in node.attribute
                                 if a.HasField("g"))


class Reduce(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        with open(self.place("pair.py"), "w", encoding="utf-8") as file:
            file.write(PAIR)
        self.pair = ["/usr/bin/python3", self.place("pair.py"), "%"]

    def place(self, name):
        return os.path.join(self.folder.name, name)

    def reduce(self, *arguments):
        return subprocess.run([os.path.join(BIN, "sluice-reduce"), *arguments], capture_output=True,
                              text=True, check=False)

    def shrink(self, made, command, options=()):
        with open(self.place("whole.onnx"), "wb") as file:
            file.write(made.SerializeToString())
        done = self.reduce(*options, self.place("whole.onnx"), "-o", self.place("small.onnx"), "--",
                           *command)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        small = onnx.load(self.place("small.onnx"))
        last = done.stdout.splitlines()[-1]
        self.assertEqual(last, f"{count(small.graph)} of {count(made.graph)} nodes left")
        return small, int(re.search(r"(\d+) runs; ", done.stdout).group(1))

    def is_valid(self, path):
        return subprocess.run([os.path.join(BIN, "sluice-preprocess"), path, "-o", "/dev/null"],
                              capture_output=True, check=False).returncode == 0

    def test_a_pair_among_200_nodes(self):
        nodes, last = chain(180, "x", "v", {90: "Tanh", 91: "Softplus"})
        small, runs = self.shrink(model(nodes, [tensor("x", [4, 6])],
                                        [tensor(last, [4, 6]), tensor("v20", [4, 6])]), self.pair)
        self.assertEqual([node.op_type for node in small.graph.node], ["Tanh", "Softplus"])
        self.assertLess(runs, 60)
        self.assertEqual([d.dim_value for d in small.graph.input[0].type.tensor_type.shape.dim],
                         [1, 1])
        self.assertTrue(self.is_valid(self.place("small.onnx")))
        onnx.checker.check_model(small)

    def test_a_pair_in_a_branch_in_a_loop(self):
        inner, inner_last = chain(40, "s", "i", {20: "Tanh", 21: "Softplus"})
        other, other_last = chain(10, "s", "o", {})
        branch = helper.make_node(
            "If", ["c"], ["t"],
            then_branch=helper.make_graph(inner, "then", [], [tensor(inner_last, None)]),
            else_branch=helper.make_graph(other, "else", [], [tensor(other_last, None)]))
        around, around_last = chain(30, "t", "l", {})
        body = helper.make_graph(
            [branch, *around, helper.make_node("Identity", ["more"], ["again"])], "body",
            [tensor("n", [], I64), tensor("more", [], BOOL), tensor("s", [4, 6])],
            [tensor("again", [], BOOL), tensor(around_last, [4, 6])])
        before, begin = chain(60, "x", "b", {})
        after, last = chain(60, "loop", "a", {})
        loop = helper.make_node("Loop", ["trips", ""], ["loop"], body=body)
        trips = numpy_helper.from_array(np.array(3, np.int64), "trips")
        loop.input.append(begin)
        small, _ = self.shrink(model([*before, loop, *after],
                                     [tensor("x", [4, 6]), tensor("c", [], BOOL)],
                                     [tensor(last, [4, 6])], [trips]), self.pair)
        self.assertEqual([node.op_type for node in small.graph.node], ["Tanh", "Softplus"])
        self.assertTrue(self.is_valid(self.place("small.onnx")))

    def test_two_nodes_far_apart_among_3000(self):
        nodes, last = chain(2700, "x", "v", {100: "Tanh", 2500: "Softplus"})
        both = ["sh", "-c", "grep -q Tanh % && grep -q Softplus % && exit 9; exit 0"]
        small, runs = self.shrink(model(nodes, [tensor("x", [4, 6])], [tensor(last, [4, 6])]), both,
                                  ["--exit-code=9"])
        self.assertEqual(sorted(node.op_type for node in small.graph.node), ["Softplus", "Tanh"])
        self.assertLess(runs, 200)

    def test_sizes_and_constants(self):
        weight = numpy_helper.from_array(np.ones((64, 48), np.float32), "w")
        shape = numpy_helper.from_array(np.array([64, 32], np.int64), "s")
        nodes = [helper.make_node("Reshape", ["x", "s"], ["r"]),
                 helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0]),
                 helper.make_node("MatMul", ["t", "w"], ["y"])]
        small, _ = self.shrink(model(nodes, [tensor("x", [32, 64])], [tensor("y", [32, 48])],
                                     [weight, shape]),
                               ["sh", "-c", "grep -q MatMul % && exit 9; exit 0"])
        self.assertEqual(len(small.graph.node), 1)
        for item in [*small.graph.input]:
            self.assertEqual([d.dim_value for d in item.type.tensor_type.shape.dim], [1, 1])
        for item in small.graph.initializer:
            self.assertEqual(numpy_helper.to_array(item).shape, (1, 1))

    def test_a_node_that_is_refused(self):
        nodes, last = chain(150, "x", "v", {})
        bad = helper.make_node("MatMul", [last, "w"], ["bad"])
        after, end = chain(40, "bad", "a", {})
        weight = numpy_helper.from_array(np.ones((5, 3), np.float32), "w")
        command = [os.path.join(BIN, "sluice-preprocess"), "%", "-o", "/dev/null"]
        small, _ = self.shrink(model([*nodes, bad, *after], [tensor("x", [4, 6])],
                                     [tensor(end, None)], [weight]), command)
        self.assertEqual([node.op_type for node in small.graph.node], ["MatMul"])

    def test_signals_and_no_end(self):
        for length, options, ending in (30, [], "kill -SEGV $$"), (8, ["--timeout=1"], "sleep 60"):
            nodes, last = chain(length, "x", "v", {5: "Tanh"})
            made = model(nodes, [tensor("x", [4, 6])], [tensor(last, [4, 6])])
            small, _ = self.shrink(made, ["sh", "-c", f"grep -q Tanh % || exit 0; {ending}"],
                                   options)
            self.assertEqual([node.op_type for node in small.graph.node], ["Tanh"])

    def test_unsupported(self):
        nodes, last = chain(5, "x", "v", {})
        whole = self.place("whole.onnx")
        onnx.save(model(nodes, [tensor("x", [4, 6])], [tensor(last, [4, 6])]), whole)
        with open(whole, "rb") as file:
            before = file.read()
        for arguments, code, text in [
                ([whole, "--", "true"], 3, "does not fail"),
                ([whole, "-o", whole, "--", "false"], 3, "whole.onnx"), ([whole], 2, "missing"),
                ([self.place("pair.py"), "--", "false"], 3, "not an ONNX model"),
                ([whole, "--", "no-such-program-here"], 3, "cannot be started"),
                (["--timeout=x", whole, "--", "false"], 3, "--timeout")]:
            done = self.reduce(*arguments)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stderr.count(": error SL"), 1)
        with open(whole, "rb") as file:
            self.assertEqual(file.read(), before)


if __name__ == "__main__":
    BIN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
