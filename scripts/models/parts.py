"""What several models share: convolutions, batch normalisation, pooling, linear layers. Scales keep
the size of signals."""
import numpy as np


def conv(net, x, at, channels_in, channels_out, kernel, stride=1, groups=1, bias=False, gain=2.0,
         pads=None):
    """`kernel` is one size or rows and columns; without `pads`, 'same' padding for stride 1. The
    weight's variance is gain / fan-in: 2 keeps signals through ReLU, 1 without one."""
    scope = at.replace("/", ".")
    rows, columns = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    fan_in = channels_in // groups * rows * columns
    weights = [centred(net, f"{scope}.weight", (channels_out, channels_in // groups, rows,
                                                columns), np.sqrt(gain / fan_in))]
    if bias:
        weights.append(net.weight(f"{scope}.bias", (channels_out,), 0.1))
    return net.node("Conv", [x] + weights, at, dilations=[1, 1], group=groups,
                    kernel_shape=[rows, columns],
                    pads=[rows // 2, columns // 2] * 2 if pads is None else [pads] * 4,
                    strides=[stride] * 2)


def silu(net, x, at):
    """x * sigmoid(x). A gain of about 2 in the convolution before it keeps signals."""
    return net.node("Mul", [x, net.node("Sigmoid", [x], at)], at)


def max_pool(net, x, at, kernel, stride, pads=0):
    return net.node("MaxPool", [x], at, ceil_mode=0, kernel_shape=[kernel] * 2, pads=[pads] * 4,
                    strides=[stride] * 2)


def average_pool(net, x, at, kernel, stride, pads=0):
    return net.node("AveragePool", [x], at, ceil_mode=0, count_include_pad=1,
                    kernel_shape=[kernel] * 2, pads=[pads] * 4, strides=[stride] * 2)


def upsample(net, x, at):
    """Twice the height and width, by the nearest element."""
    return net.node("Resize", [x, "", net.constant([1, 1, 2, 2], np.float32, at)], at,
                    coordinate_transformation_mode="asymmetric", cubic_coeff_a=-0.75,
                    mode="nearest", nearest_mode="floor")


def reshape(net, x, dims, at, kept=1):
    """With symbolic inputs, the first `kept` sizes are those of x, computed at run time."""
    if not net.dynamic:
        return net.node("Reshape", [x, net.constant(dims, np.int64, at)], at)
    sizes = [net.dim(x, axis, at) for axis in range(kept)]
    sizes += [net.constant([size], np.int64, at) for size in dims[kept:]]
    return net.node("Reshape", [x, net.node("Concat", sizes, at, axis=0)], at)


def centred(net, name, shape, std):
    """Weights whose mean over a filter is zero where a filter reads more than one channel:
    otherwise the positive mean that every ReLU leaves adds up from layer to layer, and a deep net
    answers nearly the same whatever it is shown."""
    values = net.random(name).standard_normal(shape, dtype=np.float32)
    if shape[1] > 1:
        values = (values - values.mean(axis=(1, 2, 3), keepdims=True)) * np.float32(1.2)
    return net.initializer(name, values * np.float32(std))


def batch_norm(net, x, at, channels, scale=1.0):
    """Statistics near those of a trained net; `scale` below 1 on the last one of a residual branch
    stops growth."""
    scope = at.replace("/", ".")
    weights = [
        net.positive(f"{scope}.weight", (channels,), 0.7 * scale, 1.3 * scale),
        net.weight(f"{scope}.bias", (channels,), 0.1),
        net.weight(f"{scope}.running_mean", (channels,), 0.1),
        net.positive(f"{scope}.running_var", (channels,), 0.7, 1.3),
    ]
    return net.node("BatchNormalization", [x] + weights, at, epsilon=1e-5, momentum=0.9)


def gemm(net, x, at, size_in, size_out, gain=1.0):
    scope = at.replace("/", ".")
    weight = net.weight(f"{scope}.weight", (size_out, size_in), np.sqrt(gain / size_in))
    bias = net.weight(f"{scope}.bias", (size_out,), 0.1)
    return net.node("Gemm", [x, weight, bias], at, alpha=1.0, beta=1.0, transB=1)


def classifier(net, x, at, channels, classes=1000):
    """GlobalAveragePool, Flatten, Gemm. The gain makes up for what averaging over 7x7 positions
    takes away."""
    x = net.node("GlobalAveragePool", [x])
    x = net.node("Flatten", [x], axis=1)
    return gemm(net, x, at, channels, classes, gain=4.0)
