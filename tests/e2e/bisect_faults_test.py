#!/usr/bin/python3
"""sluice bisect names the pass after which a fault was planted, whichever pass and fault: pairs are
drawn, in a build of the preset `faults` (docs/bisect.md).

usage: bisect_faults_test.py FOLDER_OF_PROGRAMS [--count N] [--seed N] [unittest arguments]
"""
import argparse
import json
import os
import random
import sys
import unittest

import numpy as np
from onnx import helper

import models
from models import floats
from programs import STAGES, ProgramCase, need

KINDS = ["", "operands", "constant", "attribute", "input", "op"]
NO_SUCH_EDIT = "no edit of this kind"
MAX_DRAWS = 30  # for one fault that can be planted
OPTIONS = argparse.Namespace(count=20, seed=1)


def weights(*dims):
    return np.random.default_rng(len(dims) + sum(dims)).standard_normal(dims, np.float32) / 3


def make_transformer(path):
    """Attention, layer normalisations and a GELU as exporters write them."""
    node = helper.make_node
    nodes = [node("MatMul", ["x", "wq"], ["q"]), node("MatMul", ["x", "wk"], ["k"]),
             node("MatMul", ["x", "wv"], ["v"]), node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
             node("MatMul", ["q", "kt"], ["s"]), node("Mul", ["s", "scale"], ["scaled"]),
             node("Softmax", ["scaled"], ["p"], axis=-1), node("MatMul", ["p", "v"], ["a"]),
             node("Add", ["a", "x"], ["r"]), node("ReduceMean", ["r"], ["mean"], axes=[-1]),
             node("Sub", ["r", "mean"], ["d"]), node("Mul", ["d", "d"], ["dd"]),
             node("ReduceMean", ["dd"], ["variance"], axes=[-1]),
             node("Add", ["variance", "epsilon"], ["ve"]), node("Sqrt", ["ve"], ["deviation"]),
             node("Div", ["d", "deviation"], ["n"]), node("Mul", ["n", "gamma"], ["ng"]),
             node("Add", ["ng", "beta"], ["ln"]), node("MatMul", ["ln", "w1"], ["h"]),
             node("Div", ["h", "root"], ["hr"]), node("Erf", ["hr"], ["e"]),
             node("Add", ["e", "one"], ["e1"]), node("Mul", ["h", "e1"], ["he"]),
             node("Mul", ["he", "half"], ["g"]), node("MatMul", ["g", "w2"], ["m"]),
             node("Sub", ["m", "r"], ["y"])]
    one = lambda number: np.float32(number)
    constants = {"wq": weights(24, 24), "wk": weights(24, 25)[:, :24], "wv": weights(24, 26)[:, 2:],
                 "scale": one(0.2), "epsilon": one(1e-5), "gamma": weights(24) + 1,
                 "beta": weights(24), "w1": weights(24, 48), "root": one(2 ** 0.5), "one": one(1),
                 "half": one(0.5), "w2": weights(48, 24)}
    models.save(path, nodes, [floats("x", [2, 5, 24])], [floats("y", [2, 5, 24])], constants)


def make_elementwise(path):
    """Activations, a maximum, a reduction and two outputs."""
    node = helper.make_node
    nodes = [node("Sub", ["x", "c"], ["a"]), node("LeakyRelu", ["a"], ["b"], alpha=0.1),
             node("Max", ["b", "z"], ["m"]), node("Div", ["m", "w"], ["d"]),
             node("Sigmoid", ["d"], ["s"]), node("Mul", ["d", "s"], ["swish"]),
             node("Tanh", ["swish"], ["t"]), node("Concat", ["t", "b"], ["tb"], axis=1),
             node("Relu", ["tb"], ["y"]), node("ReduceMean", ["tb"], ["u"], axes=[1])]
    models.save(path, nodes, [floats("x", [3, 40]), floats("z", [3, 40])],
                [floats("y", [3, 80]), floats("u", [3, 1])],
                {"c": weights(40), "w": np.abs(weights(40)) + 0.5})


MODELS = {"mlp": models.make_mlp, "convolutions": models.make_convolutions,
          "transformer": make_transformer, "elementwise": make_elementwise}


class BisectFaults(ProgramCase):
    def setUp(self):
        super().setUp()
        for name, make in MODELS.items():
            make(self.path(name + ".onnx"))

    def passes(self):
        """(stage, pass), without the first one, before which nothing can be evaluated."""
        found = []
        for stage in STAGES:
            listed = self.program(0, "sluice-" + stage, "--list-passes").splitlines()
            found += [(stage, line.split()[0]) for line in listed]
        return found[1:]

    def bisected(self, model, fault):
        done = self.run_program("sluice-bisect", self.path(model + ".onnx"), "-q", "--json",
                                "--profile=cpu-generic", env={**os.environ, "SLUICE_FAULT": fault})
        if NO_SUCH_EDIT in done.stderr:
            return None
        self.assertEqual(done.returncode, 7, (model, fault, done.stdout, done.stderr))
        return json.loads(done.stdout)

    def test_every_fault_is_found(self):
        draw, passes = random.Random(OPTIONS.seed), self.passes()
        found, right = 0, 0
        for _ in range(MAX_DRAWS * OPTIONS.count):
            (stage, name), kind = draw.choice(passes), draw.choice(KINDS)
            model, fault = draw.choice(list(MODELS)), name + (":" + kind if kind else "")
            told = self.bisected(model, fault)
            if told is None:
                continue
            found += 1
            with self.subTest(model=model, fault=fault):
                self.assertEqual((told["stage"], told["pass"]), (stage, name))
                self.assertTrue("error" in told or told["output"]["name"] in ("y", "u"))
                right += 1
            if found == OPTIONS.count:
                break
        print(f"{right} of {found} faults found at their pass, seed {OPTIONS.seed}")
        self.assertEqual(found, OPTIONS.count)

    def test_no_fault_no_pass(self):
        for model in MODELS:
            with self.subTest(model=model):
                self.done(0, "sluice-bisect", self.path(model + ".onnx"), "-q",
                          "--profile=cpu-generic")

    def test_a_planted_pass_says_changed(self):
        """fuse-mish finds nothing in this model, and the fault after it is a change."""
        self.program(0, "sluice-preprocess", self.path("mlp.onnx"), "-o", self.path("1.sg"))
        self.done(0, "sluice-optimize", self.path("1.sg"), "-o", self.path("2.sg"),
                  "--stats=" + self.path("stats.json"),
                  env={**os.environ, "SLUICE_FAULT": "fuse-mish"})
        with open(self.path("stats.json"), encoding="utf-8") as file:
            changed = {each["name"]: each["changed"] for each in json.load(file)["passes"]}
        self.assertTrue(changed["fuse-mish"])
        self.assertFalse(changed["fuse-swish"])


class HasFaults(ProgramCase):
    """Not a test: whether this build plants faults."""

    def runTest(self):
        models.make_mlp(self.path("m.onnx"))
        done = self.run_program("sluice-preprocess", self.path("m.onnx"), "-o", self.path("m.sg"),
                                env={**os.environ, "SLUICE_FAULT": "infer-types:no-such-kind"})
        self.assertIn(NO_SUCH_EDIT, done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("programs")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    OPTIONS, remaining = parser.parse_known_args()
    ProgramCase.programs = need(OPTIONS.programs, [*STAGES, "bisect", "eval", "diff", "show"])
    if not HasFaults().run(unittest.TestResult()).wasSuccessful():
        print("SKIPPED: the programs plant no faults: cmake --preset faults")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *remaining], defaultTest=["BisectFaults"])
