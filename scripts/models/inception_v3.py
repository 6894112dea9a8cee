"""Inception-v3 as exported by default, batch normalisations folded into biases: branches of 1x1,
3x3, 5x5, 1x7 and 7x1 convolutions; 24 M weights, 5.7 G multiply-adds."""
from builder import FLOAT, image
from parts import average_pool, classifier, conv, max_pool

# Each branch is a list of convolutions: name, channels, kernel[, stride, pads].
BLOCK_A = [[("branch1x1", 64, 1)], [("branch5x5_1", 48, 1), ("branch5x5_2", 64, 5)],
           [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3), ("branch3x3dbl_3", 96, 3)]]
BLOCK_B = [[("branch3x3", 384, 3, 2, 0)],
           [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3), ("branch3x3dbl_3", 96, 3, 2, 0)]]
BLOCK_D = [[("branch3x3_1", 192, 1), ("branch3x3_2", 320, 3, 2, 0)],
           [("branch7x7x3_1", 192, 1), ("branch7x7x3_2", 192, (1, 7)),
            ("branch7x7x3_3", 192, (7, 1)), ("branch7x7x3_4", 192, 3, 2, 0)]]


def block_c(width):
    return [[("branch1x1", 192, 1)],
            [("branch7x7_1", width, 1), ("branch7x7_2", width, (1, 7)),
             ("branch7x7_3", 192, (7, 1))],
            [("branch7x7dbl_1", width, 1), ("branch7x7dbl_2", width, (7, 1)),
             ("branch7x7dbl_3", width, (1, 7)), ("branch7x7dbl_4", width, (7, 1)),
             ("branch7x7dbl_5", 192, (1, 7))]]


def build(net):
    batch = "N" if net.dynamic else 1
    x = net.input("input", [batch, 3, 299, 299], FLOAT, image(1, 3, 299, 299))
    x, channels = chain(net, x, "", 3, [("Conv2d_1a_3x3", 32, 3, 2, 0),
                                        ("Conv2d_2a_3x3", 32, 3, 1, 0), ("Conv2d_2b_3x3", 64, 3)])
    x = max_pool(net, x, "maxpool1", 3, 2)
    x, channels = chain(net, x, "", channels, [("Conv2d_3b_1x1", 80, 1),
                                               ("Conv2d_4a_3x3", 192, 3, 1, 0)])
    x = max_pool(net, x, "maxpool2", 3, 2)
    for name, pool in (("Mixed_5b", 32), ("Mixed_5c", 64), ("Mixed_5d", 64)):
        x, channels = mixed(net, x, name, channels, BLOCK_A, pool)
    x, channels = mixed(net, x, "Mixed_6a", channels, BLOCK_B)
    for name, width in (("Mixed_6b", 128), ("Mixed_6c", 160), ("Mixed_6d", 160), ("Mixed_6e", 192)):
        x, channels = mixed(net, x, name, channels, block_c(width), 192)
    x, channels = mixed(net, x, "Mixed_7a", channels, BLOCK_D)
    for name in ("Mixed_7b", "Mixed_7c"):
        x, channels = forked(net, x, name, channels)
    net.output(classifier(net, x, "fc", channels), "output", [batch, 1000])


def chain(net, x, at, channels, convolutions):
    """Convolutions with bias and ReLU; returns the result and its channels."""
    for name, width, kernel, *stepping in convolutions:
        inside = f"{at}/{name}" if at else name
        stride, pads = stepping or (1, None)
        x = conv(net, x, f"{inside}/conv", channels, width, kernel, stride, bias=True, pads=pads)
        x, channels = net.node("Relu", [x], inside), width
    return x, channels


def mixed(net, x, at, channels, branches, pool=None):
    """The branches and a pooled one side by side; without `pool` channels the block halves sizes,
    and the last branch is a MaxPool."""
    results = [chain(net, x, at, channels, branch) for branch in branches]
    if pool is None:
        results.append((max_pool(net, x, at, 3, 2), channels))
    else:
        results.append(pooled(net, x, at, channels, pool))
    return joined(net, results, at)


def pooled(net, x, at, channels, width):
    # The gain makes up for what the average of neighbours takes away.
    x = conv(net, average_pool(net, x, at, 3, 1, pads=1), f"{at}/branch_pool/conv", channels, width,
             1, bias=True, gain=4.0)
    return net.node("Relu", [x], f"{at}/branch_pool"), width


def forked(net, x, at, channels):
    """Two branches end in a 1x3 and a 3x1 convolution of the same value."""
    results = [chain(net, x, at, channels, [("branch1x1", 320, 1)])]
    for stem, ends in (([("branch3x3_1", 384, 1)], "branch3x3_2"),
                       ([("branch3x3dbl_1", 448, 1), ("branch3x3dbl_2", 384, 3)],
                        "branch3x3dbl_3")):
        y, width = chain(net, x, at, channels, stem)
        fork = [chain(net, y, at, width, [(f"{ends}{side}", 384, kernel)])
                for side, kernel in (("a", (1, 3)), ("b", (3, 1)))]
        results.append(joined(net, fork, at))
    results.append(pooled(net, x, at, channels, 192))
    return joined(net, results, at)


def joined(net, results, at):
    return (net.node("Concat", [value for value, _ in results], at, axis=1),
            sum(width for _, width in results))
