"""U-Net of width 32 for 256x256 images: double convolutions, four levels, Resize x2 and Concat on
the way up.

Static sizes resize by the factor 2. With symbolic H and W each level resizes to its partner's size,
computed from Shape, as exports of interpolate(size=...) do: a size that 16 does not divide then
works too.
"""
import numpy as np

from builder import FLOAT, image
from parts import batch_norm, conv

WIDTHS = [32, 64, 128, 256, 512]


def build(net):
    height, width = ("H", "W") if net.dynamic else (256, 256)
    x = net.input("input", [1, 3, height, width], FLOAT, image(1, 3, 256, 256))
    x = double_conv(net, x, "inc", 3, WIDTHS[0])
    levels = []
    for level in range(1, 5):
        levels.append(x)
        x = net.node("MaxPool", [x], f"down{level}/pool", ceil_mode=0, kernel_shape=[2, 2],
                     pads=[0] * 4, strides=[2, 2])
        x = double_conv(net, x, f"down{level}", WIDTHS[level - 1], WIDTHS[level])
    for level in range(4, 0, -1):
        at, skip = f"up{5 - level}", levels.pop()
        x = net.node("Concat", [skip, upsample(net, x, skip, f"{at}/up")], at, axis=1)
        x = double_conv(net, x, at, WIDTHS[level] + WIDTHS[level - 1], WIDTHS[level - 1])
    net.output(conv(net, x, "outc", WIDTHS[0], 4, 1, bias=True, gain=1.0), "output",
               [1, 4, height, width])


def double_conv(net, x, at, channels_in, channels_out):
    for index, channels in ((0, channels_in), (3, channels_out)):
        x = conv(net, x, f"{at}/conv/conv.{index}", channels, channels_out, 3)
        x = batch_norm(net, x, f"{at}/conv/conv.{index + 1}", channels_out)
        x = net.node("Relu", [x], f"{at}/conv/conv.{index + 2}")
    return x


def upsample(net, x, partner, at):
    if net.dynamic:
        head = [net.dim(x, axis, at) for axis in (0, 1)]
        last_dims = [net.dim(partner, axis, at) for axis in (2, 3)]
        sizing = ["", "", net.node("Concat", head + last_dims, at, axis=0)]
    else:
        sizing = ["", net.constant([1, 1, 2, 2], np.float32, at)]
    return net.node("Resize", [x] + sizing, at, coordinate_transformation_mode="asymmetric",
                    cubic_coeff_a=-0.75, mode="nearest", nearest_mode="floor")
