#!/usr/bin/python3
"""sluice refit: a model with other values of its constants becomes the bytes that a full compile
gives; a model that differs in anything else is refused, and the first difference is named.

usage: refit_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

import models
from models import constant, value
from programs import STAGES, ProgramCase, bytes_of, need

FLOAT, INT64, INT8 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT8
MAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/models/make")
PROFILE = "--profile=cpu-generic"  # of the tests that need no other one: it runs everywhere


def node(op, inputs, outputs, name="", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name or outputs.split()[0],
                            **attributes)


def model_of(nodes, inputs, outputs, constants, opset=18):
    return models.model_of(nodes, inputs, outputs, constants, opset=opset)


def weights(seed, **shapes):
    random = np.random.default_rng(seed)
    return {name: random.standard_normal(dims, np.float32) for name, dims in shapes.items()}


def plain(seed):
    """Two convolutions, a scalar in the code, a product."""
    nodes = [node("Conv", "x w1 b1", "c1", "conv1", pads=[1, 1, 1, 1]),
             node("LeakyRelu", "c1", "l1", "leaky", alpha=0.1),
             node("Conv", "l1 w2", "c2", "conv2", strides=[2, 2]),
             node("Mul", "c2 scale", "m", "scaled"),
             node("Flatten", "m", "f", "flat"),
             node("MatMul", "f w3", "y", "product")]
    constants = weights(seed, w1=(8, 3, 3, 3), b1=(8,), w2=(8, 8, 3, 3), w3=(200, 10))
    constants["scale"] = np.float32(0.3)
    return model_of(nodes, [value("x", [1, 3, 12, 12])], [value("y", None)], constants)


def branches(seed):
    """Pieces of wholes: a Concat and a Split that need no task, and a Concat that does."""
    nodes = [node("Conv", "x wa", "a", pads=[1, 1, 1, 1]),
             node("Conv", "x wb", "b", pads=[1, 1, 1, 1]),
             node("Concat", "a b", "ab", "joined", axis=1), node("Relu", "ab", "r"),
             node("Split", "r", "p q", "cut", axis=1, num_outputs=2),
             node("Conv", "p wc", "c", pads=[1, 1, 1, 1]),
             node("Conv", "q wd", "d", pads=[1, 1, 1, 1]),
             node("Concat", "c d x", "y", "ended", axis=1)]
    constants = weights(seed, wa=(16, 3, 3, 3), wb=(16, 3, 3, 3), wc=(16, 16, 3, 3),
                        wd=(16, 16, 3, 3))
    return model_of(nodes, [value("x", [1, 3, 24, 24])], [value("y", None)], constants)


def walked(seed):
    """Control flow, a shape that depends on data, and weights before, within and after it."""
    random = np.random.default_rng(seed)
    inside = constant("inside", random.standard_normal((8, 8)).astype(np.float32))
    turn = helper.make_graph(
        [node("MatMul", "state inside", "turned"), node("Identity", "running", "on")], "turn",
        [value("step", [], INT64), value("running", [], TensorProto.BOOL),
         value("state", ["n", 8])],
        [value("on", [], TensorProto.BOOL), value("turned", ["n", 8])], [inside])
    then = helper.make_graph([node("MatMul", "looped wt", "t")], "then", [], [value("t", None)])
    otherwise = helper.make_graph([node("MatMul", "looped we", "e")], "else", [],
                                  [value("e", None)])
    nodes = [node("MatMul", "x w", "p", "before"), node("Relu", "p", "r"),
             node("Loop", "trips going r", "looped", "loop", body=turn),
             node("If", "flag", "chosen", "choice", then_branch=then, else_branch=otherwise),
             node("NonZero", "chosen", "places", "places"),
             node("Cast", "places", "numbers", to=FLOAT),
             node("MatMul", "pair numbers", "y", "after")]
    constants = weights(seed, w=(300, 8), wt=(8, 70), we=(8, 70), pair=(5, 2))
    constants.update(trips=np.int64(2), going=np.bool_(True))
    return model_of(nodes, [value("x", ["n", 300]), value("flag", [], TensorProto.BOOL)],
                    [value("y", None)], constants)


def quantised(seed):
    """A convolution of 8-bit integers with a scale for each channel, and one product."""
    random = np.random.default_rng(seed)
    byte = lambda *dims: random.integers(-127, 128, dims, np.int8)
    constants = {"xs": np.float32(0.02), "xz": np.int8(3), "wq": byte(16, 4, 3, 3),
                 "ws": random.uniform(0.01, 0.02, 16).astype(np.float32),
                 "wz": np.zeros(16, np.int8), "ys": np.float32(0.3), "yz": np.int8(0),
                 "bias": random.integers(-500, 500, 16, np.int32)}
    nodes = [node("QuantizeLinear", "x xs xz", "xq"),
             node("QLinearConv", "xq xs xz wq ws wz ys yz bias", "yq", "conv",
                  pads=[1, 1, 1, 1]),
             node("DequantizeLinear", "yq ys yz", "y")]
    return model_of(nodes, [value("x", [1, 4, 10, 10])], [value("y", None)], constants)


def alike(seed):
    """Constants that are equal in one model and differ in another: 0 for the first seed."""
    constants = weights(seed, wa=(600, 600), wb=(600, 600))
    for name in ("ba", "bb"):
        bias = np.full(600, 0.5, np.float32)
        constants[name] = bias if seed == 0 else bias + weights(seed, **{name: (600,)})[name]
    nodes = [node("MatMul", "x wa", "p"), node("Add", "p ba", "q"), node("Relu", "q", "r"),
             node("MatMul", "r wb", "s"), node("Add", "s bb", "y")]
    return model_of(nodes, [value("x", [2, 600])], [value("y", None)], constants)


class RefitCase(ProgramCase):
    def saved(self, model, name):
        save(model, self.path(name))
        return self.path(name)

    def made(self, name, seed, *options):
        folder = self.path(f"seed{seed}")
        subprocess.run([MAKE, name, "--seed", str(seed), *options, "-o", folder], check=True,
                       stdout=subprocess.DEVNULL)
        return os.path.join(folder, name + ".onnx")

    def compiled(self, model, name, *options):
        self.program(0, "sluice-compile", "-q", model, "-o", self.path(name), *options)
        return self.path(name)

    def refit(self, code, base, model, *options):
        """What is printed; the product is new.om."""
        printed = self.program(code, "sluice-refit", base, "--weights", model, "-o",
                               self.path("new.om"), *options)
        self.assertEqual(os.path.exists(self.path("new.om")), code == 0)
        return printed

    def outputs(self, model):
        folder = model + ".values"
        self.program(0, "sluice-loader", model, "--random=5", "--output-dir", folder)
        return {name: np.load(os.path.join(folder, name)) for name in os.listdir(folder)}

    def refused(self, base, model, *words, code=3, number="SL"):
        printed = self.refit(code, base, model)
        for word in (number, *words):
            self.assertIn(word, printed)
        return printed

    def same_as_compile(self, before, after, *options, refit=()):
        """Refits `before` compiled, with the constants of `after`, and returns the last line."""
        base = self.compiled(before, "base.om", *options)
        full = self.compiled(after, "full.om", *options)
        kept = bytes_of(base)
        printed = self.refit(0, base, after, *refit)
        self.assertEqual(bytes_of(self.path("new.om")), bytes_of(full))
        self.assertNotEqual(bytes_of(full), kept)
        self.assertEqual(bytes_of(base), kept)
        os.remove(self.path("new.om"))
        return printed.splitlines()[-1]


class SameBytes(RefitCase):
    def test_standard_models(self):
        for name, options in (("tiny-conv", []), ("tiny-mlp", []), ("mlp", []),
                              ("tiny-conv", ["--dynamic"]), ("tiny-mlp", ["--dynamic"])):
            with self.subTest(name=name, options=options):
                line = self.same_as_compile(self.made(name, 1, *options),
                                            self.made(name, 2, *options))
                self.assertRegex(line, r"^sluice-refit: [1-9]\d* constants? changed, \d+ kept, "
                                       r"[1-9]\d* kernels? taken, \d+\.\d\d s$")

    def test_models_of_other_kinds(self):
        for make in (plain, branches, walked, quantised):
            for options in ([], [PROFILE], ["--opt-level=O1"]):
                with self.subTest(make=make.__name__, options=options):
                    self.same_as_compile(self.saved(make(1), "1.onnx"),
                                         self.saved(make(2), "2.onnx"), *options)

    def test_constants_that_were_equal(self):
        self.same_as_compile(self.saved(alike(0), "1.onnx"), self.saved(alike(2), "2.onnx"))
        self.same_as_compile(self.saved(alike(2), "1.onnx"), self.saved(alike(0), "2.onnx"))

    def test_external_data(self):
        def external(seed):
            folder = self.path(f"external{seed}")
            os.mkdir(folder)
            save(plain(seed), os.path.join(folder, "m.onnx"), save_as_external_data=True,
                 location="data", size_threshold=0)
            return os.path.join(folder, "m.onnx")
        self.same_as_compile(external(1), external(2))

    def test_options_come_from_the_base(self):
        mixlist, dtypes = self.path("mix.json"), self.path("dtypes.txt")
        with open(mixlist, "w", encoding="utf-8") as file:
            json.dump({"black-list": {"to-add": ["Conv"]}, "white-list": {"to-add": ["Flatten"]},
                       "gray-list": {"to-add": ["Softmax"]}}, file)
        with open(dtypes, "w", encoding="utf-8") as file:
            file.write("# a comment\n  product   keep\nOpType::Conv f16\n")
        open_model = lambda seed: self.made("tiny-conv", seed, "--dynamic")
        for model, options in (
                (plain, ["--math=high_performance", "--denormals=ieee"]),
                (plain, ["--precision-mode=force_fp16"]),
                (plain, ["--precision-mode=allow_mix_precision", "--modify-mixlist", mixlist]),
                (plain, ["--precision-mode=must_keep_origin_dtype", "--customize-dtypes", dtypes]),
                (plain, ["--out-nodes=c2", "--disable-reuse-memory=*"]),
                (plain, ["--skip=optimize:fuse-elementwise,store-pieces",
                         "--skip=build:order-tasks"]),
                (plain, ["--input-shape=x:2,3,12,12"]),
                (open_model, ["--dim=N=1..8"]), (open_model, ["--dim=N=2"]),
                (open_model, ["--symbolic=off"])):
            with self.subTest(options=options):
                made = lambda seed: (model(seed) if model is open_model else
                                     self.saved(model(seed), f"{seed}.onnx"))
                self.same_as_compile(made(1), made(2), *options)

    def test_annotated(self):
        rules = self.path("rules.json")
        with open(rules, "w", encoding="utf-8") as file:
            json.dump([{"node": "conv2", "set": {"keep": True}}], file)
        other = self.path("other.json")
        with open(other, "w", encoding="utf-8") as file:
            json.dump([{"node": "conv1", "set": {"keep": True}}], file)
        before, after = self.saved(plain(1), "1.onnx"), self.saved(plain(2), "2.onnx")
        base = self.compiled(before, "a.om", "--annotate", rules)
        self.assertIn("--annotate", self.refused(base, after, "give the same file again"))
        self.assertIn("without these rules", self.refit(3, base, after, "--annotate", other))
        self.same_as_compile(before, after, "--annotate", rules, refit=["--annotate", rules])
        bare = self.compiled(before, "bare.om")
        self.assertIn("without these rules", self.refit(3, bare, after, "--annotate", rules))

    def test_the_run_gives_other_values(self):
        before, after = self.made("tiny-conv", 1), self.made("tiny-conv", 2)
        base = self.compiled(before, "base.om")
        self.refit(0, base, after)
        old, new = self.outputs(base), self.outputs(self.path("new.om"))
        self.assertEqual(old.keys(), new.keys())
        for name in old:
            self.assertGreater(np.abs(old[name] - new[name]).max(), 1e-3)

    def test_constants_are_counted(self):
        model = plain(1)
        before = self.saved(model, "1.onnx")
        base = self.compiled(before, "base.om", PROFILE)
        self.assertIn(": 0 constants changed, 4 kept, ", self.refit(0, base, before))
        os.remove(self.path("new.om"))
        for tensor in model.graph.initializer:
            if tensor.name == "w2":
                tensor.CopyFrom(numpy_helper.from_array(2 * numpy_helper.to_array(tensor), "w2"))
        self.assertIn(": 1 constant changed, 3 kept, ",
                      self.refit(0, base, self.saved(model, "2.onnx")))

    def test_quiet_and_standard_output(self):
        model = self.saved(plain(1), "1.onnx")
        base = self.compiled(model, "base.om", PROFILE)
        self.assertEqual(self.refit(0, base, model, "-q"), "")
        done = subprocess.run([os.path.join(self.programs, "sluice-refit"), base, "--weights",
                               model], capture_output=True, check=True)
        self.assertEqual(done.stdout, bytes_of(self.path("new.om")))
        self.refit(0, base, model, "--threads=1")
        self.assertEqual(done.stdout, bytes_of(self.path("new.om")))


class Refused(RefitCase):
    def setUp(self):
        super().setUp()
        self.base = self.compiled(self.saved(plain(1), "1.onnx"), "base.om", PROFILE)

    def changed(self, change):
        """A model with other weights, after change(graph)."""
        model = plain(2)
        change(model.graph)
        return self.saved(model, "2.onnx")

    def set_constant(self, name, array):
        def change(graph):
            tensor = next(t for t in graph.initializer if t.name == name)
            tensor.CopyFrom(numpy_helper.from_array(np.asarray(array), name))
        return change

    def test_one_more_node(self):
        def change(graph):
            graph.node.append(node("Softmax", "y", "z", "extra"))
            graph.output[0].name = "z"
        self.refused(self.base, self.changed(change), "node 'extra' (Softmax)", "no such node",
                     "output 0 is 'z'")

    def test_one_node_less(self):
        def change(graph):
            del graph.node[-1]
            graph.output[0].name = "f"
        self.refused(self.base, self.changed(change), "output 0", "'f'", "'y'")

    def test_another_attribute(self):
        def change(graph):
            graph.node[1].attribute[0].f = 0.2
        self.refused(self.base, self.changed(change), "'leaky'", "attribute", "compile the model")

    def test_another_shape_of_a_weight(self):
        wider = weights(2, w3=(200, 12))["w3"]
        self.refused(self.base, self.changed(self.set_constant("w3", wider)), "node 'product'",
                     "output 'y' is f32 1x12", "f32 1x10")

    def test_another_shape_of_a_weight_inside(self):
        larger = weights(2, w1=(8, 3, 5, 5))["w1"]
        def change(graph):
            self.set_constant("w1", larger)(graph)
            graph.node[0].attribute[0].ints[:] = [2, 2, 2, 2]
        self.refused(self.base, self.changed(change), "node 'conv1'")

    def test_another_input_type(self):
        def change(graph):
            graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
        self.refused(self.base, self.changed(change), "input 'x' is f32 2x3x12x12",
                     "f32 1x3x12x12")

    def test_a_renamed_input(self):
        def change(graph):
            graph.input[0].name = graph.node[0].input[0] = "image"
        self.refused(self.base, self.changed(change), "input 0: 'image', expected 'x'",
                     number="SL8008")

    def test_a_renamed_node(self):
        def change(graph):
            graph.node[0].name = "first"
        self.refused(self.base, self.changed(change), "node 'first'", "no such node",
                     number="SL8008")

    def test_a_scalar_in_the_code(self):
        self.refused(self.base, self.changed(self.set_constant("scale", np.float32(0.4))),
                     "'scaled'", "constant that is part of its code", "compile the model",
                     number="SL5003")

    def test_all_nodes_are_listed(self):
        def change(graph):
            graph.node[1].attribute[0].f = 0.2
            self.set_constant("scale", np.float32(0.4))(graph)
        self.refused(self.base, self.changed(change), "'conv1'", "'conv2'")

    def test_an_attribute_on_host_cpu(self):
        def model(seed, largest):
            nodes = [node("MatMul", "x w", "p", "product"),
                     node("Unique", "p", "y", "several", sorted=largest)]
            return model_of(nodes, [value("x", [3, 40])], [value("y", None)],
                            weights(seed, w=(40, 30)))
        base = self.compiled(self.saved(model(1, 1), "h.onnx"), "h.om", PROFILE)
        self.refit(0, base, self.saved(model(2, 1), "h2.onnx"))
        os.remove(self.path("new.om"))
        self.refused(base, self.saved(model(2, 0), "h2.onnx"), "attribute 'sorted'",
                     number="SL8008")

    def test_another_release(self):
        text = self.program(0, "sluice-show", self.base)
        version = re.search(r'^version: "(.*)"$', text, re.M)[1]
        edited = self.path("edited.txt")
        with open(edited, "w", encoding="utf-8") as file:
            file.write(text.replace(version, "sluice 9.9.9 schema 99 LLVM 99", 1))
        self.program(0, "sluice-as", edited, "--with", self.base, "-o", self.path("other.om"))
        model = self.saved(plain(2), "2.onnx")
        self.refused(self.path("other.om"), model, "sluice 9.9.9 schema 99 LLVM 99", version,
                     number="SL7001")
        self.program(0, "sluice-partition", "--help")
        graph = self.path("3.sg")
        self.program(0, "sluice-compile", "-q", model, "-o", graph, "--stop-after=partition")
        printed = self.program(3, "sluice-subgraph-optimize", graph, "-o", self.path("4.sg"),
                               "--kernels-from", self.path("other.om"))
        self.assertIn("sluice 9.9.9 schema 99 LLVM 99", printed)
        self.assertFalse(os.path.exists(self.path("4.sg")))

    def test_a_damaged_base(self):
        model = self.saved(plain(2), "2.onnx")
        whole = bytearray(bytes_of(self.base))
        kernels = re.search(r"kind: SEGMENT_KERNELS\n\s*offset: (\d+)",
                            self.program(0, "sluice-show", self.base))
        for place in (5, 100, 700, int(kernels[1]) + 200):
            with self.subTest(place=place):
                damaged = bytearray(whole)
                damaged[place] ^= 1
                with open(self.path("damaged.om"), "wb") as file:
                    file.write(damaged)
                self.refused(self.path("damaged.om"), model, "damaged.om", number="SL7001")
        with open(self.path("short.om"), "wb") as file:
            file.write(whole[:-1])
        self.refused(self.path("short.om"), model, "truncated", number="SL7001")

    def test_files_that_are_something_else(self):
        model = self.saved(plain(2), "2.onnx")
        graph = self.path("2.sg")
        self.program(0, "sluice-preprocess", model, "-o", graph)
        self.refused(model, model, "not a compiled model", number="SL7001")
        self.refused(graph, model, "not a compiled model", number="SL7001")
        self.refused(self.base, graph, "expected an ONNX model", number="SL1003")
        self.refused(self.base, self.base, number="SL1003")
        self.refused(self.path("none.om"), model, "none.om", number="SL1004")
        self.refused(self.base, self.path("none.onnx"), "none.onnx", number="SL1004")
        for arguments in (["-", "--weights", model], [self.base, "--weights", "-"], [self.base]):
            self.program(2, "sluice-refit", *arguments, "-o", self.path("new.om"))

    def test_output_is_no_input(self):
        model = self.saved(plain(2), "2.onnx")
        before = bytes_of(self.base), bytes_of(model)
        for output in (self.base, model):
            self.program(3, "sluice-refit", self.base, "--weights", model, "-o", output)
        self.assertEqual((bytes_of(self.base), bytes_of(model)), before)

    def test_an_earlier_product_stays(self):
        with open(self.path("new.om"), "w", encoding="utf-8") as file:
            file.write("earlier")
        model = self.changed(self.set_constant("scale", np.float32(0.4)))
        self.program(3, "sluice-refit", self.base, "--weights", model, "-o", self.path("new.om"))
        self.assertEqual(bytes_of(self.path("new.om")), b"earlier")

    def test_errors_as_json(self):
        model = self.changed(self.set_constant("scale", np.float32(0.4)))
        error = json.loads(self.refit(3, self.base, model, "--error-format=json"))
        self.assertEqual(error["code"], "SL5003")
        self.assertIn("scaled", error["message"])


class Stage(RefitCase):
    """--kernels-from by itself."""

    def partitioned(self, model, name):
        path = self.path(name)
        self.program(0, "sluice-compile", "-q", PROFILE, model, "-o", path,
                     "--stop-after=partition")
        return path

    def test_nothing_is_generated(self):
        model = self.saved(plain(1), "1.onnx")
        base = self.compiled(model, "base.om", PROFILE)
        graph = self.partitioned(self.saved(plain(2), "2.onnx"), "2.sg")
        self.program(0, "sluice-subgraph-optimize", graph, "-o", self.path("a.sg"))
        self.program(0, "sluice-subgraph-optimize", graph, "-o", self.path("b.sg"),
                     "--kernels-from", base, "--stats", self.path("stats.json"))
        self.assertEqual(bytes_of(self.path("a.sg")), bytes_of(self.path("b.sg")))
        work = bytes_of(self.path("stats.json")).decode()
        self.assertRegex(work, r'"kernels_found": *[1-9]')
        self.assertNotRegex(work, r'"kernels_generated": *[1-9]')

    def test_what_compiled_models_do_without(self):
        base = self.compiled(self.saved(branches(1), "1.onnx"), "base.om", PROFILE)
        graph = self.partitioned(self.saved(branches(2), "2.onnx"), "2.sg")
        self.program(0, "sluice-subgraph-optimize", graph, "-o", self.path("a.sg"))
        self.program(0, "sluice-subgraph-optimize", graph, "-o", self.path("b.sg"),
                     "--kernels-from", base)
        self.assertEqual(bytes_of(self.path("a.sg")), bytes_of(self.path("b.sg")))

    def test_all_that_lack_a_kernel_are_listed(self):
        base = self.compiled(self.saved(branches(1), "1.onnx"), "base.om", PROFILE)
        graph = self.partitioned(self.saved(plain(1), "1.onnx"), "1.sg")
        printed = self.program(3, "sluice-subgraph-optimize", graph, "-o", self.path("b.sg"),
                               "--kernels-from", base)
        for word in ("SL5003", "'conv1'", "'conv2'", "'product'", "input 'x' is f32 1x3x12x12"):
            self.assertIn(word, printed)
        self.assertFalse(os.path.exists(self.path("b.sg")))


class Killed(RefitCase):
    def test_nothing_is_left(self):
        before, after = self.made("mlp", 1), self.made("mlp", 2)
        base = self.compiled(before, "base.om")
        self.refit(0, base, after)
        expected = bytes_of(self.path("new.om"))
        os.remove(self.path("new.om"))
        folder = self.path("out")
        os.mkdir(folder)
        output = os.path.join(folder, "new.om")
        killed = 0
        for kind in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            for wait in np.linspace(0, 0.06, 13):
                run = subprocess.Popen([os.path.join(self.programs, "sluice-refit"), base,
                                        "--weights", after, "-o", output], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, start_new_session=True)
                time.sleep(wait)
                os.killpg(run.pid, kind)
                run.communicate(timeout=60)
                killed += run.returncode != 0
                self.assertIn(os.listdir(folder), ([], ["new.om"]))
                if os.path.exists(output):
                    self.assertEqual(bytes_of(output), expected)
                    os.remove(output)
        self.assertGreater(killed, 5)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv[1], ["refit", "compile", "loader", "show", "as", "diff",
                                              *STAGES])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
