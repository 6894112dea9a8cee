#!/usr/bin/python3
"""The real stages are programs of their own: no stage holds code of another, and each runs alone.

usage: pipe_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from programs import STAGES, need

PROFILE = "cpu-generic"  # runs everywhere
PROGRAMS = None


def program(name):
    return os.path.join(PROGRAMS, "sluice-" + name)


def floats(name, *dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def save_model(path, nodes, inputs, outputs, weights):
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, constants),
                              opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    with open(path, "wb") as file:
        file.write(model.SerializeToString())


def make_mlp(path):
    random = np.random.default_rng(1)
    weights = {"w1": random.standard_normal((16, 64), np.float32),
               "b1": random.standard_normal(64, np.float32),
               "w2": random.standard_normal((64, 10), np.float32),
               "b2": random.standard_normal(10, np.float32)}
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], "fc1"),
             helper.make_node("Relu", ["h"], ["a"], "act"),
             helper.make_node("Gemm", ["a", "w2", "b2"], ["y"], "fc2")]
    save_model(path, nodes, [floats("x", 2, 16)], [floats("y", 2, 10)], weights)


def make_convolutions(path):
    random = np.random.default_rng(2)
    weights = {"w%d" % k: 0.3 * random.standard_normal((8, 3 if k == 1 else 8, 3, 3), np.float32)
               for k in (1, 2, 3)}
    nodes = [helper.make_node("Conv", ["x", "w1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
             helper.make_node("Conv", ["r1", "w2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
             helper.make_node("Add", ["c2", "r1"], ["s"], "add"),
             helper.make_node("Conv", ["s", "w3"], ["y"], "conv3", strides=[2, 2])]
    save_model(path, nodes, [floats("x", 1, 3, 12, 12)], [floats("y", 1, 8, 5, 5)], weights)


@unittest.skipUnless(shutil.which("nm"), "nm is not installed")
class Isolation(unittest.TestCase):
    """A stage's own symbols are those that only its libraries define."""

    def symbols(self, path, *options):
        text = subprocess.run(["nm", "--defined-only", *options, path], capture_output=True,
                              text=True, check=True).stdout
        return {line.split()[2] for line in text.splitlines() if len(line.split()) == 3 and
                line.split()[1] in "TDBR"}

    def test_no_stage_holds_symbols_of_another(self):
        libraries = {stage: glob.glob(os.path.join(PROGRAMS, "../stages", stage, "**/lib*.a"),
                                      recursive=True) for stage in STAGES}
        own = {stage: set().union(*(self.symbols(path, "-g") for path in paths))
               for stage, paths in libraries.items()}
        for stage in STAGES:
            self.assertTrue(own[stage], stage)
            inside = self.symbols(program(stage))
            self.assertTrue(inside & own[stage], stage)
            for other in STAGES:
                if other != stage:
                    self.assertEqual(inside & own[other], set(),
                                     "%s holds code of %s" % (stage, other))


class Pipe(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def bytes_of(self, path):
        with open(path, "rb") as file:
            return file.read()

    def run_program(self, *arguments, cwd=None):
        result = subprocess.run(arguments, capture_output=True, text=True, timeout=300, cwd=cwd)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def compile(self, source, *options):
        self.run_program(program("compile"), source, "-o", self.path("compiled.om"), *options)
        return self.bytes_of(self.path("compiled.om"))

    def test_each_stage_runs_alone_in_an_empty_folder(self):
        """From a copy of its program, with nothing else of Sluice beside it and nothing in PATH."""
        make_convolutions(self.path("model.onnx"))
        source = self.path("model.onnx")
        for k, stage in enumerate(STAGES):
            alone = self.path(stage)
            os.mkdir(alone)
            shutil.copy(program(stage), alone)
            options = ["--profile=" + PROFILE] if k == 0 else []
            subprocess.run([os.path.join(alone, "sluice-" + stage), *options, source, "-o", "out"],
                           cwd=alone, env={}, check=True, timeout=300)
            source = os.path.join(alone, "out")
        self.run_program(program("verify"), source)
        self.assertTrue(self.bytes_of(source) == self.compile(self.path("model.onnx"),
                                                              "--profile=" + PROFILE))


if __name__ == "__main__":
    PROGRAMS = need(sys.argv.pop(1), ["compile", "verify", *STAGES])
    unittest.main(verbosity=2)
