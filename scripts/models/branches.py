"""Models whose branches keep one thread busy each: two recurrent nets, a pair of encoders, the
heads of a small detector, four answers about a face. Their sizes are fixed."""
import numpy as np
from onnx import helper

from builder import FLOAT, image
from parts import conv, gemm, reshape


def sequence(length, width):
    return lambda r: r.standard_normal((length, 1, width), dtype="float32")


def lstm(net, x, at, width, hidden):
    """The last state of a recurrent layer, 1 x hidden."""
    std = np.sqrt(1.0 / hidden)
    weights = [net.weight(f"{at}.weight_ih", (1, 4 * hidden, width), std),
               net.weight(f"{at}.weight_hh", (1, 4 * hidden, hidden), std),
               net.weight(f"{at}.bias", (1, 8 * hidden), 0.1)]
    name = f"/{at}/LSTM"
    results = [f"{name}_output_0", f"{name}_output_1"]
    net.nodes.append(helper.make_node("LSTM", [x] + weights, results, name=name,
                                      hidden_size=hidden))
    return reshape(net, results[1], [1, hidden], at)


def build_two_lstms(net):
    """A sequence of sounds and one of images, each read by a recurrent net of its own."""
    sounds = net.input("sounds", [48, 1, 80], FLOAT, sequence(48, 80))
    images = net.input("images", [40, 1, 128], FLOAT, sequence(40, 128))
    states = [lstm(net, sounds, "sounds", 80, 128), lstm(net, images, "images", 128, 128)]
    x = net.node("Concat", states, "head", axis=1)
    x = net.node("Relu", [gemm(net, x, "fc1", 256, 64)], "head")
    net.output(gemm(net, x, "fc2", 64, 10), "output", [1, 10])


def encoder(net, name, length, hidden=128, layers=2):
    """Layers of attention and a perceptron over `length` vectors; their mean."""
    x = net.input(name, [length, hidden], FLOAT,
                  lambda r: r.standard_normal((length, hidden), dtype="float32"))
    for layer in range(layers):
        at = f"{name}/layer.{layer}"
        query, key, value = (gemm(net, x, f"{at}/{part}", hidden, hidden)
                             for part in ("query", "key", "value"))
        scores = net.node("MatMul", [query, net.node("Transpose", [key], at, perm=[1, 0])], at)
        scores = net.node("Mul", [scores, net.constant(1 / np.sqrt(hidden), at=at)], at)
        attended = net.node("MatMul", [net.node("Softmax", [scores], at, axis=-1), value], at)
        x = net.node("Add", [gemm(net, attended, f"{at}/out", hidden, hidden), x], at)
        inner = net.node("Tanh", [gemm(net, x, f"{at}/inner", hidden, 2 * hidden)], at)
        x = net.node("Add", [gemm(net, inner, f"{at}/outer", 2 * hidden, hidden), x], at)
    return net.node("ReduceMean", [x], name, axes=[0], keepdims=1)


def build_encoder_pair(net):
    """How alike a question of 32 vectors and an answer of 48 are."""
    a, b = encoder(net, "question", 32), encoder(net, "answer", 48)
    products, axis = net.node("Mul", [a, b]), net.constant([1], np.int64)
    score = net.node("ReduceSum", [products, axis], keepdims=1)
    net.output(score, "score", [1, 1])


def build_detection_head(net):
    """Boxes and classes at three levels of a small net over 3 x 128 x 128."""
    x = net.input("input", [1, 3, 128, 128], FLOAT, image(1, 3, 128, 128))
    levels = []
    for part, width in enumerate([16, 32, 48, 48, 48]):
        x = conv(net, x, f"backbone{part}", 3 if part == 0 else last, width, 3, stride=2, bias=True)
        x, last = net.node("Relu", [x], "backbone"), width
        levels = levels + [(x, 128 >> (part + 1))] if width == 48 else levels
    for x, side in levels:
        for kind, width in (("boxes", 16), ("classes", 24)):
            at, y = f"{kind}_{side}", x
            for part in range(4):
                y = conv(net, y, f"{at}/depthwise{part}", 48, 48, 3, groups=48, bias=True)
                y = net.node("Relu", [conv(net, y, f"{at}/point{part}", 48, 48, 1, bias=True)], at)
            y = conv(net, y, f"{at}/result", 48, width, 1, bias=True)
            net.output(net.node("Sigmoid", [y], at), at, [1, width, side, side])


def build_four_answers(net):
    """Age, mood, mask and pose of a face: a trunk over 3 x 56 x 56, then a net for each answer."""
    x = net.input("input", [1, 3, 56, 56], FLOAT, image(1, 3, 56, 56))
    for part, (channels_in, channels_out) in enumerate([(3, 16), (16, 32), (32, 48)]):
        x = conv(net, x, f"trunk{part}", channels_in, channels_out, 3, stride=2, bias=True)
        x = net.node("Relu", [x], "trunk")
    for answer, width in (("age", 10), ("mood", 7), ("mask", 2), ("pose", 3)):
        y = x
        for part in range(4):
            y = conv(net, y, f"{answer}/conv{part}", 48, 48, 3, bias=True)
            y = net.node("Relu", [y], answer)
        y = net.node("Flatten", [net.node("GlobalAveragePool", [y], answer)], answer, axis=1)
        net.output(gemm(net, y, f"{answer}/fc", 48, width, gain=4.0), answer, [1, width])
