"""Models of the end-to-end suite: what they are made of, and those that several tests share."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def value(name, dims=None, dtype=FLOAT):
    """An input or an output. A dim that is None or a name is open, without dims all are."""
    return helper.make_tensor_value_info(name, dtype, dims)


def floats(name, dims=None):
    return value(name, dims)


def constant(name, elements):
    return numpy_helper.from_array(np.asarray(elements), name)


def external(name, dims, location, **where):
    """A constant of f32 in another file."""
    tensor = TensorProto(name=name, data_type=FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, text in {"location": location, **where}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, str(text)
    return tensor


def model_of_graph(graph, opset=13, ir_version=8, domains=(), **more):
    """`opset`: None for a graph that has no node of ONNX's own domain; `domains`: the others, with
    their versions."""
    opsets = [*([] if opset is None else [("", opset)]), *dict(domains).items()]
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in opsets],
                             ir_version=ir_version, **more)


def model_of(nodes, inputs, outputs, constants=(), **how):
    """`constants`: elements by name, or tensors; `how`: what model_of_graph takes."""
    if isinstance(constants, dict):
        constants = [constant(*each) for each in constants.items()]
    return model_of_graph(helper.make_graph(nodes, "g", inputs, outputs, constants), **how)


def write(path, message):
    """A model or a tensor in a file."""
    with open(path, "wb") as file:
        file.write(message.SerializeToString())
    return path


def save(path, *parts, **how):
    """The model of these parts in a file: see model_of."""
    return write(path, model_of(*parts, **how))


def make_mlp(path):
    random = np.random.default_rng(1)
    weights = {"w1": random.standard_normal((16, 64), np.float32),
               "b1": random.standard_normal(64, np.float32),
               "w2": random.standard_normal((64, 10), np.float32),
               "b2": random.standard_normal(10, np.float32)}
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], "fc1"),
             helper.make_node("Relu", ["h"], ["a"], "act"),
             helper.make_node("Gemm", ["a", "w2", "b2"], ["y"], "fc2")]
    save(path, nodes, [floats("x", [2, 16])], [floats("y", [2, 10])], weights)


def make_convolutions(path):
    random = np.random.default_rng(2)
    weights = {"w%d" % k: 0.3 * random.standard_normal((8, 3 if k == 1 else 8, 3, 3), np.float32)
               for k in (1, 2, 3)}
    nodes = [helper.make_node("Conv", ["x", "w1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
             helper.make_node("Conv", ["r1", "w2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
             helper.make_node("Add", ["c2", "r1"], ["s"], "add"),
             helper.make_node("Conv", ["s", "w3"], ["y"], "conv3", strides=[2, 2])]
    save(path, nodes, [floats("x", [1, 3, 12, 12])], [floats("y", [1, 8, 5, 5])], weights)


def convolution_chain(channels, op, kernels=(3,)):
    """Nodes and weights of convolutions from x0 to the last x, with `op` after each. `channels`: of
    x0, x1 and so on; `kernels`: their sizes, in turn."""
    random = np.random.default_rng(3)
    nodes, weights = [], {}
    for k, (taken, made) in enumerate(zip(channels, channels[1:])):
        size = kernels[k % len(kernels)]
        weights[f"w{k}"] = random.standard_normal((made, taken, size, size), np.float32)
        nodes += [helper.make_node("Conv", [f"x{k}", f"w{k}"], [f"c{k}"], f"conv{k}",
                                   pads=[size // 2] * 4),
                  helper.make_node(op, [f"c{k}"], [f"x{k + 1}"], f"act{k}")]
    return nodes, weights
