"""The multilayer perceptron and the small nets that tests compile."""
from builder import FLOAT, image
from parts import batch_norm, conv, gemm


def build_mlp(net):
    """784 - 512 - 512 - 10: digits of 28x28 pixels."""
    perceptron(net, [784, 512, 512, 10])


def build_tiny_mlp(net):
    """7 - 13 - 5, batch 3: no size is a multiple of a vector."""
    perceptron(net, [7, 13, 5], batch=3)


def perceptron(net, sizes, batch=1):
    dim = "N" if net.dynamic else batch
    x = net.input("input", [dim, sizes[0]], FLOAT,
                  lambda r: r.standard_normal((batch, sizes[0]), dtype="float32"))
    for layer, (size_in, size_out) in enumerate(zip(sizes, sizes[1:])):
        x = gemm(net, x, f"fc{layer}", size_in, size_out, gain=2.0)
        if layer + 2 < len(sizes):
            x = net.node("Relu", [x], "relu")
    net.output(x, "output", [dim, sizes[-1]])


def build_tiny_conv(net):
    """Three convolutions, the second strided, the third with batch normalisation and a residual, on
    1x3x17x15."""
    batch = "N" if net.dynamic else 1
    x = net.input("input", [batch, 3, 17, 15], FLOAT, image(1, 3, 17, 15))
    x = net.node("Relu", [conv(net, x, "conv1", 3, 11, 3, bias=True)], "relu")
    x = net.node("Relu", [conv(net, x, "conv2", 11, 20, 3, stride=2, bias=True)], "relu")
    y = batch_norm(net, conv(net, x, "conv3", 20, 20, 3), "bn3", 20)
    x = net.node("Relu", [net.node("Add", [y, x])], "relu")
    net.output(x, "output", [batch, 20, 9, 8])
