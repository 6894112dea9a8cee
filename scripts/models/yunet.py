"""A small detector of the shape of YuNet for images of 320x320: 1x1 convolutions each followed by
a depthwise one, three levels joined from above, four outputs of each level; 75 k weights."""
from builder import FLOAT, image
from parts import conv, max_pool, reshape, upsample

SIDE, WIDTH = 320, 64
STAGES = [(16, 64, True), (64, 64, False), (64, 64, True), (64, 64, True), (64, 64, False)]
STRIDES = [8, 16, 32]
OUTPUTS = [("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10)]


def build(net):
    batch = "N" if net.dynamic else 1
    x = net.input("input", [batch, 3, SIDE, SIDE], FLOAT, image(1, 3, SIDE, SIDE))
    levels = lateral(net, backbone(net, x))
    for kind, width in OUTPUTS:
        for stride, level in zip(STRIDES, levels):
            at = f"bbox_head/multi_level_{kind}.{STRIDES.index(stride)}"
            y = net.node("Transpose", [pair(net, level, at, WIDTH, width, relu=False)], at,
                         perm=[0, 2, 3, 1])
            count = (SIDE // stride)**2
            y = reshape(net, y, [1, count, width], at)
            y = net.node("Sigmoid", [y], at) if kind in ("cls", "obj") else y
            net.output(y, f"{kind}_{stride}", [batch, count, width])


def pair(net, x, at, channels_in, channels_out, relu=True):
    x = conv(net, x, f"{at}/conv1", channels_in, channels_out, 1, bias=True, gain=1.0)
    x = conv(net, x, f"{at}/conv2", channels_out, channels_out, 3, groups=channels_out, bias=True)
    return net.node("Relu", [x], f"{at}/relu") if relu else x


def backbone(net, x):
    """The values of strides 8, 16 and 32."""
    x = conv(net, x, "backbone/model0/conv1", 3, 16, 3, stride=2, bias=True)
    x = pair(net, net.node("Relu", [x], "backbone/model0/relu1"), "backbone/model0/conv2", 16, 16)
    x, levels = max_pool(net, x, "backbone", 2, 2), []
    for index, (channels_in, channels_out, is_pooled) in enumerate(STAGES, 1):
        at = f"backbone/model{index}"
        x = pair(net, pair(net, x, f"{at}/conv1", channels_in, channels_in), f"{at}/conv2",
                 channels_in, channels_out)
        levels = levels + [x] if index > 2 else levels
        x = max_pool(net, x, "backbone", 2, 2) if is_pooled else x
    return levels


def lateral(net, levels):
    """Adds each level, enlarged, to the one below it; then one more pair for each."""
    levels = list(levels)
    for index in (2, 1, 0):
        levels[index] = pair(net, levels[index], f"neck/lateral_convs.{index}", WIDTH, WIDTH)
        if index > 0:
            levels[index - 1] = net.node("Add", [levels[index - 1],
                                                 upsample(net, levels[index], "neck")], "neck")
    return [pair(net, level, f"bbox_head/multi_level_share_convs.{index}", WIDTH, WIDTH)
            for index, level in enumerate(levels)]
