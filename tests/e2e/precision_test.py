#!/usr/bin/python3
"""--precision-mode and its files: results close to those in f32, Casts only where they must be, the
same bytes twice, errors that name file and key, and the error of each layer.

usage: precision_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import re
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

import models
from models import floats, value
from programs import STAGES, ProgramCase, bytes_of, need

PROFILE = "--profile=cpu-generic"  # runs everywhere
LOWERED = ["force_fp16", "force_bf16", "allow_mix_precision", "allow_mix_precision_bf16"]
RANDOM = np.random.default_rng(7)


def weight(*dims):
    values = RANDOM.standard_normal(dims, np.float32) / np.sqrt(np.prod(dims[1:]) or 1)
    return values.astype(np.float32)


def conv_net():
    """Convolutions, a batch normalisation, a residual, pooling, a product, a softmax."""
    node = helper.make_node
    nodes = [node("Conv", ["x", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
             node("Relu", ["c1"], ["r1"], "relu1"),
             node("Conv", ["r1", "w2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
             node("BatchNormalization", ["c2", "scale", "shift", "mean", "variance"], ["n2"],
                  "bn2"),
             node("Add", ["n2", "r1"], ["s2"], "add"),
             node("Relu", ["s2"], ["r2"], "relu2"),
             node("GlobalAveragePool", ["r2"], ["p"], "pool"),
             node("Flatten", ["p"], ["f"], "flatten"),
             node("Gemm", ["f", "w3"], ["g"], "fc", transB=1),
             node("Softmax", ["g"], ["y"], "softmax", axis=-1)]
    weights = {"w1": weight(16, 3, 3, 3), "b1": weight(16), "w2": weight(16, 16, 3, 3),
               "scale": weight(16), "shift": weight(16), "mean": weight(16),
               "variance": np.full(16, 0.8, np.float32), "w3": weight(10, 16)}
    return nodes, weights, [2, 3, 14, 14], [2, 10]


def vector_net():
    """A product with a vector, which is a matrix of one column."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], "product")]
    return nodes, {"w": weight(33)}, [3, 33], [3]


def transformer():
    """A layer: attention with a mask that is all but infinite, normalisations, a GELU."""
    node = helper.make_node
    size, heads = 32, 4
    numbers = {"eps": 1e-12, "root2": np.sqrt(2), "one": 1, "half": 0.5,
               "scale": (size // heads) ** -0.5, "lowest": np.finfo(np.float32).min}
    weights = {"split": [0, 0, heads, size // heads], "join": [0, 0, size],
               "mask": np.triu(np.ones((8, 8), np.float32), 1),
               **{name: np.float32(number) for name, number in numbers.items()},
               "wo": weight(size, size), "wu": weight(size, 4 * size), "wd": weight(4 * size, size)}
    nodes = []
    for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        weights["w" + name] = weight(size, size)
        nodes += [node("MatMul", ["x", "w" + name], [name + "0"], name),
                  node("Reshape", [name + "0", "split"], [name + "1"], name + "/split"),
                  node("Transpose", [name + "1"], [name + "2"], name + "/heads", perm=order)]
    nodes += [node("MatMul", ["q2", "k2"], ["s0"], "scores"),
              node("Mul", ["s0", "scale"], ["s1"], "scores/scale"),
              node("Mul", ["mask", "lowest"], ["m"], "mask"),
              node("Add", ["s1", "m"], ["s2"], "scores/mask"),
              node("Softmax", ["s2"], ["s3"], "probabilities", axis=-1),
              node("MatMul", ["s3", "v2"], ["a0"], "attended"),
              node("Transpose", ["a0"], ["a1"], "attended/rows", perm=[0, 2, 1, 3]),
              node("Reshape", ["a1", "join"], ["a2"], "attended/join"),
              node("MatMul", ["a2", "wo"], ["a3"], "out"),
              node("Add", ["a3", "x"], ["h"], "residual"),
              node("ReduceMean", ["h"], ["mean"], "norm/mean", axes=[-1]),
              node("Sub", ["h", "mean"], ["d"], "norm/centre"),
              node("Mul", ["d", "d"], ["dd"], "norm/square"),
              node("ReduceMean", ["dd"], ["var"], "norm/variance", axes=[-1]),
              node("Add", ["var", "eps"], ["ve"], "norm/eps"),
              node("Sqrt", ["ve"], ["sd"], "norm/root"),
              node("Div", ["d", "sd"], ["n"], "norm"),
              node("MatMul", ["n", "wu"], ["u"], "up"),
              node("Div", ["u", "root2"], ["u1"], "gelu/root"),
              node("Erf", ["u1"], ["u2"], "gelu/erf"),
              node("Add", ["u2", "one"], ["u3"], "gelu/one"),
              node("Mul", ["u", "u3"], ["u4"], "gelu/product"),
              node("Mul", ["u4", "half"], ["g"], "gelu"),
              node("MatMul", ["g", "wd"], ["y"], "down")]
    return nodes, weights, [2, 8, size], [2, 8, size]


def save(path, parts):
    nodes, weights, taken, given = parts
    models.save(path, nodes, [floats("x", taken)], [floats("y", given)], weights)
    return taken


def cosine(a, b):
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return a @ b / np.sqrt((a @ a) * (b @ b))


class Precision(ProgramCase):
    def compile(self, name, *options, code=0):
        return self.program(code, "sluice-compile", "-q", self.path("m.onnx"), "-o",
                            self.path(name), PROFILE, *options)

    def result(self, name):
        self.program(0, "sluice-loader", self.path(name), "--input=x=" + self.path("x.npy"),
                     "--output-dir=" + self.path("out"))
        return np.load(self.path("out/y.npy"))

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def dumped(self, *options):
        """The text of the graph after choose-precision."""
        self.compile("p.sg", "--stop-after=optimize:choose-precision", *options)
        return self.program(0, "sluice-show", self.path("p.sg"))

    def use(self, net):
        taken = save(self.path("m.onnx"), net())
        np.save(self.path("x.npy"), RANDOM.standard_normal(taken, np.float32))

    def test_results_are_close(self):
        for net in (conv_net, transformer, vector_net):
            self.use(net)
            self.compile("exact.om")
            exact = self.result("exact.om")
            for mode in LOWERED:
                with self.subTest(net=net.__name__, mode=mode):
                    self.compile("m.om", "--precision-mode=" + mode)
                    made = self.result("m.om")
                    self.assertEqual(made.dtype, np.float32)
                    self.assertTrue(np.isfinite(made).all())
                    self.assertTrue((made != exact).any())
                    self.assertGreaterEqual(cosine(made, exact), 0.999)

    def main_graph(self, *options):
        text = self.dumped(*options)
        return text[text.index("graph @main"):].split("\ngraph @")[0]

    def test_force_casts_at_the_borders_alone(self):
        self.use(conv_net)
        text = self.main_graph("--precision-mode=force_fp16")
        self.assertEqual(len(re.findall(r"= Cast\(", text)), 2, text)
        self.assertNotIn("f32", text.replace("%x: f32", "").replace("%y: f32", ""))

    def test_attention_is_of_16_bits(self):
        self.use(transformer)
        for mode in LOWERED:
            with self.subTest(mode=mode):
                text = self.main_graph("--precision-mode=" + mode)
                dtype = "bf16" if "bf16" in mode else "f16"
                self.assertRegex(text, dtype + r"\[[^]]*\] = Attention\(")
                if mode.startswith("force"):
                    self.assertEqual(len(re.findall(r"= Cast\(", text)), 2, text)

    def test_a_kernel_computes_attention_in_16_bits(self):
        self.use(transformer)
        self.compile("m.om", "--precision-mode=force_bf16")
        shown = json.loads(self.program(0, "sluice-show", "--format=json", self.path("m.om")))
        engines = {node["engine"] for node in shown["nodes"] if "scores" in node.get("from", [])}
        self.assertEqual(engines, {"aicore"})

    def test_the_default_changes_nothing(self):
        self.use(transformer)
        self.compile("a.om")
        self.compile("b.om", "--precision-mode=must_keep_origin_dtype")
        self.compile("c.om", "--skip=optimize:choose-precision")
        self.assertEqual(bytes_of(self.path("a.om")), bytes_of(self.path("b.om")))
        self.assertNotIn("f16", self.dumped())

    def test_twice_the_same_bytes_wherever_the_files_are(self):
        self.use(conv_net)
        os.mkdir(self.path("elsewhere"))
        made = []
        for place in ("", "elsewhere/"):
            lists = self.write(place + "l.json", '{"black-list": {"to-add": ["Relu"]}}' + "\n" *
                               len(place))
            nodes = self.write(place + "n.txt", "#" + place + "\nconv1 keep\n")
            self.compile("m.om", "--precision-mode=allow_mix_precision",
                         "--modify-mixlist=" + lists, "--customize-dtypes=" + nodes)
            made.append(bytes_of(self.path("m.om")))
        self.assertEqual(*made)

    def test_files_choose_nodes(self):
        self.use(conv_net)
        lists = self.write(
            "l.json", '{"white-list": {"to-add": ["Softmax"], "to-remove": ["Gemm"]}}')
        nodes = self.write("n.txt", "conv? f32\nrelu2 f16\n")
        text = self.dumped("--precision-mode=allow_mix_precision", "--modify-mixlist=" + lists,
                           "--customize-dtypes=" + nodes)
        for made in (r"f32\[.*= Conv\(", r"f16\[.*= Relu\(.*relu2", r"f16\[.*= Gemm\(",
                     r"f16\[.*= Softmax\("):
            self.assertRegex(text, made)
        said = self.program(0, "sluice-compile", self.path("m.onnx"), "-o", self.path("m.om"),
                            PROFILE, "--customize-dtypes=" + self.write("o.txt", "nothing f16\n"))
        self.assertIn("--customize-dtypes: 'nothing f16' fits no node", said)

    def test_annotations_choose_nodes(self):
        self.use(conv_net)
        rules = self.write("r.json", '[{"node": "conv1", "set": {"precision": "bf16"}}]')
        text = self.dumped("--annotate=" + rules)
        self.assertRegex(text, r"bf16\[.*= Conv\(.*name .conv1")
        self.assertRegex(text, r"f32\[.*= Relu\(.*name .relu1")

    def test_the_stage_takes_the_options_too(self):
        self.use(conv_net)
        self.compile("1.sg", "--stop-after=preprocess")
        nodes = self.write("n.txt", "fc keep\n")
        self.program(0, "sluice-optimize", self.path("1.sg"), "-o", self.path("2.sg"),
                     "--precision-mode=force_bf16", "--customize-dtypes=" + nodes)
        text = self.program(0, "sluice-show", self.path("2.sg"))
        self.assertIn("bf16", text)
        self.assertRegex(text, r"f32\[2, 10\] = Gemm\(")

    def test_errors_name_the_place(self):
        self.use(conv_net)
        lists, nodes = self.write("l.json", '{"white-list": {"to-add": ["Convv"]}}'), self.write(
            "n.txt", "a f16\nb half\n")
        for options, words in (
                (["--precision-mode=fp16"], ["'fp16'", "expected", "force_fp16"]),
                (["--precision-mode=allow_mix_precision", "--modify-mixlist=" + lists],
                 ["'white-list.to-add'", "Convv", "l.json"]),
                (["--modify-mixlist=" + self.write("e.json", '{"gray-list": {"to-add": ["Exp"]}}')],
                 ["--modify-mixlist", "must_keep_origin_dtype"]),
                (["--customize-dtypes=" + nodes], ["line 2", "b half", "n.txt"]),
                (["--customize-dtypes=" + self.path("missing.txt")], ["missing.txt"])):
            said = self.compile("m.om", *options, code=3)
            for word in words:
                self.assertIn(word, said)

    def test_force_fp32_raises_a_model_of_halves(self):
        nodes, weights, taken, given = conv_net()
        models.save(self.path("m.onnx"), nodes, [value("x", taken, TensorProto.FLOAT16)],
                    [value("y", given, TensorProto.FLOAT16)],
                    {name: array.astype(np.float16) for name, array in weights.items()})
        np.save(self.path("x.npy"), RANDOM.standard_normal(taken).astype(np.float16))
        self.compile("half.om")
        self.compile("raised.om", "--precision-mode=force_fp32")
        raised = self.result("raised.om")
        self.assertEqual(raised.dtype, np.float16)
        self.assertGreaterEqual(cosine(raised, self.result("half.om")), 0.999)
        text = self.dumped("--precision-mode=force_fp32")
        self.assertRegex(text, r"f32\[.*= Conv\(")

    def test_diff_tells_the_error_of_each_value(self):
        self.use(conv_net)
        self.compile("exact.om", "--opt-level=O0")
        self.program(0, "sluice-loader", self.path("exact.om"), "--input=x=" + self.path("x.npy"),
                     "--dump-values=" + self.path("exact"))
        self.dumped("--precision-mode=force_bf16")
        said = self.program(7, "sluice-diff", "--values", self.path("exact"), self.path("p.sg"),
                            "--tolerance=0")
        for name in ("r1", "r2", "g", "y"):
            self.assertRegex(said, rf"~ {name}: f32( \| bf16)? .* apart, .* of the largest .*, "
                                   r"cosine (1\.0000|0\.999)")
        self.assertIn("values compared", said)


if __name__ == "__main__":
    Precision.programs = need(sys.argv.pop(1), STAGES + ["compile", "loader", "show", "diff"])
    unittest.main()
