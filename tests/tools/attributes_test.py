#!/usr/bin/python3
"""The table of attributes, common/ops/attributes.def, is what code reads attributes by: without a
row the code that reads it does not compile, and another default changes inference, evaluation and
generated kernels alike.

usage: attributes_test.py BUILD_FOLDER
"""
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from onnx import helper

from overlay import ROOT, Overlay

sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
from models import floats, save
from programs import STAGES

TABLE = "common/ops/attributes.def"
# The files that read Gemm's transB.
READERS = ("common/ops/contraction.cc", "common/eval/matmul.cc", "common/target/aicore.cc",
           "common/target/multiply_adds.cc", "common/target/quantized.cc",
           "stages/subgraph-optimize/engines/aicore/lower_matmul.cc",
           "stages/optimize/fusion/fold_batch_norm.cc")
BUILD = ""


class Attributes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.overlay = Overlay(BUILD, self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def change_table(self, row, by):
        text = self.overlay.read(TABLE)
        self.assertIn(row, text)
        self.overlay.write(TABLE, text.replace(row, by))

    def test_without_its_row_an_attribute_cannot_be_read(self):
        self.assertEqual((True, ""), self.overlay.compile(["common/eval/matmul.cc"]))
        self.change_table("  SLUICE_INT(transB, 0)\n", "")
        succeeded, text = self.overlay.compile(["common/eval/matmul.cc"])
        self.assertFalse(succeeded)
        self.assertIn("transB", text)

    def test_a_default_is_that_of_inference_evaluation_and_kernels(self):
        self.change_table("SLUICE_INT(transB, 0)", "SLUICE_INT(transB, 1)")
        succeeded, text = self.overlay.compile(READERS)
        self.assertTrue(succeeded, text)
        for program in [*STAGES, "eval"]:
            self.overlay.link("sluice-" + program)
        random = np.random.default_rng(5)
        x, w = (random.standard_normal(dims, np.float32) for dims in ((3, 4), (5, 4)))
        save(self.path("model.onnx"), [helper.make_node("Gemm", ["x", "w"], ["y"])],
             [floats("x", [3, 4])], [floats("y", [3, 5])], {"w": w})
        np.save(self.path("x.npy"), x)
        self.run_it("preprocess", "model.onnx", "-o", "1.sg")  # infers [3, 5]
        self.run_it("eval", "1.sg", "--input=x=x.npy", "--output-dir=eval")
        for number, stage in enumerate(STAGES[1:], 1):
            self.run_it(stage, f"{number}.sg", "-o", f"{number + 1}.sg")
        shown = subprocess.run([os.path.join(BUILD, "bin/sluice-show"), "--summary", "5.sg"],
                               cwd=self.folder.name, capture_output=True, text=True, check=True)
        self.assertIn("aicore", shown.stdout)
        subprocess.run([os.path.join(BUILD, "bin/sluice-loader"), "5.sg", "--input=x=x.npy",
                        "--output-dir=run"], cwd=self.folder.name, check=True,
                       stdout=subprocess.DEVNULL)
        for folder in ("eval", "run"):
            np.testing.assert_allclose(np.load(self.path(f"{folder}/y.npy")), x @ w.T, rtol=1e-4,
                                       atol=1e-5)

    def run_it(self, program, *words):
        subprocess.run([self.overlay.program("sluice-" + program), *words], cwd=self.folder.name,
                       check=True)

    def path(self, name):
        return os.path.join(self.folder.name, name)


if __name__ == "__main__":
    BUILD = os.path.realpath(sys.argv.pop(1))
    unittest.main()
