"""ResNet-50 as exported with its batch normalisations kept: 25.6 M weights, 4.1 G multiply-adds."""
from builder import FLOAT, image
from parts import batch_norm, classifier, conv


def build(net):
    batch = "N" if net.dynamic else 1
    x = net.input("input", [batch, 3, 224, 224], FLOAT, image(1, 3, 224, 224))
    x = conv(net, x, "conv1", 3, 64, 7, stride=2)
    x = net.node("Relu", [batch_norm(net, x, "bn1", 64)], "relu")
    x = net.node("MaxPool", [x], "maxpool", ceil_mode=0, kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                 strides=[2, 2])
    channels = 64
    for layer, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], 1):
        for block in range(blocks):
            stride = 2 if block == 0 and layer > 1 else 1
            x = bottleneck(net, x, f"layer{layer}/layer{layer}.{block}", channels, width, stride)
            channels = 4 * width
    net.output(classifier(net, x, "fc", channels), "output", [batch, 1000])


def bottleneck(net, x, at, channels, width, stride):
    """1x1, 3x3 (which strides), 1x1, plus the input; the first block of a layer projects its
    input."""
    shortcut = x
    y = unit(net, x, at, 1, channels, width, 1)
    y = net.node("Relu", [y], f"{at}/relu")
    y = unit(net, y, at, 2, width, width, 3, stride)
    y = net.node("Relu", [y], f"{at}/relu")
    y = unit(net, y, at, 3, width, 4 * width, 1, scale=0.5)
    if channels != 4 * width:
        shortcut = conv(net, x, f"{at}/downsample/downsample.0", channels, 4 * width, 1, stride,
                        gain=1.0)
        shortcut = batch_norm(net, shortcut, f"{at}/downsample/downsample.1", 4 * width)
    return net.node("Relu", [net.node("Add", [y, shortcut], at)], f"{at}/relu")


def unit(net, x, at, number, channels_in, channels_out, kernel, stride=1, scale=1.0):
    x = conv(net, x, f"{at}/conv{number}", channels_in, channels_out, kernel, stride)
    return batch_norm(net, x, f"{at}/bn{number}", channels_out, scale)
