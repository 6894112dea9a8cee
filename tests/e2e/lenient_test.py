#!/usr/bin/python3
"""Models that ONNX does not quite allow, as exporters write them: they run, with warnings that name
the node, and --strict refuses them. Branches that cannot be right fail when they are taken; bodies
get their counter in the rank that they declare.

usage: lenient_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import subprocess
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import models
from programs import ProgramCase, bytes_of, need

X = np.random.default_rng(7).standard_normal((2, 3, 4)).astype(np.float32)
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64,
         np.dtype(bool): TensorProto.BOOL}


def value(name, dtype, shape=None):
    return models.value(name, shape, TYPES[np.dtype(dtype)])


def constants(**arrays):
    return [models.constant(*each) for each in arrays.items()]


def varint(number):
    data = b""
    while number >= 0x80:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


def field(number, data):
    """A field of bytes, as protobuf writes it."""
    return varint(number << 3 | 2) + varint(len(data)) + data


class LenientCase(ProgramCase):
    def save(self, graph, opset=17, domains=(), name="m.onnx", functions=()):
        model = models.model_of_graph(graph, opset, domains=domains, functions=list(functions))
        return models.write(self.path(name), model)

    def write(self, data, name="m.onnx"):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def compile(self, path, *options, code=0):
        return self.program(code, "sluice-compile", path, "-o", self.path("m.om"),
                            "--profile=cpu-generic", *options)

    def run_model(self, inputs, code=0):
        return self.program(code, "sluice-loader", self.path("m.om"), *self.bindings(inputs),
                            "--output-dir", self.path("out"))

    def result(self, name="y"):
        return np.load(self.path(f"out/{name}.npy"))

    def expect(self, inputs, expected, name="y"):
        self.run_model(inputs)
        self.assertEqual(self.result(name).shape, np.shape(expected))
        np.testing.assert_allclose(self.result(name), expected, rtol=1e-5, atol=1e-6)

    def expect_lenient(self, path, warning, inputs, expected, *options):
        text = self.compile(path, *options)
        self.assertIn("sluice-preprocess: warning " + warning, text)
        self.assertNotIn("warning", self.compile(path, "-q", *options))
        self.expect(inputs, expected)
        refused = self.compile(path, "--strict", *options, code=3)
        self.assertIn("SL3001", refused)
        self.assertIn(warning, refused)
        self.program(3, "sluice-check", path, "--strict", *options)
        self.program(3, "sluice-preprocess", path, "--strict", "-o", self.path("no.sg"), *options)
        self.assertFalse(os.path.exists(self.path("no.sg")))
        self.compile(path, "--strict", "--transport=zmq", *options, code=3)


def lstm(x, w, r):
    """ONNX's LSTM, one direction, without bias: x [S, B, I], w [1, 4H, I], r [1, 4H, H]."""
    hidden = r.shape[2]
    h = c = np.zeros((x.shape[1], hidden), np.float32)
    for step in x:
        i, o, f, g = np.split(step @ w[0].T + h @ r[0].T, 4, axis=1)
        i, o, f = (1 / (1 + np.exp(-gate)) for gate in (i, o, f))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
    return h


class FailingBranches(LenientCase):
    """As Silero's voice detector: one branch for each sample rate, of which the fixed number of
    samples fits one."""

    W = np.random.default_rng(1).standard_normal((1, 32, 64)).astype(np.float32) / 8
    R = np.random.default_rng(2).standard_normal((1, 32, 8)).astype(np.float32) / 4
    BAD = "node 'lstm8' (LSTM): input 'wide' has rank 5, expected 3"

    def branches(self, opset):
        rows = [helper.make_node("Reshape", ["x", "frames"], ["rows"])]
        good = helper.make_graph(rows + [helper.make_node("LSTM", ["rows", "w", "r"], ["", "h"],
                                                          "lstm16", hidden_size=8),
                                         helper.make_node("Reshape", ["h", "flat"], ["good"])],
                                 "then16", [], [value("good", np.float32)])
        if opset < 13:
            widen = helper.make_node("Unsqueeze", ["rows"], ["wide"], axes=[0, 1])
        else:
            widen = helper.make_node("Unsqueeze", ["rows", "axes"], ["wide"])
        bad = helper.make_graph(rows + [widen, helper.make_node("LSTM", ["wide", "w", "r"],
                                                                ["", "h"], "lstm8", hidden_size=8),
                                        helper.make_node("Reshape", ["h", "flat"], ["bad"])],
                                "else8", [], [value("bad", np.float32)])
        return good, bad

    def silero(self, opset=16):
        good, bad = self.branches(opset)
        nodes = [helper.make_node("Equal", ["sr", "rate"], ["is16"]),
                 helper.make_node("If", ["is16"], ["h"], "choose", then_branch=good,
                                  else_branch=bad), helper.make_node("Mul", ["h", "two"], ["y"])]
        graph = helper.make_graph(nodes, "g", [value("x", np.float32, [1, 512]),
                                               value("sr", np.int64, [])], [value("y", np.float32)],
                                  constants(w=self.W, r=self.R, rate=np.int64(16000),
                                            frames=np.array([8, 1, 64]), flat=np.array([1, 8]),
                                            axes=np.array([0, 1]), two=np.float32(2)))
        return self.save(graph, opset)

    def test_the_other_branch_runs(self):
        x = np.random.default_rng(3).standard_normal((1, 512)).astype(np.float32)
        expected = 2 * lstm(x.reshape(8, 1, 64), self.W, self.R)
        for opset in (11, 16):
            path = self.silero(opset)
            warning = ("node 'choose' (If): graph 'choose.else_branch' fails when it is taken: " +
                       self.BAD)
            self.expect_lenient(path, warning, {"x": x, "sr": np.int64(16000)}, expected)
            self.compile(path)
            failed = self.run_model({"x": x, "sr": np.int64(8000)}, code=3)
            self.assertIn("error SL2003: ", failed)
            self.assertIn(self.BAD, failed)
            self.expect({"x": x, "sr": np.int64(16000)}, expected)

    def test_every_stage_knows_it(self):
        path = self.silero()
        self.compile(path, "--dump-dir", self.path("look"), "--verify=each")
        product = bytes_of(self.path("m.om"))
        for name in ("1-preprocess", "2-optimize", "3-partition", "4-subgraph-optimize"):
            graph = self.path(f"look/{name}.sg")
            text = self.program(0, "sluice-show", graph)
            self.assertIn("Fail", text)
            self.assertIn(self.BAD, text)
            self.program(0, "sluice-verify", graph)
            self.write(text.encode(), "edit.txt")
            self.program(0, "sluice-as", self.path("edit.txt"), "--with", graph, "-o",
                         self.path("again.sg"))
            self.program(0, "sluice-diff", graph, self.path("again.sg"))
            self.program(0, "sluice-compile", graph, "-o", self.path("resumed.om"))
            self.assertEqual(bytes_of(self.path("resumed.om")), product, name)
        self.program(0, "sluice-check", path)

    def choice(self, good, bad, name="choose", inside=None):
        """An If over `c` with these branches, each a list of nodes that makes "b"."""
        def branch(nodes):
            return helper.make_graph(nodes, "branch", [], [value("b", np.float32)])
        return helper.make_node("If", ["c"], [inside or "y"], name, then_branch=branch(good),
                                else_branch=branch(bad))

    RELU = helper.make_node("Relu", ["x"], ["b"])
    SHAPE_MISMATCH = helper.make_node("Reshape", ["x", "shape"], ["b"], "mismatch")

    def graph(self, nodes, shape=(2, 3, 4), **more):
        return helper.make_graph(nodes, "g", [value("x", np.float32, shape), value("c", bool, [])],
                                 [value("y", np.float32)],
                                 constants(shape=np.array([5, 7]), **more))

    def test_both(self):
        text = self.compile(self.save(self.graph([self.choice([self.SHAPE_MISMATCH],
                                                              [self.SHAPE_MISMATCH])])), code=3)
        self.assertIn("node 'choose' (If): both branches fail: ", text)

    def test_nested(self):
        inner = self.choice([self.SHAPE_MISMATCH], [self.SHAPE_MISMATCH], "inner", "b")
        half = self.choice([self.RELU], [self.SHAPE_MISMATCH], "half", "b")
        self.compile(self.save(self.graph([self.choice([half], [inner])])))
        self.expect({"x": X, "c": np.array(True)}, np.maximum(X, 0))
        self.assertIn("both branches fail", self.run_model({"x": X, "c": np.array(False)}, code=3))

    def test_in_a_loop(self):
        choose = helper.make_node("If", ["d"], ["next"], "choose", then_branch=helper.make_graph(
            [helper.make_node("Add", ["s", "one"], ["b"])], "t", [],
            [value("b", np.float32)]), else_branch=helper.make_graph([helper.make_node(
                "Reshape", ["s", "shape"], ["b"], "mismatch")], "e", [], [value("b", np.float32)]))
        body = helper.make_graph([helper.make_node("Identity", ["c"], ["d"]), choose,
                                  helper.make_node("Identity", ["go"], ["on"])],
                                 "body", [value("i", np.int64, []), value("go", bool, []),
                                          value("s", np.float32)],
                                 [value("on", bool, []), value("next", np.float32)])
        loop = helper.make_node("Loop", ["trips", "", "x"], ["y"], "again", body=body)
        text = self.compile(self.save(self.graph([loop], trips=np.int64(3), one=np.float32(1))))
        self.assertIn("warning node 'choose' (If)", text)
        self.expect({"x": X, "c": np.array(True)}, X + 3)
        self.assertIn("node 'mismatch' (Reshape)",
                      self.run_model({"x": X, "c": np.array(False)}, code=3))

    def test_grows_in_a_loop(self):
        """A branch that is right from the second time on stays."""
        take = helper.make_graph([helper.make_node("Slice", ["s", "from", "to"], ["cut"]),
                                  helper.make_node("Reshape", ["cut", "pair"], ["b"])],
                                 "t", [], [value("b", np.float32)])
        skip = helper.make_graph([helper.make_node("Identity", ["zeros"], ["b"])], "e", [],
                                 [value("b", np.float32)])
        body = helper.make_graph(
            [helper.make_node("Greater", ["i", "zero"], ["later"]),
             helper.make_node("If", ["later"], ["seen"], "choose", then_branch=take,
                              else_branch=skip),
             helper.make_node("Concat", ["s", "x"], ["next"], axis=0),
             helper.make_node("Identity", ["go"], ["on"])],
            "body", [value("i", np.int64, []), value("go", bool, []), value("s", np.float32)],
            [value("on", bool, []), value("next", np.float32), value("seen", np.float32)])
        loop = helper.make_node("Loop", ["trips", "", "x"], ["last", "y"], "again", body=body)
        graph = helper.make_graph(
            [loop], "g", [value("x", np.float32, [1, 4])], [value("y", np.float32)],
            constants(trips=np.int64(3), zero=np.int64(0), pair=np.array([2, 4]),
                      zeros=np.zeros((2, 4), np.float32),
                      **{"from": np.array([0]), "to": np.array([2])}))
        x = X[:1, 0]
        self.assertNotIn("warning", self.compile(self.save(graph)))
        self.expect({"x": x}, np.stack([np.zeros((2, 4)), np.vstack([x, x]), np.vstack([x, x])]))

    def test_what_a_failing_branch_demands_binds_nobody(self):
        half = [helper.make_node("Split", ["x"], ["a1", "a2"], axis=0, num_outputs=2),
                helper.make_node("Concat", ["a1", "a1"], ["twice"], axis=0),
                helper.make_node("Add", ["twice", "x"], ["sum"]),
                helper.make_node("MatMul", ["sum", "five"], ["b"], "mismatch")]
        graph = self.graph([self.choice([self.RELU], half)], ("N", 3),
                           five=np.zeros((5, 2), np.float32))
        self.assertIn("fails when it is taken", self.compile(self.save(graph, 18)))
        self.expect({"x": X[0, :, :3], "c": np.array(True)}, np.maximum(X[0, :, :3], 0))

    def test_no_sizes_would_make_it_right(self):
        bad = helper.make_node("Conv", ["x"], ["b"], "alone")
        text = self.compile(self.save(self.graph([self.choice([self.RELU], [bad])])), code=3)
        self.assertIn("node 'alone' (Conv): has 1 inputs", text)

    def test_sequences(self):
        def branch(nodes):
            return helper.make_graph(nodes, "b", [],
                                     [helper.make_tensor_sequence_value_info("b", TensorProto.FLOAT,
                                                                             None)])
        good = branch([helper.make_node("SequenceConstruct", ["x", "x"], ["b"])])
        bad = branch([helper.make_node("Reshape", ["x", "shape"], ["r"], "mismatch"),
                      helper.make_node("SequenceConstruct", ["r"], ["b"])])
        nodes = [helper.make_node("If", ["c"], ["s"], "choose", then_branch=good, else_branch=bad),
                 helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)]
        self.compile(self.save(self.graph(nodes)))
        self.expect({"x": X, "c": np.array(True)}, np.concatenate([X, X]))
        self.run_model({"x": X, "c": np.array(False)}, code=3)


class LoopCounters(LenientCase):
    """tf2onnx 1.10 and OnnxMLTools declare a body's counter and condition as [1]."""

    def loop(self, rank, opset, condition):
        shape = [1] * rank
        squeeze = helper.make_node("Squeeze", ["i"],
                                   ["i0"]) if rank else helper.make_node("Identity", ["i"], ["i0"])
        nodes = [squeeze, helper.make_node("Cast", ["i0"], ["f"], to=TensorProto.FLOAT),
                 helper.make_node("Add", ["v", "f"], ["next"]),
                 helper.make_node("Shape", ["i"], ["rank"]),
                 helper.make_node("Shape", ["rank"], ["ranks"])]
        if condition:
            nodes += [helper.make_node("Less", ["i", "last"], ["on"])]
        else:
            nodes += [helper.make_node("Identity", ["go"], ["on"])]
        nodes += [helper.make_node("Shape", ["go"], ["gone"]),
                  helper.make_node("Shape", ["gone"], ["conditions"])]
        body = helper.make_graph(nodes, "body", [value("i", np.int64, shape),
                                                 value("go", bool, shape), value("v", np.float32)],
                                 [value("on", bool, shape), value("next", np.float32),
                                  value("ranks", np.int64), value("conditions", np.int64)])
        node = helper.make_node("Loop", ["trips", "start", "x"], ["y", "ranks", "conditions"],
                                "again", body=body)
        graph = helper.make_graph(
            [node], "g", [value("x", np.float32, [2, 3, 4]), value("start", bool, [])],
            [value("y", np.float32), value("ranks", np.int64), value("conditions", np.int64)],
            constants(trips=np.int64(5), last=np.full(shape, 2)))
        return self.save(graph, opset)

    def test_ranks(self):
        for rank in (0, 1):
            for opset in (11, 13, 17):
                for condition in (False, True):
                    with self.subTest(rank=rank, opset=opset, condition=condition):
                        self.assertNotIn("warning", self.compile(self.loop(rank, opset, condition)))
                        trips = 3 if condition else 5
                        expected = X
                        for trip in range(trips):
                            expected = expected + np.float32(trip)
                        inputs = {"x": X, "start": np.array(True)}
                        self.expect(inputs, expected)
                        np.testing.assert_array_equal(self.result("ranks"),
                                                      np.full((trips, 1), rank))
                        np.testing.assert_array_equal(self.result("conditions"),
                                                      np.full((trips, 1), rank))
        self.expect({"x": X, "start": np.array(False)}, X)


class Leniencies(LenientCase):
    def graph(self, nodes, tensors=(), inputs=None, outputs=("y",)):
        inputs = inputs or {"x": X.shape}
        return helper.make_graph(nodes, "g",
                                 [value(name, np.float32, shape) for name, shape in inputs.items()],
                                 [value(name, np.float32) for name in outputs], tensors)

    def test_unknown_attribute(self):
        node = helper.make_node("Relu", ["x"], ["y"], "r", foo=3, note="exporter",
                                table=numpy_helper.from_array(X))
        path = self.save(self.graph([node]))
        self.expect_lenient(path, "node 'r' (Relu): attribute 'foo' is not known and has no effect",
                            {"x": X}, np.maximum(X, 0))

    def test_unknown_attribute_that_no_terminal_should_see(self):
        node = helper.make_node("Relu", ["x"], ["y"], "r", **{"\x1b[31m\n": 3})
        path = self.save(self.graph([node]))
        self.expect_lenient(path, r"node 'r' (Relu): attribute '\x1b[31m\n' is not known", {"x": X},
                            np.maximum(X, 0))

    def test_unknown_body(self):
        body = helper.make_graph([helper.make_node("Relu", ["x"], ["z"])], "b", [],
                                 [value("z", np.float32)])
        path = self.save(self.graph([helper.make_node("Relu", ["x"], ["y"], "r", hook=body)]))
        self.expect_lenient(path, "node 'r' (Relu): attribute 'hook' is not known", {"x": X},
                            np.maximum(X, 0))

    def test_unknown_attribute_of_machine_learning(self):
        node = helper.make_node("Binarizer", ["x"], ["y"], "b", domain="ai.onnx.ml", threshold=0.5,
                                foo=1.0)
        path = self.save(self.graph([node]), domains=[("ai.onnx.ml", 1)])
        self.expect_lenient(path, "node 'b' (Binarizer): attribute 'foo' is not known", {"x": X},
                            (X > 0.5).astype(np.float32))

    def test_attribute_of_another_opset(self):
        node = helper.make_node("ReduceSum", ["x"], ["y"], "sum", axes=[1])
        self.assertIn("node 'sum' (ReduceSum): has no attribute 'axes'",
                      self.compile(self.save(self.graph([node])), code=3))

    def test_many(self):
        nodes = [helper.make_node("Relu", [f"v{i}" if i else "x"],
                                  [f"v{i + 1}" if i < 9999 else "y"], f"r{i}", foo=i)
                 for i in range(10000)]
        path = self.save(self.graph(nodes))
        done = subprocess.run([os.path.join(self.programs, "sluice-preprocess"), path, "-o",
                               self.path("m.sg")], capture_output=True, text=True)
        lines = done.stderr.splitlines()
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(lines), 11)
        self.assertEqual(lines[-1], "sluice-preprocess: warning and 9990 more unknown attributes")

    def test_defined_twice(self):
        def constant(array):
            return helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(array))
        for ones in (np.ones(4, np.float32),
                     np.arange(4000, dtype=np.float32).reshape(1000, 4)[:1] + 1):
            add = helper.make_node("Add", ["x", "k"], ["y"])
            path = self.save(self.graph([constant(ones), constant(ones.copy()), add]))
            self.expect_lenient(path, "node 'k' (Constant): value 'k' is defined twice, by equal "
                                "constants", {"x": X}, X + ones)
            path = self.save(self.graph([constant(ones), add],
                                        [numpy_helper.from_array(ones, "k")]))
            self.expect_lenient(path, "node 'k' (Constant): value 'k' is defined twice", {"x": X},
                                X + ones)
            path = self.save(self.graph([constant(ones), add, constant(ones + 1)]))
            self.expect_lenient(path, "node 'k' (Constant): value 'k' is defined twice, by "
                                "constants that differ: the last one counts", {"x": X},
                                X + ones + 1)
            path = self.save(self.graph([add], [numpy_helper.from_array(ones, "k"),
                                                numpy_helper.from_array(ones + 2, "k")]))
            self.expect_lenient(path, "initializer 'k': value 'k' is defined twice, by constants "
                                "that differ", {"x": X}, X + ones + 2)

    def test_squeeze_of_no_axes(self):
        node = helper.make_node("Squeeze", ["x", "axes"], ["y"], "s")
        axes = numpy_helper.from_array(np.zeros(0, np.int64), "axes")
        x = np.ones((1, 3, 1, 2), np.float32)
        path = self.save(self.graph([node], [axes], {"x": x.shape}))
        self.expect_lenient(path, "node 's' (Squeeze): the empty list of axes squeezes all dims of "
                            "1", {"x": x}, x.squeeze())

    def test_activations_in_another_case(self):
        random = np.random.default_rng(5)
        x, w, r = (random.standard_normal(shape).astype(np.float32)
                   for shape in ((3, 2, 4), (1, 20, 4), (1, 20, 5)))
        node = helper.make_node("LSTM", ["x", "w", "r"], ["", "y"], "l", hidden_size=5,
                                activations=["sigmoid", "TANH", "Tanh"])
        graph = self.graph([node], [numpy_helper.from_array(w, "w"),
                                    numpy_helper.from_array(r, "r")], {"x": x.shape})
        self.expect_lenient(self.save(graph), "node 'l' (LSTM): the activation 'sigmoid' is taken "
                            "for 'Sigmoid'", {"x": x}, lstm(x, w, r)[None])

    def test_split_with_absent_outputs(self):
        sizes = numpy_helper.from_array(np.array([1, 2, 1], np.int64), "sizes")
        node = helper.make_node("Split", ["x", "sizes"], ["y", "z"], "s", axis=2)
        path = self.save(self.graph([node], [sizes], outputs=("y", "z")))
        self.expect_lenient(path, "node 's' (Split): 1 of the 3 pieces have no output", {"x": X},
                            X[:, :, :1])
        np.testing.assert_array_equal(self.result("z"), X[:, :, 1:3])

    def test_coefficients_left_over(self):
        """Three classes, coefficients for four features, and two features."""
        node = helper.make_node("LinearClassifier", ["x"], ["label", "y"], "c",
                                domain="ai.onnx.ml", classlabels_ints=[0, 1, 2],
                                coefficients=[0.1 * k - 0.5 for k in range(12)])
        x = np.random.default_rng(3).standard_normal((5, 2)).astype(np.float32)
        graph = self.graph([node], [], {"x": x.shape}, outputs=("y",))
        path = self.save(graph, domains={"ai.onnx.ml": 1})
        weights = (np.float32(0.1) * np.arange(6) - np.float32(0.5)).reshape(3, 2)
        self.expect_lenient(path, "node 'c' (LinearClassifier): it has coefficients for 4 "
                            "features, the input has 2: the first 6 count", {"x": x}, x @ weights.T)

    def test_external_length_of_0(self):
        weight = np.arange(400, dtype=np.float32).reshape(100, 4)
        with open(self.path("w.bin"), "wb") as file:
            file.write(bytes(64) + weight.tobytes())
        tensor = TensorProto(name="w", data_type=1, dims=weight.shape, data_location=1)
        for key, text in (("location", "w.bin"), ("offset", "64"), ("length", "0")):
            tensor.external_data.add(key=key, value=text)
        node = helper.make_node("Add", ["x", "w"], ["y"])
        path = self.save(self.graph([node], [tensor], {"x": [1, 4]}))
        self.expect_lenient(path, "tensor 'w' has the length 0 in its file: it ends where the file "
                            "does", {"x": X[:1, 0]}, X[:1, 0] + weight)

    def normalised(self, scale, bias, axis, rms):
        axes = tuple(range(axis if axis >= 0 else X.ndim + axis, X.ndim))
        mean = 0 if rms else X.mean(axes, keepdims=True)
        unit = (X - mean) / np.sqrt(np.mean((X - mean)**2, axes, keepdims=True) + 1e-5)
        return unit * scale + (0 if bias is None else bias)

    def test_wide_scale(self):
        random = np.random.default_rng(4)
        for shape, bias_shape, axis in (((2, 1, 4), (2, 1, 4), None), ((2, 3, 4), (4,), -1),
                                        ((3, 4), None, 2), ((4,), (1, 3, 1), -1),
                                        ((2, 3, 1), None, 1), ((1, 2, 1, 4), None, -1)):
            for rms in (False, True):
                with self.subTest(shape=shape, bias=bias_shape, rms=rms):
                    bias_shape = None if rms else bias_shape
                    scale = random.standard_normal(shape).astype(np.float32)
                    bias = (None if bias_shape is None
                            else random.standard_normal(bias_shape).astype(np.float32))
                    if rms and shape == (4,):
                        continue
                    inputs = {"x": X, "s": scale} | ({} if bias is None else {"b": bias})
                    op = "RMSNormalization" if rms else "LayerNormalization"
                    given = {} if axis is None else {"axis": axis}  # -1 by default
                    node = helper.make_node(op, list(inputs), ["y"], "norm", epsilon=1e-5, **given)
                    path = self.save(self.graph([node], inputs={name: array.shape
                                                                for name, array in inputs.items()}),
                                     23 if rms else 17)
                    wide = "bias 'b'" if shape == (4,) else "scale 's'"
                    warning = (f"node 'norm' ({op}): {wide} is wider than the dims that are "
                               f"normalised")
                    expected = self.normalised(scale.reshape(shape[-3:]), bias,
                                               given.get("axis", -1), rms)
                    self.expect_lenient(path, warning, inputs, expected)
        # Beyond the input's dims there is nothing to be scaled.
        node = helper.make_node("LayerNormalization", ["x", "s"], ["y"], "norm")
        text = self.compile(self.save(self.graph([node], inputs={"x": [1, 3, 4], "s": [2, 3, 4]})),
                            code=3)
        self.assertIn("node 'norm' (LayerNormalization): the dims and input 's' spread to them "
                      "differ", text)

    def test_scale_within_the_normalised_dims(self):
        scale = np.random.default_rng(4).standard_normal((3, 1)).astype(np.float32)
        node = helper.make_node("LayerNormalization", ["x", "s"], ["y"], "norm", axis=1)
        text = self.compile(self.save(self.graph([node], inputs={"x": X.shape, "s": scale.shape})))
        self.assertNotIn("warning", text)
        self.expect({"x": X, "s": scale}, self.normalised(scale, None, 1, False))

    def test_open_dims_of_a_wide_scale(self):
        scale = np.random.default_rng(4).standard_normal((2, 1, 4)).astype(np.float32)
        node = helper.make_node("LayerNormalization", ["x", "s"], ["y"], "norm")
        self.compile(self.save(self.graph([node], inputs={"x": ["N", "S", 4], "s": ["N", 1, 4]})))
        self.expect({"x": X, "s": scale}, self.normalised(scale, None, -1, False))

    def test_feature_vectorizer(self):
        node = helper.make_node("FeatureVectorizer", ["x", "z"], ["y"], "columns",
                                domain="ai.onnx.ml", inputdimensions=[12, 3])
        z = X[:, 0, :2]
        path = self.save(self.graph([node], inputs={"x": X.shape, "z": z.shape}),
                         domains=[("ai.onnx.ml", 1)])
        expected = np.hstack([X.reshape(2, 12), z, np.zeros((2, 1), np.float32)])
        self.expect_lenient(path, "node 'columns' (FeatureVectorizer): input 0 has rank 3",
                            {"x": X, "z": z}, expected)

    def test_missing_import(self):
        node = helper.make_node("Binarizer", ["x"], ["y"], "b", domain="ai.onnx.ml", threshold=0.5)
        path = self.save(self.graph([node]))
        warning = "node 'b' (Binarizer): the model imports no opset of domain 'ai.onnx.ml'"
        self.expect_lenient(path, warning, {"x": X}, (X > 0.5).astype(np.float32))

    def test_missing_import_of_onnx(self):
        """Nothing of ONNX's own domain is used but by a function, which says its opset itself; or
        constants, which are alike in all."""
        function = helper.make_function("my", "F", ["a"], ["b"],
                                        [helper.make_node("Relu", ["a"], ["b"])],
                                        [helper.make_opsetid("", 16)])
        call = helper.make_node("F", ["x"], ["y"], domain="my")
        path = self.save(self.graph([call]), None, [("my", 1)], functions=[function])
        self.assertNotIn("warning", self.compile(path, "--strict"))
        self.expect({"x": X}, np.maximum(X, 0))
        nodes = [helper.make_node("Constant", [], ["k"],
                                  value=numpy_helper.from_array(X[0].T.copy())),
                 helper.make_node("FusedMatMul", ["x", "k"], ["y"], domain="com.microsoft")]
        path = self.save(self.graph(nodes), None, [("com.microsoft", 1)])
        self.expect_lenient(path, "node 'k' (Constant): the model imports no opset of domain "
                            "'ai.onnx'", {"x": X}, X @ X[0].T)
        relu = helper.make_node("Relu", ["x"], ["y"])
        self.assertIn("does not say which opset",
                      self.compile(self.save(self.graph([relu]), None, [("my", 1)]), code=3))

    def test_strict_comes_too_late(self):
        self.program(0, "sluice-preprocess",
                     self.save(self.graph([helper.make_node("Relu", ["x"], ["y"])])), "-o",
                     self.path("m.sg"))
        self.assertIn("--strict is read by sluice-preprocess",
                      self.compile(self.path("m.sg"), "--strict", code=3))


class NestedLoops(LenientCase):
    def nested(self, depth):
        """The bytes of a model whose `depth` Loops lie in one another; only the innermost six turn
        twice."""
        def nodes(*made):
            return b"".join(field(1, node.SerializeToString()) for node in made)
        inner = nodes(helper.make_node("Add", ["v0", "one"], ["o0"]))
        for level in range(depth):
            on = nodes(helper.make_node("Identity", [f"c{level}"], [f"on{level}"]))
            inputs = [value(f"i{level}", np.int64, []), value(f"c{level}", bool, []),
                      value(f"v{level}", np.float32)]
            outputs = [value(f"on{level}", bool, []), value(f"o{level}", np.float32)]
            body = (inner + on + field(2, b"body") + b"".join(field(11, each.SerializeToString())
                                                              for each in inputs) +
                    b"".join(field(12, each.SerializeToString()) for each in outputs))
            outer = level + 1
            source, made = (f"v{outer}", f"o{outer}") if outer < depth else ("x", "y")
            loop = helper.make_node("Loop", ["twice" if level < 6 else "once", "", source], [made],
                                    f"loop{level}").SerializeToString()
            inner = field(1, loop + field(5, field(1, b"body") + varint(20 << 3) + varint(5) +
                                          field(6, body)))
        shell = helper.make_graph([], "g", [value("x", np.float32, [2])], [value("y", np.float32)],
                                  constants(twice=np.int64(2), once=np.int64(1), one=np.float32(1)))
        model = models.model_of_graph(shell, opset=16)
        model.ClearField("graph")
        return self.write(model.SerializeToString() + field(7, inner + shell.SerializeToString()))

    def test_depths(self):
        x = X[0, 0, :2]
        for depth in (8, 30, 63, 64):
            with self.subTest(depth=depth):
                self.compile(self.nested(depth))
                self.expect({"x": x}, x + 2**6)

    def test_too_deep(self):
        self.assertIn("more than 64 bodies lie in one another",
                      self.compile(self.nested(65), code=5))
        for depth in (100, 1000, 3000):
            self.assertIn("messages are nested too deeply",
                          self.compile(self.nested(depth), code=3))


if __name__ == "__main__":
    LenientCase.programs = need(sys.argv.pop(1),
                                ["check", "compile", "loader", "show", "as", "diff", "verify"])
    unittest.main()
