#!/usr/bin/python3
"""Adds the engine of docs/adding-an-engine.md to copies of the files that the page names, builds
sluice-partition and sluice-subgraph-optimize with them, and compiles and runs a model on it.

usage: adding_an_engine_test.py BUILD_FOLDER
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
from onnx import helper

from overlay import ROOT, Overlay

sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
from models import floats, save

BLOCK = re.compile(r'^```(\w+) file=(\S+)(?: (before|after)="(.*?)")?\n(.*?)^```$', re.M | re.S)
PROGRAMS = ("sluice-partition", "sluice-subgraph-optimize")
PROFILE = "common/target/profiles/cpu-generic.json"  # the copy in the folder of the test


def with_member(profile, line):
    """The profile with the page's member instead of its own of that name."""
    profile, member = json.loads(profile), json.loads("{" + line.strip().rstrip(",") + "}")
    assert len(member) == 1 and member.keys() <= profile.keys(), line
    return json.dumps({**profile, **member})


def new_source(path, text, anchor, line):
    """The source that a line adds to a list of CMake, and the one after which it stands."""
    folder, before = os.path.dirname(path), anchor.split()[-1]
    sources = re.search(r"SOURCES([^()]*?)\b(DEPS|PRIVATE)\b[^()]*\)",
                        text[text.rindex("(", 0, text.index(line)):]).group(1).split()
    assert before in sources and line.strip() in sources, f"{path}: {line} is not among SOURCES"
    return {f"{folder}/{line.strip()}": f"{folder}/{before}"}


def apply_page(overlay):
    """Writes the changed copies; returns the C++ files among them, each with the file whose unit it
    is in."""
    with open(os.path.join(ROOT, "docs/adding-an-engine.md"), encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    assert [kind for kind, *_ in blocks] == ["cpp", "cpp", "cpp", "cmake", "cpp", "cpp", "json"]
    compiled = {}
    for kind, path, where, anchor, code in blocks:
        text = overlay.read(path)
        assert not where or text.count(anchor) == 1, f"{path}: not once there: {anchor}"
        made = {"": code, "before": text.replace(anchor, code + anchor),
                "after": text.replace(anchor + "\n", anchor + "\n" + code)}[where]
        overlay.write(path, with_member(text, code) if kind == "json" else made)
        if kind == "cmake":
            compiled.update(new_source(path, made, anchor, code))
        elif path.endswith(".cc") and text:  # a new file is compiled when a list of sources has it
            compiled[path] = path
    return compiled


def make_model(path):
    """y = Flatten(Relu(x)), which is also read by a MatMul."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Flatten", ["r"], ["f"]),
             helper.make_node("MatMul", ["f", "w"], ["y"])]
    save(path, nodes, [floats("x", [2, 3, 4])], [floats("y", [2, 2])],
         {"w": np.ones((12, 2), np.float32)})


def main():
    with tempfile.TemporaryDirectory() as folder:
        overlay = Overlay(sys.argv[1], folder)
        succeeded, text = overlay.compile(dict(sorted(apply_page(overlay).items())))
        assert succeeded, text
        for program in PROGRAMS:
            overlay.link(program)
        make_model(os.path.join(folder, "model.onnx"))
        run_model(overlay.build, folder)


def run_model(build, folder):
    programs = lambda name: os.path.join(folder if name in PROGRAMS else build, "bin", name)
    graph = "model.onnx"
    for number, stage in enumerate(("preprocess", "optimize", "partition", "subgraph-optimize",
                                    "build")):
        options = ["--profile=" + PROFILE] if stage == "partition" else []
        subprocess.run([programs("sluice-" + stage), *options, graph, "-o", f"{number}.sg"],
                       cwd=folder, check=True)
        graph = f"{number}.sg"
    text = subprocess.run([programs("sluice-show"), "2.sg"], cwd=folder, check=True,
                          capture_output=True, text=True).stdout
    placed = re.findall(r"Flatten\(.*engine = views", text)
    assert placed, "Flatten does not run on the engine 'views':\n" + text
    x = np.random.default_rng(1).standard_normal((2, 3, 4), np.float32)
    np.save(os.path.join(folder, "x.npy"), x)
    subprocess.run([programs("sluice-loader"), graph, "--input=x=x.npy", "--output-dir=out"],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)
    got = np.load(os.path.join(folder, "out/y.npy"))
    wanted = np.maximum(x, 0).reshape(2, -1) @ np.ones((12, 2), np.float32)
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    print("the engine of docs/adding-an-engine.md compiles, lowers and runs")


if __name__ == "__main__":
    main()
