#!/usr/bin/python3
"""One compiled model, byte for byte, however it was made: the pipe of a shell, every transport,
work resumed after each stage and each pass, any number of threads, each non-semantic option set and
unset, another folder, another locale, a processor on which instructions seem to be missing.

usage: same_bytes_test.py FOLDER_OF_PROGRAMS [--model FILE]
"""
import argparse
import os
import re
import shutil
import subprocess
import tempfile
import time

import numpy as np
from onnx import helper

from models import floats, save
from programs import STAGES, bytes_of, need

PROFILE = "--profile=cpu-generic"  # runs everywhere
LOCALES = [{"LC_ALL": "C.UTF-8"}, {"LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.UTF-8"}]
LESSER_PROCESSOR = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2"}

# What each non-semantic option of sluice compile is tried with; {} is a folder of its own. The
# options are those of the help text: one that is missing here, or has gone there, fails the test.
NON_SEMANTIC = {"--threads": ["1", "2", "8", "0"], "--dump-dir": ["{}/dump"],
                "--stats": ["{}/stats.json", "{}/stats"],
                "--export-compile-stat": ["{}/f.json", "0"],
                "--verify": ["each", "end", "segments"],
                "--segments": ["inline"], "--store": ["{}/store"],
                "--graph-compiler-cache-dir": ["{}"], "--graph-key": ["alone"], "--remote": [],
                "--farm": [],
                "--max-constant-bytes": ["2000000000"], "--error-format": ["text", "json"],
                "--strict": [None], "--progress": ["text", "json"],
                "--transport": ["pipe", "files", "zmq"],
                "--model": ["MODEL"], "--external-dir": ["{}"], "--service": [], "--key": [],
                "--peer-key": [], "--weights-beside": ["{}/later.om"], "--sandbox": [None],
                "--sandbox-memory": ["8000000000"], "--sandbox-seconds": ["600"],
                "--sandbox-file-bytes": ["100000000"], "--pass-seconds": ["60"],
                "--pass-memory": ["100000000"]}


def make_model(path):
    """Convolutions and products, and constants to fold with transcendental functions in them."""
    random = np.random.default_rng(3)
    shapes = {"w1": (8, 3, 3, 3), "w2": (8, 8, 3, 3), "w3": (200, 10), "scale": (1, 8, 1, 1),
              "bias": (10,)}
    weights = {name: random.standard_normal(dims, np.float32) for name, dims in shapes.items()}
    folded = [("Exp", "scale", "e"), ("Tanh", "e", "t"), ("Sigmoid", "t", "s"),
              ("Erf", "bias", "b1"), ("Sin", "b1", "b2"), ("Softplus", "b2", "b")]
    nodes = [helper.make_node(op, [source], [result]) for op, source, result in folded]
    nodes += [helper.make_node("Conv", ["x", "w1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
              helper.make_node("Mul", ["c1", "s"], ["m1"]),
              helper.make_node("Relu", ["m1"], ["r1"], "relu1"),
              helper.make_node("Conv", ["r1", "w2"], ["c2"], "conv2", strides=[2, 2]),
              helper.make_node("Flatten", ["c2"], ["f"]),
              helper.make_node("MatMul", ["f", "w3"], ["p"], "fc"),
              helper.make_node("Add", ["p", "b"], ["y"])]
    save(path, nodes, [floats("x", [1, 3, 12, 12])], [floats("y")], weights)


def make_open_model(path):
    """Open sizes, a channel concatenation, and wide results that order-tasks moves to where they
    are read."""
    random = np.random.default_rng(4)
    nodes, weights, means = [], {}, []
    for name in "abcd":
        weights["w" + name] = random.standard_normal((8, 4, 3, 3), np.float32)
        nodes.append(helper.make_node("Conv", ["x", "w" + name], [name], pads=[1, 1, 1, 1]))
    nodes.append(helper.make_node("Concat", ["a", "b"], ["ab"], axis=1))
    for name in ("ab", "c", "d"):
        nodes.append(helper.make_node("GlobalAveragePool", [name], ["m" + name]))
        means.append("m" + name)
    nodes += [helper.make_node("Concat", means, ["all"], axis=1),
              helper.make_node("Softmax", ["all"], ["y"], axis=1)]
    save(path, nodes, [floats("x", [1, 4, "H", "W"])], [floats("y")], weights)


class SameBytes:
    def __init__(self, programs, model, folder):
        self.programs, self.model, self.folder = programs, model, folder
        self.out, self.dump = os.path.join(folder, "out"), os.path.join(folder, "dump")
        self.counts = {}
        self.compile(model, "--dump-dir", self.dump)
        self.expected = bytes_of(self.out)
        self.call("verify", "--segments", self.out)
        self.graphs = ["%s/%d-%s.sg" % (self.dump, k + 1, stage)
                       for k, stage in enumerate(STAGES[:4])]

    def call(self, name, *arguments, **how):
        command = [os.path.join(self.programs, "sluice-" + name), *arguments]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                timeout=600, **how)
        assert result.returncode == 0, (command, result.stderr)
        return result.stdout

    def compile(self, source, *options, **how):
        profile = [PROFILE] if source.endswith(".onnx") else []
        self.call("compile", "-q", *profile, source, "-o", self.out, *options, **how)

    def same(self, kind, what):
        assert bytes_of(self.out) == self.expected, "another model: %s" % what
        os.remove(self.out)
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def shell(self):
        commands = [os.path.join(self.programs, "sluice-" + stage) for stage in STAGES]
        commands[0] += " %s '%s'" % (PROFILE, self.model)
        subprocess.run(["/bin/sh", "-c", " | ".join(commands) + " > '%s'" % self.out], check=True,
                       timeout=600)
        self.same("pipes of a shell", "shell")

    def non_semantic_options(self):
        usage = self.call("compile", "--help")
        section = usage[usage.index("Non-semantic options"):]
        known = set(re.findall(r"^ +(--[\w-]+)", section, re.MULTILINE))
        assert known == set(NON_SEMANTIC), ("non-semantic options without a try, or tries without "
                                            "an option: %s" % sorted(known ^ set(NON_SEMANTIC)))
        for name, values in sorted(NON_SEMANTIC.items()):
            for value in values:
                own = os.path.join(self.folder, "own")
                os.mkdir(own)
                option = name if value is None else "%s=%s" % (name, self.model if value == "MODEL"
                                                               else value.format(own))
                self.compile(self.model, option)
                self.same("non-semantic options", option)
                shutil.rmtree(own)

    def after_each_stage(self):
        for graph in self.graphs:
            for transport in ("pipe", "files", "zmq"):
                self.compile(graph, "--transport", transport)
                self.same("resumed after a stage", "%s, %s" % (graph, transport))

    def after_each_pass(self):
        """The stage goes on alone, and sluice compile goes on with it."""
        half, whole = os.path.join(self.folder, "half.sg"), os.path.join(self.folder, "whole")
        for k, (stage, source) in enumerate(zip(STAGES, [self.model, *self.graphs])):
            passes = [line.split()[0] for line in self.call(stage, "--list-passes").splitlines()]
            # Only the last stage can stop after all of its passes: at the scheduled graph.
            for name in passes if k == 4 else passes[:-1]:
                self.call(stage, *([PROFILE] if k == 0 else []), "--stop-after", name, source, "-o",
                          half)
                self.call(stage, half, "-o", whole)
                assert bytes_of(whole) == (bytes_of(self.graphs[k]) if k < 4
                                           else self.expected), "%s resumed after %s" % (stage,
                                                                                          name)
                for transport in ("pipe", "files", "zmq") if k == 4 else ("pipe",):
                    self.compile(half, "--transport", transport)
                    self.same("resumed after a pass", "%s of %s, %s" % (name, stage, transport))

    def elsewhere(self):
        other = os.path.join(self.folder, "other")
        os.mkdir(other)
        copy = os.path.join(other, "copy.onnx")
        shutil.copy(self.model, copy)
        self.compile(copy)
        self.same("other folders", "a copy of the model")
        for change in (*LOCALES, LESSER_PROCESSOR):
            self.compile(os.path.relpath(self.model, other), cwd=other,
                         env={**os.environ, **change})
            self.same("locales and processors", change)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--model")
    arguments = parser.parse_args()
    programs = need(arguments.programs, ["compile", "verify", *STAGES])
    if arguments.model:
        try_all(programs, os.path.abspath(arguments.model))
        return
    for make in (make_model, make_open_model):
        with tempfile.TemporaryDirectory() as folder:
            make(os.path.join(folder, "model.onnx"))
            try_all(programs, os.path.join(folder, "model.onnx"))


def try_all(programs, model):
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        test = SameBytes(programs, model, folder)
        for part in (test.shell, test.non_semantic_options, test.after_each_stage,
                     test.after_each_pass, test.elsewhere):
            part()
    print("the same %d bytes: %s; %.0f s" %
          (len(test.expected), ", ".join("%s %d" % item for item in test.counts.items()),
           time.monotonic() - start))


if __name__ == "__main__":
    main()
