#!/usr/bin/python3
"""Small models with the graphs of scripts/models: every attention becomes one node, and the
compiled model computes what the evaluator does of the graph before optimization.

usage: attention_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import sys
import unittest

import numpy as np

from programs import ProgramCase, need

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/models")
sys.path.insert(0, MODELS)

import bert_base  # noqa: E402
import gpt2  # noqa: E402
import llama  # noqa: E402
import vit_base  # noqa: E402
from builder import Net  # noqa: E402

PROFILE = "--profile=cpu-generic"  # runs everywhere
TRANSFORMER = {"HIDDEN": 24, "HEADS": 3, "LAYERS": 2, "INNER": 40, "WORDS": 50, "POSITIONS": 40,
               "LENGTH": 24}
SIZES = {
    bert_base: TRANSFORMER,
    gpt2: {**TRANSFORMER, "DEPTH": 8, "PAST": 5},
    llama: {"HIDDEN": 32, "HEADS": 4, "PAIRS": 2, "INNER": 40, "LAYERS": 2, "WORDS": 50,
            "DEPTH": 8, "LENGTH": 9},
    vit_base: {**TRANSFORMER, "PATCH": 4, "SIDE": 12, "PATCHES": 9, "TOKENS": 10},
}


def build(module, dynamic):
    """The model with small sizes. Parts of BERT are parts of others, too."""
    for part, sizes in ((bert_base, TRANSFORMER), (module, SIZES[module])):
        for name, size in sizes.items():
            setattr(part, name, size)
    net = Net(module.__name__, 16, 1, dynamic)
    module.build(net)
    return net


class Attention(ProgramCase):
    def check(self, module, dynamic=False):
        net = build(module, dynamic)
        with open(self.path("model.onnx"), "wb") as file:
            file.write(net.bytes())
        self.program(0, "sluice-preprocess", "-q", self.path("model.onnx"), "-o",
                     self.path("typed.sg"))
        self.program(0, "sluice-optimize", self.path("typed.sg"), "-o", self.path("optimized.sg"))
        text = self.program(0, "sluice-show", self.path("optimized.sg"))
        self.assertEqual(text.count("= Attention("), 2)
        self.assertNotIn("= Softmax(", text)
        self.check_results(net)

    def check_results(self, net):
        inputs = []
        for name, array in net.examples(0).items():
            np.save(self.path(f"{name}.npy"), array)
            inputs += ["--input", f"{name}={self.path(name)}.npy"]
        self.program(0, "sluice-compile", "-q", PROFILE, self.path("model.onnx"), "-o",
                     self.path("model.om"))
        self.program(0, "sluice-loader", "-q", self.path("model.om"), *inputs, "--output-dir",
                     self.path("outputs"))
        self.program(0, "sluice-eval", "-q", self.path("typed.sg"), *inputs, "--output-dir",
                     self.path("wanted"))
        for name in os.listdir(self.path("wanted")):
            wanted, result = (np.load(self.path(f"{folder}/{name}"))
                              for folder in ("wanted", "outputs"))
            self.assertGreater(wanted.std(), 0)
            np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-4 * np.abs(wanted).max())

    def test_bert(self):
        for dynamic in (False, True):
            self.check(bert_base, dynamic)

    def test_gpt2(self):
        for dynamic in (False, True):
            self.check(gpt2, dynamic)

    def test_llama(self):
        for dynamic in (False, True):
            self.check(llama, dynamic)

    def test_vit(self):
        for dynamic in (False, True):
            self.check(vit_base, dynamic)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "eval", "loader", "optimize",
                                                  "preprocess", "show"])
    unittest.main(verbosity=2)
