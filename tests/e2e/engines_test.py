#!/usr/bin/python3
"""The engine that summary, bench, trace and conformance name for a node is that of the function
which ran it. What ran is found out without any of them: a compiled model has the code of a kernel
in one place, and in another what the evaluator is to compute. Each is damaged in turn, in a copy,
and the first value that is made otherwise shows whose function it was.

usage: engines_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import collections
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from models import floats, model_of, value, write
from programs import STAGES, ProgramCase, bytes_of, need

# An operator that a graph may name, and one of as many letters that computes something else.
OTHERS = {"Flatten": "Softmax", "Gather": "MatMul", "Hardmax": "Softmax", "If": "Or",
          "MatMul": "Gather", "NonZero": "Hardmax", "Relu": "Tanh", "Reshape": "Softmax",
          "Sin": "Tan", "Squeeze": "Softmax", "Transpose": "LeakyRelu"}
# mov rax, [rdi]; mov rax, [rax]; mov dword [rax], a NaN; ret: all that it writes is the first
# element of the kernel's first operand.
MARK = bytes.fromhex("488b07 488b00 c7004d5ac07f c3")
ENGINES = {"kernel": "aicore", "evaluator": "host_cpu"}
VECTOR = ("sign", "largest", "pick")  # nodes whose kernel is of loops, not of a contraction
IDLE = ("rts", "none")
FIXED, OPEN = (8, 9, 10, 11, 12), (8, 13, 14, 15, 16)
LAYOUTS = ("c", "e")  # nodes that change the layout of a value, called after it
# By value: the node that makes it, where that is not its node in the user's model.
MADE = {"p": "product", "c:dense": "first", "e:nhwc": "second", **{name: name for name in LAYOUTS}}


def digest(data):
    return hashlib.sha256(data).digest()


def random(*dims):
    return np.random.default_rng(sum(dims)).standard_normal(dims).astype(np.float32)


def products(prefix, source, sizes):
    """A chain of products of sizes of their own: no two share a kernel."""
    names = [f"{prefix}{i}" for i in range(len(sizes) - 1)]
    nodes = [helper.make_node("MatMul", [before, "w" + name], [name], "make_" + name)
             for before, name in zip([source, *names], names)]
    return nodes, {"w" + name: random(*dims) for name, dims in zip(names, zip(sizes, sizes[1:]))}


def body(name, op):
    node = helper.make_node(op, ["picked"], ["r"])
    return helper.make_graph([node], name, [], [floats("r")])


def all_classes():
    """A fixed part, a symbolic one, and nodes that are walked, an If among them: each has nodes
    with a kernel and nodes without."""
    fixed, constants = products("fixed", "f", FIXED)
    opened, more = products("open", "x", OPEN)
    node = helper.make_node
    nodes = [node("Conv", ["image", "w1"], ["b"], "first", pads=[1] * 4),
             node("Relu", ["b"], ["c"], "clip"),
             node("Conv", ["c", "w2"], ["e"], "second", pads=[1] * 4),
             *fixed,
             node("Hardmax", ["fixed3"], ["soft"], "sign"),
             node("Flatten", ["soft"], ["flat"], "flatten", axis=0),
             *opened,
             node("Hardmax", ["open3"], ["hard"], "largest"),
             node("Reshape", ["hard", "by4"], ["view"], "fold"),
             node("NonZero", ["flags"], ["where"], "search"),
             node("Squeeze", ["where", "axis"], ["rows"], "squeeze"),
             node("Gather", ["open3", "rows"], ["picked"], "pick"),
             node("If", ["yes"], ["chosen"], "branch", then_branch=body("then", "Sin"),
                  else_branch=body("else", "Relu")),
             node("MatMul", ["picked", "wide"], ["p0"], "product"),
             node("Relu", ["p0"], ["p"], "rectify"),
             node("Transpose", ["picked"], ["t"], "turn", perm=[1, 0]),
             node("MatMul", ["t", "p"], ["total"], "sum")]
    constants |= more | {"w1": random(16, 3, 3, 3), "w2": random(16, 16, 3, 3),
                         "by4": np.array([-1, 4, 4]), "axis": np.array([0]), "wide": random(16, 17)}
    inputs = [floats("x", ["n", 8]), floats("f", [4, 8]), floats("flags", [1]),
              value("yes", [], TensorProto.BOOL), floats("image", [1, 3, 12, 12])]
    outputs = [floats("e", [1, 16, 12, 12]), floats("soft", [4, 12]), floats("flat", [1, 48]),
               floats("view"), floats("chosen"), floats("total", [16, 17])]
    return model_of(nodes, inputs, outputs, constants, opset=18)


def function_offset(elf, entry):
    """Where the code of a function begins in an ELF64 object."""
    table, = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, table + size * i) for i in range(count)]
    symbols = next(section for section in sections if section[1] == 2)  # SHT_SYMTAB
    names = sections[symbols[6]][4]
    for at in range(symbols[4], symbols[4] + symbols[5], 24):
        name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", elf, at)
        if elf[names + name:].startswith(entry.encode() + b"\0"):
            return sections[section][4] + value
    raise AssertionError(f"no function {entry}")


class CompiledModel:
    """The bytes of a .om whose segments are damaged in place. text: as sluice-show prints it."""

    def __init__(self, path, text):
        self.data = bytes_of(path)
        rows = {"segments": [], "kernels": []}
        for kind, fields in re.findall(r"^(segments|kernels) \{\n(.*?)^\}", text, re.M | re.S):
            rows[kind].append(dict(re.findall(r"^  (\w+): \"?(\w+)", fields, re.M)))
        self.segments = [(row.get("kind"), int(row["offset"]), int(row.get("bytes", 0)))
                         for row in rows["segments"]]
        self.kernels = [(row["entry"], int(row.get("object_offset", 0)), int(row["object_bytes"]))
                        for row in rows["kernels"]]

    def damages(self):
        """("kernel" or "evaluator", the bytes of a model with one damage)."""
        for kind, offset, size in self.segments:
            segment = self.data[offset:offset + size]
            places = {"SEGMENT_KERNELS": self.codes, "SEGMENT_GRAPH": self.operators}.get(kind)
            for function, at, changed in places(segment) if places else ():
                damaged = segment[:at] + changed + segment[at + len(changed):]
                yield function, self.sealed(offset, segment, damaged)

    def codes(self, segment):
        for entry, begin, size in self.kernels:
            yield "kernel", begin + function_offset(segment[begin:begin + size], entry), MARK

    @staticmethod
    def operators(segment):
        graph_bytes, = struct.unpack_from("<Q", segment, 16)  # behind them lie the names of nodes
        for op, other in OTHERS.items():
            for found in re.finditer(op.encode(), segment[:128 + graph_bytes]):
                yield "evaluator", found.start(), other.encode()

    def sealed(self, offset, segment, damaged):
        data = bytearray(self.data)
        data[offset:offset + len(damaged)] = damaged
        begin, size = struct.unpack_from("<QQ", data, 24)
        model = data[begin:begin + size].replace(digest(segment), digest(damaged))
        data[begin:begin + size] = model
        data[40:72] = digest(model)
        data[480:512] = digest(data[:480])
        return bytes(data)


def of_functions(engines):
    """Those that stand for a function of the device or the evaluator: not copies, nor calls."""
    return {name: found for name, found in engines.items()
            if name not in IDLE and found not in IDLE}


class Engines(ProgramCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("case"))
        self.onnx, self.om = self.path("case/model.onnx"), self.path("m.om")
        self.model = all_classes()
        write(self.onnx, self.model)

    def values_of(self, model):
        """By name, the values that a run makes; those before a node that fails."""
        folder = self.path("values")
        shutil.rmtree(folder, ignore_errors=True)
        with open(self.path("damaged.om"), "wb") as file:
            file.write(model)
        loader = os.path.join(self.programs, "sluice-loader")
        subprocess.run([loader, self.path("damaged.om"), "--threads=1", "--random",
                        "--dump-values=" + folder], capture_output=True, timeout=60, check=False)
        values = {}
        for path in glob.glob(folder + "/*.npy"):
            values[os.path.basename(path)[:-len(".npy")]] = bytes_of(path)
        return values

    def names_in_order(self):
        """The values of the run before, in the order that they were made."""
        with open(self.path("values/values.txt")) as file:
            return [line.split("\t")[1] for line in file.read().splitlines()
                    if not line.startswith("-")]

    def functions(self):
        """By node: "kernel" or "evaluator", whichever was called for it."""
        compiled = CompiledModel(self.om, self.program(0, "sluice-show", self.om))
        nodes = self.model.graph.node
        made = {output: node.name for node in nodes for output in node.output} | MADE
        whole = self.values_of(compiled.data)
        self.assertEqual(whole, self.values_of(compiled.data))
        order = self.names_in_order()
        called = collections.defaultdict(set)
        for function, damaged in compiled.damages():
            values = self.values_of(damaged)
            first = next((name for name in order if values.get(name) != whole[name]), None)
            if function == "kernel" or first is not None:
                self.assertIn(first, made, "no value is other than before, or none was made at all")
                called[made[first]].add(function)
        self.assertTrue(all(len(functions) == 1 for functions in called.values()), called)
        return {node: min(functions) for node, functions in called.items()}

    def traced(self):
        trace = self.path("t.json")
        self.program(0, "sluice-loader", self.om, "--random", "--trace", trace)
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        return {event["name"]: event["cat"] for event in events if event["ph"] == "X"}

    def benched(self):
        reported = self.program(0, "sluice-loader", self.om, "--bench", "--json", "--runs=1")
        return {node["name"]: node["engine"] for node in json.loads(reported)["nodes"]}

    def summed_up(self):
        """(nodes by engine, generated kernels, reference kernels)"""
        text = self.program(0, "sluice-show", "--summary", self.om)
        counts = re.search(r"^engines: (.*)", text, re.M).group(1).split(", ")
        counts = {name: int(count) for count, name in (each.split() for each in counts)}
        generated, reference = (sum(map(int, re.findall(rf"(\d+) {kind} kernels?", text)))
                                for kind in ("generated", "reference"))
        return counts, generated, reference

    def conforming(self):
        report = self.path("report.json")
        self.program(0, "sluice-conformance", "--report", report, self.path("case"))
        with open(report) as file:
            case, = json.load(file)["cases"]
        return case["engines"]

    def check(self, *options):
        """The engines of the functions that ran; loader and summary name these."""
        self.program(0, "sluice-compile", self.onnx, "-o", self.om, *options)
        engines = {node: "vector" if function == "kernel" and node in VECTOR else ENGINES[function]
                   for node, function in self.functions().items()}
        self.assertEqual(of_functions(self.traced()), engines)
        self.assertEqual(of_functions(self.benched()), engines)
        counts, generated, reference = self.summed_up()
        ran = collections.Counter(engines.values())
        self.assertEqual(of_functions(counts), ran)
        self.assertEqual((generated, reference),
                         (ran["aicore"] + ran["vector"], ran["host_cpu"]))
        return engines

    def test_parts_of_all_classes(self):
        engines = self.check()
        chains = {f"make_{part}{i}" for part in ("fixed", "open") for i in range(4)}
        kernels = chains | {"first", "second", *LAYOUTS, "product", "sum"}
        self.assertEqual({node for node, engine in engines.items() if engine == "aicore"}, kernels)
        self.assertEqual(set(engines) - kernels,
                         {"sign", "largest", "search", "squeeze", "pick", "branch"})
        self.assertEqual(self.traced()["flat"], "rts")
        expected = {node: engine for node, engine in engines.items() if node not in LAYOUTS}
        for node, into in (("clip", "first"), ("rectify", "product"), ("turn", "sum")):
            expected[node] = engines[into]
        self.assertEqual(of_functions(self.conforming()), expected)

    def test_one_dynamic_part(self):
        engines = self.check("--static-model-ops-lower-limit=-1")
        self.assertEqual((engines["make_fixed0"], engines["flatten"]), ("aicore", "host_cpu"))

    def test_fixed_sizes(self):
        self.assertEqual(self.check("--dim=n=6")["make_open0"], "aicore")


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "conformance", "loader", "show",
                                                  "verify", *STAGES])
    if platform.machine() != "x86_64":
        print("SKIPPED: kernels are x86-64")
        sys.exit(77)
    unittest.main(verbosity=2)
