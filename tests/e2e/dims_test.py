#!/usr/bin/python3
"""How sizes are given: names of dims as an exporter writes them, bounds of dims without a name, a
compile that stops on the way.

usage: dims_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from models import constant, floats, save, value
from programs import STAGES, ProgramCase, need

PROFILE = "--profile=cpu-generic"  # runs everywhere
SUM = "past_sequence_length + sequence_length"


class Dims(ProgramCase):
    def setUp(self):
        super().setUp()
        nodes = [helper.make_node("Relu", ["x"], ["y"], "act"),
                 helper.make_node("Exp", ["z"], ["w"], "exp")]
        inputs = [floats("x", ["1", SUM]), floats("z", ["N", 3, None])]
        self.model, self.om = self.path("model.onnx"), self.path("model.om")
        save(self.model, nodes, inputs, [floats("y", [None, None]), floats("w", [None, 3, None])])

    def compile(self, code, *options):
        return self.program(code, "sluice-compile", "-q", self.model, "-o", self.om, PROFILE,
                            *options)

    def first_line_of(self, graph):
        return self.program(0, "sluice-show", graph).split("\n")[0]

    def test_names_as_they_stand(self):
        sizes = [f"--dim={SUM}=5", "--dim=1=2", "--dim=N=7", "--dim=z_2=4"]
        for program in ("sluice-check", "sluice-preprocess"):
            self.program(0, program, *sizes, *((PROFILE,) if program == "sluice-check"
                                               else ("-o", self.path("typed.sg"))), self.model)
        self.compile(0)
        self.program(0, "sluice-preprocess", self.model, "-o", self.path("open.sg"))
        for program, source in (("sluice-loader", self.om), ("sluice-eval", self.path("open.sg"))):
            folder = self.path(program)
            self.program(0, program, source, "--random", *sizes, "--output-dir=" + folder)
            for name, shape in (("y", (2, 5)), ("w", (7, 3, 4))):
                self.assertEqual(np.load(os.path.join(folder, name + ".npy")).shape, shape)
            said = self.program(3, program, source, "--random", "--dim=M=4")
            self.assertIn(f"its inputs have '1', '{SUM}', 'N', 'z_2'", said)

    def outputs(self, *sizes):
        self.program(0, "sluice-loader", self.om, "-q", "--random", *sizes,
                     "--output-dir=" + self.path("out"))
        return {name: np.load(os.path.join(self.path("out"), name + ".npy")) for name in "yw"}

    def test_a_size_of_0(self):
        """By default wherever every node can, and as any other size."""
        x, z = floats("x", ["B", "P", 4]), floats("z", ["M", 3, 2])
        nodes = [helper.make_node("Reshape", ["x", "heads"], ["r"], "split"),  # copies both dims
                 helper.make_node("MatMul", ["r", "m"], ["h"], "mul"),
                 helper.make_node("Softmax", ["h"], ["y"], "soft"),
                 helper.make_node("Shape", ["z"], ["s"], "shape"),
                 helper.make_node("Slice", ["s", "zero", "one"], ["m0"], "first"),
                 helper.make_node("Concat", ["rest", "m0"], ["t"], "target", axis=0),
                 helper.make_node("Reshape", ["z", "t"], ["w"], "flat")]  # divides by M
        save(self.model, nodes, [x, z], [floats("y", [None] * 4), floats("w", [None, None])],
             [constant("heads", np.int64([0, 0, 2, -1])),
              constant("m", np.ones((2, 5), np.float32)),
              constant("zero", np.int64([0])), constant("one", np.int64([1])),
              constant("rest", np.int64([-1]))])
        said = self.program(0, "sluice-check", self.model, PROFILE)
        for line in ("B from 0", "P from 0", "M from 1"):
            self.assertIn(line, said)
        self.compile(0)
        self.assertEqual(self.outputs("--dim=B=0", "--dim=P=3")["y"].shape, (0, 3, 2, 5))
        self.assertEqual(self.outputs("--dim=B=2", "--dim=P=0")["y"].shape, (2, 0, 2, 5))
        self.assertEqual(self.outputs("--dim=M=2")["w"].shape, (6, 2))
        self.assertIn("M", self.program(3, "sluice-loader", self.om, "--random", "--dim=M=0"))
        self.compile(0, "--dim=P=0", "--dim=B=0..0")
        self.assertEqual(self.outputs()["y"].shape, (0, 0, 2, 5))

    def test_an_empty_batch_whose_heads_are_split(self):
        """As exporters write it: the sizes of the input, then 2 heads and -1."""
        nodes = [helper.make_node("Shape", ["x"], ["s"], "shape", end=2),
                 helper.make_node("Concat", ["s", "heads"], ["t"], "target", axis=0),
                 helper.make_node("Reshape", ["x", "t"], ["r"], "split"),
                 helper.make_node("Transpose", ["r"], ["y"], "turn", perm=[0, 2, 1, 3]),
                 helper.make_node("Relu", ["x"], ["w"], "act")]
        save(self.model, nodes, [floats("x", ["B", "S", 8])],
             [floats("y", [None] * 4), floats("w", [None] * 3)],
             [constant("heads", np.int64([2, -1]))], opset=17)
        self.compile(0)
        for batch, length in ((0, 3), (2, 0), (2, 3)):
            shape = self.outputs(f"--dim=B={batch}", f"--dim=S={length}")["y"].shape
            self.assertEqual(shape, (batch, 2, length, 4))

    def test_an_output_that_is_not_as_declared(self):
        save(self.model, [helper.make_node("Relu", ["x"], ["y"], "act"),
                          helper.make_node("Transpose", ["x"], ["w"], "turn")],
             [floats("x", [2, "N"])],
             [floats("y", [3, "N"]), value("w", ["N", 2], TensorProto.INT64)])
        for program, *more in (("sluice-check", self.model),
                               ("sluice-preprocess", self.model, "-o", self.path("typed.sg"))):
            said = self.done(0, program, *more).stderr
            self.assertIn("output 'y' is declared as f32[3, ?], but is f32[2, N]", said)
            self.assertIn("output 'w' is declared as i64[?, 2], but is f32[N, 2]", said)
        self.assertIn("output 'y' is declared as",
                      self.program(3, "sluice-preprocess", "--strict", self.model))

    def test_names_with_separators(self):
        names = ["N;M", "a=b;c", "end;"]
        inputs = [floats("x;y", names), floats("z", ["1;2", 3, None])]
        nodes = [helper.make_node("Relu", ["x;y"], ["y"], "act"),
                 helper.make_node("Exp", ["z"], ["w"], "exp")]
        save(self.model, nodes, inputs, [floats("y", [None] * 3), floats("w", [None, 3, None])])
        sizes = [f"--dim={name}={size}"
                 for name, size in zip(names + ["1;2", "z_2"], (2, 3, 4, 5, 6))]
        self.assertIn("x;y: f32[2, 3, 4]\n",
                      self.program(0, "sluice-check", self.model, *sizes, PROFILE))
        self.assertIn("x;y: f32[2, 3, 4]\n",
                      self.program(0, "sluice-check", self.model, "--input-shape=x;y:2,3,4;z:5,3,6",
                                   PROFILE))
        self.program(0, "sluice-preprocess", self.model, *sizes, "-o", self.path("typed.sg"))
        self.assertIn('"x;y": f32[2, 3, 4]', self.program(0, "sluice-show", self.path("typed.sg")))
        for transport in ("pipe", "files", "zmq"):
            self.compile(0, *sizes, "--transport=" + transport)
            self.program(0, "sluice-loader", self.om, "--random")
        self.compile(0, "--dim=N;M=1..8;a=b;c=1..8")
        self.program(0, "sluice-preprocess", self.model, "-o", self.path("open.sg"))
        for program, source in (("sluice-loader", self.om), ("sluice-eval", self.path("open.sg"))):
            self.program(0, program, source, "--random", *sizes,
                         "--output-dir=" + self.path(program))
            self.assertEqual(np.load(os.path.join(self.path(program), "y.npy")).shape, (2, 3, 4))
        self.program(3, "sluice-loader", self.om, "--random", *sizes, "--dim=N;M=9")
        for wrong in (["--dim=N;M"], ["--dim=N", "--dim=z_2=4"]):
            self.assertIn(f"--dim has '{wrong[0][6:]}', expected NAME=VALUE",
                          self.compile(3, *wrong))

    def test_hints_list_the_dims_of_the_inputs_in_their_order(self):
        nodes = [helper.make_node("Concat", ["z", "x"], ["c"], "cat", axis=1),
                 helper.make_node("Flatten", ["c"], ["y"], "flat", axis=0)]
        # c has an expression of these, y one of that
        inputs = [floats("z", ["rows", SUM]), floats("x", ["rows", None])]
        save(self.model, nodes, inputs, [floats("y", [1, None])])
        listed = f"'rows', '{SUM}', 'x_1'\n"
        for said in (self.compile(3, "--dim=M=4"),
                     self.program(3, "sluice-check", self.model, "--dim=M=4"),
                     self.program(3, "sluice-preprocess", self.model, "--dim=M=4", "-o",
                                  self.path("open.sg"))):
            self.assertIn("hint: its open dimensions are " + listed, said)
            self.assertNotIn("floordiv", said)
        self.assertIn("hint: its inputs are 'z', 'x'\n", self.compile(3, "--input-shape=m:4"))
        self.compile(0)
        self.program(0, "sluice-preprocess", self.model, "-o", self.path("open.sg"))
        for program, source in (("sluice-loader", self.om), ("sluice-eval", self.path("open.sg"))):
            self.assertIn("hint: its inputs have " + listed,
                          self.program(3, program, source, "--random", "--dim=M=4"))
        nodes = [helper.make_node("NonZero", ["x"], ["n"], "nz"),
                 helper.make_node("Flatten", ["z"], ["y"], "flat", axis=0)]
        save(self.model, nodes, inputs,
             [floats("y", [1, None]), value("n", [2, None], TensorProto.INT64)])
        said = self.program(0, "sluice-compile", self.model, "-o", self.om, PROFILE)
        self.assertIn(f"which sluice check proposes: --dim rows=SIZE --dim '{SUM}=SIZE' --dim "
                      f"x_1=SIZE\n", said)

    def test_bounds_of_dims_without_a_name(self):
        self.program(0, "sluice-preprocess", "--input-shape=z:1~8,3,2~6;x:2,-1", self.model, "-o",
                     self.path("typed.sg"))
        text = self.program(0, "sluice-show", self.path("typed.sg"))
        self.assertIn("symbol N = dim(@main, %z, 0) in [1, 8]", text)
        self.assertIn("symbol z_2 = dim(@main, %z, 2) in [2, 6]", text)
        self.assertIn(f'%x: f32[2, "{SUM}"]', text)
        self.compile(0, "--input-shape=z:1~8,3,2~6")
        self.program(0, "sluice-loader", self.om, "--random", "--dim=N=8", "--dim=z_2=6")
        self.assertIn("SL7", self.program(3, "sluice-loader", self.om, "--random", "--dim=N=9",
                                          "--dim=z_2=6"))
        for wrong, word in (("z:8~1,3,4", "LOW~HIGH"), ("z:1~8,4~5,4", "the model says 3"),
                            ("z:1~,3,4", "LOW~HIGH")):
            self.assertIn(word, self.compile(3, "--input-shape=" + wrong))
        self.assertIn("contradicts another option",
                      self.compile(3, "--input-shape=z:1~8,3,4", "--dim=N=9..20"))

    def given(self, program, source, shape):
        """What the program says of an input z of that shape."""
        np.save(self.path("z.npy"), np.zeros(shape, np.float32))
        np.save(self.path("x.npy"), np.zeros((2, 5), np.float32))
        return self.program(3, program, source, "--input=z=" + self.path("z.npy"),
                            "--input=x=" + self.path("x.npy"))

    def test_a_wrong_axis_is_named(self):
        self.compile(0)
        self.program(0, "sluice-preprocess", self.model, "-o", self.path("open.sg"))
        for program, source in (("sluice-loader", self.om), ("sluice-eval", self.path("open.sg"))):
            said = self.given(program, source, (2, 4, 5))
            self.assertIn(": axis 1 is 4, the model takes 3\n", said)
            self.assertIn("hint: change the array: only open dims, those with a name or '?', may "
                          "have any size\n", said)
            said = self.given(program, source, (4, 5))
            self.assertIn(": it has 2 axes, the model takes 3\n", said)
            self.assertIn("hint: reshape the array\n", said)
        self.compile(0, "--dim=N=2", "--dim=z_2=5")
        said = self.given("sluice-loader", self.om, (3, 3, 6))
        self.assertIn(": axis 0 is 3, the model takes 2; axis 2 is 6, the model takes 5\n", said)
        self.assertIn("hint: change the array, or compile the model for this size: --dim, "
                      "--input-shape\n", said)

    def test_a_size_that_the_model_fixes_is_replaced_with_a_warning(self):
        said = self.program(0, "sluice-compile", self.model, "-o", self.om, PROFILE,
                            "--input-shape=z:2,4,5")
        self.assertIn("warning --input-shape makes axis 1 of input 'z' 4 where the model says 3: "
                      "nodes that rely on 3 fail or compute something else\n", said)
        self.assertIn("inputs: x f32 [1, past_sequence_length + sequence_length]; z f32 2x4x5\n",
                      self.program(0, "sluice-show", "--summary", self.om))
        for same in ("z:2,3,5", "z:2,-1,5"):
            said = self.program(0, "sluice-compile", self.model, "-o", self.om, PROFILE,
                                "--input-shape=" + same)
            self.assertNotIn("warning", said)

    def test_bench_says_with_which_sizes(self):
        self.compile(0)
        bench = ["sluice-loader", self.om, "--bench", "--runs=1"]
        self.assertIn(f"\ninputs: x f32 [1=1, {SUM}=1]; z f32 [N=4, 3, z_2=1] (for other sizes: "
                      f"--dim 1=SIZE --dim '{SUM}=SIZE' --dim z_2=SIZE)\n",
                      self.program(0, *bench, "--dim=N=4"))
        self.assertIn(f"\ninputs: x f32 [1=2, {SUM}=5]; z f32 [N=4, 3, z_2=6]\n",
                      self.program(0, *bench, "--dim=N=4", f"--dim={SUM}=5", "--dim=1=2",
                                   "--dim=z_2=6"))
        said = self.program(0, *bench)
        self.assertIn("symbolic parts: bound to new sizes 1 time, ", said)
        self.assertIn("memory pool of the root: at most ", said)

    def test_a_compile_stops_between_stages(self):
        whole, half = self.path("whole.om"), self.path("half.sg")
        self.program(0, "sluice-compile", "-q", self.model, "-o", whole, PROFILE)
        for transport in ("pipe", "files", "zmq"):
            for step, line in (("partition", "sluice 1 partitioned after partition"),
                               ("optimize:eliminate-dead-nodes", "stopped after 1 of"),
                               ("preprocess:infer-types", "stopped after 3 of")):
                self.program(0, "sluice-compile", "-q", self.model, "-o", half, PROFILE,
                             "--stop-after=" + step, "--transport=" + transport)
                self.assertIn(line, self.first_line_of(half))
                self.program(0, "sluice-compile", "-q", half, "-o", self.om)
                with open(whole, "rb") as one, open(self.om, "rb") as other:
                    self.assertEqual(one.read(), other.read(), (transport, step))
        for wrong in ("nonsense", "optimize:", "optimize:nonsense", ":fold-constants"):
            self.assertIn("SL1006", self.compile(3, "--stop-after=" + wrong))
        self.assertIn("a stage that runs",
                      self.compile(3, "--stop-after=optimize", "--skip=build:link-subgraphs"))

    def made_of_open_sizes(self):
        """Sizes that are sums, products and quotients of open ones."""
        make = helper.make_node
        nodes = [make("Concat", ["x", "x", "z"], ["twice"], "cat", axis=0),
                 make("Reshape", ["x", "flat"], ["row"], "reshape"),
                 make("MatMul", ["x", "w"], ["product"], "matmul"),
                 make("Conv", ["image", "kernel"], ["conv"], "conv", pads=[1, 1, 1, 1]),
                 make("Pad", ["x", "pads"], ["padded"], "pad"),
                 make("Tile", ["x", "repeats"], ["tiled"], "tile"),
                 make("MaxPool", ["image"], ["pooled"], "pool", kernel_shape=[3, 3],
                      strides=[2, 2]),
                 make("Shape", ["x"], ["extents"], "shape"),
                 make("Expand", ["one", "extents"], ["expanded"], "expand"),
                 make("ReduceSum", ["x"], ["sum"], "sum", keepdims=0)]
        constants = {"flat": [-1], "w": np.ones((4, 3), np.float32), "pads": [1, 0, 1 << 40, 0],
                     "repeats": [1 << 30, 2], "kernel": np.ones((2, 1, 3, 3), np.float32),
                     "one": np.float32(1)}
        names = [name for node in nodes for name in node.output]
        outputs = [value(name, None, TensorProto.INT64 if name == "extents" else TensorProto.FLOAT)
                   for name in names]
        save(self.model, nodes, [floats("x", ["N", 4]), floats("z", ["M", 4]),
                                 floats("image", ["M", 1, "N", "N"])], outputs, constants)

    def test_sizes_that_nothing_can_hold(self):
        """One error that names the value, or a model that verifies: never a wrapped product."""
        self.made_of_open_sizes()
        largest = (1 << 63) - 1
        for size in (f"{largest}", f"{1 << 62}", f"{(1 << 62) - 1}", f"{1 << 40}", f"{1 << 32}",
                     f"1..{largest}", f"{1 << 62}..{largest}", f"{1 << 40}..{1 << 41}"):
            for other in (["--dim=M=3"], ["--dim=M=" + size], []):
                sizes = ["--dim=N=" + size, *other]
                with self.subTest(sizes):
                    done = self.run_program("sluice-compile", "-q", self.model, "-o", self.om,
                                            PROFILE, *sizes)
                    self.assertIn(done.returncode, (0, 3, 4, 5), done.stderr)
                    self.assertEqual(done.stderr.count("error SL"), int(done.returncode != 0))
                    self.assertNotRegex(done.stderr, r"-\d|overflow|SL9")
                    if done.returncode == 0:
                        self.program(0, "sluice-verify", self.om)
                        self.program(0, "sluice-check", self.model, PROFILE, *sizes)
        for size in ("9223372036854775808", "1..9223372036854775808", "1e18", "-1"):
            said = self.compile(3, "--dim=N=" + size)
            self.assertIn(f"'N={size}', expected", said)
            self.assertIn(f"from 0 to {largest}", said)
        save(self.model, [helper.make_node("Relu", ["x"], ["y"], "act")], [floats("x", ["N"])],
             [floats("y")])
        said = self.compile(5, f"--dim=N={1 << 50}")
        self.assertIn("'act'", said)
        self.compile(0, f"--dim=N={1 << 40}")  # 4 TiB can be addressed
        self.program(0, "sluice-verify", self.om)
        self.compile(0)
        for size in (largest, 1 << 62, 1 << 40):
            said = self.program(3 if size > 1 << 60 else 5, "sluice-loader", self.om, "--random",
                                f"--dim=N={size}")
            self.assertEqual(said.count(": error SL"), 1, said)

    def test_a_convolution_too_large_to_count(self):
        """A plan would count more multiply-adds than 63 bits hold."""
        image = [3, 1, "N", "N"]
        save(self.model, [helper.make_node("Conv", ["x", "w"], ["y"], "conv", strides=[2, 2])],
             [floats("x", image)], [floats("y")], {"w": np.ones((4, 1, 3, 3), np.float32)})
        for size in (1 << 62, 1 << 40, 1 << 31, 1 << 30):
            for sizes in (f"{size}", f"{size}..{2 * size - 1}"):
                with self.subTest(sizes):
                    code = 3 if "." not in sizes and size > 1 << 30 else 5
                    done = self.run_program("sluice-compile", "-q", self.model, "-o", self.om,
                                            PROFILE, "--dim=N=" + sizes)
                    self.assertEqual(done.returncode, 0 if "." in sizes else code, done.stderr)
                    if done.returncode == 0:
                        self.assertIn("engines: 1 host_cpu, 1 none\n",
                                      self.program(0, "sluice-show", "--summary", self.om))


if __name__ == "__main__":
    Dims.programs = need(sys.argv.pop(1), ["check", "compile", "eval", "loader", "show", "verify",
                                           *STAGES])
    unittest.main(verbosity=2)
