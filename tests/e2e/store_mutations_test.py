#!/usr/bin/python3
"""No false hit: models, options and profiles that differ in one field are compiled with one store
and without it, and the bytes are the same whatever the store had.

usage: store_mutations_test.py FOLDER_OF_PROGRAMS [options]

  --count N    mutations, each of one field                       [default: 60]
  --seed S     which ones                                         [default: 18]

Prints how many products of each stage were found among how many. Exits 7 when two compiles differ.
"""
import argparse
import collections
import hashlib
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
from onnx import helper

import programs
from models import floats, model_of, write

OPTIONS = {
    "--opt-level": ["O0", "O1"], "--precision-mode": ["force_fp16", "force_bf16",
                                                      "allow_mix_precision"],
    "--symbolic": ["off"], "--static-model-ops-lower-limit": ["1", "2", "5", "9", "-1"],
    "--host-scheduling-max-threshold": ["1", "5", "20"], "--stable-order": ["on"],
    "--math": ["high_precision", "high_performance"], "--denormals": ["ieee"],
    "--disable-reuse-memory": ["*", "Relu", "MatMul,Conv", "n1", "n2", "n3"],
    "--sync": ["notify"], "--multi-stream-parallel-mode": ["cv"],
    "--overridable-inputs": ["on"], "--zipmap": ["tensor"],
    "--skip": ["optimize:fuse-elementwise", "optimize:fold-constants", "build:order-tasks",
               "optimize:choose-formats", "partition:drop-formats",
               "preprocess:eliminate-dead-nodes"],
    "--dim": ["N=1", "N=2", "N=3", "N=4", "N=1..4", "N=1..9", "N=2..8"],
}
PROFILE = {
    "name": "own", "isa": "generic", "llvm_cpu": "x86-64", "llvm_features": "+sse,+sse2",
    "vector_bits": 128, "vector_registers": 16, "fused_multiply_add": False, "l1_bytes": 32768,
    "l1_ways": 8, "l2_bytes": 262144, "last_cache_bytes": 33554432, "scratch_limit": 1048576,
    "engines": ["aicore", "host_cpu", "rts", "vector"],
    "memory_classes": [{"name": "arena", "alignment": 64}],
    "costs": {"simple": 50, "divide": 50, "transcendental": 1000, "access": 100, "pattern": 250,
              "gather": 120, "scatter": 200, "launch": 204800, "l2_line": 200,
              "last_cache_line": 400, "memory_line": 800, "multiply_add": 50,
              "wide_multiply_add": 100, "load": 50, "wide_load": 100, "instruction": 20,
              "tile": 2500, "sum": 150},
}


class Job:
    """What is compiled: every field that a mutation changes is here."""

    def __init__(self, kind):
        self.kind, self.options = kind, {}
        self.profile = json.loads(json.dumps(PROFILE))
        self.n, self.channels, self.width = "N", 6, 10
        self.attributes = {"epsilon": 1e-3, "axis": -1, "alpha": 0.5, "group": 1, "stride": 1,
                           "pad": 1, "keepdims": 1, "transpose": 0}
        self.seeds = {"w": 1, "b": 2, "g": 3, "s": 4}
        self.edits = {}  # (constant, element): value
        self.names = ["n1", "n2", "n3", "n4", "n5"]

    def constant(self, key, shape):
        array = np.random.default_rng(self.seeds[key]).standard_normal(shape).astype(np.float32)
        for (edited, at), value in self.edits.items():
            if edited == key:
                array.flat[at % array.size] = value
        return array

    def model(self):
        nodes, constants, shape = getattr(self, self.kind)()
        for node, name in zip(nodes, self.names):
            node.name = name
        return model_of(nodes, [floats("x", shape)], [floats("y")], constants, opset=18)

    def convolution(self):
        a, c = self.attributes, self.channels
        group = 2 if a["group"] == 2 and c % 2 == 0 else 1
        nodes = [
            helper.make_node("Conv", ["x", "w", "b"], ["p"], strides=[a["stride"]] * 2,
                             pads=[a["pad"]] * 4, group=group),
            helper.make_node("LeakyRelu", ["p"], ["q"], alpha=a["alpha"]),
            helper.make_node("BatchNormalization", ["q", "g", "s", "b", "g2"], ["r"],
                             epsilon=a["epsilon"]),
            helper.make_node("ReduceMean", ["r", "axes"], ["m"], keepdims=a["keepdims"]),
            helper.make_node("Softmax", ["m"], ["y"], axis=a["axis"])]
        constants = {"w": self.constant("w", (c, c // group, 3, 3)),
                     **{key: self.constant(key, (c,)) for key in "bgs"}, "axes": [2]}
        constants["g2"] = constants["g"] ** 2 + np.float32(0.1)
        return nodes, constants, [self.n, c, self.width, 7]

    def product(self):
        a, c = self.attributes, self.channels
        shape = (c, self.width) if a["transpose"] else (self.width, c)
        nodes = [
            helper.make_node("Gemm", ["x", "w", "b"], ["p"], alpha=a["alpha"],
                             transB=a["transpose"]),
            helper.make_node("LayerNormalization", ["p", "g", "s"], ["q"], axis=-1,
                             epsilon=a["epsilon"]),
            helper.make_node("Elu", ["q"], ["r"], alpha=a["alpha"]),
            helper.make_node("Softmax", ["r"], ["y"], axis=a["axis"])]
        constants = {"w": self.constant("w", shape),
                     **{key: self.constant(key, (c,)) for key in "bgs"}}
        return nodes, constants, [self.n, self.width]


def mutate(job, draw):
    """Changes one field, and says which."""
    what = draw.choice(["attribute", "dim", "option", "profile", "weight", "name"])
    if what == "attribute":
        key = draw.choice(list(job.attributes))
        job.attributes[key] = {"epsilon": draw.choice([1e-3, 1e-4, 2e-3]),
                               "axis": draw.choice([-1, 1, 0]),
                               "alpha": draw.choice([0.5, 0.25, 0.125, 1.0]),
                               "group": draw.choice([1, 2]), "stride": draw.choice([1, 2]),
                               "pad": draw.choice([0, 1]), "keepdims": draw.choice([0, 1]),
                               "transpose": draw.choice([0, 1])}[key]
    elif what == "dim":
        key = draw.choice(["n", "channels", "width"])
        setattr(job, key, draw.choice(["N", 1, 2]) if key == "n" else draw.randint(4, 12))
    elif what == "option":
        key = draw.choice(list(OPTIONS))
        if key in job.options and draw.random() < 0.5:
            del job.options[key]
        else:
            job.options[key] = draw.choice(OPTIONS[key])
    elif what == "profile":
        mutate_profile(job.profile, draw)
    elif what == "weight":
        job.edits[(draw.choice(list(job.seeds)), draw.randrange(64))] = draw.choice([0.0, 1.0, 0.5])
    else:
        job.names[draw.randrange(len(job.names))] = "n%d" % draw.randint(1, 9)
    return what


def mutate_profile(profile, draw):
    place = draw.choice([profile, profile["costs"], profile["memory_classes"][0]])
    key = draw.choice([key for key, value in place.items()
                       if isinstance(value, int) and not isinstance(value, bool)])
    if key == "vector_bits":
        return
    if key == "vector_registers":
        place[key] = draw.choice([8, 16])
    elif place is profile or key == "alignment":
        place[key] = max(place[key] // 2 if draw.random() < 0.5 else place[key] * 2, 32)
        place[key] = min(place[key], 1 << 25 if key != "scratch_limit" else 1 << 20)
        if key == "l1_ways":
            place[key] = draw.choice([4, 8, 16])
    else:
        place[key] = max(1, place[key] + draw.choice([-1, 1, place[key]]))


def run(bin_folder, folder, job, out, *more):
    model, profile = os.path.join(folder, "model.onnx"), os.path.join(folder, "own.json")
    write(model, job.model())
    with open(profile, "w", encoding="utf-8") as file:
        json.dump(job.profile, file)
    done = subprocess.run(
        [os.path.join(bin_folder, "sluice-compile"), model, "-o", os.path.join(folder, out),
         "--profile=" + profile, "--threads=1", "--progress=json",
         *["%s=%s" % option for option in job.options.items()], *more],
        capture_output=True, text=True, timeout=300)
    rows = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    if done.returncode != 0:
        return done.returncode, rows
    return hashlib.sha256(programs.bytes_of(os.path.join(folder, out))).hexdigest(), rows


def chain(arguments):
    """One walk of mutations from a first model; all walks share the store."""
    bin_folder, store, kind, seed, count = arguments
    draw, job, faults, found = random.Random(seed), Job(kind), [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            what = mutate(job, draw)
            stored, rows = run(bin_folder, folder, job, "stored.om", "--store", store)
            plain, _ = run(bin_folder, folder, job, "plain.om")
            found["compiles"] += 1
            found["refused"] += isinstance(plain, int)
            for row in rows:
                found[row["stage"]] += row.get("found", False)
            if stored != plain:
                faults.append("%s, seed %d, mutation %d (%s): %s with the store, %s without"
                              % (kind, seed, number, what, stored, plain))
            if isinstance(plain, int) or draw.random() < 0.05:
                job = Job(draw.choice(["convolution", "product"]))
    return faults, found


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("programs")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=18)
    args = parser.parse_args()
    bin_folder = programs.need(args.programs, ["compile", *programs.STAGES])
    walks = max(2, args.count // 100)
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Pool(2) as pool:
        jobs = [(bin_folder, os.path.join(folder, "store"), ["convolution", "product"][i % 2],
                 args.seed * 1000 + i, args.count // walks) for i in range(walks)]
        results = pool.map(chain, jobs, chunksize=1)
    total = sum((found for _, found in results), collections.Counter())
    faults = [fault for faults, _ in results for fault in faults]
    print("%d mutations, %d refused; found: %s" % (
        total["compiles"], total["refused"],
        ", ".join("%s %d" % (stage, total[stage]) for stage in programs.STAGES[1:])))
    for fault in faults:
        print("FAULT", fault)
    if total["refused"] * 2 > total["compiles"] or not total["build"]:
        faults.append("too few compiles")
        print("FAULT", faults[-1])
    sys.exit(7 if faults else 0)


if __name__ == "__main__":
    main()
