"""MobileNet-v2 as exported by default, batch normalisations folded into biases: 3.5 M weights, 0.3
G multiply-adds."""
import numpy as np

from builder import FLOAT, image
from parts import classifier, conv

# expansion, channels, blocks, stride of the first block
LAYERS = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
          (6, 320, 1, 1)]


def build(net):
    batch = "N" if net.dynamic else 1
    x = net.input("input", [batch, 3, 224, 224], FLOAT, image(1, 3, 224, 224))
    x = relu6(net, conv(net, x, "features/features.0/features.0.0", 3, 32, 3, stride=2, bias=True),
              "features/features.0")
    channels, index = 32, 1
    for expansion, width, blocks, stride in LAYERS:
        for block in range(blocks):
            at = f"features/features.{index}"
            x = inverted_residual(net, x, at, channels, width, expansion, stride if block == 0
                                  else 1)
            channels, index = width, index + 1
    x = conv(net, x, f"features/features.{index}/features.{index}.0", channels, 1280, 1, bias=True)
    x = relu6(net, x, f"features/features.{index}")
    net.output(classifier(net, x, "classifier/classifier.1", 1280), "output", [batch, 1000])


def inverted_residual(net, x, at, channels, width, expansion, stride):
    """1x1 expands, 3x3 depthwise, 1x1 projects without activation, plus the input where sizes
    agree."""
    y, hidden = x, channels * expansion
    if expansion != 1:
        y = relu6(net, conv(net, y, f"{at}/conv/conv.0", channels, hidden, 1, bias=True), at)
    y = relu6(net, conv(net, y, f"{at}/conv/conv.1", hidden, hidden, 3, stride, groups=hidden,
                        bias=True), at)
    y = conv(net, y, f"{at}/conv/conv.2", hidden, width, 1, bias=True)
    return net.node("Add", [x, y], at) if stride == 1 and channels == width else y


def relu6(net, x, at):
    return net.node("Clip",
                    [x, net.constant(0.0, np.float32, at), net.constant(6.0, np.float32, at)], at)
