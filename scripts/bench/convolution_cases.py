"""Rows of scripts/bench/contractions: transposed convolutions, and convolutions of three axes.

A name says input x output channels, kernel, stride, and the input's image.
"""
import numpy as np


def convolution(op, channels, kernel, image, follower="", **attributes):
    def make(case):
        ends = channels if op == "ConvTranspose" else channels[::-1]
        length = np.sqrt(channels[0] * np.prod(kernel))
        w = case.weight("w", [*ends, *kernel], 1 / length)
        y = case.node(op, [case.value([1, channels[0], *image]), w,
                           case.weight("b", [channels[1]], 0.1)], kernel_shape=kernel, **attributes)
        case.result(case.node(follower, [y]) if follower else y)
    return make


def upsampling(inputs, outputs, size):
    """A step of a U-Net."""
    return convolution("ConvTranspose", [inputs, outputs], [2, 2], [size, size], strides=[2, 2])


def generator(inputs, outputs, size, follower="Relu"):
    """A step of a DCGAN's generator."""
    return convolution("ConvTranspose", [inputs, outputs], [4, 4], [size, size], follower,
                       strides=[2, 2], pads=[1, 1, 1, 1])


def decoder(inputs, outputs, size):
    return convolution("ConvTranspose", [inputs, outputs], [3, 3], [size, size], "Relu",
                       strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])


def volume(inputs, outputs, image, stride=1):
    return convolution("Conv", [inputs, outputs], [3, 3, 3], image, "Relu",
                       pads=[1] * 6, strides=[stride] * 3)


def rows():
    return {
        "convtranspose-512x256-2x2s2-14": upsampling(512, 256, 14),
        "convtranspose-256x128-2x2s2-28": upsampling(256, 128, 28),
        "convtranspose-128x64-2x2s2-56": upsampling(128, 64, 56),
        "convtranspose-64x32-2x2s2-112": upsampling(64, 32, 112),
        "convtranspose-1024x512-4x4s2-4": generator(1024, 512, 4),
        "convtranspose-512x256-4x4s2-8": generator(512, 256, 8),
        "convtranspose-256x128-4x4s2-16": generator(256, 128, 16),
        "convtranspose-128x3-4x4s2-32": generator(128, 3, 32, "Tanh"),
        "convtranspose-256x128-3x3s2-16": decoder(256, 128, 16),
        "convtranspose-64x32-3x3s2-64": decoder(64, 32, 64),
        "convtranspose-64x64-3x3s1-56": convolution("ConvTranspose", [64, 64], [3, 3], [56, 56],
                                                    "Relu", pads=[1] * 4),
        "convtranspose-21x21-16x16s8-32": convolution("ConvTranspose", [21, 21], [16, 16], [32, 32],
                                                      strides=[8, 8], pads=[4] * 4),
        "convtranspose-256x128-16s8-128": convolution("ConvTranspose", [256, 128], [16], [128],
                                                      "LeakyRelu", strides=[8], pads=[4, 4]),
        "convtranspose-64x32-2x2x2s2-8x14x14": convolution("ConvTranspose", [64, 32], [2, 2, 2],
                                                           [8, 14, 14], strides=[2, 2, 2]),
        "convtranspose-64x32-3x3x3s2-8x14x14": convolution(
            "ConvTranspose", [64, 32], [3, 3, 3], [8, 14, 14], "Relu", strides=[2, 2, 2],
            pads=[1] * 6, output_padding=[1, 1, 1]),
        "conv-3x32-3x3x3-16x56x56": volume(3, 32, [16, 56, 56]),
        "conv-1x16-3x3x3-32x64x64": volume(1, 16, [32, 64, 64]),
        "conv-16x16-3x3x3-16x56x56": volume(16, 16, [16, 56, 56]),
        "conv-32x64-3x3x3s2-16x56x56": volume(32, 64, [16, 56, 56], 2),
        "conv-64x64-3x3x3-8x28x28": volume(64, 64, [8, 28, 28]),
        "conv-128x128-3x3x3-8x14x14": volume(128, 128, [8, 14, 14]),
        "conv-64x64-1x3x3-8x28x28": convolution("Conv", [64, 64], [1, 3, 3], [8, 28, 28], "Relu",
                                                pads=[0, 1, 1, 0, 1, 1]),
        "conv-64x64-3x1x1-8x28x28": convolution("Conv", [64, 64], [3, 1, 1], [8, 28, 28], "Relu",
                                                pads=[1, 0, 0, 1, 0, 0]),
        "conv-32x3-1x1x1-16x56x56": convolution("Conv", [32, 3], [1, 1, 1], [16, 56, 56]),
    }
