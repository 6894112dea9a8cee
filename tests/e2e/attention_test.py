#!/usr/bin/python3
"""Small models with the graphs of scripts/models: every attention becomes one node, and the
compiled model computes what the evaluator does of the graph before optimization.

usage: attention_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import re
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models import model_of
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


def halved(array):
    limit = np.finfo(np.float16).max
    return array if array.dtype != np.float32 else array.clip(-limit, limit).astype(np.float16)


def halved_tensor(tensor):
    return numpy_helper.from_array(halved(numpy_helper.to_array(tensor)), tensor.name)


def halved_model(data):
    """The model as exporters write it in f16: the softmax alone is in f32, between casts."""
    graph = onnx.load_model_from_string(data).graph
    nodes = []
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16
            if attribute.type == onnx.AttributeProto.TENSOR:
                attribute.t.CopyFrom(halved_tensor(attribute.t))
        if node.op_type != "Softmax":
            nodes.append(node)
            continue
        (source,), (result,) = node.input, node.output
        node.input[0], node.output[0] = source + "_f32", result + "_f32"
        nodes += [helper.make_node("Cast", [source], [source + "_f32"], to=TensorProto.FLOAT), node,
                  helper.make_node("Cast", [result + "_f32"], [result], to=TensorProto.FLOAT16)]
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    return model_of(nodes, graph.input, graph.output,
                    [halved_tensor(tensor) for tensor in graph.initializer],
                    opset=16).SerializeToString()


class Attention(ProgramCase):
    def check(self, module, dynamic=False, in_f16=False):
        net = build(module, dynamic)
        with open(self.path("model.onnx"), "wb") as file:
            file.write(halved_model(net.bytes()) if in_f16 else net.bytes())
        self.program(0, "sluice-preprocess", "-q", self.path("model.onnx"), "-o",
                     self.path("typed.sg"))
        self.program(0, "sluice-optimize", self.path("typed.sg"), "-o", self.path("optimized.sg"))
        text = self.program(0, "sluice-show", self.path("optimized.sg"))
        dtype = "f16" if in_f16 else "f32"
        self.assertEqual(len(re.findall(rf": {dtype}\[[^]]*\] = Attention\(", text)), 2)
        self.assertNotIn("= Softmax(", text)
        # In f16 the evaluator rounds after each node.
        self.check_results(net, in_f16, 2e-2 if in_f16 else 1e-4)

    def check_results(self, net, in_f16, tolerance):
        inputs = []
        for name, array in net.examples(0).items():
            np.save(self.path(f"{name}.npy"), halved(array) if in_f16 else array)
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
            self.assertEqual(result.dtype, wanted.dtype)
            np.testing.assert_allclose(result.astype(np.float32), wanted.astype(np.float32), rtol=0,
                                       atol=tolerance * np.abs(wanted).max())
        self.check_engine()

    def check_engine(self):
        shown = json.loads(self.program(0, "sluice-show", "--format=json", self.path("model.om")))
        engines = {node["engine"] for node in shown["nodes"]
                   if any(name.endswith("/Softmax") for name in node.get("from", []))}
        self.assertEqual(engines, {"aicore"})

    def test_bert(self):
        for dynamic in (False, True):
            self.check(bert_base, dynamic)

    def test_gpt2(self):
        for dynamic in (False, True):
            self.check(gpt2, dynamic)

    def test_models_of_f16(self):
        for module in SIZES:
            for dynamic in (False, True):
                with self.subTest(module=module.__name__, dynamic=dynamic):
                    self.check(module, dynamic, True)

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
