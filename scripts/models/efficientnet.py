"""EfficientNet-B0 as exported by default, batch normalisations folded into biases: SiLU as Sigmoid
and Mul, squeeze and excitation in each block; 5.3 M weights, 0.4 G multiply-adds."""
from builder import FLOAT, image
from parts import classifier, conv, silu

# expansion, kernel, stride of the first block, channels, blocks
LAYERS = [(1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3),
          (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)]
SILU_GAIN = 2.1


def build(net):
    batch = "N" if net.dynamic else 1
    x = net.input("input", [batch, 3, 224, 224], FLOAT, image(1, 3, 224, 224))
    x = unit(net, x, "features/features.0", 3, 32, 3, stride=2)
    channels = 32
    for stage, (expansion, kernel, stride, width, blocks) in enumerate(LAYERS, 1):
        for block in range(blocks):
            at = f"features/features.{stage}/features.{stage}.{block}/block"
            x = inverted_residual(net, x, at, channels, width, expansion, kernel,
                                  stride if block == 0 else 1)
            channels = width
    x = unit(net, x, "features/features.8", channels, 1280, 1)
    net.output(classifier(net, x, "classifier/classifier.1", 1280), "output", [batch, 1000])


def unit(net, x, at, channels_in, channels_out, kernel, stride=1, groups=1):
    x = conv(net, x, f"{at}/{at.split('/')[-1]}.0", channels_in, channels_out, kernel, stride,
             groups, bias=True, gain=SILU_GAIN)
    return silu(net, x, f"{at}/{at.split('/')[-1]}.2")


def inverted_residual(net, x, at, channels, width, expansion, kernel, stride):
    """1x1 expands, a depthwise convolution, squeeze and excitation, 1x1 projects without
    activation, plus the input where sizes agree."""
    y, hidden, index = x, channels * expansion, 0
    if expansion != 1:
        y, index = unit(net, y, f"{at}/block.0", channels, hidden, 1), 1
    y = unit(net, y, f"{at}/block.{index}", hidden, hidden, kernel, stride, groups=hidden)
    y = excite(net, y, f"{at}/block.{index + 1}", hidden, channels // 4)
    y = conv(net, y, f"{at}/block.{index + 2}/block.{index + 2}.0", hidden, width, 1, bias=True,
             gain=SILU_GAIN)
    return net.node("Add", [y, x], at) if stride == 1 and channels == width else y


def excite(net, x, at, channels, inner):
    """Scales each channel by what a small net makes of the channels' means."""
    y = net.node("GlobalAveragePool", [x], f"{at}/avgpool")
    y = conv(net, y, f"{at}/fc1", channels, inner, 1, bias=True, gain=SILU_GAIN)
    y = conv(net, silu(net, y, f"{at}/activation"), f"{at}/fc2", inner, channels, 1, bias=True)
    return net.node("Mul", [net.node("Sigmoid", [y], f"{at}/scale_activation"), x], at)
