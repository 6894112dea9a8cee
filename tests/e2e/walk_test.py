#!/usr/bin/python3
"""What partition decides is what build and loader do: dynamic parts are walked, and their nodes
launch kernels.

usage: walk_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

import models
from models import floats, value, write
from programs import STAGES, ProgramCase, need


def random(*dims):
    return np.random.default_rng(sum(dims)).standard_normal(dims).astype(np.float32)


def model_of(nodes, inputs, outputs, **constants):
    return models.model_of(nodes, inputs, outputs, constants, opset=18)


def convolutions(batch):
    nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], "first", pads=[1] * 4),
             helper.make_node("Relu", ["a"], ["b"], "rectify"),
             helper.make_node("Conv", ["b", "w2"], ["c"], "second", pads=[1] * 4),
             helper.make_node("GlobalAveragePool", ["c"], ["y"], "pool")]
    return model_of(nodes, [floats("x", [batch, 3, 12, 12])], [floats("y", [batch, 16, 1, 1])],
                    w1=random(16, 3, 3, 3), w2=random(16, 16, 3, 3))


def all_classes():
    """A symbolic part of four products, then rows whose number only the data gives, and
    products of them."""
    nodes = [helper.make_node("MatMul", ["x" if i == 0 else f"m{i - 1}", "square"], [f"m{i}"],
                              f"known{i}") for i in range(4)]
    nodes += [helper.make_node("NonZero", ["flags"], ["where"], "where"),
              helper.make_node("Squeeze", ["where", "axis"], ["rows"], "squeeze"),
              helper.make_node("Gather", ["m3", "rows"], ["picked"], "gather"),
              helper.make_node("MatMul", ["picked", "wide"], ["p"], "product"),
              helper.make_node("Transpose", ["picked"], ["t"], "turn", perm=[1, 0]),
              helper.make_node("MatMul", ["t", "p"], ["y"], "sum")]
    return model_of(nodes, [floats("x", ["n", 8]), floats("flags", [6])], [floats("y", [8, 16])],
                    square=random(8, 8) / 4, wide=random(8, 16), axis=np.array([0]))


class Walk(ProgramCase):
    def compiled(self, model, *options):
        return self.program(0, "sluice-compile", write(self.path("m.onnx"), model), "-o",
                            self.path("m.om"), *options)

    def run_model(self, **inputs):
        """The output y, and the events of the trace."""
        outputs = self.outputs_of("sluice-loader", self.path("m.om"), *self.bindings(inputs),
                                  "--trace", self.path("t.json"))
        with open(self.path("t.json")) as file:
            events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        return outputs["y"], events

    def summary(self):
        return self.program(0, "sluice-show", "--summary", self.path("m.om"))

    def annotate(self):
        with open(self.path("rules.json"), "w") as file:
            json.dump([{"node": "first", "set": {"stage_level": 0}},
                       {"node": "rectify", "set": {"stage_level": 0}},
                       {"node": "second", "set": {"stage_level": 1}}], file)
        return "--annotate", self.path("rules.json")

    def test_options_make_a_fixed_model_dynamic(self):
        x = random(1, 3, 12, 12)
        self.compiled(convolutions(1))
        self.assertNotIn("walked", self.summary())
        expected, _ = self.run_model(x=x)
        for options in (["--static-model-ops-lower-limit=-1"],
                        ["--host-scheduling-max-threshold=100"], self.annotate()):
            said = self.compiled(convolutions(1), *options)
            self.program(0, "sluice-verify", self.path("m.om"))
            self.assertNotIn("sizes", said)
            self.assertIn("generated kernels, 0 reference kernels; 0 parts", self.summary())
            y, events = self.run_model(x=x)
            # Between stages values are dense, for which other kernels may be chosen.
            np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
            launched = [event["name"] for event in events if event["args"].get("kernel") and
                        event["args"]["op"] != "TransData"]
            self.assertEqual(launched, ["first", "second", "pool"])
            self.assertTrue(all("task" not in event["args"] for event in events))

    def test_stages_of_open_dims_launch_kernels(self):
        self.compiled(convolutions("n"))
        x = random(3, 3, 12, 12)
        expected, _ = self.run_model(x=x)
        said = self.compiled(convolutions("n"), *self.annotate())
        self.assertNotIn("sizes", said)
        y, events = self.run_model(x=x)
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
        self.assertEqual({event["name"]: event["cat"] for event in events if event["args"]["op"] !=
                          "TransData"}, {"first": "aicore", "second": "aicore", "pool": "vector"})

    def test_kernels_of_sizes_that_data_tell(self):
        self.compiled(all_classes())
        constants = {"square": random(8, 8) / 4, "wide": random(8, 16)}
        for flags in (np.float32([1, 0, 2, 0, 0, 3]), np.zeros(6, np.float32)):
            x = random(6, 8)
            y, events = self.run_model(x=x, flags=flags)
            picked = (x @ np.linalg.matrix_power(constants["square"].astype(np.float64),
                                                 4))[flags != 0]
            np.testing.assert_allclose(y, picked.T @ (picked @ constants["wide"]), rtol=1e-3,
                                       atol=1e-3)
        engines = {event["name"]: event["cat"] for event in events}
        self.assertEqual({engines[name] for name in ("known0", "known3", "product", "sum")},
                         {"aicore"})
        self.assertEqual((engines["where"], engines["gather"]), ("host_cpu", "vector"))

    def test_equal_subgraphs_of_sizes_that_data_tell(self):
        nodes = []
        for name in ("a", "b"):
            nodes += [helper.make_node("Range", ["zero", name, "one"], [name + "_range"]),
                      helper.make_node("Cast", [name + "_range"], [name + "_real"], to=1),
                      helper.make_node("Mul", [name + "_real", "half"], [name + "_half"])]
        nodes.append(helper.make_node("Concat", ["a_half", "b_half"], ["y"], axis=0))
        inputs = [value(name, [], TensorProto.INT64) for name in ("a", "b")]
        self.compiled(model_of(nodes, inputs, [floats("y", [None])], zero=0, one=1,
                               half=np.float32(0.5)))
        y, _ = self.run_model(a=np.array(3), b=np.array(5))
        np.testing.assert_array_equal(y, np.float32([0, 0.5, 1, 0, 0.5, 1, 1.5, 2]))


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "loader", "show", "verify", *STAGES])
    unittest.main(verbosity=2)
