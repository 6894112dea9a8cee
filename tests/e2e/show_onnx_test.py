#!/usr/bin/python3
"""What `sluice-show --format=onnx` writes is a model that onnx.checker takes, at every level.

usage: show_onnx_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import subprocess
import sys
import unittest

try:
    import onnx
except ImportError:
    print("SKIPPED: /usr/bin/python3 has no onnx")
    sys.exit(77)
from onnx import TensorProto, helper

from programs import ProgramCase, need

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
STAGES = ["preprocess", "optimize", "partition", "subgraph-optimize"]
FLOAT = TensorProto.FLOAT

CONTROL = """sluice 1 typed
graph @main(%c: bool[], %x: f32[2], %n: i64[]) -> (%y, %s) {
  %two = constant f32[2] [2, 2]
  %y: f32[2] = If(%c, %x, %two) {else_branch = @no, then_branch = @yes}
  %v: f32[2], %s: f32[?, 2] = Loop(%n, _, %x, %two) {body = @step}
}
graph @yes(%a: f32[2], %b: f32[2]) -> (%x) body captures 2 {
  %x: f32[2] = Add(%a, %b)
}
graph @no(%a: f32[2], %b: f32[2]) -> (%a) body captures 2 {
}
graph @step(%i: i64[], %go: bool[], %v: f32[2], %k: f32[2]) -> (%go, %next, %next) body captures 1 {
  %next: f32[2] = Mul(%v, %k)
}
"""

FUSED = """sluice 1 typed after optimize
symbol N = dim(@main, %x, 0)
graph @main(%x: f32[N, 4]) -> (%y, %y) {
  %w = constant f32[4, 300] splat 0.5
  %h: f32[N, 300] = MatMul(%x, %w)
  %y: f32[N, 300] = Fused(%h) {body = @inside}
    placement {engine = vector, stream_label = "late"} name "act" from "Relu_1", "Tanh_2"
}
graph @inside(%a: f32[N, 300]) -> (%t) fused {
  %r: f32[N, 300] = Relu(%a)
  %t: f32[N, 300] = Tanh(%r)
}
"""


def type_of(info):
    tensor = info.type.tensor_type
    return tensor.elem_type, [dim.dim_param or dim.dim_value for dim in tensor.shape.dim]


class ShowOnnx(ProgramCase):
    def view(self, graph):
        """The checked model of a graph file."""
        path = graph + ".onnx"
        self.program(0, "sluice-show", "--format=onnx", "-o", path, graph)
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        return model

    def view_text(self, text):
        with open(self.path("g.txt"), "w", encoding="latin-1") as file:
            file.write(text)
        self.program(0, "sluice-as", self.path("g.txt"), "-o", self.path("g.sg"))
        return self.view(self.path("g.sg"))

    def decoded(self, path):
        """The text of all fields, also of those that this release of ONNX does not know."""
        schemas = os.path.join(ROOT, "schemas")
        with open(path, "rb") as model:
            done = subprocess.run(
                ["protoc", "--decode=sluice.onnx.ModelProto", "-I" + schemas, "onnx.proto"],
                stdin=model,
                capture_output=True,
                check=True,
            )
        return " ".join(done.stdout.decode().split())

    def make(self, *options):
        subprocess.run(
            [os.path.join(ROOT, "scripts", "models", "make"), "-o", self.folder, *options],
            check=True,
            capture_output=True,
        )

    def views_of_stages(self, model):
        graph, views = model, []
        for stage in STAGES:
            options = ["--profile=cpu-generic"] if stage == "partition" else []
            self.program(0, "sluice-" + stage, *options, graph, "-o", self.path(stage + ".sg"))
            graph = self.path(stage + ".sg")
            views.append(self.view(graph))
        return views

    def test_every_stage(self):
        for name, *options in (
            ("tiny-conv",),
            ("tiny-conv", "--dynamic"),
            ("mlp", "--dynamic"),
            ("mobilenet-v2", "--opset=13"),
        ):
            with self.subTest(name=name, options=options):
                self.make(name, *options)
                original = onnx.load(self.path(name + ".onnx"))
                views = self.views_of_stages(self.path(name + ".onnx"))
                for stage in STAGES:  # what is exported can be imported
                    self.program(
                        0,
                        "sluice-preprocess",
                        self.path(stage + ".sg.onnx"),
                        "-o",
                        self.path("again.sg"),
                    )
                for view in views:
                    self.assertEqual(
                        [type_of(v) for v in view.graph.input],
                        [type_of(v) for v in original.graph.input],
                    )
                    self.assertEqual(
                        [v.name for v in view.graph.output], [v.name for v in original.graph.output]
                    )
                    self.assertLess(view.ByteSize(), 2_000_000)

    def test_types_of_all_values(self):
        self.make("tiny-conv")
        views = self.views_of_stages(self.path("tiny-conv.onnx"))
        typed = views[0].graph
        known = {v.name for v in [*typed.input, *typed.output, *typed.value_info]} | {
            t.name for t in typed.initializer
        }
        self.assertEqual(
            known, {name for node in typed.node for name in [*node.input, *node.output] if name}
        )
        weights = [node for node in typed.node if node.op_type == "Constant"]
        self.assertEqual(
            [list(node.attribute[0].sparse_tensor.dims) for node in weights][:2],
            [[11, 3, 3, 3], [20, 11, 3, 3]],
        )
        kernels = self.decoded(self.path("subgraph-optimize.sg.onnx"))
        self.assertIn('metadata_props { key: "sluice:engine" value: "aicore" }', kernels)
        self.assertIn('metadata_props { key: "sluice:kernel" value: "', kernels)

    def test_fused_body_is_a_function(self):
        model = self.view_text(FUSED)
        self.assertEqual(
            [(f.name, f.domain, [n.op_type for n in f.node]) for f in model.functions],
            [("Relu_Tanh", "sluice.graphs", ["Relu", "Tanh"])],
        )
        weight, product, call, copy = model.graph.node
        self.assertEqual(
            (weight.op_type, product.op_type, call.op_type, copy.op_type),
            ("Constant", "MatMul", "Relu_Tanh", "Identity"),
        )
        self.assertEqual([type_of(v) for v in model.graph.output], [(FLOAT, ["N", 300])] * 2)
        text = self.decoded(self.path("g.sg.onnx"))
        for key, value in (
            ("engine", "vector"),
            ("stream_label", "late"),
            ("from", "Relu_1, Tanh_2"),
            ("graph", "inside"),
        ):
            self.assertIn(f'metadata_props {{ key: "sluice:{key}" value: "{value}" }}', text)
        self.assertEqual(
            {e.key: e.value for e in model.metadata_props},
            {"sluice:level": "typed", "sluice:last_stage": "optimize"},
        )

    def test_bodies_see_what_they_capture(self):
        model = self.view_text(CONTROL)
        choice, loop = model.graph.node
        self.assertEqual((list(choice.input), list(loop.input)), (["c"], ["n", "", "x"]))
        bodies = {a.name: a.g for node in model.graph.node for a in node.attribute}
        self.assertEqual([list(n.input) for n in bodies["then_branch"].node], [["x", "two"]])
        self.assertEqual(
            [(n.op_type, list(n.input)) for n in bodies["else_branch"].node], [("Identity", ["x"])]
        )
        self.assertEqual([n.op_type for n in bodies["body"].node], ["Mul", "Identity", "Identity"])
        outputs = [v.name for v in bodies["body"].output]
        self.assertEqual(len(set(outputs)), 3)

    def test_reductions_have_the_form_of_their_opset(self):
        reduction = """sluice 1 typed
graph @main(%x: f32[2, 3, 4]) -> (%y) {{
  %axes = constant i64[2] [-1, 1]
  %a: f32[2] = ReduceMean(%x, %axes) {{keepdims = 0}}
  %b: f32[1], %c: f32[1] = Split(%a) {{num_outputs = 2}}
  %y: f32[1] = {}(%b)
}}
"""
        model = self.view_text(reduction.format("Relu"))
        mean, split, _ = model.graph.node
        self.assertEqual((model.opset_import[0].version, list(mean.input)), (17, ["x"]))
        self.assertEqual(
            {a.name: helper.get_attribute_value(a) for a in mean.attribute},
            {"axes": [-1, 1], "keepdims": 0},
        )
        self.assertEqual(len(split.attribute), 0)
        with open(self.path("g.txt"), "w", encoding="utf-8") as file:
            file.write(reduction.format("Gelu"))
        self.program(0, "sluice-as", self.path("g.txt"), "-o", self.path("g.sg"))
        self.program(
            0, "sluice-show", "--format=onnx", "-o", self.path("g.onnx"), self.path("g.sg")
        )
        model = onnx.load(self.path("g.onnx"))
        mean, split, _ = model.graph.node
        self.assertEqual((model.opset_import[0].version, list(mean.input)), (20, ["x", "axes"]))
        self.assertEqual([a.name for a in split.attribute], ["num_outputs"])

    def test_names_of_any_bytes(self):
        model = self.view_text(
            """sluice 1 typed
graph @main(%"\\xff \\xc3\\xa9": f32[1]) -> (%y) {
  %0: f32[1] = Relu(%"\\xff \\xc3\\xa9")
  %"0": f32[1] = Relu(%0)
  %y: f32[1] = Neg(%"0")
}
"""
        )
        self.assertEqual(model.graph.input[0].name, "\\xff é")
        names = [node.output[0] for node in model.graph.node]
        self.assertEqual(len(set(names)), 3)

    def test_operators_that_onnx_has_not(self):
        model = self.view_text(
            "sluice 1 typed\ngraph @main(%x: f32[2]) -> (%y) {\n  %y: f32[2] = MemCopy(%x)\n}\n"
        )
        self.assertEqual(
            (model.graph.node[0].op_type, model.graph.node[0].domain), ("MemCopy", "sluice")
        )

    def test_versions_follow_element_types(self):
        with open(self.path("g.txt"), "w", encoding="utf-8") as file:
            file.write(
                "sluice 1 typed\n"
                "graph @main(%x: i4[2]) -> (%y) {\n  %y: f32[2] = Cast(%x) {to = 1}\n}\n"
            )
        self.program(0, "sluice-as", self.path("g.txt"), "-o", self.path("g.sg"))
        self.program(
            0, "sluice-show", "--format=onnx", "-o", self.path("g.onnx"), self.path("g.sg")
        )
        model = onnx.load(self.path("g.onnx"))
        self.assertEqual((model.ir_version, model.opset_import[0].version), (10, 21))

    def test_is_of_graphs_and_the_same_each_time(self):
        self.view_text(
            "sluice 1 typed\ngraph @main(%x: f32[2]) -> (%y) {\n  %y: f32[2] = Relu(%x)\n}\n"
        )
        self.program(0, "sluice-compile", "-q", self.path("g.sg"), "-o", self.path("m.om"))
        said = self.program(3, "sluice-show", "--format=onnx", self.path("m.om"))
        self.assertIn("error SL1006: --format=onnx is for graphs", said)
        self.program(
            0, "sluice-show", "--format=onnx", self.path("g.sg"), "-o", self.path("again.onnx")
        )
        with open(self.path("again.onnx"), "rb") as again, open(
            self.path("g.sg.onnx"), "rb"
        ) as first:
            self.assertEqual(again.read(), first.read())


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["as", "compile", "show", *STAGES])
    unittest.main(verbosity=2)
