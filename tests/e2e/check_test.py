#!/usr/bin/python3
"""sluice check: what it says of models whose figures are worked out here by hand, and that what it
calls buildable is built.

usage: check_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import shlex
import subprocess
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from models import constant, floats, save, value
from programs import STAGES, ProgramCase, need


def read_text(path):
    with open(path) as file:
        return file.read()


def save_network(path, batch=1):
    """A convolution, 4x3x3x3 over 8x8 (864 weights), to aicore; Softmax to vector; a product of
    256 by 10."""
    random = np.random.default_rng(1)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
             helper.make_node("Softmax", ["c"], ["s"], "soft"),
             helper.make_node("Flatten", ["s"], ["f"], "flat"),
             helper.make_node("MatMul", ["f", "v"], ["y"], "dense")]
    constants = {"w": random.standard_normal((4, 3, 3, 3), np.float32),
                 "v": random.standard_normal((256, 10), np.float32)}
    save(path, nodes, [floats("x", [batch, 3, 8, 8])], [floats("y", [batch, 10])], constants)


class Check(ProgramCase):
    def setUp(self):
        super().setUp()
        self.model = self.path("model.onnx")

    def check(self, code, *options):
        return self.done(code, "sluice-check", *options, self.model)

    def compile(self, code, *options):
        return self.done(code, "sluice-compile", "-q", self.model, "-o", self.path("out.om"),
                         *options)

    def test_says_why_nodes_stay_on_host_cpu(self):
        doubles = value("h", [2, 3], TensorProto.DOUBLE)
        product = value("p", [2, 2], TensorProto.DOUBLE)
        save(self.model,
             [helper.make_node("MatMul", ["h", "w"], ["p"]),
              helper.make_node("Det", ["x"], ["d"], name="det")],
             [doubles, floats("x", [3, 3])], [product, floats("d", [])],
             {"w": np.ones((3, 2), np.float64)})
        nodes = json.loads(self.check(0, "--format=json").stdout)["host_nodes"]
        self.assertEqual([(node["name"], node["reason"]) for node in nodes],
                         [("p", "dtype f64, only f32, f16 and bf16"),
                          ("det", "no code is generated for this operator")])
        self.assertIn("  100.0 % of the multiply-adds  (dtype f64, only f32, f16 and bf16)\n",
                      self.check(0).stdout)
        save(self.model, [helper.make_node("Relu", ["x"], ["y"])], [floats("x", [2])],
             [floats("y", [2])])
        self.assertIn("engine  vector          1 node\n", self.check(0).stdout)

    def test_recurrent_cells(self):
        def check_cell(x, w, r, *operands, **attributes):
            names = [name for name, _ in operands]
            save(self.model, [helper.make_node("GRU", ["x", "w", "r", *names], ["", "y"], "cell",
                                               **attributes)],
                 [floats("x", x), *(info for _, info in operands if info)],
                 [floats("y", [1, x[1], 5])],
                 {"w": np.ones(w, np.float32), "r": np.ones(r, np.float32)})
            return json.loads(self.check(0, "--format=json").stdout)

        sizes = ["T", "B", 4], [1, 15, 4], [1, 15, 5]
        good = check_cell(["T", 2, 4], *sizes[1:])
        self.assertEqual((good["host_nodes"], good["uncounted_nodes"]), ([], 0))
        fixed = check_cell([6, 2, 4], *sizes[1:])
        self.assertEqual(fixed["multiply_adds"], 6 * 2 * 15 * (4 + 5))
        report = check_cell(*sizes, ("", None), ("", None), ("h", floats("h", [1, "other", 5])))
        self.assertEqual([node["reason"] for node in report["host_nodes"]],
                         ["operand 5 of a shape that may not fit"])

    def test_figures(self):
        save_network(self.model)
        report = json.loads(self.check(0, "--format=json", "--profile=cpu-avx2").stdout)
        convolution, product = 4 * 8 * 8 * 3 * 3 * 3, 256 * 10
        self.assertEqual(report["walked_nodes"], 0)
        self.assertEqual(report["inputs"], ["x: f32[1, 3, 8, 8]"])
        self.assertEqual(report["outputs"], ["y: f32[1, 10]"])
        self.assertEqual(report["multiply_adds"], convolution + product)
        self.assertEqual(report["engines"],
                         {"aicore": {"nodes": 2, "multiply_adds": convolution + product},
                          "vector": {"nodes": 1, "multiply_adds": 0}})
        self.assertEqual(report["host_nodes"], [])
        self.assertEqual(report["weight_bytes"], 4 * (4 * 3 * 3 * 3 + 256 * 10))
        # the results of conv and soft, at least
        self.assertGreaterEqual(report["arena_bytes"], 2 * 4 * 256)
        text = self.check(0, "--profile=cpu-avx2").stdout
        for line in ("engine  vector          1 node,   0.0 % of the multiply-adds",
                     "engine  aicore          2 nodes, 100.0 % of the multiply-adds",
                     "weights 10.7 kB"):
            self.assertIn(line, text)
        self.compile(0)

    def test_open_dimensions_name_the_line_that_fixes_them(self):
        save_network(self.model, "batch")
        text = self.check(0).stdout
        self.assertIn("\nsizes   batch from 0; figures are for batch=4\n", text)
        self.assertIn("open dims of inputs need no size: the compiled model runs at all that "
                      "are allowed\n"
                      "fixed sizes may be faster: --dim batch=1\n", text)
        self.assertIn("x: f32[batch, 3, 8, 8]", text)
        report = json.loads(self.check(0, "--format=json").stdout)
        self.assertEqual((report["symbolic"], report["walked_nodes"], report["fixing_options"]),
                         (True, 0, "--dim batch=1"))
        self.assertEqual(report["multiply_adds"],
                         json.loads(self.check(0, "--format=json",
                                               "--dim=batch=4").stdout)["multiply_adds"])
        fixed = self.check(0, "--dim=batch=2").stdout
        self.assertIn("x: f32[2, 3, 8, 8]", fixed)
        self.assertNotIn("--dim", fixed)
        self.compile(0)
        self.compile(0, "--dim=batch=2")

    def proposed(self, *options, fixed=True):
        """The command that check prints, run as it is by a shell; the command."""
        lines = [line for line in self.check(0, *options).stdout.splitlines()
                 if line.startswith("to fix the sizes: ")]
        self.assertEqual(len(lines), 1)
        command = lines[0].removeprefix("to fix the sizes: ")
        self.assertEqual(json.loads(self.check(0, "--format=json",
                                               *options).stdout)["fixing_command"], command)
        environment = dict(os.environ, PATH=self.programs + ":" + os.environ["PATH"])
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True,
                              cwd=self.folder, env=environment, timeout=120)
        self.assertEqual(done.returncode, 0, command + "\n" + done.stderr)
        summary = self.done(0, "sluice-show", "--summary", self.path("model.om")).stdout
        self.assertEqual("symbolic" not in summary, fixed, summary)
        self.done(0, "sluice-loader", self.path("model.om"), "--random")
        return command

    def test_a_network_that_needs_an_image(self):
        weights = {"w": np.ones((4, 3, 7, 7), np.float32),
                   "v": np.ones((4 * 109 * 109, 10), np.float32)}
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", strides=[2, 2]),
                 helper.make_node("Flatten", ["c"], ["f"], "flat"),
                 helper.make_node("Gemm", ["f", "v"], ["y"], "dense")]
        save(self.model, nodes, [floats("x", ["N", 3, "height", None])], [floats("y", [None, 10])],
             weights)
        self.assertIn("--dim N=1 --dim height=224 --dim x_3=224 ",
                      self.proposed("--profile=cpu-generic"))
        self.assertIn(" '--input-shape=x:1~4,3,-1,-1' ",
                      self.proposed("--input-shape=x:1~4,3,-1,-1"))
        self.assertEqual(self.proposed("--dim=height=200..300").count("height="), 1)
        pooled = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", strides=[2, 2]),
                  helper.make_node("MaxPool", ["c"], ["y"], "pool", kernel_shape=[20, 20])]
        save(self.model, pooled, [floats("x", ["N", 3, "H", "W"])], [floats("y", [None] * 4)],
             {"w": weights["w"]})
        self.assertIn("--dim H=60 --dim W=224 ", self.proposed("--dim=H=1..60"))

    def test_dims_that_must_be_divisible(self):
        nodes = [helper.make_node("Reshape", ["x", "s"], ["y"], "rows")]
        save(self.model, nodes, [floats("x", ["rows", 3, "cols"])], [floats("y", [None, 96])],
             {"s": np.array([-1, 96], np.int64)})
        self.assertIn("--dim rows=1 --dim cols=32 ", self.proposed())
        save(self.model, nodes, [floats("x", ["rows", 5, "cols"])], [floats("y", [None, 33])],
             {"s": np.array([-1, 33], np.int64)})
        self.assertIn("--dim rows=1 --dim cols=33 ", self.proposed())
        halves = [helper.make_node("MaxPool", ["x"], ["d"], "down", kernel_shape=[8, 8],
                                   strides=[8, 8]),
                  helper.make_node("Resize", ["d", "", "scales"], ["u"], "up"),
                  helper.make_node("Concat", ["x", "u"], ["y"], "cat", axis=1)]
        save(self.model, halves, [floats("x", ["N", 3, "H", "W"])], [floats("y", [None] * 4)],
             {"scales": np.array([1, 1, 8, 8], np.float32)})
        self.assertIn("--dim N=1 --dim H=224 --dim W=224 ", self.proposed())
        self.assertIn("--dim H=96 --dim W=224 ", self.proposed("--dim=H=65..100"))

    def test_sizes_that_are_sums_or_equal(self):
        nodes = [helper.make_node("Concat", ["past", "x"], ["k"], "cat", axis=1),
                 helper.make_node("Concat", ["k", "mask"], ["y"], "rows", axis=0)]
        for name in ("past_sequence_length + sequence_length",
                     "past_sequence_length+sequence_length", "total_length", "mask"):
            inputs = [floats("past", ["batch", "past_sequence_length"]),
                      floats("x", ["batch", "sequence_length"]), floats("mask", ["batch", name])]
            save(self.model, nodes, inputs, [floats("y", [None, None])])
            command = self.proposed()
            sizes = dict(option.rsplit("=", 1) for option in shlex.split(command)
                         if option.count("=") == 1)
            self.assertEqual(int(sizes[name]),
                             int(sizes["past_sequence_length"]) + int(sizes["sequence_length"]))
            if name != "mask":  # whose name says nothing
                self.assertEqual(list(sizes.values()), ["1", "128", "1", "129"])
        save(self.model, [helper.make_node("MatMul", ["x", "z"], ["y"], "mm")],
             [floats("x", ["N", "it's $HOME"]), floats("z", ["L", 7])], [floats("y", [None, 7])])
        self.assertIn("--dim N=1 ", self.proposed())

    def test_a_state_goes_on(self):
        nodes = [helper.make_node("Concat", ["past", "x"], ["k"], "cat", axis=1)]
        save(self.model, nodes, [floats("past", ["batch", "P", 8]), floats("x", ["batch", "S", 8])],
             [floats("k", [None, None, 8])])
        command = self.proposed("--state=k=past", fixed=False)
        self.assertIn(" --state=k=past --dim batch=1 --dim S=", command)
        self.assertNotIn("--dim P", command)

    def test_what_is_new_fits_the_bound_of_a_state(self):
        for high in (1, 64, 1024):
            for step in ("seq", "D"):  # whose name says nothing
                x = floats("x", ["batch", 8, step] if step == "D" else ["batch", step, 8])
                past = floats("past", ["batch", 8, "P"] if step == "D" else ["batch", "P", 8])
                nodes = [helper.make_node("Concat", ["past", "x"], ["k"], "cat",
                                          axis=2 if step == "D" else 1)]
                save(self.model, nodes, [past, x], [floats("k", [None] * 3)])
                command = self.proposed("--state=k=past", f"--dim=P=0..{high}", fixed=False)
                self.assertIn(f" --dim batch=1 --dim {step}=1 ", command)
        self.compile(0, "--state=k=past", "--dim=P=0..64", "--dim=D=64")
        said = self.compile(3, "--state=k=past", "--dim=P=0..64", "--dim=D=65").stderr
        self.assertIn("output 'k' and input 'past' cannot be one state: along axis 2 the output "
                      "has 65 to 129, and the input takes 'P', 0 to 64\n", said)
        self.assertIn("hint: give smaller sizes to what is new, or the input's dim a larger bound: "
                      "--dim NAME=0..SIZE\n", said)

    def test_dims_that_a_state_leaves_open_are_not_to_be_fixed(self):
        save(self.model, [helper.make_node("Concat", ["past", "x"], ["k"], "cat", axis=1)],
             [floats("past", [2, "P", 8]), floats("x", [2, 1, 8])], [floats("k", [None] * 3)])
        report = json.loads(self.check(0, "--format=json", "--state=k=past",
                                       "--dim=P=0..64").stdout)
        self.assertEqual((report["fixing_options"], report["fixing_command"]), ("", ""))
        self.assertEqual(report["open_dims"], [{"name": "P", "low": 0, "high": 64, "divisor": 1,
                                                "nominal": 64}])

    def test_bounds_that_are_known(self):
        pooled = [helper.make_node("MaxPool", ["x"], ["d"], "down", kernel_shape=[8, 8],
                                   strides=[8, 8]),
                  helper.make_node("Resize", ["d", "", "scales"], ["u"], "up"),
                  helper.make_node("Concat", ["x", "u"], ["y"], "cat", axis=1)]
        scales = {"scales": np.array([1, 1, 8, 8], np.float32)}
        save(self.model, pooled, [floats("x", ["N", 3, "H", 64])], [floats("y", [None] * 4)],
             scales)
        self.assertIn("\nsizes   N from 1 to 4, H from 8 in multiples of 8; figures are for N=4, "
                      "H=128\n",
                      self.check(0, "--dim=N=1..4").stdout)
        dims = json.loads(self.check(0, "--dim=N=1..4", "--format=json").stdout)["open_dims"]
        self.assertEqual(dims, [{"name": "N", "low": 1, "high": 4, "divisor": 1, "nominal": 4},
                                {"name": "H", "low": 8, "high": None, "divisor": 8,
                                 "nominal": 128}])
        self.compile(0, "--dim=N=1..4")
        for code, batch, height in ((0, 1, 8), (0, 4, 16), (3, 5, 8), (3, 1, 12), (3, 1, 1)):
            self.done(code, "sluice-loader", self.path("out.om"), "--random",
                      f"--dim=N={batch}", f"--dim=H={height}")
        nodes = [helper.make_node("Reshape", ["x", name], [name + "y"], "to_" + name)
                 for name in ("seven", "eleven")]
        save(self.model, nodes, [floats("x", ["N"])],
             [floats("seveny", [7]), floats("eleveny", [11])],
             {"seven": np.array([7], np.int64), "eleven": np.array([11], np.int64)})
        text = self.check(0).stdout
        self.assertNotIn("any", text)
        self.assertNotIn("N from", text)

    def test_options_of_compile_change_what_is_told(self):
        save_network(self.model, "batch")
        options = {"--static-model-ops-lower-limit=-1": 4, "--host-scheduling-max-threshold=9": 4,
                   "--symbolic=off": 4, "--stable-order=on": 0, "--denormals=ieee": 0,
                   "--math=high_performance": 0,
                   "--skip=optimize:fold-constants": 0, "--skip=build:link-subgraphs": 0,
                   "--opt-level=O1": 0}
        for option, walked in options.items():
            report = json.loads(self.check(0, "--format=json", option).stdout)
            self.assertEqual(report["walked_nodes"], walked, option)
            self.assertIn(option, shlex.split(report["fixing_command"]))
        self.assertIn("nodes run one by one\n",
                      self.check(0, "--dim=batch=1", "--static-model-ops-lower-limit=-1").stdout)
        self.assertIn("STAGE:PASS", self.check(3, "--skip=nonsense").stderr)
        help_of = {name: self.done(0, "sluice-" + name, "--help").stdout
                   for name in ("check", "compile")}
        section = help_of["compile"].split("Semantic options:")[1].split("\n\n")[0].split("\n",
                                                                                          1)[1]
        self.assertIn("--stable-order=", section)
        self.assertIn(section.strip(), help_of["check"])

    def test_inputs_without_rank(self):
        nodes = [helper.make_node("Relu", ["x y"], ["y"]), helper.make_node("Exp", ["z"], ["w"])]
        save(self.model, nodes, [floats("x y", None), floats("z", ["N", 4])],
             [floats("y", None), floats("w", [None, 4])])
        text = self.check(0).stdout
        self.assertIn("input 'x y' has no rank: give its shape, --input-shape 'x y:SIZES'\n"
                      "open dims of inputs need no size: the compiled model runs at all that "
                      "are allowed\n"
                      "fixed sizes may be faster: --dim N=1\n", text)
        report = json.loads(self.check(0, "--format=json").stdout)
        self.assertEqual((report["fixing_options"], report["unranked_inputs"]),
                         ("--dim N=1", ["x y"]))
        save(self.model, nodes[:1], [floats("x y", None)], [floats("y", None)])
        text = self.check(0).stdout
        self.assertIn("\n1 node runs one by one\nthe bytes of 1 of them are known only", text)
        self.assertNotIn("can be fixed", text)
        self.assertEqual(json.loads(self.check(0, "--format=json").stdout)["fixing_options"], "")

    def test_sizes_of_states_are_those_of_inputs(self):
        """The state has the batch in its second dim, which the model calls S."""
        random = np.random.default_rng(1)
        model = save(self.path("m.onnx"),
                     [helper.make_node("GRU", ["x", "w", "r", "", "", "h"], ["y"], "cell",
                                       hidden_size=8)],
                     [floats("x", ["S", "B", 4]), floats("h", [1, "S", 8])], [floats("y")],
                     [constant("w", random.standard_normal((1, 24, 4), np.float32)),
                      constant("r", random.standard_normal((1, 24, 8), np.float32))])
        text = self.program(0, "sluice-check", model, "--profile=cpu-generic")
        line = next(line for line in text.splitlines() if line.startswith("fixed sizes may be"))
        sizes = dict(word.split("=") for word in line.split() if "=" in word)
        self.assertEqual(sizes["S"], sizes["B"])
        self.program(0, "sluice-compile", "-q", model, "-o", self.path("m.om"),
                     *(f"--dim={name}={size}" for name, size in sizes.items()))
        self.program(0, "sluice-loader", "-q", self.path("m.om"), "--random")

    def test_nothing_that_works(self):
        nodes = [helper.make_node("Reshape", ["x", name], [name + "y"], "to_" + name)
                 for name in ("seven", "eleven")]
        constants = {"seven": np.array([7], np.int64), "eleven": np.array([11], np.int64)}
        save(self.model, nodes, [floats("x", ["N"])],
             [floats("seveny", [7]), floats("eleveny", [11])], constants)
        text = self.check(0).stdout
        self.assertRegex(text, r"no sizes were found that can be compiled, of \d+ that were tried; "
                         r"with the first: SL2003: node 'to_seven' \(Reshape\)")
        self.assertNotIn("sluice compile", text)
        report = json.loads(self.check(0, "--format=json").stdout)
        self.assertEqual(report["fixing_options"], "")
        self.assertGreater(report["fixing_tries"], 3)
        self.assertIn("to_seven", report["fixing_failure"])
        long = [helper.make_node("Relu", [f"r{i}" if i else "x"], [f"r{i + 1}"])
                for i in range(20000)]
        nodes = [helper.make_node("Reshape", ["r20000", name], [name + "y"], "to_" + name)
                 for name in ("seven", "eleven")]
        save(self.model, long + nodes, [floats("x", ["N", "M"])],
             [floats("seveny", [7]), floats("eleveny", [11])], constants)
        proposals = [self.path(name) for name in ("one.json", "other.json")]
        for path in proposals:
            self.done(0, "sluice-preprocess", self.model, "-o", "/dev/null",
                      "--propose-sizes=" + path)
        first, second = map(read_text, proposals)
        self.assertEqual(first, second)
        self.assertLessEqual(json.loads(first)["tries"], 26)  # a million nodes

    def test_all_unsupported_nodes_at_once(self):
        nodes = [helper.make_node(op, ["x"], [op], "node" + op)
                 for op in ("Nonsense", "Relu", "Folly")]
        save(self.model, nodes, [floats("x", [2])],
             [floats(op, [2]) for op in ("Nonsense", "Relu", "Folly")])
        result = self.check(4)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("error SL"), 1, result.stderr)
        for name in ("Nonsense", "Folly"):
            self.assertIn(name, result.stderr)
        self.assertEqual(json.loads(self.check(4, "--error-format=json")
                                    .stderr.splitlines()[0])["code"], "SL3002")

    def test_wrong_use(self):
        self.check(3)  # no such file
        with open(self.model, "wb") as file:
            file.write(b"no model")
        self.check(3)
        save_network(self.model)
        for option in ("--format=xml", "--profile=", "--dim=nonsense"):
            self.assertIn("error SL1006", self.check(3, option).stderr)
        self.check(2, "--nonsense")
        graph = self.path("typed.sg")
        self.done(0, "sluice-preprocess", self.model, "-o", graph)
        self.assertIn("sluice check MODEL.onnx",
                      self.done(3, "sluice-show", "--check", graph).stderr)
        self.assertIn("error SL1006",
                      self.done(3, "sluice-show", "--check", "--format=dot", graph).stderr)


if __name__ == "__main__":
    Check.programs = need(sys.argv.pop(1), ["check", "compile", "loader", "show", *STAGES])
    unittest.main(verbosity=2)
