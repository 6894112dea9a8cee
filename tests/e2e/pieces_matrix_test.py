#!/usr/bin/python3
"""Concats and Splits without a task compute what sluice-eval does, in every combination of sizes
(fixed, bounded, open), a state in place or none, dense pieces or rows in wider rows, and threads;
`sluice show --explain` says that they are no tasks.

usage: pieces_matrix_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import itertools
import re
import sys
import unittest

import numpy as np
from onnx import helper

import programs
from models import floats, model_of, write
from random_graphs_test import difference
from schedules import weights_of

node = helper.make_node
SIZES = {"fixed": [70, 70, 70], "bounded": [7, 1, 64], "open": [7, 1, 70]}
MAX_PAST = 8


def dense_nodes(pieces):
    """From x: f32[4, n, 16]; its first axis is joined and divided."""
    if pieces == "Concat":
        return [node("Relu", ["x"], ["a"]), node("MatMul", ["x", "w"], ["b"]),
                node("Concat", ["a", "b"], ["k"], axis=0), node("Softmax", ["k"], ["y"])]
    if pieces == "Split":
        return [node("MatMul", ["x", "w"], ["a"]), node("Split", ["a"], ["k", "l"], axis=0),
                node("Softmax", ["k"], ["b"]), node("MatMul", ["l", "w"], ["c"]),
                node("Sub", ["b", "c"], ["y"])]
    return [node("MatMul", ["x", "w"], ["a"]), node("Softmax", ["a"], ["y"])]


def row_nodes(pieces):
    """From x: f32[1, 32, n, 22]; its channels, which are stored innermost, are joined and
    divided."""
    first = node("Conv", ["x", "v"], ["a"], pads=[1] * 4)
    if pieces == "Concat":
        return [first, node("Conv", ["x", "u"], ["b"], pads=[1] * 4),
                node("Concat", ["a", "b"], ["k"], axis=1), node("Relu", ["k"], ["r"]),
                node("Conv", ["r", "t"], ["y"], pads=[1] * 4)]
    if pieces == "Split":
        return [first, node("Split", ["a"], ["k", "l"], axis=1), node("Relu", ["k"], ["b"]),
                node("Conv", ["l", "s"], ["c"], pads=[1] * 4), node("Sub", ["b", "c"], ["y"])]
    return [first, node("Relu", ["a"], ["r"]), node("Conv", ["r", "u"], ["y"], pads=[1] * 4)]


def state_nodes(rows):
    """Appends the mean of x to the state, and reads all of it."""
    mean = ([node("GlobalAveragePool", ["x"], ["mean"])] if rows else
            [node("ReduceMean", ["x"], ["mean"], axes=[0, 1])])
    return [*mean, node("Reshape", ["mean", "one_row"], ["new"]),
            node("Concat", ["past", "new"], ["present"], axis=1),
            node("ReduceSum", ["present", "axis"], ["sum"], keepdims=0)]


def make_model(sizes, state, pieces, rows):
    n = SIZES[sizes][0] if sizes == "fixed" else "n"
    nodes = row_nodes(pieces) if rows else dense_nodes(pieces)
    weights = weights_of(w=(16, 16), v=(32, 32, 3, 3), u=(32, 32, 3, 3), t=(8, 64, 3, 3),
                         s=(16, 16, 3, 3))
    width = 32 if rows else 16
    weights |= {"one_row": np.array([1, 1, width], np.int64), "axis": np.array([1], np.int64)}
    inputs, outputs = [floats("x", [1, 32, n, 22] if rows else [4, n, 16])], ["y"]
    if state:
        nodes = nodes + state_nodes(rows)
        inputs.append(floats("past", [1, "past", width]))
        outputs += ["sum", "present"]
    used = {name for one in nodes for name in one.input}
    return model_of(nodes, inputs, [floats(name) for name in outputs],
                    {name: array for name, array in weights.items() if name in used})


class Matrix(programs.ProgramCase):
    def eval_steps(self, feeds, state, width):
        """What sluice-eval makes of the steps; the state of one goes to the next."""
        past, found = np.zeros((1, 0, width), np.float32), []
        for step, feed in enumerate(feeds):
            inputs = self.path(f"inputs{step}.npz")
            np.savez(inputs, **feed, **({"past": past} if state else {}))
            self.program(0, "sluice-eval", self.path("typed.sg"), "--input=" + inputs,
                         "--output-dir=" + self.path(f"meant{step}"))
            names = ["y", "sum"] if state else ["y"]
            load = lambda name: np.load(self.path(f"meant{step}/{name}.npy"))
            found.append({name: load(name) for name in names})
            past = load("present") if state else past
        return found, past

    def explained(self, options, pieces):
        """Says what the Concat or Split of the case runs as."""
        self.program(0, "sluice", "compile", "-q", *options, "--stop-after=build:plan-memory",
                     "-o", self.path("scheduled.sg"))
        said = self.program(0, "sluice-show", "--explain", self.path("scheduled.sg"))
        if pieces == "neither":
            return
        found = re.search(rf"^k +{pieces} +(no task|task) ", said, re.M)
        self.assertTrue(found and found[1] == "no task", said)

    def check(self, sizes, state, pieces, rows):
        write(self.path("model.onnx"), make_model(sizes, state, pieces, rows))
        options = ["--profile=cpu-generic", self.path("model.onnx")]
        if sizes == "bounded":
            options.append("--dim=n=1..64")
        if state:
            options += ["--state=present=past", f"--dim=past=0..{MAX_PAST}"]
        self.program(0, "sluice", "compile", "-q", *options, "-o", self.path("model.om"))
        self.program(0, "sluice-verify", "-q", self.path("model.om"))
        self.explained(options, pieces)
        if state:
            self.assertIn("1 written in place",
                          self.program(0, "sluice-show", "--summary", self.path("model.om")))
        self.program(0, "sluice-preprocess", self.path("model.onnx"), "-o", self.path("typed.sg"))
        random = np.random.default_rng(1)
        dims = [(1, 32, n, 22) if rows else (4, n, 16) for n in SIZES[sizes]]
        feeds = [{"x": random.uniform(-1, 1, shape).astype(np.float32)} for shape in dims]
        self.compare(feeds, state, 32 if rows else 16)

    def compare(self, feeds, state, width):
        meant, past = self.eval_steps(feeds, state, width)
        with SLUICE.Model(self.path("model.om")) as model:
            for threads in (1, 2):
                run = model.run(threads=threads)
                for feed, wanted in zip(feeds, meant):
                    found = run(feed)
                    for name, value in wanted.items():
                        self.assertIsNone(difference(found[name], value), (threads, name))
                if state:
                    self.assertIsNone(difference(run.output("present"), past), threads)


def add_cases():
    for sizes, state, pieces, rows in itertools.product(
            SIZES, (False, True), ("Concat", "Split", "neither"), (False, True)):
        name = "_".join(["test", sizes, "state" if state else "stateless", pieces.lower(),
                         "rows" if rows else "dense"])
        setattr(Matrix, name, lambda self, case=(sizes, state, pieces, rows): self.check(*case))


if __name__ == "__main__":
    Matrix.programs = programs.need(sys.argv.pop(1), [*programs.STAGES, "show", "eval", "verify",
                                                      "compile"])
    SLUICE = programs.import_sluice(Matrix.programs)
    add_cases()
    unittest.main(verbosity=2)
