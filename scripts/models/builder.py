"""Builds ONNX models the way a PyTorch export looks, with seeded random weights.

Names follow the exporter: a node is '/scope/Op', its result '/scope/Op_output_0', a weight
'scope.weight'; scalars and target shapes are Constant nodes, weights are initializers with raw
bytes. Each weight has a random stream of its own, drawn from (seed, model, weight name): the same
name gets the same bytes, whatever else changes.
"""
import hashlib
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


class Net:
    """One model under construction. `dynamic` asks for symbolic input dims; sizes below are then
    only examples."""

    def __init__(self, name, opset, seed, dynamic, size=0):
        self.name, self.opset, self.seed, self.dynamic, self.size = name, opset, seed, dynamic, size
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        # input name -> function of a random generator that makes one example
        self.example_inputs = {}
        self.pool = {}  # weights that several nodes share, by name
        self._names = set()

    # -- weights -----------------------------------------------------------------------------------

    def random(self, name):
        digest = hashlib.sha256(f"{self.seed}/{self.name}/{name}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "little"))

    def weight(self, name, shape, std, mean=0.0):
        """Normal values; returns the name."""
        values = self.random(name).standard_normal(shape, dtype=np.float32)
        return self.initializer(name, values * np.float32(std) + np.float32(mean))

    def positive(self, name, shape, low, high):
        """Uniform values in [low, high): scales and variances."""
        return self.initializer(name,
                                self.random(name).uniform(low, high, shape).astype(np.float32))

    def initializer(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    # -- nodes -------------------------------------------------------------------------------------

    def node(self, op, inputs, at="", **attributes):
        """Adds one node and returns its result. `at` is the exporter's scope, 'layer1.0/conv1'."""
        name = base = f"/{at}/{op}" if at else f"/{op}"
        count = 0
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._names.add(name)
        result = f"{name}_output_0"
        self.nodes.append(helper.make_node(op, inputs, [result], name=name, **attributes))
        return result

    def split(self, x, parts, at, sizes=None):
        """Parts along axis 1, equal ones unless `sizes` says otherwise."""
        results = [f"/{at}/Split_output_{i}" for i in range(parts)]
        inputs = [x] + ([self.constant(sizes, np.int64, at)] if sizes else [])
        self.nodes.append(helper.make_node("Split", inputs, results, name=f"/{at}/Split", axis=1))
        return results

    def constant(self, value, dtype=np.float32, at=""):
        array = np.array(value, dtype=dtype)
        return self.node("Constant", [], at, value=numpy_helper.from_array(array))

    def unsqueeze(self, x, axis, at=""):
        return self.node("Unsqueeze", [x, self.constant([axis], np.int64, at)], at)

    def dim(self, x, axis, at=""):
        """The size of one axis as a tensor of one element, computed at run time."""
        shape = self.node("Shape", [x], at)
        size = self.node("Gather", [shape, self.constant(axis, np.int64, at)], at, axis=0)
        return self.unsqueeze(size, 0, at)

    # -- the boundary ------------------------------------------------------------------------------

    def input(self, name, shape, dtype, example):
        """`shape` may hold names (symbols); `example` maps a random generator to an array."""
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        self.example_inputs[name] = example
        return name

    def output(self, value, name, shape):
        """Renames `value` to `name`, as the exporter does, and declares it."""
        for node in self.nodes:
            for list_ in (node.input, node.output):
                for i, entry in enumerate(list_):
                    if entry == value:
                        list_[i] = name
        self.outputs.append(helper.make_tensor_value_info(name, FLOAT, shape))

    # -- the product -------------------------------------------------------------------------------

    def bytes(self):
        graph = helper.make_graph(self.nodes, "main_graph", self.inputs, self.outputs,
                                  self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                  producer_name="sluice")
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model.SerializeToString(deterministic=True)

    def examples(self, seed):
        """input name -> array, the same for the same seed on every machine."""
        return {name: make(np.random.default_rng([seed, zlib.crc32(name.encode())]))
                for name, make in self.example_inputs.items()}


def image(*shape):
    """Example images with structure at several scales: pure noise would leave nothing after
    pooling."""

    def make(random):
        total = random.standard_normal(shape, dtype=np.float32) * np.float32(0.5)
        for cells in (2, 4, 8, 16):
            coarse = random.standard_normal(shape[:2] + (cells, cells), dtype=np.float32)
            rows = np.arange(shape[2]) * cells // shape[2]
            columns = np.arange(shape[3]) * cells // shape[3]
            total += coarse[:, :, rows][:, :, :, columns] * np.float32(0.6)
        return total

    return make
