#!/usr/bin/python3
"""sluice check: what it says of models whose figures are worked out here by hand, and that what it calls buildable is built.

usage: check_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from programs import STAGES, need

PROGRAMS = None


def floats(name, dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def save(path, nodes, inputs, outputs, constants=()):
    initializers = [numpy_helper.from_array(array, name) for name, array in constants]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, initializers), opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    with open(path, "wb") as file:
        file.write(model.SerializeToString())


def save_network(path, batch=1):
    """A convolution, 4x3x3x3 over 8x8 (864 weights), to the engine; Sin to host_cpu; a product of 256 by 10."""
    random = np.random.default_rng(1)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]), helper.make_node("Sin", ["c"], ["s"], "sin"),
             helper.make_node("Flatten", ["s"], ["f"], "flat"), helper.make_node("MatMul", ["f", "v"], ["y"], "dense")]
    constants = [("w", random.standard_normal((4, 3, 3, 3), np.float32)), ("v", random.standard_normal((256, 10), np.float32))]
    save(path, nodes, [floats("x", [batch, 3, 8, 8])], [floats("y", [batch, 10])], constants)


class Check(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = os.path.join(self.folder, "model.onnx")

    def run_program(self, code, name, *arguments):
        result = subprocess.run([os.path.join(PROGRAMS, name), *arguments], capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def check(self, code, *options):
        return self.run_program(code, "sluice-check", *options, self.model)

    def compile(self, code, *options):
        return self.run_program(code, "sluice-compile", "-q", self.model, "-o", os.path.join(self.folder, "out.om"), *options)

    def test_figures(self):
        save_network(self.model)
        report = json.loads(self.check(0, "--format=json", "--profile=cpu-avx2").stdout)
        convolution, product = 4 * 8 * 8 * 3 * 3 * 3, 256 * 10
        self.assertEqual(report["walked_nodes"], 0)
        self.assertEqual(report["inputs"], ["x: f32[1, 3, 8, 8]"])
        self.assertEqual(report["outputs"], ["y: f32[1, 10]"])
        self.assertEqual(report["multiply_adds"], convolution + product)
        self.assertEqual(report["engines"], {"aicore": {"nodes": 2, "multiply_adds": convolution + product}, "host_cpu": {"nodes": 1, "multiply_adds": 0}})
        self.assertEqual(report["host_nodes"], [{"name": "sin", "op": "Sin", "multiply_adds": 0}])
        self.assertEqual(report["weight_bytes"], 4 * (4 * 3 * 3 * 3 + 256 * 10))
        self.assertGreaterEqual(report["arena_bytes"], 2 * 4 * 256)  # the results of conv and sin, at least
        text = self.check(0, "--profile=cpu-avx2").stdout
        for line in ("engine  aicore          2 nodes, 100.0 % of the multiply-adds", "weights 10.7 kB", "Sin                      sin"):
            self.assertIn(line, text)
        self.compile(0)

    def test_open_dimensions_name_the_line_that_fixes_them(self):
        save_network(self.model, "batch")
        text = self.check(0).stdout
        self.assertIn("open dims of inputs can be fixed: --dim batch=1", text)
        self.assertIn("x: f32[batch, 3, 8, 8]", text)
        report = json.loads(self.check(0, "--format=json").stdout)
        self.assertEqual((report["symbolic"], report["walked_nodes"], report["fixing_options"]), (True, 0, "--dim batch=1"))
        self.assertEqual(report["multiply_adds"], json.loads(self.check(0, "--format=json", "--dim=batch=4").stdout)["multiply_adds"])
        fixed = self.check(0, "--dim=batch=2").stdout
        self.assertIn("x: f32[2, 3, 8, 8]", fixed)
        self.assertNotIn("--dim", fixed)
        self.compile(0)
        self.compile(0, "--dim=batch=2")

    def test_all_unsupported_nodes_at_once(self):
        nodes = [helper.make_node(op, ["x"], [op], "node" + op) for op in ("Nonsense", "Relu", "Folly")]
        save(self.model, nodes, [floats("x", [2])], [floats(op, [2]) for op in ("Nonsense", "Relu", "Folly")])
        result = self.check(4)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("error SL"), 1, result.stderr)
        for name in ("Nonsense", "Folly"):
            self.assertIn(name, result.stderr)
        self.assertEqual(json.loads(self.check(4, "--error-format=json").stderr.splitlines()[0])["code"], "SL3002")

    def test_wrong_use(self):
        self.check(3)  # no such file
        with open(self.model, "wb") as file:
            file.write(b"no model")
        self.check(3)
        save_network(self.model)
        for option in ("--format=xml", "--profile=", "--dim=nonsense"):
            self.assertIn("error SL1006", self.check(3, option).stderr)
        self.check(2, "--nonsense")
        graph = os.path.join(self.folder, "typed.sg")
        self.run_program(0, "sluice-preprocess", self.model, "-o", graph)
        self.assertIn("sluice check MODEL.onnx", self.run_program(3, "sluice-show", "--check", graph).stderr)
        self.assertIn("error SL1006", self.run_program(3, "sluice-show", "--check", "--format=dot", graph).stderr)


if __name__ == "__main__":
    PROGRAMS = need(sys.argv.pop(1), ["check", "compile", "show", *STAGES])
    unittest.main(verbosity=2)
