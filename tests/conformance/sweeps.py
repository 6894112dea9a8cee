"""Shared by the sweeps of this folder: the device profiles that this CPU can run, programs, a model
beside what sluice-eval makes of it, and the speed of large contractions.
"""
import json
import os
import shutil
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper

AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
PROFILES = {"cpu-avx512bf16": AVX512 | {"avx512_vnni", "avx512_bf16"},
            "cpu-avx512vnni": AVX512 | {"avx512_vnni"}, "cpu-avx512": AVX512,
            "cpu-avx2": {"avx2", "fma"}, "cpu-generic": set()}
THREADS = (1, 2, 7)


class Failed(Exception):
    """A program that did not succeed."""


def cpu_profiles():
    """The profiles that this CPU can run."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = next((set(line.split(":")[1].split()) for line in file if line.startswith("flags")),
                     set())
    return [profile for profile, needed in PROFILES.items() if needed <= flags]


def other_profiles():
    """Those that this CPU cannot run."""
    able = cpu_profiles()
    return [profile for profile in PROFILES if profile not in able]


def drawn_profiles(model, options, number):
    """The profiles for which model `number` is run: with --long all, else the best one and one
    other. For those among them that this CPU cannot run, the model is compiled here."""
    able, drawn = cpu_profiles(), cpu_profiles() + other_profiles()
    if not options.long:
        drawn = [drawn[0], drawn[1 + number % (len(drawn) - 1)]]
    for profile in drawn:
        if profile not in able:
            model.compile(profile)
    return [profile for profile in drawn if profile in able]


def all_profiles_text():
    unable = other_profiles()
    return ", ".join(cpu_profiles()) + (f"; {', '.join(unable)} only compiled" if unable else "")


def profiles_text(options):
    """What the profiles of a sweep are, for its last line."""
    return all_profiles_text() + ("" if options.long else " (the best one and another in turn)")


def add_options(parser, count):
    parser.add_argument("bin", type=os.path.abspath)
    parser.add_argument("work", type=os.path.abspath)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", action="store_true")


def run(folder, program, *arguments):
    """The standard output of a program of the folder."""
    done = subprocess.run([os.path.join(folder, "sluice-" + program), *arguments],
                          capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise Failed(f"{program}: exit code {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


class Model:
    """A model in a folder of its own, and what the evaluator makes of it."""

    def __init__(self, programs, folder, model, feeds):
        self.programs, self.folder = programs, folder
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        onnx.save(model, self.place("model.onnx"))
        np.savez(self.place("inputs.npz"), **feeds)
        self.inputs = "--input=" + self.place("inputs.npz")
        self.compiled, self.nodes = self.place("model.om"), []
        self.run("preprocess", self.place("model.onnx"), "-o", self.place("typed.sg"))
        self.evaluate("typed.sg", "eval")

    def place(self, name):
        return os.path.join(self.folder, name)

    def run(self, program, *arguments):
        return run(self.programs, program, *arguments)

    def evaluate(self, graph, into):
        self.run("eval", self.place(graph), self.inputs, "--output-dir=" + self.place(into))

    def run_compiled(self, profile, *options):
        """Compiles the model for a profile and runs it with each number of threads."""
        self.compile(profile, *options)
        for threads in THREADS:
            self.run("loader", self.compiled, "-q", f"--threads={threads}", self.inputs,
                     "--output-dir=" + self.place(str(threads)))
        self.nodes = json.loads(self.run("show", "--format=json", self.compiled))["nodes"]

    def compile(self, profile, *options):
        self.run("compile", self.place("model.onnx"), "-q", "--profile=" + profile, "-o",
                 self.compiled, *options)

    def load(self, side, name):
        return np.load(os.path.join(self.place(side), name + ".npy"))

    def results(self, name):
        """An output by the evaluator, and with 1 thread."""
        return self.load("eval", name), self.load("1", name)

    def has_other_bytes(self, name):
        """Whether numbers of threads differ in an output."""
        return len({self.load(str(threads), name).tobytes() for threads in THREADS}) > 1

    def engines(self, source):
        """The engines of what became of a node."""
        return {node["engine"] for node in self.nodes
                if source in (node.get("from") or [node["name"]])}

    def bench(self, runs):
        return bench(self.programs, self.compiled, runs, self.inputs)


# ---- speed ---------------------------------------------------------------------------------------

MIN_MFLOP, MIN_SHARE = 20, 0.15
TRIALS = 5  # of what seems slow: other programs may have been running


def bench(programs, compiled, runs, *inputs):
    """What the loader measured at one thread."""
    return json.loads(run(programs, "loader", compiled, "--bench", "--json", "--threads=1",
                          f"--runs={runs}", *inputs))


def report_slow(slow):
    """Prints the slow draws; returns whether there are any."""
    for text in slow:
        print(f"slow: {text}")
    return bool(slow)


class Speed:
    """The speed of contractions as a share of their peak: that of a product of square matrices of
    their dtype, for the same profile, which is measured once. Only with --long: others may be
    running beside a short sweep.

    dtype: f32, f16, bf16 or int8.
    """

    def __init__(self, options):
        self.programs, self.folder, self.peaks = options.bin, options.work, {}
        self.is_measured = options.long

    def slow_draws(self, multiply_adds, measure, profile, dtype):
        """Texts about the large draws that are slow whenever they are measured. multiply_adds: node
        of the ONNX model -> number; measure(runs) returns what `bench` does."""
        large = {name: 2e-6 * count for name, count in multiply_adds.items()
                 if self.is_measured and 2e-6 * count >= MIN_MFLOP}
        best = dict.fromkeys(large, 0.0)
        for _ in range(TRIALS):
            if min(best.values(), default=1) < MIN_SHARE:
                for name, share in self.shares(large, measure(3)["nodes"], profile, dtype).items():
                    best[name] = max(best[name], share)
        return [f"{profile}: {name}: {large[name]:.0f} MFLOP at {share:.3f} of the peak"
                for name, share in best.items() if share < MIN_SHARE]

    def shares(self, draws, nodes, profile, dtype):
        """The shares of the peak, by name."""
        ms = {name: sum(node["ms"] for node in nodes
                        if node["engine"] == "aicore" and name in node["onnx_nodes"])
              for name in draws}
        return {name: mflop / ms[name] / self.peak(profile, dtype)
                for name, mflop in draws.items() if ms[name] > 0}

    def peak(self, profile, dtype):
        """GFLOP/s."""
        if (profile, dtype) not in self.peaks:
            self.peaks[profile, dtype] = self.measure_peak(profile, dtype)
        return self.peaks[profile, dtype]

    def measure_peak(self, profile, dtype):
        os.makedirs(self.folder, exist_ok=True)
        stem = os.path.join(self.folder, f"peak-{profile}-{dtype}")
        onnx.save(square_product(dtype), stem + ".onnx")
        run(self.programs, "compile", stem + ".onnx", "-q", "--profile=" + profile, "-o",
            stem + ".om")
        report = bench(self.programs, stem + ".om", 300)
        return sum(2e-6 * node["multiply_adds"] for node in report["nodes"]) / report["min_ms"]


def square_product(dtype, size=256):
    """A product with a constant; of integers, one of bytes. It takes so little time that some of
    many runs are not interrupted."""
    types = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
    x_type, w_type, y_type = ((TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32)
                              if dtype == "int8" else (types[dtype],) * 3)
    numbers = np.random.default_rng(1).integers(-64, 64, [size, size])
    weight = helper.make_tensor("w", w_type, [size, size], stored(numbers, dtype), raw=True)
    node = helper.make_node("MatMulInteger" if dtype == "int8" else "MatMul", ["x", "w"], ["y"],
                            "y")
    graph = helper.make_graph(
        [node], "peak", [helper.make_tensor_value_info("x", x_type, [size, size])],
        [helper.make_tensor_value_info("y", y_type, [size, size])], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)


def stored(numbers, dtype):
    """The bytes of small integers in a dtype."""
    if dtype == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return numbers.astype({"f32": np.float32, "f16": np.float16, "int8": np.int8}[dtype]).tobytes()
