"""A detector of the shape of YOLOv8n for images of 640x640, batch normalisations folded into
biases: SiLU as Sigmoid and Mul, Split and Concat in each block, three pyramid levels, boxes from
distributions; 3.2 M weights, 4.4 G multiply-adds."""
import numpy as np

from builder import FLOAT, image
from parts import conv, max_pool, reshape, silu, upsample

SIDE, CLASSES, BINS = 640, 80, 16
STRIDES = [8, 16, 32]
SILU_GAIN = 1.7


def build(net):
    batch = "N" if net.dynamic else 1
    x = net.input("images", [batch, 3, SIDE, SIDE], FLOAT, image(1, 3, SIDE, SIDE))
    levels = pyramid(net, backbone(net, x))
    boxes = CLASSES + 4 * BINS
    at = "model.22"
    flat = [reshape(net, head(net, level, at, index, width), [1, boxes, (SIDE // stride)**2], at)
            for index, (stride, (level, width)) in enumerate(zip(STRIDES, levels))]
    x = net.node("Concat", flat, at, axis=2)
    distances, classes = net.split(x, 2, at, sizes=[4 * BINS, CLASSES])
    x = net.node("Concat", [decoded(net, distances, at), net.node("Sigmoid", [classes], at)], at,
                 axis=1)
    net.output(x, "output0", [batch, 4 + CLASSES, places()])


def places():
    return sum((SIDE // stride)**2 for stride in STRIDES)


def unit(net, x, at, channels_in, channels_out, kernel=3, stride=1):
    x = conv(net, x, f"{at}/conv", channels_in, channels_out, kernel, stride, bias=True,
             gain=SILU_GAIN)
    return silu(net, x, f"{at}/act")


def c2f(net, x, at, channels_in, channels_out, repeats, shortcut):
    """Splits in two, passes the second half through bottlenecks, joins all that they gave."""
    width = channels_out // 2
    parts = net.split(unit(net, x, f"{at}/cv1", channels_in, channels_out, 1), 2, at)
    for index in range(repeats):
        inside = f"{at}/m.{index}"
        y = unit(net, unit(net, parts[-1], f"{inside}/cv1", width, width), f"{inside}/cv2", width,
                 width)
        parts.append(net.node("Add", [parts[-1], y], inside) if shortcut else y)
    x = net.node("Concat", parts, at, axis=1)
    return unit(net, x, f"{at}/cv2", width * len(parts), channels_out, 1)


def sppf(net, x, at, channels):
    parts = [unit(net, x, f"{at}/cv1", channels, channels // 2, 1)]
    for _ in range(3):
        parts.append(max_pool(net, parts[-1], f"{at}/m", 5, 1, pads=2))
    return unit(net, net.node("Concat", parts, at, axis=1), f"{at}/cv2", 2 * channels, channels, 1)


def backbone(net, x):
    """The values of strides 8, 16 and 32, of 64, 128 and 256 channels."""
    x, levels = unit(net, x, "model.0", 3, 16, 3, 2), []
    for index, (width, repeats) in enumerate([(32, 1), (64, 2), (128, 2), (256, 1)]):
        x = unit(net, x, f"model.{2 * index + 1}", width // 2, width, 3, 2)
        x = c2f(net, x, f"model.{2 * index + 2}", width, width, repeats, True)
        levels.append(x)
    return [*levels[1:3], sppf(net, x, "model.9", 256)]


def pyramid(net, levels):
    """Goes up to the finest level and down again; returns pairs of a value and its channels."""
    small, middle, large = levels
    join = lambda at, *values: net.node("Concat", list(values), at, axis=1)
    middle = c2f(net, join("model.11", upsample(net, large, "model.10"), middle), "model.12", 384,
                 128, 1, False)
    small = c2f(net, join("model.14", upsample(net, middle, "model.13"), small), "model.15", 192,
                64, 1, False)
    middle = c2f(net, join("model.17", unit(net, small, "model.16", 64, 64, 3, 2), middle),
                 "model.18", 192, 128, 1, False)
    large = c2f(net, join("model.20", unit(net, middle, "model.19", 128, 128, 3, 2), large),
                "model.21", 384, 256, 1, False)
    return [(small, 64), (middle, 128), (large, 256)]


def head(net, x, at, level, channels):
    """Distributions of four distances, then classes."""
    results = []
    for name, inner, outer in (("cv2", 64, 4 * BINS), ("cv3", CLASSES, CLASSES)):
        inside = f"{at}/{name}.{level}/{name}.{level}"
        y = unit(net, x, f"{inside}.0", channels, inner)
        y = unit(net, y, f"{inside}.1", inner, inner)
        results.append(conv(net, y, f"{inside}.2", inner, outer, 1, bias=True, gain=SILU_GAIN))
    return net.node("Concat", results, at, axis=1)


def decoded(net, x, at):
    """Mean distances to the four sides, as centres and sizes in pixels."""
    inside = f"{at}/dfl"
    x = reshape(net, x, [1, 4, BINS, places()], inside)
    x = net.node("Softmax", [net.node("Transpose", [x], inside, perm=[0, 2, 1, 3])], inside, axis=1)
    bins = net.initializer("model.22.dfl.conv.weight",
                           np.arange(BINS, dtype=np.float32).reshape(1, BINS, 1, 1))
    x = net.node("Conv", [x, bins], f"{inside}/conv", dilations=[1, 1], group=1,
                 kernel_shape=[1, 1], pads=[0] * 4, strides=[1, 1])
    x = reshape(net, x, [1, 4, places()], inside)
    anchors, strides = grid()
    cut = lambda start, end: net.node("Slice", [x] + [net.constant([number], np.int64, at)
                                                      for number in (start, end, 1)], at)
    low = net.node("Sub", [net.initializer("model.22.anchors", anchors), cut(0, 2)], at)
    high = net.node("Add", ["model.22.anchors", cut(2, 4)], at)
    centre = net.node("Div", [net.node("Add", [low, high], at), net.constant(2.0, at=at)], at)
    box = net.node("Concat", [centre, net.node("Sub", [high, low], at)], at, axis=1)
    return net.node("Mul", [box, net.initializer("model.22.strides", strides)], at)


def grid():
    """The middle of each place in units of its stride, 1 x 2 x places, and the strides."""
    anchors, strides = [], []
    for stride in STRIDES:
        rows, columns = np.mgrid[:SIDE // stride, :SIDE // stride].astype(np.float32) + 0.5
        anchors.append(np.stack([columns.ravel(), rows.ravel()]))
        strides.append(np.full((1, rows.size), stride, dtype=np.float32))
    return np.concatenate(anchors, axis=1)[None], np.concatenate(strides, axis=1)
