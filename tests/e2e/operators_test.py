#!/usr/bin/python3
"""Operators of ai.onnx.ml compute what numpy does, random ones what their seed says, images what
their files hold; the rest is reported.

usage: operators_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import ctypes
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper

from ml_cases import cases, tensor
from programs import need

PROGRAMS = None
# One of each kind: compiling takes longer than evaluating.
COMPILED = {"tensors_float64", "one_hot_matrix", "extract", "impute_nan", "classify_SOFTMAX",
            "svm_RBF", "forest", "tree_pair_True_NONE", "ensemble_float16_0", "ensemble_float64_2"}


def run(program, *arguments):
    done = subprocess.run([os.path.join(PROGRAMS, program), *arguments], capture_output=True,
                          text=True)
    return done.returncode, done.stdout + done.stderr


def save(path, message):
    with open(path, "wb") as file:
        file.write(message.SerializeToString())


def bindings(folder, inputs):
    arguments = []
    for name, value in inputs.items():
        path = os.path.join(folder, f"{name}.in.pb")
        save(path, tensor(value))
        arguments += ["--input", f"{name}={path}"]
    return arguments


def plain_model(nodes, inputs, outputs):
    def info(name, value):
        return helper.make_tensor_value_info(name, tensor(value).data_type, value.shape)
    graph = helper.make_graph(nodes, "g", [info(name, value) for name, value in inputs.items()],
                              [helper.make_tensor_value_info(name, dtype, None)
                               for name, dtype in outputs.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    return model


class Evaluated(unittest.TestCase):
    def results(self, model, inputs, names, optimize=False):
        with tempfile.TemporaryDirectory() as folder:
            path, graph = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.sg")
            save(path, model)
            code, text = run("sluice-preprocess", path, "-o", graph)
            self.assertEqual(code, 0, text)
            if optimize:
                code, text = run("sluice-optimize", graph, "-o", graph + ".o")
                self.assertEqual(code, 0, text)
                graph += ".o"
            code, text = run("sluice-eval", graph, *bindings(folder, inputs), "--output-dir",
                             folder)
            self.assertEqual(code, 0, text)
            return [np.load(os.path.join(folder, name + ".npy")) for name in names]


class MachineLearning(Evaluated):
    def check_equal(self, got, wanted, tolerance):
        self.assertEqual(got.shape, wanted.shape)
        if wanted.dtype.kind in "OU":
            self.assertEqual([text.decode() if isinstance(text, bytes) else text
                              for text in got.ravel()], list(wanted.ravel()))
            return
        self.assertEqual(got.dtype, wanted.dtype)
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)

    def test_cases(self):
        for case in cases():
            for free in (False, True):
                with self.subTest(case.name, free=free):
                    inputs = {f"x{i}": value for i, value in enumerate(case.inputs)}
                    wanted = {f"y{i}": value for i, value in enumerate(case.wanted)
                              if value is not None}
                    for got, name in zip(self.results(case.model(free), inputs, wanted), wanted):
                        self.check_equal(got, wanted[name], case.tolerance)


    def test_compiled(self):
        for case in cases():
            if case.name not in COMPILED:
                continue
            with self.subTest(case.name), tempfile.TemporaryDirectory() as folder:
                model, compiled = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.om")
                save(model, case.model(False))
                code, text = run("sluice", "compile", model, "-o", compiled,
                                 "--profile=cpu-generic")
                self.assertEqual(code, 0, text)
                inputs = {f"x{i}": value for i, value in enumerate(case.inputs)}
                code, text = run("sluice", "run", compiled, *bindings(folder, inputs),
                                 "--output-dir", folder)
                self.assertEqual(code, 0, text)
                for i, wanted in enumerate(case.wanted):
                    if wanted is not None:
                        self.check_equal(np.load(os.path.join(folder, f"y{i}.npy")), wanted,
                                         case.tolerance)


class Random(Evaluated):
    """Seeds draw as numpy.random.RandomState does."""

    def draw(self, op, inputs=(), optimize=False, outputs=1, **attributes):
        inputs = {f"x{i}": value for i, value in enumerate(inputs)}
        names = [f"y{i}" for i in range(outputs)]
        dtype = attributes.get("dtype", TensorProto.FLOAT)
        model = plain_model([helper.make_node(op, list(inputs), names, **attributes)], inputs,
                            dict(zip(names, [dtype, TensorProto.BOOL])))
        return self.results(model, inputs, names, optimize)

    def test_numbers_of_a_seed(self):
        uniform, normal = np.random.RandomState(7).rand(3, 4), np.random.RandomState(7).randn(3, 4)
        like = np.zeros((3, 4), np.float64)
        for got, wanted in ((self.draw("RandomUniform", shape=[3, 4], seed=7.0, low=-1.0, high=3.0),
                             4 * uniform - 1), (self.draw("RandomUniformLike", [like], seed=7.0,
                                                          dtype=TensorProto.FLOAT), uniform),
                            (self.draw("RandomNormal", shape=[3, 4], seed=7.0, mean=2.0, scale=0.5),
                             0.5 * normal + 2), (self.draw("RandomNormalLike", [like], seed=7.0,
                                                           dtype=TensorProto.DOUBLE), normal)):
            np.testing.assert_allclose(got[0], wanted, rtol=1e-6, atol=1e-6)

    def test_compiled_models_draw_the_same(self):
        nodes = [helper.make_node("RandomUniform", [], ["a"], shape=[64]),
                 helper.make_node("RandomNormalLike", ["a"], ["b"]),
                 helper.make_node("Bernoulli", ["a"], ["c"]),
                 helper.make_node("Sum", ["a", "b", "c"], ["y"])]
        model = plain_model(nodes, {}, {"y": TensorProto.FLOAT})
        wanted, = self.results(model, {}, ["y"])
        with tempfile.TemporaryDirectory() as folder:
            path, compiled = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.om")
            save(path, model)
            for arguments in (["compile", path, "-o", compiled, "--profile=cpu-generic"],
                              ["run", compiled, "--output-dir", folder]):
                code, text = run("sluice", *arguments)
                self.assertEqual(code, 0, text)
            np.testing.assert_allclose(np.load(os.path.join(folder, "y.npy")), wanted, rtol=1e-6,
                                       atol=1e-6)

    def test_training_dropout(self):
        x = np.random.RandomState(1).randn(3, 50).astype(np.float32)
        kept = np.random.RandomState(9).uniform(0, 1, x.shape) >= 0.75
        for optimize in (False, True):
            y, mask = self.draw("Dropout", [x, np.array(0.75, np.float32), np.array(True)],
                                optimize, 2, seed=9)
            np.testing.assert_array_equal(mask, kept)
            np.testing.assert_allclose(y, 4 * kept * x, rtol=1e-6)

    def test_nodes_without_seed_differ_and_runs_do_not(self):
        nodes = [helper.make_node("RandomUniform", [], [name], shape=[64]) for name in ("a", "b")]
        nodes += [helper.make_node("Sub", ["a", "a2"], ["c"]),
                  helper.make_node("RandomUniformLike", ["a"], ["a2"])]
        names = ["a", "b", "c"]
        model = plain_model(nodes, {}, {name: TensorProto.FLOAT for name in names})
        first = self.results(model, {}, names)
        self.assertGreater(abs(first[0] - first[1]).max(), 0.1)
        self.assertGreater(abs(first[2]).max(), 0.1)
        for optimize in (False, True):
            for got, wanted in zip(self.results(model, {}, names, optimize), first):
                np.testing.assert_array_equal(got, wanted)

    def test_equal_nodes_with_a_seed_are_not_folded(self):
        node = helper.make_node("RandomUniform", [], ["y"], shape=[4], seed=1.0)
        with tempfile.TemporaryDirectory() as folder:
            save(os.path.join(folder, "m.onnx"), plain_model([node], {}, {"y": TensorProto.FLOAT}))
            for program in ("preprocess", "optimize"):
                source = os.path.join(folder, "m.onnx" if program == "preprocess"
                                      else "preprocess.sg")
                code, text = run("sluice-" + program, source, "-o",
                                 os.path.join(folder, program + ".sg"))
                self.assertEqual(code, 0, text)
                code, text = run("sluice-show", os.path.join(folder, program + ".sg"))
                self.assertIn("RandomUniform", text)

    def test_draws_follow_their_chances(self):
        chances = np.full((100, 200), 0.2, np.float32)
        drawn, = self.draw("Bernoulli", [chances], dtype=TensorProto.DOUBLE)
        self.assertEqual(drawn.dtype, np.float64)
        self.assertEqual(set(np.unique(drawn)), {0.0, 1.0})
        self.assertAlmostEqual(drawn.mean(), 0.2, delta=0.02)
        picked, = self.draw("Multinomial", [np.log(np.array([[0.1, 0.6, 0.3]] * 2, np.float32))],
                            sample_size=20000, dtype=TensorProto.INT64)
        self.assertEqual(picked.shape, (2, 20000))
        np.testing.assert_allclose(np.bincount(picked[1]) / 20000, [0.1, 0.6, 0.3], atol=0.02)
        self.assertGreater((picked[0] != picked[1]).mean(), 0.3)


class Choices(Evaluated):
    """Where ONNX's text leaves a choice, docs/operators.md says what is taken: evaluated, and
    compiled and run."""

    def values(self, nodes, inputs, outputs, opset):
        model = plain_model(nodes, inputs, outputs)
        model.opset_import[0].version = opset
        evaluated = self.results(model, inputs, outputs)
        with tempfile.TemporaryDirectory() as folder:
            path, compiled = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.om")
            save(path, model)
            for arguments in (["compile", path, "-o", compiled, "--profile=cpu-generic"],
                              ["run", compiled, *bindings(folder, inputs), "--output-dir", folder]):
                code, text = run("sluice", *arguments)
                self.assertEqual(code, 0, text)
            for name, wanted in zip(outputs, evaluated):
                got = np.load(os.path.join(folder, name + ".npy"))
                self.assertEqual(got.dtype, wanted.dtype)
                np.testing.assert_array_equal(got, wanted)
        return evaluated

    def test_corners_of_fractional_scales(self):
        x, floats = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4), {"y": TensorProto.FLOAT}
        scales, sizes = np.array([1, 1, 0.6, 0.6], np.float32), np.array([1, 1, 1, 2], np.int64)
        resize = dict(mode="linear", coordinate_transformation_mode="align_corners")
        constants = [helper.make_node("Constant", [], ["scales"], value=tensor(scales)),
                     helper.make_node("Constant", [], ["sizes"], value=tensor(sizes))]
        by_scales, = self.values([constants[0],
                                  helper.make_node("Resize", ["x", "", "scales"], ["y"], **resize)],
                                 {"x": x}, floats, 13)
        np.testing.assert_allclose(by_scales, [[[[1, 1 + 3 / (4 * 0.6 - 1)]]]], rtol=1e-6)
        by_sizes, = self.values([constants[1], helper.make_node("Resize", ["x", "", "", "sizes"],
                                                                ["y"], **resize)],
                                {"x": x}, floats, 13)
        np.testing.assert_allclose(by_sizes, [[[[1, 4]]]], rtol=1e-6)

    def test_masks_of_dropout_that_drops_nothing(self):
        x = np.arange(6, dtype=np.float64).reshape(2, 3)
        for opset, dtype in ((1, np.float64), (6, np.float64), (7, np.float64), (10, np.bool_),
                             (12, np.bool_), (13, np.bool_)):
            attributes = {"is_test": 1} if opset < 7 else {}
            if opset < 12:
                attributes["ratio"] = 0.25
            outputs = {"y": TensorProto.DOUBLE, "mask": TensorProto.BOOL if dtype == np.bool_
                       else TensorProto.DOUBLE}
            with self.subTest(opset=opset):
                y, mask = self.values([helper.make_node("Dropout", ["x"], ["y", "mask"],
                                                        **attributes)], {"x": x}, outputs, opset)
                np.testing.assert_array_equal(y, x)
                self.assertEqual(mask.dtype, dtype)
                np.testing.assert_array_equal(mask, np.ones((2, 3)))


def has_leptonica():
    try:
        ctypes.CDLL("liblept.so.5")
        return True
    except OSError:
        return False


@unittest.skipUnless(has_leptonica(), "liblept5 is not installed")
class Images(Evaluated):
    """Formats that hold exactly what was written; what no program here can write is left to ONNX's
    own cases."""

    PIXELS = np.random.default_rng(5).integers(0, 256, (5, 6, 3), np.uint8)

    def decode(self, data, pixel_format):
        data = np.frombuffer(data, np.uint8)
        node = helper.make_node("ImageDecoder", ["x"], ["y"], pixel_format=pixel_format)
        return self.results(plain_model([node], {"x": data}, {"y": TensorProto.UINT8}), {"x": data},
                            ["y"])[0]

    def files(self):
        pixels, (height, width) = self.PIXELS, self.PIXELS.shape[:2]
        yield f"P6 {width} {height} 255\n".encode() + pixels.tobytes()
        rows = b"".join(row[:, ::-1].tobytes() + bytes(-3 * width % 4) for row in pixels[::-1])
        header = b"".join(number.to_bytes(size, "little")
                          for number, size in ((40, 4), (width, 4), (height, 4), (1, 2), (24, 2),
                                               (0, 4), (len(rows), 4), (2835, 4), (2835, 4), (0, 4),
                                               (0, 4)))
        yield (b"BM" + (54 + len(rows)).to_bytes(4, "little") + bytes(4) +
               (54).to_bytes(4, "little") + header + rows)

    def test_pixel_formats(self):
        grey = (self.PIXELS.astype(int) @ [19595, 38470, 7471] + 32768 >> 16).astype(np.uint8)[...,
                                                                                               None]
        for data in self.files():
            for pixel_format, wanted in (("RGB", self.PIXELS), ("BGR", self.PIXELS[..., ::-1]),
                                         ("Grayscale", grey)):
                with self.subTest(data[:2], pixel_format=pixel_format):
                    np.testing.assert_array_equal(self.decode(data, pixel_format), wanted)


class Refused(unittest.TestCase):
    def error_of(self, node, *opsets):
        value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
        graph = helper.make_graph([node], "g", [value],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, version)
                                                        for domain, version in opsets])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            save(path, model)
            code, text = run("sluice-preprocess", path, "-o", os.path.join(folder, "m.sg"))
        self.assertNotEqual(code, 0)
        self.assertLess(code, 128, text)
        return text

    def ml_node(self, op, **attributes):
        return helper.make_node(op, ["x"], ["y"], "the_node", domain="ai.onnx.ml", **attributes)

    def test_training(self):
        for op in ("Adagrad", "Adam", "Gradient", "GraphCall", "Momentum"):
            node = helper.make_node(op, ["x"], ["y"], "the_node", domain="ai.onnx.preview.training")
            self.assertIn(f"1 unsupported operator: {op} of domain "
                          f"'ai.onnx.preview.training' (1 node: 'the_node')",
                          self.error_of(node, ("ai.onnx.preview.training", 1)))

    def test_each_error_names_node_and_form(self):
        leaf = dict(nodes_modes=["LEAF"], nodes_featureids=[0], nodes_values=[0.0],
                    nodes_truenodeids=[0], nodes_falsenodeids=[0],
                    nodes_treeids=[0], nodes_nodeids=[0], target_treeids=[0], target_nodeids=[0],
                    target_ids=[0], target_weights=[2.5])
        for node, part in (
                (self.ml_node("CastMap"), "CastMap of domain 'ai.onnx.ml'"),
                (self.ml_node("LabelEncoder"), "it has no attribute 'keys_tensor', 'keys_strings'"),
                (self.ml_node("LabelEncoder", keys_floats=[1.0]), "it has no attribute "
                 "'values_tensor'"), (self.ml_node("LabelEncoder", keys_floats=[1]),
                                      "attribute 'keys_floats' is of type INTS, expected FLOATS"),
                (self.ml_node("LabelEncoder", keys_floats=[1.0], values_floats=[1.0, 2.0]),
                 "it has 1 keys, but 2 values"),
                (self.ml_node("LabelEncoder", keys_int64s=[1], values_floats=[1.0]),
                 "its keys are i64, but input 0 'X' is f32"),
                (self.ml_node("Imputer"), "attribute 'imputed_value_floats' is absent or empty"),
                (self.ml_node("Normalizer", norm="L3"), "attribute 'norm' is 'L3'"),
                (self.ml_node("LinearRegressor", coefficients=[1.0] * 5, targets=2),
                 "5 coefficients do not make 2 rows"),
                (self.ml_node("LinearRegressor", coefficients=[1.0] * 3, post_transform="ODD"),
                 "attribute 'post_transform' is 'ODD'"),
                (self.ml_node("SVMRegressor", coefficients=[1.0], n_supports=2,
                              support_vectors=[1.0]), "2 support vectors do not fit"),
                (self.ml_node("TreeEnsembleRegressor"),
                 "attribute 'nodes_treeids' is absent or empty"),
                (self.ml_node("TreeEnsembleRegressor", **{**leaf, "nodes_modes": ["LEAF"] * 2}),
                 "attributes 'nodes_…' are of different lengths"),
                (self.ml_node("TreeEnsembleRegressor", **{**leaf, "nodes_modes": ["BRANCH_ODD"]}),
                 "attribute 'nodes_modes' has the element 'BRANCH_ODD'"),
                (self.ml_node("TreeEnsembleRegressor", **{**leaf, "target_ids": [1]}),
                 "attribute 'target_ids' has the element 1"),
                (self.ml_node("TreeEnsembleRegressor", aggregate_function="ODD", **leaf),
                 "attribute 'aggregate_function' is 'ODD'")):
            with self.subTest(part):
                text = self.error_of(node, ("ai.onnx.ml", 3), ("", 17))
                self.assertIn(part, text)
                self.assertIn("'the_node'", text)
        self.assertIn("opset 6 of ai.onnx.ml",
                      self.error_of(self.ml_node("Binarizer"), ("ai.onnx.ml", 6)))


if __name__ == "__main__":
    PROGRAMS = need(sys.argv.pop(1), ["preprocess", "eval", "optimize", "show", "partition",
                                      "subgraph-optimize", "build", "loader"])
    unittest.main()
