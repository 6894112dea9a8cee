#!/usr/bin/python3
"""Models with free dims as task lists: every contraction on aicore in one symbolic part, right at
every size, and with states that a run keeps. What is right is what sluice-eval computes.

usage: symbolic_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import ctypes
import json
import os
import shutil
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from models import model_of, value, write
from programs import STAGES, ProgramCase, bytes_of, import_sluice, need

INT64 = TensorProto.INT64


def random(*dims, scale=1.0):
    return (np.random.default_rng(len(dims) + sum(dims)).standard_normal(dims) *
            scale).astype(np.float32)


class Heap(ctypes.Structure):
    """The C library's struct mallinfo2."""
    _fields_ = [(name, ctypes.c_size_t)
                for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                             "uordblks", "fordblks", "keepcost")]


def bytes_in_use():
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Heap
    heap = mallinfo2()
    return heap.uordblks + heap.hblkhd


class Builder:
    """Nodes and weights of a model, one behind the other."""

    def __init__(self):
        self.nodes, self.constants = [], {}

    def node(self, op, *inputs, name=None, **attributes):
        result = name or f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [result], result, **attributes))
        return result

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = array
        return name

    def model(self, inputs, outputs, opset=17):
        return model_of(self.nodes, inputs, outputs, self.constants, opset=opset)


def dense(b, x, size_in, size_out):
    return b.node("Add",
                  b.node("MatMul", x, b.constant(random(size_in, size_out, scale=size_in ** -0.5))),
                  b.constant(random(size_out)))


def heads(b, x, perm):
    shape = b.node("Concat", b.node("Slice", b.node("Shape", x), b.constant([0]), b.constant([2])),
                   b.constant([4, 8]), axis=0)
    return b.node("Transpose", b.node("Reshape", x, shape), perm=perm)


def attend(b, query, key, values, mask=None):
    scores = b.node("Mul", b.node("MatMul", query, b.node("Transpose", key, perm=[0, 1, 3, 2])),
                    b.constant(np.float32(8 ** -0.5)))
    weights = b.node("Softmax", scores if mask is None else b.node("Add", scores, mask), axis=-1)
    x = b.node("Transpose", b.node("MatMul", weights, values), perm=[0, 2, 1, 3])
    return b.node("Reshape", x, b.constant([0, 0, 32]))


def encoder():
    """Two layers of attention over a free batch and sequence; one has an odd width."""
    b = Builder()
    x = "x"
    for width in (96, 37):
        query, key, values = (heads(b, dense(b, x, 32, 32), [0, 2, 1, 3]) for _ in range(3))
        x = b.node("Add", x, dense(b, attend(b, query, key, values), 32, 32))
        x = b.node("Add", x, dense(b, b.node("Relu", dense(b, x, 32, width)), width, 32))
    b.node("Gemm", b.node("Gather", x, b.constant(np.int64(0)), axis=1), b.constant(random(32, 9)),
           b.constant(random(9)), name="pooled")
    b.node("Identity", x, name="y")
    return b.model([value("x", ["batch", "seq", 32])],
                   [value("y", ["batch", "seq", 32]), value("pooled", ["batch", 9])])


def convolve(b, x, size_in, size_out, kernel, **attributes):
    weight = b.constant(random(size_out, size_in // attributes.get("group", 1), kernel, kernel,
                               scale=(size_in * kernel * kernel) ** -0.5))
    return b.node("Relu", b.node("Conv", x, weight, b.constant(random(size_out)), **attributes))


def detector():
    """Convolutions of every kind over images of any height and width, a level of half the size that
    is added back, and a head."""
    b = Builder()
    x = convolve(b, "x", 3, 16, 3, strides=[2, 2], pads=[1, 1, 1, 1])
    x = convolve(b, x, 16, 16, 3, pads=[1, 1, 1, 1], group=16)
    fine = convolve(b, x, 16, 24, 1)
    coarse = convolve(b, b.node("MaxPool", fine, kernel_shape=[2, 2], strides=[2, 2]), 24, 24, 5,
                      pads=[2, 2, 2, 2], group=2)
    coarse = b.node("Resize", coarse, "", b.constant(np.array([1, 1, 2, 2], np.float32)),
                    mode="nearest", name="up")
    x = convolve(b, b.node("Add", fine, coarse), 24, 10, 3, pads=[2, 2, 2, 2], dilations=[2, 2])
    b.node("Reshape", b.node("Transpose", x, perm=[0, 2, 3, 1]), b.constant([0, -1, 10]), name="y")
    return b.model([value("x", ["n", 3, "h", "w"])], [value("y", ["n", None, 10])])


def with_states(run, outputs):
    """All outputs of the call, those of states too."""
    return {**outputs, **{binding.name: run.output(binding.name) for binding in run.outputs
                          if binding.is_state}}


def decoder():
    """One layer of attention over keys and values that grow by the new tokens."""
    b = Builder()
    query, key, values = (heads(b, dense(b, "x", 32, 32), [0, 2, 1, 3]) for _ in range(3))
    key = b.node("Concat", "past.key", key, axis=2, name="present.key")
    values = b.node("Concat", "past.value", values, axis=2, name="present.value")
    dense_out = dense(b, attend(b, query, key, values), 32, 32)
    b.node("Identity", dense_out, name="y")
    past, present = ["batch", 4, "past", 8], ["batch", 4, None, 8]
    return b.model([value("x", ["batch", "tokens", 32]), value("past.key", past),
                    value("past.value", past)],
                   [value("y", ["batch", "tokens", 32]), value("present.key", present),
                    value("present.value", present)])


def products(free):
    """Products whose operands are transposed in every way, of odd sizes: with the batch, among
    themselves, on both sides, read twice."""
    n, m, k = ("n", "m", "k") if free else (3, 7, 19)
    b = Builder()
    turn = lambda x, *perm: b.node("Transpose", x, perm=perm)
    b.node("MatMul", turn("a", 0, 2, 1, 3), turn("b", 0, 2, 3, 1), name="heads")
    b.node("Relu", b.node("MatMul", turn("a", 2, 0, 3, 1), turn("a", 2, 0, 1, 3)), name="gram")
    b.node("MatMul", b.node("Softmax", "heads", axis=-1), turn("b", 0, 2, 1, 3), name="merged")
    b.node("MatMul", "a", turn("row", 1, 0), name="columns")
    both = turn("row", 1, 0)
    b.node("Add", b.node("MatMul", both, "row"),
           b.node("MatMul", b.node("Abs", both), b.node("Abs", "row")), name="kept")
    b.node("Gemm", turn("row", 1, 0), turn("w", 1, 0), "bias", transB=1, alpha=0.5, name="gemm")
    b.node("MatMul", "vector", turn("w", 1, 0), name="of_vector")
    return b.model([value("a", [n, m, 3, 5]), value("b", [n, k, 3, 5]), value("row", [m, 5]),
                    value("w", [m, 9]), value("bias", [9]), value("vector", [9])],
                   [value("heads", [n, 3, m, k]), value("gram", [3, n, 5, 5]),
                    value("merged", [n, 3, m, 5]), value("columns", [n, m, 3, m]),
                    value("kept", [5, 5]), value("gemm", [5, 9]), value("of_vector", [m])])


class Symbolic(ProgramCase):
    def compiled(self, model, *options, name="m"):
        self.program(0, "sluice-compile", "-q", write(self.path("m.onnx"), model), "-o",
                     self.path(name + ".om"), "--verify=each", *options)
        self.program(0, "sluice-verify", self.path(name + ".om"))
        self.program(0, "sluice-preprocess", self.path("m.onnx"), "-o", self.path("m.sg"))
        return sluice.Model(self.path(name + ".om"))

    def evaluated(self, inputs):
        return self.outputs_of("sluice-eval", *self.bindings(inputs), self.path("m.sg"))

    def check(self, got, inputs):
        for name, wanted in self.evaluated(inputs).items():
            self.assertEqual(got[name].shape, wanted.shape)
            np.testing.assert_allclose(got[name], wanted, rtol=1e-3, atol=1e-4, err_msg=name)

    def check_one_part(self, *dims):
        """All in one part, every contraction on aicore, nothing walked."""
        summary = self.program(0, "sluice-show", "--summary", self.path("m.om"))
        self.assertIn("root: 0 nodes, run one by one; 1 part\npart 0, symbolic:", summary)
        self.program(0, "sluice-loader", self.path("m.om"), "--random", *dims, "--trace",
                     self.path("trace.json"))
        with open(self.path("trace.json")) as file:
            events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        contractions = [event for event in events if any(op in event["args"].get("op", "")
                                                         for op in ("Conv", "MatMul", "Gemm"))]
        self.assertGreater(len(contractions), 3)
        for event in contractions:
            self.assertEqual((event["cat"], event["args"]["kernel"][:2]), ("aicore", "k_"), event)

    def test_any_batch_and_sequence(self):
        for profile in ("native", "cpu-generic"):
            model = self.compiled(encoder(), f"--profile={profile}")
            self.check_one_part("--dim=batch=2", "--dim=seq=3")
            run = model.run(threads=2)
            for batch, sequence in ((1, 1), (2, 3), (1, 128), (5, 17), (3, 64), (2, 3), (1, 200)):
                x = random(batch, sequence, 32)
                self.check(run(x=x), {"x": x})

    def test_any_height_and_width(self):
        for profile in ("native", "cpu-generic"):
            model = self.compiled(detector(), f"--profile={profile}")
            self.check_one_part("--dim=n=1", "--dim=h=32", "--dim=w=24")
            run = model.run(threads=2)
            for dims in ((1, 3, 32, 32), (2, 3, 8, 20), (1, 3, 64, 36), (3, 3, 4, 4),
                         (1, 3, 100, 8), (1, 3, 32, 32)):
                x = random(*dims)
                self.check(run(x=x), {"x": x})
            with self.assertRaises(sluice.Error) as caught:
                run(x=random(1, 3, 5, 32))
            self.assertIn("cannot be broadcast", str(caught.exception))
            x = random(1, 3, 16, 16)
            self.check(run(x=x), {"x": x})

    def test_products_read_transposed_operands(self):
        for profile in ("native", "cpu-generic"):
            for free in (True, False):
                run = self.compiled(products(free), f"--profile={profile}", "--dump-dir",
                                    self.path("dump")).run(threads=2)
                text = self.program(0, "sluice-show", self.path("dump/2-optimize.sg"))
                main = text.split("\n}")[0]
                self.assertEqual(main.count("= Transpose("), 1, main)  # read by Abs, too
                for n, m, k in ((1, 1, 1), (2, 7, 150), (1, 40, 3),
                                (3, 7, 19)) if free else ((3, 7, 19),):
                    inputs = {"a": random(n, m, 3, 5), "b": random(n, k, 3, 5), "row": random(m, 5),
                              "w": random(m, 9), "bias": random(9), "vector": random(9)}
                    self.check(run(**inputs), inputs)

    def test_sizes_that_do_not_fit_a_node(self):
        """The loader refuses what sluice-eval refuses: a window larger than its padded image,
        pieces of a negative size."""
        b = Builder()
        b.node("Relu", convolve(b, "x", 1, 1, 5, pads=[1, 1, 1, 1]), name="y")
        windows = b.model([value("x", [1, 1, "h", "w"])], [value("y", None)])
        split = helper.make_node("Split", ["x"], ["a", "b", "c", "d"], "split", axis=0,
                                 num_outputs=4)
        pieces = Builder().model([value("x", ["n", 3])], [value(name, None) for name in "abcd"],
                                 opset=18)
        pieces.graph.node.append(split)
        longer = "node 'split' (Split): elements of all pieces but the last, and of all, differ"
        pieces_of = "elements cannot be split into 4 pieces"
        for model, dims, reasons in ((windows, (1, 1, 3, 4), None), (
            windows, (1, 1, 2, 9), ("'h' of input 'x' is 2, the model takes 3", "a window of 5")),
                                     (pieces, (7, 3), None), (pieces, (3, 3), None),
                                     (pieces, (5, 3), (longer, "5 " + pieces_of)),
                                     (pieces, (2, 3), (longer, "2 " + pieces_of))):
            run = self.compiled(model).run(threads=1)
            x = random(*dims)
            shutil.rmtree(self.path("wanted"), ignore_errors=True)
            if reasons is None:
                self.check(run(x=x), {"x": x})
                continue
            with self.assertRaises(sluice.Error) as caught:
                run(x=x)
            self.assertIn(reasons[0], str(caught.exception))
            np.save(self.path("x.npy"), x)
            self.assertIn(reasons[1], self.program(3, "sluice-eval", self.path("m.sg"), "--input",
                                                   f"x={self.path('x.npy')}"))

    def test_sums_of_any_length_keep_to_their_scratch(self):
        b = Builder()
        b.node("Gemm", "x", "w", transB=1, name="y")
        model = b.model([value("x", ["m", "k"]), value("w", ["n", "k"])], [value("y", ["m", "n"])])
        run = self.compiled(model, "--profile=cpu-avx2").run(threads=1)
        self.check(run(x=random(2, 30), w=random(5, 30)), {"x": random(2, 30), "w": random(5, 30)})
        x, w = random(2, 70000), random(5, 70000)
        np.testing.assert_allclose(run(x=x, w=w)["y"], x.astype(np.float64) @
                                   w.T.astype(np.float64), rtol=1e-3, atol=0.05)

    def test_bounds_are_planned_once(self):
        self.compiled(encoder(), "--dim=batch=1..4", "--dim=seq=2..40")
        summary = self.program(0, "sluice-show", "--summary", self.path("m.om"))
        self.assertRegex(summary, r"arena: [1-9]\d* bytes")
        run = sluice.Model(self.path("m.om")).run(threads=1)
        for batch, sequence in ((4, 40), (1, 2), (3, 11)):
            x = random(batch, sequence, 32)
            self.check(run(x=x), {"x": x})
        with self.assertRaises(sluice.Error) as caught:
            run(x=random(1, 41, 32))
        self.assertIn("is 41, the model takes 2 to 40", str(caught.exception))

    def test_same_results_whatever_the_threads_and_what_ran_before(self):
        model = self.compiled(encoder())
        x = random(3, 50, 32)
        first = model.run(threads=1)(x=x)
        other = model.run(threads=3)
        for batch, sequence in ((1, 1), (7, 90)):
            other(x=random(batch, sequence, 32))
        again = other(x=x)
        for name in first:
            np.testing.assert_array_equal(first[name], again[name])

    def test_views_have_as_many_elements(self):
        b = Builder()
        b.node("Sin", b.node("Reshape", "x", b.constant([-1, 4])), name="y")
        run = self.compiled(b.model([value("x", ["n", "m"])],
                                    [value("y", [None, 4])])).run(threads=1)
        for dims in ((2, 6), (4, 1)):
            x = random(*dims)
            self.check(run(x=x), {"x": x})
        with self.assertRaises(sluice.Error) as caught:
            run(x=random(3, 5))
        self.assertIn("node 'reshape_0' (Reshape): elements of the input and of the target shape "
                      "differ: 15 and 12", str(caught.exception))

    def test_a_part_that_no_size_binds_is_told_of(self):
        """None of 3, 32 and 256 squared is a multiple of 7."""
        b = Builder()
        b.node("Sin", b.node("Reshape", "x", b.constant([-1, 7])), name="y")
        self.compiled(b.model([value("x", ["n", "m"])], [value("y", [None, 7])]))
        said = self.program(0, "sluice-verify", "--memory", self.path("m.om")).splitlines()
        self.assertEqual(len(said), 1, said)
        self.assertIn("sluice-verify: warning part 0 was not checked, for none of the sizes tried "
                      "binds it", said[0])
        self.assertIn("of shape 256x256 cannot be reshaped", said[0])

    def test_broadcasts_in_both_directions(self):
        b = Builder()
        b.node("Mul", b.node("Relu", b.node("Add", "x", "z")), "x", name="y")
        run = self.compiled(b.model([value("x", ["n", 4]), value("z", ["m", 4])],
                                    [value("y", [None, 4])])).run(threads=1)
        for n, m in ((1, 3), (3, 1), (2, 2), (1, 1)):
            inputs = {"x": random(n, 4), "z": random(m, 4)}
            self.check(run(**inputs), inputs)

    def test_sizes_of_zero(self):
        self.compiled(encoder(), "--dim=batch=0..8", "--dim=seq=1..8")
        run = sluice.Model(self.path("m.om")).run(threads=1)
        for batch in (0, 3, 0):
            got = run(x=random(batch, 4, 32))
            self.assertEqual((got["y"].shape, got["pooled"].shape), ((batch, 4, 32), (batch, 9)))

    def test_the_pipe_can_be_stopped_anywhere(self):
        """Each stage's file gives the same model, and the text of the lowered one reads back."""
        self.compiled(encoder(), "--dump-dir", self.path("dump"))
        whole = bytes_of(self.path("m.om"))
        for name in sorted(os.listdir(self.path("dump"))):
            if not name.endswith(".sg"):
                continue
            self.program(0, "sluice-compile", "-q", self.path("dump/" + name), "-o",
                         self.path("again.om"))
            self.assertEqual(bytes_of(self.path("again.om")), whole, name)
            text = self.program(0, "sluice-show", self.path("dump/" + name))
            with open(self.path("text.txt"), "w") as file:
                file.write(text)
            self.program(0, "sluice-as", self.path("text.txt"), "-o", self.path("text.sg"),
                         "--with", self.path("dump/" + name))
            again = self.program(0, "sluice-show", self.path("text.sg"))
            kernels = [line for line in text.splitlines() if line.startswith("kernel")]
            self.assertEqual([line for line in again.splitlines() if line.startswith("kernel")],
                             kernels)
            self.assertEqual(len(kernels) > 3, "subgraph" in name, name)

    def test_memory_does_not_grow_with_runs(self):
        """500 sizes again and again: once each was seen, nothing is kept that was not before."""
        run = self.compiled(encoder()).run(threads=2)
        inputs = [random(1 + i % 5, 1 + i // 5, 32) for i in range(500)]
        first = [run(x=x)["pooled"] for x in inputs]
        for x in inputs[:100]:
            run(x=x)
        before = bytes_in_use()
        for i in range(2400):
            np.testing.assert_array_equal(run(x=inputs[i % 500])["pooled"], first[i % 500])
        # Python's own heap moves by 90 to 170 kB here, after 1,200 runs as after 2,400; 170 bytes
        # kept of each run alone exceed the limit.
        self.assertLess(bytes_in_use() - before, 400_000)

    def test_states_go_on_and_are_forgotten(self):
        model = self.compiled(decoder(), "--state=present.*=past.*")
        self.assertEqual([binding.name for binding in model.inputs if binding.is_state],
                         ["past.key", "past.value"])
        run = model.run(threads=2)
        x = random(2, 9, 32)
        none = np.zeros((2, 4, 0, 8), np.float32)
        for _ in range(2):
            past = {"past.key": none, "past.value": none}
            for begin, end in ((0, 4), (4, 5), (5, 9)):
                got = with_states(run, run(x=x[:, begin:end]))
                inputs = {"x": x[:, begin:end], **past}
                self.check(got, inputs)
                past = {"past.key": got["present.key"], "past.value": got["present.value"]}
            run.reset_state()
        given = {"past.key": random(2, 4, 3, 8), "past.value": random(2, 4, 3, 8)}
        self.check(with_states(run, run(x=x, **given)), {"x": x, **given})
        with self.assertRaises(sluice.Error):
            # another batch: the states stay what they were
            run(x=x, **{name: random(3, 4, 3, 8) for name in given})
        run(x=x)
        self.assertEqual(run.output("present.key").shape, (2, 4, 21, 8))
        with self.assertRaises(sluice.Error) as caught:
            run(x=random(3, 1, 32))
        self.assertIn("dim 'batch' is 3 in input 'x' and 2 in input 'past.key'",
                      str(caught.exception))

    def test_states_with_a_bound_begin_empty(self):
        run = self.compiled(decoder(), "--state=present.*=past.*",
                            "--dim=past=1..20").run(threads=1)
        for tokens, appended in ((4, 4), (16, 20)):
            run(x=random(1, tokens, 32))
            self.assertEqual(run.output("present.key").shape, (1, 4, appended, 8))
        with self.assertRaises(sluice.Error) as caught:
            run(x=random(1, 1, 32))
        self.assertIn("state 'past.key' would grow to 21 along axis 2, the model was compiled "
                      "for 20", str(caught.exception))

    def test_states_with_a_bound_keep_to_it_however_they_run(self):
        for option in ("--static-model-ops-lower-limit=-1", "--symbolic=off",
                       "--host-scheduling-max-threshold=1000"):
            with self.subTest(option):
                run = self.compiled(decoder(), "--state=present.*=past.*", "--dim=past=0..8",
                                    option).run(threads=1)
                run(x=random(1, 7, 32))
                with self.assertRaises(sluice.Error) as caught:
                    run(x=random(1, 3, 32))
                self.assertIn("would grow to 10 along axis 2, the model was compiled for 8",
                              str(caught.exception))
                run(x=random(1, 1, 32))  # the state stayed what it was
                self.assertEqual(run.output("present.key").shape, (1, 4, 8, 8))

    def test_states_with_a_bound_are_written_in_place(self):
        """The steps of a sequence, in memory with room for more, are those of the whole; what an
        execution that fails wrote does not count."""
        for bounds in (["--dim=past=0..24"],
                       ["--dim=past=0..24", "--dim=batch=1..3", "--dim=tokens=1..8"]):
            model = self.compiled(decoder(), "--state=present.*=past.*", *bounds)
            self.assertIn("2 appends to states",
                          self.program(0, "sluice-show", "--summary", self.path("m.om")))
            run = model.run(threads=2)
            for batch, steps in ((2, (3, 1, 1, 8)), (3, (5, 4)), (1, (1, 1))):
                past = {name: np.zeros((batch, 4, 0, 8), np.float32)
                        for name in ("past.key", "past.value")}
                for count in steps:
                    x = random(batch, count, 32)
                    with self.assertRaises(sluice.Error):
                        run(x=random(batch, 99, 32))  # more than there is room for
                    got = with_states(run, run(x=x))
                    self.check(got, {"x": x, **past})
                    past = {"past.key": got["present.key"], "past.value": got["present.value"]}
                run.reset_state()
            given = {"past.key": random(2, 4, 3, 8), "past.value": random(2, 4, 3, 8)}
            for _ in range(2):
                x = random(2, 2, 32)
                self.check(with_states(run, run(x=x, **given)), {"x": x, **given})
            with self.assertRaises(sluice.Error) as caught:
                run(x=x, **{name: random(2, 4, 30, 8) for name in given})
            self.assertIn("past.key", str(caught.exception))
            run(x=x)
            self.assertEqual(run.output("present.key").shape, (2, 4, 7, 8))

    def test_states_in_place_of_any_dtype_axis_and_reader(self):
        """Read by a product, by what needs a dense copy, by nobody; several values appended at
        once."""
        b = Builder()
        dims, dtypes = {}, {"f": np.float32, "h": np.float16, "i": np.int64, "b": np.bool_}
        for name, axis, shape in (("f", 2, [3, 2, "pf", 4]), ("h", 0, ["ph", 5]),
                                  ("i", 1, [2, "pi"]), ("b", 2, [2, 1, "pb"])):
            appended = list(shape)
            appended[axis] = None
            dims[name] = (axis, shape, appended)
            b.node("Concat", "past." + name, "x." + name, "x." + name, axis=axis,
                   name="grown." + name)
        b.node("MatMul", "grown.f", "w", name="y.f")
        b.node("ReduceSum", b.node("Sin", "grown.f"), keepdims=0, name="s.f")
        b.node("Transpose", "grown.h", perm=[1, 0], name="y.h")
        b.node("Mul", b.node("Shape", "grown.i"), b.node("Shape", "past.i"), name="y.i")
        types = {"f": TensorProto.FLOAT, "h": TensorProto.FLOAT16, "i": TensorProto.INT64,
                 "b": TensorProto.BOOL}
        one = lambda name: [2 if dim == "p" + name else dim for dim in dims[name][1]]
        inputs = [value("w", [4, 7])]
        for name, (_, shape, _) in dims.items():
            inputs += [value("x." + name, one(name), types[name]),
                       value("past." + name, shape, types[name])]
        outputs = [value("y.f", [3, 2, None, 7]), value("s.f", []),
                   value("y.h", [5, None], types["h"]), value("y.i", [2], types["i"])]
        outputs += [value("grown." + name, appended, types[name])
                    for name, (_, _, appended) in dims.items()]
        run = self.compiled(b.model(inputs, outputs), "--state=grown.*=past.*",
                            *(f"--dim=p{name}=0..{size}"
                              for name, size in zip("fhib", (12, 40, 17, 12)))).run(threads=2)
        self.assertIn("states: 4, 4 written in place",
                      self.program(0, "sluice-show", "--summary", self.path("m.om")))
        past = {"past." + name: np.zeros([0 if isinstance(dim, str) else dim for dim in shape],
                                         dtypes[name]) for name, (_, shape, _) in dims.items()}
        for step in range(3):
            given = {"w": random(4, 7), **{"x." + name: (random(*one(name)) *
                                                         9).astype(dtypes[name]) for name in dims}}
            got = with_states(run, run(**given))
            self.check(got, {**given, **past})
            past = {"past." + name: got["grown." + name] for name in dims}
        with self.assertRaises(sluice.Error) as caught:
            run(**given)
        self.assertIn("would grow to 16 along axis", str(caught.exception))

    def test_states_in_place_are_read_by_loops_without_a_copy(self):
        """Kernels of vector read the state at the strides of its bound, before and after what is
        new is appended: no task copies it."""
        b = Builder()
        new = b.node("Mul", "x", b.constant(random(1, 2, 1, 8)))
        b.node("Concat", "past", new, axis=2, name="grown")
        last = b.node("Slice", "grown", b.constant([-2]), b.constant([1 << 40]), b.constant([2]))
        b.node("Exp", last, name="last")
        b.node("Relu", "grown", name="active")
        b.node("Softmax", "grown", axis=2, name="soft")
        b.node("Reshape", b.node("Transpose", "grown", perm=[0, 2, 1, 3]), b.constant([1, -1, 16]),
               name="lines")
        b.node("ReduceSum", "past", keepdims=0, name="before")
        shapes = {"last": [1, 2, 2, 8], "active": [1, 2, None, 8], "soft": [1, 2, None, 8],
                  "lines": [1, None, 16], "before": [], "grown": [1, 2, None, 8]}
        model = b.model([value("x", [1, 2, 3, 8]), value("past", [1, 2, "past", 8])],
                        [value(name, shape) for name, shape in shapes.items()])
        run = self.compiled(model, "--state=grown=past", "--dim=past=0..40").run(threads=2)
        self.assertIn("1 append to states",
                      self.program(0, "sluice-show", "--summary", self.path("m.om")))
        report = json.loads(self.program(0, "sluice-loader", self.path("m.om"), "--bench", "--json",
                                         "--runs=2", "--dim=past=30"))
        host = [node for node in report["nodes"] if node["engine"] != "vector"]
        self.assertEqual([node["op"] for node in host], ["Concat"])
        self.assertNotIn("TransData", [node["op"] for node in report["nodes"]])
        past = np.zeros((1, 2, 0, 8), np.float32)
        for step in range(4):
            x = random(1, 2, 3, 8) * np.float32(1 + step)
            got = with_states(run, run(x=x))
            self.check(got, {"x": x, "past": past})
            past = got["grown"]

    def test_states_in_place_are_read_and_undone_at_any_time(self):
        run = self.compiled(decoder(), "--state=present.*=past.*",
                            "--dim=past=0..20").run(threads=1)
        x = random(1, 3, 32)
        run(x=x)
        kept = run.output("present.key")
        run.reset_state()
        np.testing.assert_array_equal(run.output("present.key"), kept)
        run(x=x)
        np.testing.assert_array_equal(run.output("present.key"), kept)
        with self.assertRaises(TypeError):  # refused after the states were bound
            run(x=x.astype(np.float64),
                **{name: random(1, 4, 9, 8) for name in ("past.key", "past.value")})
        run(x=x)
        self.assertEqual(run.output("present.key").shape, (1, 4, 6, 8))
        np.testing.assert_array_equal(run.output("present.key")[:, :, :3], kept)

    def test_one_output_for_two_states(self):
        b = Builder()
        b.node("Concat", "past", "x", axis=0, name="present")
        b.node("Add", b.node("ReduceSum", "past", keepdims=0),
               b.node("ReduceSum", "other", keepdims=0), name="y")
        model = b.model([value("x", [2, 3]), value("past", ["p", 3]), value("other", ["p", 3])],
                        [value("y", []), value("present", [None, 3])])
        run = self.compiled(model, "--state=present=past,present=other",
                            "--dim=p=0..9").run(threads=1)
        past = np.zeros((0, 3), np.float32)
        for _ in range(3):
            x = random(2, 3)
            got = with_states(run, run(x=x))
            self.check(got, {"x": x, "past": past, "other": past})
            past = got["present"]

    def test_states_of_sizes_that_the_input_does_not_take_again(self):
        said = self.program(3, "sluice-compile", write(self.path("m.onnx"), decoder()), "-o",
                            self.path("m.om"), "--state=present.*=past.*", "--dim=past=5")
        self.assertIn("output 'present.key' and input 'past.key' cannot be one state", said)
        self.assertIn("no --dim NAME=SIZE, but --dim NAME=0..SIZE", said)

    def test_states_of_fixed_size(self):
        b = Builder()
        b.node("Tanh", b.node("Add", b.node("MatMul", "h", b.constant(random(8, 8))), "x"),
               name="next")
        b.node("ReduceSum", "next", name="y", keepdims=0)
        self.compiled(b.model([value("x", [2, 8]), value("h", [2, 8])],
                              [value("y", []), value("next", [2, 8])]), "--state=next=h")
        run = sluice.Model(self.path("m.om")).run(threads=1)
        h = np.zeros((2, 8), np.float32)
        for step in range(4):
            x = random(2, 8 + step)[:, :8]
            got = with_states(run, run(x=x))
            self.check(got, {"x": x, "h": h})
            h = got["next"]

    def test_states_that_do_not_pair_are_told(self):
        write(self.path("m.onnx"), decoder())
        for pairs, text in (("present.*=past", "is not OUTPUT=INPUT with as many * on both sides"),
                            ("gone.*=past.*", "no output is called 'gone.*'"),
                            ("present.*=gone.*", "for input 'gone.key', which the model does not "
                             "have"), ("y=past.key", "cannot be one state"),
                            ("present.key=past.key,present.value=past.key",
                             "input 'past.key' is paired twice")):
            said = self.program(3, "sluice-compile", self.path("m.onnx"), "-o", self.path("m.om"),
                                "--state", pairs)
            self.assertIn(text, said)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "loader", "verify", "eval", *STAGES])
    sluice = import_sluice(ProgramCase.programs)
    unittest.main(verbosity=2)
