#!/usr/bin/python3
"""A typed graph as an ONNX model that runs: onnx.checker takes it, and ONNX Runtime computes from
it what it computes from the original, where scripts/bench/ort has fetched it.

usage: onnx_out_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import subprocess
import sys
import unittest

import numpy as np

try:
    import onnx
except ImportError:
    print("SKIPPED: /usr/bin/python3 has no onnx")
    sys.exit(77)
from onnx import TensorProto, helper, numpy_helper

import models
from programs import ProgramCase, bytes_of, need

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "scripts", "bench"))
import onnx_runtime  # pylint: disable=wrong-import-position

RANDOM = np.random.default_rng(5)
RUNTIME = []  # one, opened when it is first asked for

FUSED = """sluice 1 typed after optimize
symbol N = dim(@main, %x, 0)
graph @main(%x: f32[N, 4]) -> (%y, %z, %c) {
  %w = constant f32[4, 300] splat 0.5
  %c = constant f32[2] [1, 2]
  %h: f32[N, 300] = MatMul(%x, %w)
  %y: f32[N, 300], %again: f32[N, 300] = Fused(%h) {body = @inside} name "twice"
  %t: f32[N, 300] = TransData(%again) name "twice"
  %z: f32[N, 300] = MemCopy(%t)
}
graph @inside(%a: f32[N, 300]) -> (%t, %t) fused {
  %r: f32[N, 300] = Relu(%a)
  %t: f32[N, 300] = Tanh(%r)
}
"""

# Phases along two axes, one of them absent; cut off at the ends.
INTERLEAVE = """sluice 1 typed
symbol H = dim(@main, %a, 2)
graph @main(%a: f32[1, 2, H, 3], %b: f32[1, 2, H, 3]) -> (%y) {
  %y: f32[1, 2, 2*H - 1, 6] = Interleave(%a, _, _, %b) {pads = [1, 0, 0, 0], strides = [2, 2]}
}
"""

# Two heads of queries read each of keys and values; a bool hides keys by a score.
ATTENTION = """sluice 1 typed
graph @main(
    %q: f32[1, 3, 32],
    %k: f32[1, 2, 5, 8],
    %v: f32[1, 2, 5, 8],
    %m: bool[1, 1, 1, 5]) -> (%y) {
  %y: f32[1, 3, 32] =
    Attention(%q, %k, %v, %m) {hidden_score = -4.0, kv_num_heads = 2, q_num_heads = 4}
}
"""

CONTROL = """sluice 1 typed
graph @main(%c: bool[], %x: f32[2], %n: i64[]) -> (%y, %s) {
  %two = constant f32[2] [2, 3]
  %y: f32[2] = If(%c, %x, %two) {else_branch = @no, then_branch = @yes}
  %v: f32[2], %s: f32[?, 2] = Loop(%n, _, %x, %two) {body = @step}
}
graph @yes(%a: f32[2], %b: f32[2]) -> (%x) body captures 2 {
  %x: f32[2] = Add(%a, %b)
}
graph @no(%a: f32[2], %b: f32[2]) -> (%a) body captures 2 {
}
graph @step(%i: i64[], %go: bool[], %v: f32[2], %k: f32[2]) -> (%go, %next, %next) body captures 1 {
  %own = constant f32[2] [0.5, 1]
  %sum: f32[2] = Add(%v, %own)
  %next: f32[2] = Mul(%sum, %k)
}
"""


def normal(*dims):
    return RANDOM.standard_normal(dims).astype(np.float32)


class OnnxOut(ProgramCase):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def graph(self, text):
        self.program(0, "sluice-as", self.write("g.txt", text), "-o", self.path("g.sg"))
        return self.path("g.sg")

    def shown(self, graph, *options):
        path = self.path("shown.onnx")
        self.program(0, "sluice-show", "--format=onnx", "--with-weights", *options, graph, "-o",
                     path)
        return path

    def compiled(self, model, *options, stage="optimize"):
        path = self.path("compiled.onnx")
        self.program(0, "sluice-compile", "-q", model, "--stop-after=" + stage, "--format=onnx",
                     "-o", path, *options)
        return path

    def made(self, name, *options):
        subprocess.run([os.path.join(ROOT, "scripts", "models", "make"), name, "-o", self.folder,
                        *options], check=True, capture_output=True)
        return self.path(name + ".onnx")

    def check(self, path):
        """The model, which onnx.checker takes unless its operators are newer than the checker."""
        model = onnx.load(path, load_external_data=False)
        opset = next(entry.version for entry in model.opset_import if not entry.domain)
        if opset <= onnx.defs.onnx_opset_version() and model.ir_version <= onnx.IR_VERSION:
            onnx.checker.check_model(path)
        return model

    def outputs(self, path, inputs):
        """What ONNX Runtime computes, by name; the test is skipped without it."""
        if not os.path.exists(onnx_runtime.LIBRARY):
            self.skipTest("no ONNX Runtime: scripts/bench/ort fetches it")
        if not RUNTIME:
            RUNTIME.append(onnx_runtime.Runtime())
        session = onnx_runtime.Session(RUNTIME[0], path)
        given = {name: onnx_runtime.Tensor.of(array) for name, array in inputs.items()}
        return dict(zip(session.outputs, (each.array for each in session.run(given))))

    def expect_equal(self, ours, theirs):
        self.assertEqual(list(ours), list(theirs))
        for name, wanted in theirs.items():
            np.testing.assert_allclose(ours[name], wanted, rtol=1e-4, atol=1e-5, err_msg=name)
            self.assertGreater(np.std(wanted), 0, name)

    def expect_evaluated(self, graph, path, inputs):
        """ONNX Runtime computes what the graph means."""
        wanted = self.outputs_of("sluice-eval", graph, *self.bindings(inputs))
        ours = self.outputs(path, inputs)
        self.expect_equal({name: ours[name] for name in wanted}, wanted)

    def test_models(self):
        for name, *options in (("tiny-conv",), ("tiny-conv", "--dynamic"), ("mlp", "--dynamic"),
                               ("two-lstms",), ("detection-head",), ("four-answers",)):
            for stage in ("preprocess", "optimize"):
                with self.subTest(name=name, options=options, stage=stage):
                    model = self.made(name, "--inputs", *options)
                    path = self.compiled(model, stage=stage)
                    self.check(path)
                    self.assertLess(os.path.getsize(path), 1.1 * os.path.getsize(model))
                    files = os.listdir(self.path(name + ".0"))
                    inputs = {file[:-4]: np.load(self.path(f"{name}.0/{file}")) for file in files}
                    self.expect_equal(self.outputs(path, inputs), self.outputs(model, inputs))

    def test_fused_nodes_and_copies(self):
        graph = self.graph(FUSED)
        model = self.check(self.shown(graph))
        self.assertEqual([node.op_type for node in model.graph.node],
                         ["Constant", "ConstantOfShape", "Identity", "MatMul", "Relu", "Tanh",
                          "Identity"])
        self.assertEqual(len(model.functions), 0)
        self.assertEqual([output.name for output in model.graph.output], ["y", "z", "c"])
        self.expect_evaluated(graph, self.path("shown.onnx"), {"x": normal(3, 4)})

    def test_what_onnx_has_no_operator_for(self):
        for text, inputs in (
                (INTERLEAVE, {"a": normal(1, 2, 4, 3), "b": normal(1, 2, 4, 3)}),
                (ATTENTION, {"q": normal(1, 3, 32), "k": normal(1, 2, 5, 8),
                             "v": normal(1, 2, 5, 8),
                             "m": np.array([1, 0, 1, 1, 0], bool).reshape(1, 1, 1, 5)})):
            with self.subTest(text=text):
                graph = self.graph(text)
                model = self.check(self.shown(graph))
                self.assertEqual([(node.domain, node.op_type) for node in model.graph.node],
                                 [(f.domain, f.name) for f in model.functions])
                self.expect_evaluated(graph, self.path("shown.onnx"), inputs)

    def test_bodies(self):
        graph = self.graph(CONTROL)
        self.check(self.shown(graph))
        for choice in (True, False):
            self.expect_evaluated(graph, self.path("shown.onnx"),
                                  {"c": np.array(choice), "x": normal(2), "n": np.array(3)})

    def test_constant_expressions(self):
        """W^T takes the place of W; floats of integers and a weight that is read as it is do not
        become other constants. Smaller ones are folded before."""
        weights = {"w": normal(256, 128), "i": RANDOM.integers(-9, 9, (256, 128)).astype(np.int8),
                   "s": np.array(0.1, np.float32), "e": normal(256, 128)}
        nodes = [helper.make_node("Transpose", ["w"], ["wt"], perm=[1, 0]),
                 helper.make_node("MatMul", ["x", "wt"], ["a"]),
                 helper.make_node("DequantizeLinear", ["i", "s"], ["d"]),
                 helper.make_node("Mul", ["a", "a"], ["b"]),
                 helper.make_node("MatMul", ["b", "d"], ["y"], "last"),
                 helper.make_node("Transpose", ["e"], ["et"], perm=[1, 0]),
                 helper.make_node("MatMul", ["x", "et"], ["z"]),
                 helper.make_node("Gather", ["e", "at"], ["g"])]
        model = models.model_of(
            nodes, [models.value("x", [2, 128], TensorProto.FLOAT),
                    models.value("at", [3], TensorProto.INT64)],
            [models.value(name, None, TensorProto.FLOAT) for name in ("y", "z", "g")], weights,
            opset=17)
        onnx.save(model, self.path("m.onnx"))
        path = self.compiled(self.path("m.onnx"), "--optimization-switch="
                             "fuse-quantized-contraction:off")
        written = self.check(path)
        bytes_of_weights = sum(len(each.raw_data) for each in written.graph.initializer)
        self.assertLess(bytes_of_weights, 1.05 * sum(each.nbytes for each in weights.values()))
        inputs = {"x": normal(2, 128), "at": np.array([5, 0, 255])}
        self.expect_equal(self.outputs(path, inputs), self.outputs(self.path("m.onnx"), inputs))

    def test_tables_are_attributes(self):
        nodes = [helper.make_node("LabelEncoder", ["x"], ["l"], domain="ai.onnx.ml",
                                  keys_strings=["a", "b"], values_int64s=[7, 9], default_int64=-1),
                 helper.make_node("ZipMap", ["p"], ["z"], domain="ai.onnx.ml",
                                  classlabels_strings=["no", "yes"])]
        zipped = helper.make_tensor_sequence_value_info("z", TensorProto.FLOAT, None)
        zipped.type.Clear()
        zipped.type.sequence_type.elem_type.map_type.key_type = TensorProto.STRING
        zipped.type.sequence_type.elem_type.map_type.value_type.tensor_type.elem_type = 1
        graph = helper.make_graph(
            nodes, "g", [models.value("x", [3], TensorProto.STRING),
                         models.value("p", [1, 2], TensorProto.FLOAT)],
            [models.value("l", [3], TensorProto.INT64), zipped])
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]),
                  self.path("m.onnx"))
        written = self.check(self.compiled(self.path("m.onnx")))
        attributes = {attribute.name: helper.get_attribute_value(attribute)
                      for node in written.graph.node for attribute in node.attribute}
        self.assertEqual(attributes["keys_strings"], [b"a", b"b"])
        self.assertEqual(attributes["classlabels_strings"], [b"no", b"yes"])
        self.assertEqual(len(written.graph.initializer), 0)
        if os.path.exists(onnx_runtime.LIBRARY):
            session = onnx_runtime.Session(onnx_runtime.Runtime(), self.path("compiled.onnx"))
            labels, maps = session.run({
                "x": onnx_runtime.Tensor.of(np.array(["b", "c", "a"], dtype=object)),
                "p": onnx_runtime.Tensor.of(np.array([[0.25, 0.75]], np.float32))})
            self.assertEqual(labels.array.tolist(), [9, -1, 7])
            self.assertEqual(maps, [{b"no": 0.25, b"yes": 0.75}])

    def test_external_data(self):
        model = self.made("tiny-conv")
        self.program(0, "sluice-compile", "-q", model, "--stop-after=optimize", "-o",
                     self.path("g.sg"))
        inputs = {onnx.load(model).graph.input[0].name: normal(1, 3, 17, 15)}
        path = self.shown(self.path("g.sg"), "--external-data")
        data = os.path.getsize(path + ".data")
        self.assertGreater(data, 10_000)
        self.assertLess(os.path.getsize(path), 3000)
        places = [{entry.key: entry.value for entry in tensor.external_data}
                  for tensor in self.check(path).graph.initializer if tensor.external_data]
        self.assertEqual({place["location"] for place in places}, {"shown.onnx.data"})
        self.assertEqual({int(place["offset"]) % 4096 for place in places}, {0})
        self.expect_equal(self.outputs(path, inputs), self.outputs(model, inputs))

    def test_pipes_and_the_same_bytes(self):
        model = self.made("tiny-conv")
        whole = bytes_of(self.compiled(model))
        self.assertEqual(bytes_of(self.compiled(model, "--transport=files")), whole)
        self.assertEqual(bytes_of(self.compiled(model, "--store", self.path("store"))), whole)
        self.assertEqual(bytes_of(self.compiled(model, "--store", self.path("store"))), whole)
        done = self.done(0, "sluice-compile", "-q", model, "--stop-after=optimize",
                         "--format=onnx", text=False)
        self.assertEqual(done.stdout, whole)
        graph = self.done(0, "sluice-compile", "-q", model, "--stop-after=optimize", text=False)
        done = self.done(0, "sluice-show", "--format=onnx", "--with-weights", text=False,
                         input=graph.stdout)
        self.assertEqual(done.stdout, whole)
        self.program(0, "sluice-preprocess", self.path("compiled.onnx"), "-o", self.path("a.sg"))

    def test_bad_requests(self):
        model = self.made("tiny-mlp")
        out = self.write("out.onnx", "old")
        for code, text, arguments in (
                (2, "a compile ends with none", ["--format=onnx"]),
                (2, "up to optimize", ["--format=onnx", "--stop-after=partition"]),
                (2, "outside of a sandbox", ["--format=onnx", "--stop-after=optimize",
                                             "--sandbox"]),
                (3, "expected sg or onnx", ["--format=dot", "--stop-after=optimize"])):
            self.assertIn(text, self.program(code, "sluice-compile", model, *arguments, "-o", out))
        graph = self.path("typed.sg")
        self.program(0, "sluice-compile", "-q", model, "--stop-after=optimize", "-o", graph)
        for code, text, arguments in (
                (2, "--with-weights goes with --format=onnx", ["--with-weights"]),
                (2, "--external-data goes with --with-weights", ["--external-data"]),
                (2, "goes with --format=onnx", ["--with-weights", "--format=onnx", "--summary"])):
            self.assertIn(text, self.program(code, "sluice-show", graph, *arguments, "-o", out))
        said = self.program(2, "sluice-show", "--format=onnx", "--with-weights", "--external-data",
                            graph)
        self.assertIn("external data is a file beside the model", said)
        self.program(0, "sluice-compile", "-q", model, "--stop-after=partition", "-o",
                     self.path("parts.sg"))
        said = self.program(3, "sluice-show", "--format=onnx", "--with-weights",
                            self.path("parts.sg"), "-o", out)
        self.assertIn("SL1002: --with-weights needs level 'typed', got 'partitioned'", said)
        self.assertIn("hint: sluice compile --stop-after=optimize", said)
        self.assertEqual(bytes_of(out), b"old")

    def test_unsupported_nodes_are_listed_at_once(self):
        graph = self.graph("""sluice 1 typed
graph @main(%x: f32[2, 3], %k: i64[3]) -> (%y, %z) {
  %y: f32[2, 3] = PairwiseCoupling(%x) {classes = 3} name "first"
  %z: seq(map(i64, f32[])) = ZipMap(%x, %k) name "second"
}
""")
        said = self.program(4, "sluice-show", "--format=onnx", "--with-weights", graph, "-o",
                            self.path("never.onnx"))
        for text in ("these 2 nodes", "node 'first' (PairwiseCoupling)", "node 'second' (ZipMap)"):
            self.assertIn(text, said)
        self.assertFalse(os.path.exists(self.path("never.onnx")))

    def test_lost_weights(self):
        weights = {"w": normal(64, 64)}
        save = models.model_of([helper.make_node("MatMul", ["x", "w"], ["y"])],
                               [models.value("x", [1, 64], TensorProto.FLOAT)],
                               [models.value("y", None, TensorProto.FLOAT)], weights, opset=17)
        onnx.save(save, self.path("m.onnx"))
        graph = self.path("g.sg")
        self.program(0, "sluice-compile", "-q", self.path("m.onnx"), "--stop-after=optimize", "-o",
                     graph)
        os.rename(self.path("m.onnx"), self.path("moved.onnx"))
        out = self.write("out.onnx", "old")
        said = self.program(3, "sluice-show", "--format=onnx", "--with-weights", graph, "-o", out)
        self.assertIn("m.onnx", said)
        self.assertEqual(bytes_of(out), b"old")
        self.assertEqual(sorted(os.listdir(self.folder)), ["g.sg", "moved.onnx", "out.onnx"])
        path = self.shown(graph, "--model=" + self.path("moved.onnx"))
        written, = self.check(path).graph.initializer
        np.testing.assert_array_equal(numpy_helper.to_array(written), weights["w"])


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["as", "compile", "eval", "preprocess", "show"])
    unittest.main(verbosity=2)
