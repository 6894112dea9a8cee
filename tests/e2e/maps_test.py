#!/usr/bin/python3
"""Maps: classifiers that end in ZipMap through compiler, loader, evaluator, files and API; what
--out-nodes drops is not refused.

usage: maps_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import shutil
import subprocess
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from classifiers import ML, LogisticRegression, RandomForest, map_info, maps_info
from models import floats, model_of, value, write
from programs import ProgramCase, bytes_of, import_sluice, need

TEXTS, NUMBERS, PAIR = ["setosa", "versicolor", "virginica"], [0, 7, -3], [0, 1]
sluice = None


class MapCase(ProgramCase):
    def saved(self, model, name="m.onnx"):
        return write(self.path(name), model)

    def compiled(self, model, *options):
        self.program(0, "sluice-compile", self.saved(model), "-o", self.path("m.om"), *options)
        return self.path("m.om")

    def array(self, name, value):
        np.save(self.path(name), value)
        return self.path(name)

    def check_maps(self, classifier, x, maps):
        wanted = classifier.probabilities(x)
        self.assertEqual([list(one) for one in maps], [classifier.labels] * len(x))
        np.testing.assert_allclose([list(one.values()) for one in maps], wanted, atol=1e-5)
        if len(x) > 4:
            self.assertGreater(np.ptp(wanted, axis=0).max(), 0.02)


class Classifiers(MapCase):
    def test_python_gives_lists_of_dicts(self):
        for kind, labels, ml_opset, batch in (
                (LogisticRegression, TEXTS, 1, None), (LogisticRegression, NUMBERS, 1, 5),
                (LogisticRegression, PAIR, 1, None), (RandomForest, TEXTS, 3, None),
                (RandomForest, PAIR, 2, None)):
            with self.subTest(kind.__name__, labels=labels):
                classifier = kind(labels, ml_opset)
                with sluice.Model(self.compiled(classifier.model(batch))) as model:
                    self.assertEqual(
                        [(one.kind, one.key_dtype, one.dtype) for one in model.outputs],
                        [(0, 0, classifier.key), (1, classifier.key, TensorProto.FLOAT)])
                    key = "string" if classifier.are_texts else "i64"
                    self.assertEqual(model.outputs[1].type,
                                     f"sequence of map from {key} to f32 scalar")
                    run = model.run()
                    for rows in (batch,) if batch else (3, 1, 8):
                        x = classifier.x(rows)
                        outputs = run(X=x)
                        self.check_maps(classifier, x, outputs["output_probability"])
                        best = classifier.probabilities(x).argmax(1)
                        self.assertEqual(list(outputs["output_label"]), [labels[i] for i in best])

    def test_no_rows(self):
        classifier = RandomForest(TEXTS, 1)
        with sluice.Model(self.compiled(classifier.model(), "--dim=X_0=0..8")) as model:
            self.assertEqual(model.run()(X=classifier.x(0))["output_probability"], [])

    def test_tensor_under_the_same_name(self):
        classifier = LogisticRegression(NUMBERS, 1)
        x = classifier.x(6)
        for batch, options in ((None, []), (6, ["--opt-level=O0"])):
            with sluice.Model(self.compiled(classifier.model(batch), "--zipmap=tensor",
                                            *options)) as model:
                self.assertEqual((model.outputs[1].name, model.outputs[1].kind,
                                  model.outputs[1].dtype), ("output_probability", 0, 1))
                np.testing.assert_allclose(model.run()(X=x)["output_probability"],
                                           classifier.probabilities(x), atol=1e-5)
        self.assertIn("--zipmap is 'maps', expected map or tensor",
                      self.program(3, "sluice-compile", self.saved(classifier.model()), "-o",
                                   self.path("m.om"), "--zipmap=maps"))
        self.assertIn("ZipMap", self.program(0, "sluice-check", self.saved(classifier.model())))
        self.assertNotIn("ZipMap", self.program(0, "sluice-check", self.saved(classifier.model()),
                                                "--zipmap=tensor"))


class Languages(MapCase):
    """The first map's keys and values by sluice.h and by sluice.hpp."""

    BEGIN = """
#include <stdio.h>
#include "runtime/api/sluice.h%s"
int main(int argc, char** argv) {
  const float x[4] = {0.25f, -1, 2, 0.5f};
  const int64_t dims[2] = {1, 4};
  sluice_tensor keys, values, in = {1, 2, dims, x, sizeof x};
"""
    C = """
  sluice_model* model;
  sluice_run* run;
  sluice_binding binding;
  if (argc != 2 || sluice_model_open(argv[1], 0, &model)) return 1;
  if (sluice_model_output(model, 1, &binding) || sluice_run_create(model, 1, &run)) return 1;
  if (binding.kind != SLUICE_KIND_SEQUENCE) return 2;
  if (binding.key_dtype != 7 || binding.dtype != 1) return 2;
  if (sluice_run_bind_input_tensors(run, 0, &in, 1) || sluice_run_execute(run)) return 3;
  if (sluice_run_output_count(run, 1) != 2) return 4;
  if (sluice_run_output_tensor(run, 1, 0, &keys)) return 5;
  if (sluice_run_output_tensor(run, 1, 1, &values)) return 5;
"""
    CPP = """
  sluice::api::Model model(argv[argc - 1]);
  sluice::api::Run run(model, 1);
  run.bind_input(0, {in});
  run.execute();
  if (run.output_maps(1).size() != 1 || model.outputs()[1].key_dtype != 7) return 1;
  keys = run.output_maps(1)[0].keys, values = run.output_maps(1)[0].values;
"""
    END = """
  for (int64_t i = 0; i < keys.dims[0]; ++i) {
    long long key = ((const int64_t*)keys.data)[i];
    printf("%lld %.6f\\n", key, ((const float*)values.data)[i]);
  }
  return 0;
}
"""

    def test_keys_and_values(self):
        classifier = LogisticRegression(NUMBERS, 1)
        wanted = classifier.probabilities(np.array([[0.25, -1, 2, 0.5]], np.float32))[0]
        om, root = (self.compiled(classifier.model()),
                    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
        lib = os.path.join(self.programs, "..", "lib")
        for compiler, source, header, body in (("gcc", "m.c", "", self.C),
                                               ("g++", "m.cc", "pp", self.CPP)):
            if not shutil.which(compiler):
                self.skipTest("no " + compiler)
            with open(self.path(source), "w", encoding="utf-8") as file:
                file.write(self.BEGIN % header + body + self.END)
            subprocess.run([compiler, "-I", root, self.path(source), "-o", self.path("reader"),
                            "-L", lib, "-lsluice", "-Wl,-rpath," + lib], check=True)
            lines = subprocess.run([self.path("reader"), om], check=True, capture_output=True,
                                   text=True).stdout.split()
            self.assertEqual([int(key) for key in lines[::2]], NUMBERS)
            np.testing.assert_allclose([float(value) for value in lines[1::2]], wanted, atol=1e-5)


class Files(MapCase):
    def test_run_and_eval_write_the_same(self):
        classifier = RandomForest(TEXTS, 1)
        x = classifier.x(4)
        given = ["--input", "X=" + self.array("x.npy", x)]
        om = self.compiled(classifier.model(), "--dump-dir", self.path("dump"))
        self.program(0, "sluice-loader", om, *given, "--output-dir", self.path("ran"))
        self.program(0, "sluice-preprocess", self.path("m.onnx"), "-o", self.path("m.sg"))
        self.program(0, "sluice-eval", self.path("m.sg"), *given, "--output-dir",
                     self.path("evaluated"))
        for folder in ("ran", "evaluated"):
            held = np.load(os.path.join(self.path(folder), "output_probability.npz"))
            self.assertEqual(sorted(held.files), ["keys", "lengths", "values"])
            self.assertEqual(held["lengths"].tolist(), [3] * 4)
            self.assertEqual([key.decode() for key in held["keys"]], TEXTS * 4)
            np.testing.assert_allclose(held["values"].reshape(4, 3), classifier.probabilities(x),
                                       atol=1e-5)
        self.program(0, "sluice-diff", "--values", self.path("ran"), self.path("evaluated"))

    def test_values_of_a_run_and_of_an_evaluation_compare(self):
        classifier = LogisticRegression(TEXTS, 1)
        given = ["--input", "X=" + self.array("x.npy", classifier.x(4))]
        om = self.compiled(classifier.model())
        self.program(0, "sluice-loader", om, *given, "--dump-values", self.path("values"))
        self.assertTrue(os.path.exists(self.path("values/output_probability.npz")))
        self.program(0, "sluice-preprocess", self.path("m.onnx"), "-o", self.path("m.sg"))
        self.program(0, "sluice-diff", "--values", self.path("values"), self.path("m.sg"))
        held = dict(np.load(self.path("values/output_probability.npz")))
        held["values"][4] += 1
        np.savez(self.path("values/output_probability.npz"), **held)
        self.assertIn("output_probability: values of map 1 f32 3: ",
                      self.program(7, "sluice-diff", "--values", self.path("values"),
                                   self.path("m.sg")))

    def test_protos(self):
        classifier = LogisticRegression(NUMBERS, 1)
        x = classifier.x(3)
        self.program(0, "sluice-loader", self.compiled(classifier.model()), "--input", "X=" +
                     self.array("x.npy", x), "--format", "pb", "--output-dir", self.path("out"))
        sequence = onnx.SequenceProto()
        sequence.ParseFromString(bytes_of(self.path("out/output_probability.pb")))
        self.assertEqual(sequence.elem_type, onnx.SequenceProto.MAP)
        maps = [dict(zip(one.keys, [float(numpy_helper.to_array(value))
                                    for value in one.values.tensor_values]))
                for one in sequence.map_values]
        self.check_maps(classifier, x, maps)

    def test_conformance_compares_by_key(self):
        classifier = RandomForest(TEXTS, 1)
        x = classifier.x(3)
        best, wanted = (classifier.probabilities(x).argmax(1),
                        classifier.probabilities(x).astype(np.float32))
        for name, shift, code in (("right", 0, 0), ("wrong", 0.25, 7)):
            data = self.path(f"{name}/case/test_data_set_0")
            os.makedirs(data)
            self.saved(classifier.model(), f"{name}/case/model.onnx")
            sequence = onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP)
            for row in wanted:
                one = sequence.map_values.add(key_type=TensorProto.STRING)
                one.values.elem_type = onnx.SequenceProto.TENSOR
                for label, value in sorted(zip(TEXTS, row), reverse=True):
                    one.string_keys.append(label.encode())
                    one.values.tensor_values.append(numpy_helper.from_array(np.float32(value +
                                                                                       shift)))
            labels = helper.make_tensor("output_label", TensorProto.STRING, [3],
                                        [TEXTS[i].encode() for i in best])
            for file, message in (("input_0", numpy_helper.from_array(x, "X")),
                                  ("output_0", labels), ("output_1", sequence)):
                write(f"{data}/{file}.pb", message)
            text = self.program(code, "sluice-conformance", self.path(name))
            if code:
                self.assertIn("values of map 0: element [0]", text)


class Operators(MapCase):
    def node_model(self, nodes, inputs, outputs):
        return model_of(nodes, inputs, outputs, opset=15, domains={ML: 1})

    def test_sequences_of_maps(self):
        x, at = floats("x", ["n", 2]), value("at", [], TensorProto.INT64)
        nodes = [helper.make_node("ZipMap", ["x"], ["maps"], domain=ML,
                                  classlabels_strings=["no", "yes"]),
                 helper.make_node("SequenceAt", ["maps", "at"], ["one"]),
                 helper.make_node("SequenceLength", ["maps"], ["count"])]
        model = self.node_model(nodes, [x, at],
                                [map_info("one", TensorProto.STRING, TensorProto.FLOAT),
                                 value("count", [], TensorProto.INT64)])
        with sluice.Model(self.compiled(model)) as opened:
            self.assertEqual(opened.outputs[0].kind, 3)
            outputs = opened.run()(x=np.array([[1, 2], [3, 4]], np.float32), at=np.array(-1))
        self.assertEqual((outputs["one"], int(outputs["count"])), ({"no": 3, "yes": 4}, 2))
        vector = self.node_model([nodes[0]], [floats("x", [2])],
                                 [maps_info("maps", TensorProto.STRING)])
        with sluice.Model(self.compiled(vector)) as opened:
            self.assertEqual(opened.run()(x=np.array([5, 6], np.float32))["maps"],
                             [{"no": 5, "yes": 6}])

    def test_maps_as_inputs(self):
        for key, labels, wanted_type in ((TensorProto.STRING, ["a", "b", "z"], np.float32),
                                         (TensorProto.INT64, [1, -2, 9], np.int64)):
            dtype = {np.float32: TensorProto.FLOAT, np.int64: TensorProto.INT64}[wanted_type]
            name = "string_vocabulary" if key == TensorProto.STRING else "int64_vocabulary"
            node = helper.make_node("DictVectorizer", ["words"], ["y"], domain=ML, **{name: labels})
            model = self.node_model([node], [map_info("words", key, dtype)],
                                    [value("y", [1, 3], dtype)])
            given = {labels[2]: wanted_type(4), labels[0]: wanted_type(-5)}
            om = self.compiled(model)
            with sluice.Model(om) as opened:
                self.assertEqual((opened.inputs[0].kind, opened.inputs[0].key_dtype), (3, key))
                run = opened.run()
                np.testing.assert_array_equal(run(words=given)["y"],
                                              np.array([[-5, 0, 4]], wanted_type))
                np.testing.assert_array_equal(run(words={})["y"], np.zeros((1, 3), wanted_type))
                with self.assertRaises(TypeError):
                    run(words=[1])
            keys = np.array([key.encode() for key in given],
                            "S") if key == TensorProto.STRING else np.array(list(given))
            np.savez(self.path("words.npz"), keys=keys, values=np.array(list(given.values())))
            self.program(0, "sluice-preprocess", self.path("m.onnx"), "-o", self.path("m.sg"))
            for command in (["sluice-loader", om], ["sluice-eval", self.path("m.sg")]):
                found = self.outputs_of(*command, "--input", "words=" + self.path("words.npz"))
                np.testing.assert_array_equal(found["y"], np.array([[-5, 0, 4]], wanted_type))
            np.savez(self.path("words.npz"), keys=keys, values=np.zeros(3, wanted_type))
            self.assertIn("'keys' of shape 2 and 'values' of shape 3 are no map",
                          self.program(3, "sluice-loader", om, "--input",
                                       "words=" + self.path("words.npz")))

    def test_text_and_back(self):
        self.program(0, "sluice-preprocess", self.saved(LogisticRegression(TEXTS, 1).model()), "-o",
                     self.path("m.sg"))
        text = self.program(0, "sluice-show", self.path("m.sg"))
        self.assertIn("%output_probability: seq(map(string, f32[])) = ZipMap(", text)
        with open(self.path("m.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        self.program(0, "sluice-as", self.path("m.txt"), "-o", self.path("again.sg"))
        self.assertEqual(self.program(0, "sluice-show", self.path("again.sg")), text)

    def test_refused(self):
        x = floats("x", [2, 3])
        for attributes, words in (({}, "it has none of the attributes 'classlabels_strings' "
                                   "and 'classlabels_int64s'"), ({"classlabels_int64s": [1, 2, 1]},
                                                                 "a class label is there twice"),
                                  ({"classlabels_strings": ["a", "b"]}, "columns and keys"),
                                  ({"classlabels_int64s": [1, 2, 3], "classlabels_strings": ["a"]},
                                   "it has both of the attributes")):
            model = self.node_model([helper.make_node("ZipMap", ["x"], ["y"], "zip", domain=ML,
                                                      **attributes)],
                                    [x], [maps_info("y", TensorProto.INT64)])
            text = self.program(3, "sluice-compile", self.saved(model), "-o", self.path("m.om"))
            self.assertIn(words, text)
            self.assertIn("'zip'", text)


class DroppedOutputs(MapCase):
    def model(self):
        """y = -x; behind it nodes that nobody knows, one of them in a body, and one that an
        expansion refuses."""
        info = [floats(name, [2]) for name in ("x", "y", "odd", "worse", "taken")]
        body = helper.make_graph([helper.make_node("Frobnicate", ["y"], ["inner"], "f",
                                                   domain="odd")], "b", [],
                                 [floats("inner", [2])])
        nodes = [helper.make_node("Neg", ["x"], ["y"], "negate"),
                 helper.make_node("Frobnicate", ["y"], ["odd"], "f", domain="odd"),
                 helper.make_node("Normalizer", ["y"], ["worse"], "n", domain=ML, norm="L3"),
                 helper.make_node("Greater", ["y", "x"], ["more"]),
                 helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
                 helper.make_node("Cast", ["most"], ["choice"], to=TensorProto.BOOL),
                 helper.make_node("If", ["choice"], ["taken"], "if", then_branch=body,
                                  else_branch=body)]
        return model_of(nodes, info[:1], info[1:], opset=15, domains={ML: 1, "odd": 1})

    def test_their_operators_are_not_refused(self):
        path = self.saved(self.model())
        for names in ("y", "negate:0"):
            with sluice.Model(self.compiled(self.model(), "--out-nodes=" + names)) as model:
                np.testing.assert_array_equal(model.run()(x=np.array([1, -2], np.float32))["y"],
                                              [-1, 2])
            self.assertNotIn("Frobnicate",
                             self.program(0, "sluice-check", path, "--out-nodes=" + names))
        for program in ("sluice-compile", "sluice-check"):
            for names in ("y;odd", "taken"):
                self.assertIn("Frobnicate of domain 'odd'",
                              self.program(4, program, path, "--out-nodes=" + names))


if __name__ == "__main__":
    MapCase.programs = need(sys.argv.pop(1), ["check", "compile", "conformance", "diff", "eval",
                                              "loader", "show", "as"])
    sluice = import_sluice(MapCase.programs)
    unittest.main()
