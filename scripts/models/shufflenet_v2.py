"""ShuffleNet-v2 x1.0 as exported by default, batch normalisations folded into biases: half of the
channels pass each unit untouched, then Reshape, Transpose and Reshape interleave both halves;
2.3 M weights, 0.15 G multiply-adds."""
from builder import FLOAT, image
from parts import conv, gemm, max_pool, reshape

STAGES = [(116, 4), (232, 8), (464, 4)]  # channels, units


def build(net):
    batch = "N" if net.dynamic else 1
    x = net.input("input", [batch, 3, 224, 224], FLOAT, image(1, 3, 224, 224))
    x = max_pool(net, unit(net, x, "conv1", 0, 3, 24, 3, 2), "maxpool", 3, 2, pads=1)
    channels, side = 24, 28
    for stage, (width, units) in enumerate(STAGES, 2):
        for index in range(units):
            at = f"stage{stage}/stage{stage}.{index}"
            first = index == 0
            x = downsampled(net, x, at, channels, width) if first else kept(net, x, at, width)
            x = shuffled(net, x, at, width, side)
            channels = width
        side //= 2
    x = unit(net, x, "conv5", 0, channels, 1024, 1)
    x = net.node("ReduceMean", [x], axes=[2, 3], keepdims=0)
    net.output(gemm(net, x, "fc", 1024, 1000, gain=4.0), "output", [batch, 1000])


def unit(net, x, at, index, channels_in, channels_out, kernel, stride=1):
    x = conv(net, x, f"{at}/{at.split('/')[-1]}.{index}", channels_in, channels_out, kernel, stride,
             bias=True)
    return net.node("Relu", [x], f"{at}/{at.split('/')[-1]}.{index + 2}")


def depthwise(net, x, at, index, channels, stride):
    return conv(net, x, f"{at}/{at.split('/')[-1]}.{index}", channels, channels, 3, stride,
                groups=channels, bias=True, gain=1.0)


def branch(net, x, at, channels, width, stride):
    """1x1, depthwise 3x3, 1x1."""
    x = unit(net, x, at, 0, channels, width, 1)
    return unit(net, depthwise(net, x, at, 3, width, stride), at, 5, width, width, 1)


def kept(net, x, at, width):
    first, second = net.split(x, 2, at)
    second = branch(net, second, f"{at}/branch2", width // 2, width // 2, 1)
    return net.node("Concat", [first, second], at, axis=1)


def downsampled(net, x, at, channels, width):
    first = depthwise(net, x, f"{at}/branch1", 0, channels, 2)
    first = unit(net, first, f"{at}/branch1", 2, channels, width // 2, 1)
    second = branch(net, x, f"{at}/branch2", channels, width // 2, 2)
    return net.node("Concat", [first, second], at, axis=1)


def shuffled(net, x, at, width, side):
    x = reshape(net, x, [1, 2, width // 2, side, side], at)
    x = net.node("Transpose", [x], at, perm=[0, 2, 1, 3, 4])
    return reshape(net, x, [1, width, side, side], at)
