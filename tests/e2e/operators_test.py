#!/usr/bin/python3
"""Operators of ai.onnx.ml compute what numpy does, random ones what their seed says, images what
their files hold; the rest is reported.

usage: operators_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import ctypes
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from ml_cases import cases, tensor
from models import floats, model_of, value, write
from programs import STAGES, ProgramCase, need

# One of each kind: compiling takes longer than evaluating.
COMPILED = {"tensors_float64", "one_hot_matrix", "extract", "impute_nan", "classify_SOFTMAX",
            "svm_RBF", "forest", "tree_pair_True_NONE", "ensemble_float16_0", "ensemble_float64_2"}


def plain_model(nodes, inputs, outputs, opset=20):
    return model_of(nodes, [value(name, array.shape, tensor(array).data_type)
                            for name, array in inputs.items()],
                    [value(name, None, dtype) for name, dtype in outputs.items()], opset=opset,
                    ir_version=9)


class Evaluated(ProgramCase):
    def bindings(self, inputs):
        """As files of ONNX, which texts can be in."""
        return [f"--input={name}=" + write(self.path(name + ".in.pb"), tensor(array))
                for name, array in inputs.items()]

    def results(self, model, inputs, names, optimize=False):
        graph = self.path("m.sg")
        self.program(0, "sluice-preprocess", write(self.path("m.onnx"), model), "-o", graph)
        if optimize:
            self.program(0, "sluice-optimize", graph, "-o", graph + ".o")
            graph += ".o"
        found = self.outputs_of("sluice-eval", graph, *self.bindings(inputs))
        return [found[name] for name in names]

    def compiled_results(self, model, inputs, names):
        self.program(0, "sluice", "compile", write(self.path("m.onnx"), model), "-o",
                     self.path("m.om"), "--profile=cpu-generic")
        found = self.outputs_of("sluice", "run", self.path("m.om"), *self.bindings(inputs))
        return [found[name] for name in names]


class MachineLearning(Evaluated):
    def check_equal(self, got, wanted, tolerance):
        self.assertEqual(got.shape, wanted.shape)
        if wanted.dtype.kind in "OU":
            self.assertEqual([text.decode() if isinstance(text, bytes) else text
                              for text in got.ravel()], list(wanted.ravel()))
            return
        self.assertEqual(got.dtype, wanted.dtype)
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)

    def check_case(self, results, case, free):
        inputs = {f"x{i}": array for i, array in enumerate(case.inputs)}
        wanted = {f"y{i}": array for i, array in enumerate(case.wanted) if array is not None}
        for got, name in zip(results(case.model(free), inputs, wanted), wanted):
            self.check_equal(got, wanted[name], case.tolerance)

    def test_cases(self):
        for case in cases():
            for free in (False, True):
                with self.subTest(case.name, free=free):
                    self.check_case(self.results, case, free)

    def test_compiled(self):
        for case in cases():
            if case.name not in COMPILED:
                continue
            with self.subTest(case.name):
                self.check_case(self.compiled_results, case, False)


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
        got, = self.compiled_results(model, {}, ["y"])
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)

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
        source = write(self.path("m.onnx"), plain_model([node], {}, {"y": TensorProto.FLOAT}))
        for stage in ("preprocess", "optimize"):
            self.program(0, "sluice-" + stage, source, "-o", self.path(stage))
            self.assertIn("RandomUniform", self.program(0, "sluice-show", self.path(stage)))
            source = self.path(stage)

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
        model = plain_model(nodes, inputs, outputs, opset)
        evaluated = self.results(model, inputs, outputs)
        for got, wanted in zip(self.compiled_results(model, inputs, outputs), evaluated):
            self.assertEqual(got.dtype, wanted.dtype)
            np.testing.assert_array_equal(got, wanted)
        return evaluated

    def test_corners_of_fractional_scales(self):
        x, y = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4), {"y": TensorProto.FLOAT}
        scales, sizes = np.array([1, 1, 0.6, 0.6], np.float32), np.array([1, 1, 1, 2], np.int64)
        resize = dict(mode="linear", coordinate_transformation_mode="align_corners")
        constants = [helper.make_node("Constant", [], ["scales"], value=tensor(scales)),
                     helper.make_node("Constant", [], ["sizes"], value=tensor(sizes))]
        by_scales, = self.values([constants[0],
                                  helper.make_node("Resize", ["x", "", "scales"], ["y"], **resize)],
                                 {"x": x}, y, 13)
        np.testing.assert_allclose(by_scales, [[[[1, 1 + 3 / (4 * 0.6 - 1)]]]], rtol=1e-6)
        by_sizes, = self.values([constants[1], helper.make_node("Resize", ["x", "", "", "sizes"],
                                                                ["y"], **resize)],
                                {"x": x}, y, 13)
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


class Refused(ProgramCase):
    def error_of(self, node, *opsets):
        model = model_of([node], [floats("x", [2, 3])], [floats("y")], opset=None, domains=opsets)
        return self.failed("sluice-preprocess", write(self.path("m.onnx"), model), "-o",
                           self.path("m.sg"))

    def ml_node(self, op, **attributes):
        return helper.make_node(op, ["x"], ["y"], "the_node", domain="ai.onnx.ml", **attributes)

    def test_training(self):
        for op in ("Adagrad", "Adam", "Gradient", "GraphCall", "Momentum"):
            node = helper.make_node(op, ["x"], ["y"], "the_node", domain="ai.onnx.preview.training")
            self.assertIn(f"1 unsupported operator: {op} of domain "
                          f"'ai.onnx.preview.training' (1 node: 'the_node')",
                          self.error_of(node, ("ai.onnx.preview.training", 1)))

    def test_each_error_names_node_and_form(self):
        def svc(**changed):
            return {**dict(classlabels_ints=[1, 2], coefficients=[1.0, 2.0], rho=[0.5],
                           support_vectors=[1.0] * 6, vectors_per_class=[1, 1]), **changed}

        circle = dict(nodes_modes=["BRANCH_LEQ"] * 2 + ["LEAF"], nodes_featureids=[0] * 3,
                      nodes_values=[0.0] * 3, nodes_truenodeids=[1, 1, 0],
                      nodes_falsenodeids=[2, 2, 0], nodes_treeids=[0] * 3,
                      nodes_nodeids=[0, 1, 2], target_treeids=[0], target_nodeids=[2],
                      target_ids=[0], target_weights=[1.0], n_targets=1)
        stump = dict(circle, nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
                     nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
                     target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0],
                     target_weights=[1.0, 2.0])
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
                (self.ml_node("SVMClassifier", **svc(vectors_per_class=[1])),
                 "attribute 'vectors_per_class' has 1 elements, expected 2"),
                (self.ml_node("SVMClassifier", **svc(vectors_per_class=[3, -1])),
                 "attribute 'vectors_per_class' has the element -1"),
                (self.ml_node("SVMClassifier", **svc(coefficients=[1.0])),
                 "attribute 'coefficients' has 1 elements, expected 2"),
                (self.ml_node("SVMClassifier", **svc(support_vectors=[1.0] * 7)),
                 "attribute 'support_vectors' has 7 elements, which make no 2 vectors"),
                (self.ml_node("SVMClassifier", **svc(support_vectors=[1.0] * 8)),
                 "its support vectors have 4 features, the input has 3"),
                (self.ml_node("SVMClassifier", **svc(classlabels_ints=[1, 2, 3],
                                                     vectors_per_class=[1, 1, 0],
                                                     coefficients=[1.0] * 4)),
                 "attribute 'rho' has 1 elements, expected 3"),
                (self.ml_node("SVMClassifier", **svc(prob_b=[1.0])),
                 "attribute 'prob_a' has 0 elements, expected 1"),
                (self.ml_node("SVMClassifier", **svc(kernel_type="ODD")),
                 "attribute 'kernel_type' is 'ODD'"),
                (self.ml_node("SVMClassifier", **svc(classlabels_ints=[1])),
                 "it has 1 classes, expected at least 2"),
                (self.ml_node("TreeEnsembleRegressor", **circle),
                 "the tree with root 0 has a circle"),
                (self.ml_node("TreeEnsembleRegressor"),
                 "attribute 'nodes_treeids' is absent or empty"),
                (self.ml_node("TreeEnsembleRegressor",
                              **{**stump, "nodes_truenodeids": [0, 0, 0],
                                 "nodes_falsenodeids": [0, 0, 0]}),
                 "tree 0 has two roots: nodes 1 and 2 are no children"),
                (self.ml_node("TreeEnsembleRegressor",
                              **{**stump, "nodes_modes": ["LEAF", "BRANCH_LT", "BRANCH_LT"],
                                 "nodes_truenodeids": [0, 2, 1],
                                 "nodes_falsenodeids": [0, 2, 1]}),
                 "tree 0 has a circle: its root, node 0, is a leaf"),
                (self.ml_node("TreeEnsembleRegressor", **{**stump, "target_nodeids": [1, 77]}),
                 "have a weight of node 77 of tree 0, which is not there"),
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
                self.assertIn("'the_node", text)
        self.assertIn("opset 6 of ai.onnx.ml",
                      self.error_of(self.ml_node("Binarizer"), ("ai.onnx.ml", 6)))


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), [*STAGES, "eval", "show", "loader"])
    unittest.main()
