"""DenseNet-121 as exported by default: a convolution takes the batch normalisation after it, and
those before an activation stay; each layer reads all layers before it through Concat; 8 M weights,
2.8 G multiply-adds."""
from builder import FLOAT, image
from parts import average_pool, batch_norm, classifier, conv, max_pool

APPENDED, INNER = 32, 128  # channels that a layer appends, and of its first convolution
BLOCKS = [6, 12, 24, 16]


def build(net):
    batch = "N" if net.dynamic else 1
    x = net.input("input", [batch, 3, 224, 224], FLOAT, image(1, 3, 224, 224))
    x = net.node("Relu", [conv(net, x, "features/conv0", 3, 64, 7, stride=2, bias=True)],
                 "features/relu0")
    x, channels = max_pool(net, x, "features/pool0", 3, 2, pads=1), 64
    for block, layers in enumerate(BLOCKS, 1):
        x, channels = dense_block(net, x, f"features/denseblock{block}", channels, layers)
        if block < len(BLOCKS):
            at = f"features/transition{block}"
            x = conv(net, normalized(net, x, f"{at}/norm", channels), f"{at}/conv", channels,
                     channels // 2, 1, gain=4.0)
            x, channels = average_pool(net, x, f"{at}/pool", 2, 2), channels // 2
    x = normalized(net, x, "features/norm5", channels)
    net.output(classifier(net, x, "classifier", channels), "output", [batch, 1000])


def normalized(net, x, at, channels):
    return net.node("Relu", [batch_norm(net, x, at, channels)], at)


def dense_block(net, x, at, channels, layers):
    features = [x]
    for layer in range(1, layers + 1):
        inside = f"{at}/denselayer{layer}"
        y = net.node("Concat", features, inside, axis=1) if layer > 1 else x
        y = conv(net, normalized(net, y, f"{inside}/norm1", channels), f"{inside}/conv1", channels,
                 INNER, 1, bias=True)
        y = net.node("Relu", [y], f"{inside}/relu2")
        features.append(conv(net, y, f"{inside}/conv2", INNER, APPENDED, 3))
        channels += APPENDED
    return net.node("Concat", features, at, axis=1), channels
