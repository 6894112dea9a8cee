"""The nodes of spatial_sweep: random convolutions of three spatial axes, and transposed ones of one
to three, with what may follow them."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

MAX_MULTIPLY_ADDS = 30_000_000
HALVES = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
EPSILON = {"f32": 0, "f16": 2.0**-10, "bf16": 2.0**-7}


class Case:
    """A node, its weights and inputs; the followers are an addition of a tensor of the result's
    shape, and an activation. Those of f16 and bf16 read floats that the model casts, and give
    floats."""

    def __init__(self, op, index, seed, draw_attributes):
        self.op, self.index, self.prefix = op, index, f"node{index}"
        self.random = np.random.default_rng([seed, len(op), index])
        while True:
            self.draw(draw_attributes)
            if min(self.result[2:]) >= 1 and self.multiply_adds() <= MAX_MULTIPLY_ADDS:
                break
        self.is_symbolic = self.pick(0, 1) == 1
        self.has_bias, self.has_sum = self.pick(0, 1) == 1, self.pick(0, 2) == 0
        self.activation = self.random.choice(["", "", "Relu", "Sigmoid", "LeakyRelu"])
        self.dtype = str(self.random.choice(["f32", "f32", "f16", "bf16"]))

    def pick(self, low, high):
        return int(self.random.integers(low, high + 1))

    def picks(self, count, low, high):
        return [self.pick(low, high) for _ in range(count)]

    def draw(self, draw_attributes):
        group = int(self.random.choice([1, 1, 1, 2, 3]))
        limit = int(self.random.choice([4, 20, 70])) // group
        self.group, self.channels = group, [group * self.pick(1, limit) for _ in range(2)]
        self.batch = self.pick(1, 2)
        draw_attributes(self)

    def multiply_adds(self):
        walked = self.result if self.op == "Conv" else self.size
        return int(np.prod(walked[2:]) * np.prod(self.kernel) * self.batch * self.channels[0] *
                   self.channels[1] // self.group)

    def text(self):
        return f"{self.op} in {self.dtype} of {self.size}, kernel {self.kernel}, {self.attributes}"

    def named(self, name):
        return f"{self.prefix}_{name}"

    def feeds(self):
        """The inputs by name."""
        feeds = {self.named("x"): self.normal(self.size)}
        if self.has_sum:
            feeds[self.named("r")] = self.normal(self.result)
        return feeds

    def normal(self, shape):
        random = np.random.default_rng([self.index, *shape])
        return random.standard_normal(shape, dtype=np.float32)

    def nodes(self):
        """The nodes, and the constants."""
        inputs = [self.named("x"), self.named("w")] + [self.named("b")] * self.has_bias
        count = self.channels if self.op == "ConvTranspose" else self.channels[::-1]
        shape = [count[0], count[1] // self.group] + self.kernel
        length = np.sqrt(self.channels[0] / self.group * np.prod(self.kernel))
        constants = [numpy_helper.from_array(self.normal(shape) / np.float32(length),
                                             self.named("w"))]
        if self.has_bias:
            constants.append(numpy_helper.from_array(self.normal([self.channels[1]]),
                                                     self.named("b")))
        chain = [(self.op, inputs, self.attributes)]
        if self.has_sum:
            chain.append(("Add", [None, self.named("r")], {}))
        if self.activation:
            chain.append((self.activation, [None], {}))
        nodes = []
        for place, (op, names, attributes) in enumerate(chain):
            before = [nodes[-1].output[0]] if names[0] is None else []
            names = before + [self.cast_in(nodes, name) for name in names if name is not None]
            name = self.prefix if place == 0 else self.named(op)
            nodes.append(helper.make_node(op, names, [self.named(str(place))], name=name,
                                          **attributes))
        to = TensorProto.FLOAT
        nodes.append(helper.make_node("Cast", [nodes[-1].output[0]], [self.named("y")], to=to))
        return nodes, constants

    def cast_in(self, nodes, name):
        """The name of an operand in the dtype of the case."""
        if self.dtype == "f32":
            return name
        nodes.append(helper.make_node("Cast", [name], [name + "_half"], to=HALVES[self.dtype]))
        return name + "_half"

    def declared(self, name, shape):
        """An input whose batch and image are open, where the case says so."""
        if self.is_symbolic:
            side = "y" if name == "r" else "x"
            shape = [f"{self.prefix}_n", shape[1]] + [f"{self.prefix}_{side}{axis}"
                                                     for axis in range(len(shape) - 2)]
        return helper.make_tensor_value_info(self.named(name), TensorProto.FLOAT, shape)


def draw_conv(case):
    """A convolution of three axes."""
    size, case.kernel = case.picks(3, 1, 14), case.picks(3, 1, 4)
    strides, dilations, pads = case.picks(3, 1, 3), case.picks(3, 1, 2), case.picks(6, 0, 2)
    case.size = [case.batch, case.channels[0]] + size
    case.result = [case.batch, case.channels[1]] + [
        (size[a] + pads[a] + pads[a + 3] - dilations[a] * (case.kernel[a] - 1) - 1) // strides[a]
        + 1 for a in range(3)]
    case.attributes = {"strides": strides, "dilations": dilations, "pads": pads,
                       "group": case.group}


def draw_transposed(case):
    """A transposed convolution of one to three axes, its result's size given in any way."""
    rank = case.pick(1, 3)
    size, case.kernel = case.picks(rank, 1, (60, 20, 7)[rank - 1]), case.picks(rank, 1, 5)
    strides, dilations = case.picks(rank, 1, 3), case.picks(rank, 1, 2)
    extra, pads = [case.pick(0, stride - 1) for stride in strides], case.picks(2 * rank, 0, 2)
    whole = [(size[a] - 1) * strides[a] + dilations[a] * (case.kernel[a] - 1) + 1 + extra[a]
             for a in range(rank)]
    case.attributes = {"strides": strides, "dilations": dilations, "group": case.group,
                       "output_padding": extra}
    form = case.random.choice(["pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID", "shape"])
    if form == "pads":
        result = [whole[a] - pads[a] - pads[a + rank] for a in range(rank)]
        case.attributes["pads"] = pads
    elif form == "shape":
        result = [max(1, extent - case.pick(0, 2)) for extent in whole]
        case.attributes["output_shape"] = result
    else:
        result = [size[a] * strides[a] for a in range(rank)] if form != "VALID" else whole
        case.attributes["auto_pad"] = str(form)
    case.size = [case.batch, case.channels[0]] + size
    case.result = [case.batch, case.channels[1]] + result


def draw(op, index, seed):
    case = Case(op, index, seed, draw_conv if op == "Conv" else draw_transposed)
    # A result whose size is given has one for that of its input alone.
    case.is_symbolic = case.is_symbolic and "output_shape" not in case.attributes
    # The result's dims would have to be equal to those of the other operand.
    case.has_sum = case.has_sum and not case.is_symbolic
    return case


def model_of(cases):
    nodes, constants, inputs, outputs = [], [], [], []
    for case in cases:
        own, weights = case.nodes()
        nodes += own
        constants += weights
        inputs += [case.declared(name.split("_")[1], value.shape)
                   for name, value in case.feeds().items()]
        outputs.append(helper.make_tensor_value_info(case.named("y"), TensorProto.FLOAT,
                                                     [None] * len(case.result)))
    graph = helper.make_graph(nodes, "spatial", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=8)
