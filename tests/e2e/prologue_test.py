#!/usr/bin/python3
"""Contractions whose kernels compute their first operand: one launch, right at every size, for each
device profile that this CPU can run. What is right is what sluice-eval computes.

usage: prologue_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from programs import ProgramCase, need

FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16
PROFILES = {"cpu-avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
            "cpu-avx2": {"avx2", "fma"}, "cpu-generic": set()}


def cpu_flags():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((set(line.split(":")[1].split()) for line in file if line.startswith("flags")),
                    set())


def random(*dims, scale=1.0):
    return (np.random.default_rng(sum(dims)).standard_normal(dims) * scale).astype(np.float32)


class Case:
    """Nodes, weights and inputs of a model; `sizes` are those of its open dims, one run each."""

    def __init__(self, sizes=({},), **inputs):
        self.sizes, self.inputs, self.nodes, self.constants = sizes, inputs, [], []

    def node(self, op, *inputs, **attributes):
        result = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [result], result, **attributes))
        return result

    def constant(self, *dims, scale=1.0, low=None):
        array = random(*dims, scale=scale)
        array = array if low is None else np.abs(array) + np.float32(low)
        self.constants.append(numpy_helper.from_array(array, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def normalized(self, x, channels):
        parameters = [self.constant(channels) for _ in range(3)]
        return self.node("BatchNormalization", x, *parameters, self.constant(channels, low=0.5))

    def conv(self, x, channels_in, channels_out):
        return self.node("Conv", x, self.constant(channels_out, channels_in, 1, 1,
                                                  scale=channels_in ** -0.5),
                         self.constant(channels_out))

    def model(self, result):
        declared = [helper.make_tensor_value_info(name, dtype, dims)
                    for name, (dtype, dims) in self.inputs.items()]
        output = helper.make_tensor_value_info(result, FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", declared, [output], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        return model


def gated():
    case = Case(({"N": 1, "S": 1}, {"N": 2, "S": 37}, {"N": 1, "S": 300}),
                gate=(FLOAT, ["N", "S", 100]), up=(FLOAT, ["N", "S", 100]))
    x = case.node("Mul", case.node("Tanh", "gate"), "up")
    y = case.node("MatMul", x, case.constant(100, 70, scale=0.1))
    return case, case.node("Relu", case.node("Add", y, case.constant(70)))


def widened():
    case = Case(x=(HALF, [33, 64]), scale=(FLOAT, [33, 1]))
    x = case.node("Mul", case.node("Cast", "x", to=FLOAT), "scale")
    return case, case.node("Gemm", x, case.constant(24, 64, scale=0.1), transB=1)


def broadcast_rows():
    case = Case(x=(FLOAT, [3, 7, 32]), shift=(FLOAT, [7, 32]), residual=(FLOAT, [3, 1, 40]))
    y = case.node("MatMul", case.node("Add", "x", "shift"), case.constant(32, 40, scale=0.2))
    return case, case.node("Add", y, "residual")


def dense_layer(sizes, height):
    case = Case(sizes, a=(FLOAT, [1, 40, height, 9]), b=(FLOAT, [1, 32, height, 9]))
    x = case.node("Relu", case.normalized(case.node("Concat", "a", "b", axis=1), 72))
    return case, case.node("Relu", case.conv(x, 72, 48))


def excited():
    case = Case(x=(FLOAT, [2, 24, 6, 5]), scale=(FLOAT, [2, 24, 1, 1]))
    y = case.conv(case.node("Mul", "x", "scale"), 24, 40)
    return case, case.node("Add", y, case.node("Sigmoid", y))


CASES = {"gated": gated, "widened": widened, "broadcast_rows": broadcast_rows,
         "dense_layer": lambda: dense_layer(({},), 10),
         "symbolic_dense_layer": lambda: dense_layer(({"H": 1}, {"H": 23}), "H"),
         "excited": excited}


class Prologues(ProgramCase):
    def test_every_case_is_one_launch_and_right(self):
        flags = cpu_flags()
        for name, make in CASES.items():
            case, result = make()
            model = self.path(name + ".onnx")
            with open(model, "wb") as file:
                file.write(case.model(result).SerializeToString())
            for profile, needed in PROFILES.items():
                if needed <= flags:
                    with self.subTest(case=name, profile=profile):
                        self.check(case, result, model, profile)

    def check(self, case, result, model, profile):
        look, om = self.path("look"), self.path("m.om")
        self.program(0, "sluice-compile", "-q", "--profile=" + profile, model, "-o", om,
                     "--dump-dir", look)
        lowered = self.program(0, "sluice-show", look + "/4-subgraph-optimize.sg")
        root = lowered[lowered.index("graph @main"):].split("\n}\n")[0]
        nodes = [line for line in root.split("\n") if "TransData" not in line and "(" in line][1:]
        self.assertEqual(len(nodes), 1, lowered)
        for sizes in case.sizes:
            given = []
            for name, (dtype, dims) in case.inputs.items():
                array = random(*[sizes.get(dim, dim) for dim in dims])
                np.save(self.path(name + ".npy"), array.astype(np.float16) if dtype == HALF
                        else array)
                given += ["--input", f"{name}={self.path(name + '.npy')}"]
            made = {}
            for program, source in (("sluice-loader", om),
                                    ("sluice-eval", look + "/1-preprocess.sg")):
                folder = self.path(program)
                self.program(0, program, source, *given, "--output-dir", folder)
                made[program] = np.load(os.path.join(folder, result + ".npy"))
            np.testing.assert_allclose(made["sluice-loader"], made["sluice-eval"], rtol=1e-4,
                                       atol=1e-5)
            self.assertGreater(np.ptp(made["sluice-loader"]), 0.1)


if __name__ == "__main__":
    Prologues.programs = need(sys.argv.pop(1), ["compile", "loader", "eval", "show"])
    unittest.main()
