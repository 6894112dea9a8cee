#!/usr/bin/python3
"""Models whose sizes are known only when they run: free dims, shapes that depend on data, control
flow, sequences, optionals and strings, through all stages and the loader, and through the Python
module. What is right is worked out here with NumPy.

usage: dynamic_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import collections
import json
import os
import subprocess
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import models
from models import value, write
from programs import STAGES, ProgramCase, bytes_of, import_sluice, need

FLOAT, INT64, STRING, BOOL = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING,
                              TensorProto.BOOL)


def sequence(name, dims, dtype=FLOAT):
    return helper.make_tensor_sequence_value_info(name, dtype, dims)


def optional(name, dims, dtype=FLOAT):
    return helper.make_value_info(
        name, helper.make_optional_type_proto(helper.make_tensor_type_proto(dtype, dims)))


def model_of(nodes, inputs, outputs, constants=(), opset=18):
    return models.model_of(nodes, inputs, outputs, constants, opset=opset)


def random(*dims):
    return np.random.default_rng(len(dims) + sum(dims)).standard_normal(dims).astype(np.float32)


WEIGHTS = random(4, 3, 3, 3)
COLUMNS = random(4, 600)


def network():
    """Convolution of a free batch and height, means, a product with columns that are too large to
    lie in the graph."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
             helper.make_node("Sin", ["c"], ["s"], "sin"),
             helper.make_node("ReduceMean", ["s", "axes"], ["m"], "mean", keepdims=0),
             helper.make_node("MatMul", ["m", "v"], ["p"], "product"),
             helper.make_node("Add", ["p", "bias"], ["y"], "add")]
    constants = {"w": WEIGHTS, "v": COLUMNS, "axes": [2, 3]}
    return model_of(nodes, [value("x", ["batch", 3, "h", 8]), value("bias", ["batch", 1])],
                    [value("y", ["batch", 600])], constants)


def convolve(x, weights):
    """3 by 3, padded by 1."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).astype(np.float64)
    return sum(np.einsum("nchw,oc->nohw", padded[:, :, i:i + x.shape[2], j:j + x.shape[3]],
                         weights[:, :, i, j]) for i in range(3) for j in range(3))


def network_result(x, bias):
    return np.sin(convolve(x, WEIGHTS)).mean(axis=(2, 3)) @ COLUMNS + bias


class Dynamic(ProgramCase):
    def compiled(self, model, *options, name="m"):
        said = self.program(0, "sluice-compile", write(self.path(name + ".onnx"), model), "-o",
                            self.path(name + ".om"), *options)
        self.program(0, "sluice-verify", self.path(name + ".om"))
        return said

    def opened(self, model, *options):
        """The model as the Python module has it."""
        self.compiled(model, *options)
        return sluice.Model(self.path("m.om")).run(threads=2)

    def test_one_file_for_every_size(self):
        run = self.opened(network())
        with self.assertRaises(sluice.Error) as caught:
            run(x=random(1, 3, 0, 8), bias=random(1, 1))
        self.assertIn("of input 'x' is 0, the model takes 1 and more", str(caught.exception))
        for batch, height in ((1, 1), (2, 5), (0, 3), (7, 3), (2, 5)):
            x, bias = random(batch, 3, height, 8), random(batch, 1)
            y = run(x=x, bias=bias)["y"]
            self.assertEqual(y.shape, (batch, 600))
            np.testing.assert_allclose(y, network_result(x, bias), rtol=1e-4, atol=1e-4)

    def test_the_loader_takes_any_size(self):
        self.compiled(network())
        x, bias = random(3, 3, 6, 8), random(3, 1)
        np.save(self.path("x.npy"), x)
        np.save(self.path("b.npy"), bias)
        given = ["--input", "x=" + self.path("x.npy"), "--input", "bias=" + self.path("b.npy")]
        self.program(0, "sluice-loader", self.path("m.om"), *given, "--output-dir",
                     self.path("out"), "--dump-values", self.path("values"),
                     "--trace", self.path("trace.json"))
        np.testing.assert_allclose(np.load(self.path("out/y.npy")), network_result(x, bias),
                                   rtol=1e-4, atol=1e-4)
        for name, dims in (("s", (3, 4, 6, 8)), ("m", (3, 4)), ("y", (3, 600))):
            self.assertEqual(np.load(self.path(f"values/{name}.npy")).shape, dims)
        with open(self.path("trace.json")) as file:
            names = [event["name"] for event in json.load(file)["traceEvents"]]
        for name in ("conv", "mean", "product"):
            self.assertIn(name, names)
        report = json.loads(self.program(0, "sluice-loader", self.path("m.om"), "--bench", "--json",
                                         "--dim=batch=2", "--dim=h=9"))
        self.assertEqual([node["op"] for node in report["nodes"] if node["op"] != "TransData"],
                         ["Fused(Conv)", "Fused", "Fused(MatMul)"])
        by_engine = collections.Counter()
        for node in report["nodes"]:
            self.assertGreater(node["operand_bytes"], 0, node)
            by_engine[node["engine"]] += node["operand_bytes"]
        self.assertEqual((report["operand_bytes"], report["host_cpu_bytes"]),
                         (sum(by_engine.values()), by_engine["host_cpu"]))
        self.assertIn("'q*'", self.program(3, "sluice-loader", self.path("m.om"), *given,
                                           "--dump-values", self.path("v") + ":q*"))
        self.assertIn("its inputs have 'batch', 'h'",
                      self.program(3, "sluice-loader", self.path("m.om"), "--random",
                                   "--dim=bach=2"))
        self.assertIn("is not NAME=SIZE", self.program(3, "sluice-loader", self.path("m.om"),
                                                       "--random", "--dim=batch"))

    def test_what_does_not_fit_is_told(self):
        run = self.opened(network())
        self.compiled(network(), "--dim=batch=2..4", name="bound")
        bounded = sluice.Model(self.path("bound.om")).run(threads=1)
        with self.assertRaises(sluice.Error) as caught:
            bounded(x=random(5, 3, 4, 8), bias=random(5, 1))
        self.assertIn("dim 'batch' of input 'x' is 5, the model takes 2 to 4",
                      str(caught.exception))
        self.assertEqual(bounded(x=random(4, 3, 4, 8), bias=random(4, 1))["y"].shape, (4, 600))
        for inputs, text in (({"x": random(2, 3, 4, 8), "bias": random(3, 1)},
                              "dim 'batch' is 2 in input 'x' and 3 in input 'bias'"),
                             ({"x": random(2, 4, 4, 8), "bias": random(2, 1)},
                              "input 'x' takes f32 [batch, 3, h, 8], got f32 2x4x4x8"),
                             ({"x": random(2, 3, 8), "bias": random(2, 1)}, "got f32 2x3x8"),
                             ({"x": bytes(192), "bias": random(2, 1)},
                              "whose dims bytes do not give"),
                             ({"x": random(2, 3, 4, 8)}, "no value for input 'bias'")):
            with self.assertRaises(sluice.Error) as caught:
                run(**inputs)
            self.assertIn(text, str(caught.exception))
            self.assertEqual(caught.exception.code, 7004)
        x, bias = random(1, 3, 2, 8), random(1, 1)
        np.testing.assert_allclose(run(x=x, bias=bias)["y"], network_result(x, bias), rtol=1e-4,
                                   atol=1e-4)

    def test_open_dims_are_told_when_compiling(self):
        self.assertIn("--dim batch=SIZE --dim h=SIZE", self.compiled(network(), "--symbolic=off"))
        self.assertNotIn("--dim", self.compiled(network()))
        self.assertNotIn("--dim", self.compiled(network(), "--dim=batch=2", "--dim=h=4"))

    def test_same_bytes_whatever_the_threads(self):
        self.compiled(network(), "--threads=1", name="a")
        self.compiled(network(), "--threads=8", name="b")
        self.assertEqual(bytes_of(self.path("a.om")), bytes_of(self.path("b.om")))

    def test_shapes_that_depend_on_data(self):
        nodes = [helper.make_node("NonZero", ["x"], ["places"]),
                 helper.make_node("Compress", ["x", "keep"], ["kept"], axis=0),
                 helper.make_node("TopK", ["kept", "k"], ["top", "at"], axis=1),
                 helper.make_node("Unique", ["x"], ["u"])]
        run = self.opened(model_of(nodes, [value("x", [4, 5]), value("keep", [4], BOOL),
                                           value("k", [1], INT64)],
                                   [value("places", [2, None], INT64), value("top", [None, None]),
                                    value("at", [None, None], INT64), value("u", [None])]))
        x = np.round(random(4, 5))
        for keep, k in (([True, False, True, True], 2), ([False] * 4, 1), ([True] * 4, 5)):
            got = run(x=x, keep=np.array(keep), k=np.array([k]))
            np.testing.assert_array_equal(got["places"], np.array(np.nonzero(x)))
            kept = x[np.array(keep)]
            np.testing.assert_array_equal(got["top"], -np.sort(-kept, axis=1)[:, :k])
            np.testing.assert_array_equal(np.take_along_axis(kept, got["at"], 1), got["top"])
            np.testing.assert_array_equal(got["u"], np.unique(x))

    def test_fixed_parts_around_what_depends_on_data_stay_task_lists(self):
        """Convolutions, a Compress by their result, then fixed work again on a table that its
        length picks."""
        w1, w2, v = random(8, 3, 3, 3), random(8, 8, 3, 3), random(32, 32)
        nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], "first", pads=[1, 1, 1, 1]),
                 helper.make_node("Relu", ["a"], ["b"]),
                 helper.make_node("Conv", ["b", "w2"], ["c"], "second", pads=[1, 1, 1, 1]),
                 helper.make_node("Relu", ["c"], ["d"]),
                 helper.make_node("GlobalAveragePool", ["d"], ["e"]),
                 helper.make_node("Flatten", ["e"], ["f"]),
                 helper.make_node("NonZero", ["d"], ["places"], "places"),
                 helper.make_node("Shape", ["places"], ["size"], "size"),
                 helper.make_node("Cast", ["size"], ["real"], to=FLOAT),
                 helper.make_node("ReduceSum", ["real"], ["count"], keepdims=0),
                 helper.make_node("Mul", ["table", "count"], ["scaled"]),
                 helper.make_node("MatMul", ["scaled", "v"], ["g"], "third"),
                 helper.make_node("Tanh", ["g"], ["h"]),
                 helper.make_node("MatMul", ["h", "v"], ["i"], "fourth"),
                 helper.make_node("Sigmoid", ["i"], ["y"])]
        model = model_of(nodes, [value("x", [1, 3, 8, 8]), value("table", [4, 32])],
                         [value("y", [4, 32]), value("f", [1, 8]),
                          value("places", [4, None], INT64)], {"w1": w1, "w2": w2, "v": v})
        run = self.opened(model)
        summary = self.program(0, "sluice-show", "--summary", self.path("m.om"))
        self.assertIn("2 parts", summary)
        weights = int(summary.split("weights: ")[1].split(" bytes")[0])
        self.assertLess(weights, 1.5 * sum(array.nbytes for array in (w1, w2, v)),
                        "no weight lies there raw and packed")
        x, table = random(1, 3, 8, 8), random(4, 32) / 1000
        got = run(x=x, table=table)
        d = np.maximum(convolve(np.maximum(convolve(x, w1), 0), w2), 0)
        np.testing.assert_allclose(got["f"], d.mean(axis=(2, 3)), rtol=1e-4, atol=1e-4)
        self.assertEqual(got["places"].shape[0], 4)
        count = got["places"].shape[1] + 4
        wanted = 1 / (1 + np.exp(-(np.tanh((table * count) @ v) @ v)))
        np.testing.assert_allclose(got["y"], wanted, rtol=1e-3, atol=1e-4)
        self.program(0, "sluice-loader", self.path("m.om"), "--random", "--trace",
                     self.path("trace.json"), "--dump-values", self.path("values"))
        with open(self.path("trace.json")) as file:
            events = json.load(file)["traceEvents"]
        engines = {event["name"]: (event["cat"], event["tid"]) for event in events
                   if event["ph"] == "X"}
        for name in ("first", "second", "third", "fourth"):
            self.assertEqual(engines[name][0], "aicore", engines)
            self.assertGreater(engines[name][1], 0, "a stream of a part, not the root's track")
        self.assertEqual(engines["places"], ("host_cpu", 0))
        for name in ("f", "places", "y"):
            self.assertTrue(os.path.exists(self.path(f"values/{name}.npy")),
                            os.listdir(self.path("values")))

    def test_sizes_that_no_tensor_has(self):
        nodes = [helper.make_node("Tile", ["x", "n"], ["t"], "tile"),
                 helper.make_node("Range", ["a", "b", "c"], ["r"], "range"),
                 helper.make_node("Pad", ["x", "p"], ["q"], "pad")]
        run = self.opened(
            model_of(nodes, [value("x", [4]), value("n", [1], INT64),
                             value("p", [2], INT64), *(value(i, [], INT64) for i in "abc")],
                     [value("t", [None]), value("r", [None], INT64), value("q", [None])]))
        usual = {"x": random(4), "n": np.array([2]), "p": np.array([0, 1]), "a": np.array(0),
                 "b": np.array(3), "c": np.array(1)}
        stamp = 1600000000000000001
        got = run(**{**usual, "a": np.array(stamp), "b": np.array(stamp + 5)})["r"]
        np.testing.assert_array_equal(got, np.arange(stamp, stamp + 5))
        for name, huge, node in (("n", [2 ** 62 + 1], "tile"), ("n", [2 ** 62], "tile"),
                                 ("p", [2 ** 63 - 1, 2 ** 63 - 1], "pad"),
                                 ("p", [-2 ** 63, -2 ** 63], "pad")):
            with self.assertRaises(sluice.Error) as caught:
                run(**{**usual, name: np.array(huge)})
            self.assertIn(f"'{node}'", str(caught.exception))

    def test_branches_of_different_shape(self):
        table = random(300, 2)
        then = helper.make_graph([helper.make_node("Concat", ["x", "table"], ["a"], axis=0)],
                                 "then", [], [value("a", None)])
        other = helper.make_graph([helper.make_node("ReduceSum", ["x"], ["b"], keepdims=0)], "else",
                                  [], [value("b", None)])
        run = self.opened(model_of(
            [helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
            [value("c", [], BOOL), value("x", ["n", 2])], [value("y", None)], {"table": table}))
        x = random(3, 2)
        np.testing.assert_array_equal(run(c=np.array(True), x=x)["y"], np.concatenate([x, table]))
        np.testing.assert_allclose(run(c=np.array(False), x=x)["y"], x.sum(), rtol=1e-6)

    def test_loop_of_a_count_that_is_given(self):
        body = helper.make_graph([helper.make_node("Identity", ["go"], ["on"]),
                                  helper.make_node("Add", ["state", "step"], ["next"]),
                                  helper.make_node("Mul", ["next", "next"], ["square"])],
                                 "body", [value("i", [], INT64), value("go", [], BOOL),
                                          value("state", [2])],
                                 [value("on", [], BOOL), value("next", [2]), value("square", [2])])
        run = self.opened(model_of([helper.make_node("Loop", ["count", "", "x"],
                                                     ["last", "squares"], body=body)],
                                   [value("count", [], INT64), value("x", [2]), value("step", [2])],
                                   [value("last", [2]), value("squares", [None, 2])]))
        x, step = random(2), np.array([1, 2], np.float32)
        for count in (0, 1, 5):
            got = run(count=np.array(count), x=x, step=step)
            states = [x + step * (i + 1) for i in range(count)]
            np.testing.assert_allclose(got["last"], states[-1] if states else x, rtol=1e-5)
            self.assertEqual(got["squares"].shape, (count, 2))
            np.testing.assert_allclose(got["squares"], np.array(states, np.float32)
                                       .reshape(count, 2) ** 2, rtol=1e-5)

    def test_a_loop_of_no_iterations_keeps_sizes_of_its_inputs(self):
        body = helper.make_graph([helper.make_node("Identity", ["go"], ["on"]),
                                  helper.make_node("Add", ["state", "step"], ["next"]),
                                  helper.make_node("Concat", ["next", "step"], ["pair"], axis=0)],
                                 "body", [value("i", [], INT64), value("go", [], BOOL),
                                          value("state", ["n"])],
                                 [value("on", [], BOOL), value("next", ["n"]),
                                  value("pair", [None])])
        run = self.opened(model_of([helper.make_node("Loop", ["count", "", "x"],
                                                     ["last", "pairs"], body=body),
                                    helper.make_node("Neg", ["pairs"], ["below"])],
                                   [value("count", [], INT64), value("x", ["n"]),
                                    value("step", ["n"])],
                                   [value("last", ["n"]), value("below", [None, None])]))
        for count, n in ((0, 3), (2, 3), (0, 5), (3, 1)):
            x, step = random(n), random(n)
            got = run(count=np.array(count), x=x, step=step)
            pairs = [np.concatenate([x + step * (i + 1), step]) for i in range(count)]
            self.assertEqual(got["below"].shape, (count, 2 * n))
            np.testing.assert_allclose(got["below"], -np.array(pairs, np.float32)
                                       .reshape(count, 2 * n), rtol=1e-5)

    def test_sequences_optionals_and_strings(self):
        nodes = [helper.make_node("SequenceInsert", ["s", "x"], ["longer"]),
                 helper.make_node("ConcatFromSequence", ["longer"], ["joined"], axis=0),
                 helper.make_node("OptionalHasElement", ["o"], ["has"]),
                 helper.make_node("Equal", ["t", "word"], ["same"]),
                 helper.make_node("Identity", ["t"], ["texts"])]
        model = model_of(nodes, [sequence("s", ["n"]), value("x", ["m"]), optional("o", [2]),
                                 value("t", ["k"], STRING)],
                         [sequence("longer", [None]), value("joined", [None]),
                          value("has", [], BOOL), value("same", ["k"], BOOL),
                          value("texts", ["k"], STRING)],
                         {"word": np.array("grün", dtype=object)}, opset=19)
        run = self.opened(model)
        for parts, o in (([], None), ([random(2), random(5)], random(2))):
            x, texts = random(3), np.array(["grün", "", "rot", "grün"], dtype=object)
            got = run(s=parts, x=x, o=o, t=texts)
            self.assertEqual(len(got["longer"]), len(parts) + 1)
            for a, b in zip(got["longer"], parts + [x]):
                np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(got["joined"], np.concatenate(parts + [x]))
            self.assertEqual(bool(got["has"]), o is not None)
            np.testing.assert_array_equal(got["same"], texts == "grün")
            self.assertEqual(list(got["texts"]), list(texts))
        for text in (np.array(["a\0b"], dtype=object), np.array([b"\xff\xfe"], dtype=object)):
            back = run(s=[], x=x, o=None, t=text)["texts"]
            np.testing.assert_array_equal(run(s=[], x=x, o=None, t=back)["texts"], back)
        with self.assertRaises(sluice.Error) as caught:
            run(s=[np.zeros((2, 2), np.float32)], x=x, o=None, t=texts)
        self.assertIn("'s' takes sequence of f32 [?]", str(caught.exception))
        self.program(0, "sluice-loader", self.path("m.om"), "--random", "--output-dir",
                     self.path("out"))
        self.assertTrue(os.path.exists(self.path("out/longer.1.npy")))
        self.program(0, "sluice-loader", self.path("m.om"), "--random", "--output-dir",
                     self.path("pb"), "--format=pb")
        self.assertTrue(os.path.exists(self.path("pb/longer.pb")))

    def test_initializers_that_are_inputs_may_be_given(self):
        weights = random(4, 300)
        model = model_of([helper.make_node("MatMul", ["x", "w"], ["m"], "product"),
                          helper.make_node("Mul", ["m", "s"], ["y"], "scale")],
                         [value("x", [2, 4]), value("w", [4, 300]), value("s", [])],
                         [value("y", [2, 300])], {"w": weights, "s": np.float32(2)},
                         opset=11)
        x, other = random(2, 4), random(4, 300) + 1
        plain = self.opened(model)
        np.testing.assert_allclose(plain(x=x)["y"], x @ weights * 2, rtol=1e-4, atol=1e-5)
        with self.assertRaises(sluice.Error):
            plain(x=x, w=other)
        run = self.opened(model, "--overridable-inputs=on")
        for given, wanted in (({}, x @ weights * 2), ({"w": other}, x @ other * 2),
                              ({"s": np.array(3, np.float32)}, x @ weights * 3)):
            np.testing.assert_allclose(run(x=x, **given)["y"], wanted, rtol=1e-4, atol=1e-4)
        np.save(self.path("x.npy"), x)
        np.save(self.path("w.npy"), other)
        write(self.path("w.pb"), numpy_helper.from_array(other))
        for file in ("w.npy", "w.pb"):
            self.program(0, "sluice-loader", self.path("m.om"), "--input",
                         "x=" + self.path("x.npy"), "--input", "w=" + self.path(file),
                         "--output-dir", self.path("out"))
            np.testing.assert_allclose(np.load(self.path("out/y.npy")), x @ other * 2, rtol=1e-4,
                                       atol=1e-4)

    def test_a_kernel_that_refuses_names_its_node(self):
        nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"], "fold")]
        run = self.opened(model_of(nodes, [value("x", ["n"]), value("shape", [2], INT64)],
                                   [value("y", [None, None])]))
        np.testing.assert_array_equal(run(x=random(6), shape=np.array([2, -1]))["y"],
                                      random(6).reshape(2, 3))
        with self.assertRaises(sluice.Error) as caught:
            run(x=random(6), shape=np.array([4, -1]))
        self.assertIn("'fold'", str(caught.exception))

    def test_damaged_graphs_are_refused(self):
        self.compiled(network())
        whole = bytes_of(self.path("m.om"))
        for at in range(100, len(whole), 1009):
            with open(self.path("bad.om"), "wb") as file:
                file.write(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
            done = subprocess.run([os.path.join(self.programs, "sluice-loader"),
                                   self.path("bad.om"), "--random", "--verify"],
                                  capture_output=True)
            self.assertEqual(done.returncode, 3, (at, done.stderr))


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "loader", "verify", *STAGES])
    sluice = import_sluice(ProgramCase.programs)
    unittest.main(verbosity=2)
