"""ViT-base with patches of 16x16 pixels, as timm's module is exported: one product for query, key
and value, LayerNorm decomposed, GELU by Erf; 86 M weights, 17 G multiply-adds."""
import numpy as np

from bert_base import gelu, layer_norm, linear
from builder import FLOAT, image
from parts import gemm, reshape

HIDDEN, HEADS, LAYERS, INNER, PATCH, SIDE = 768, 12, 12, 3072, 16, 224
PATCHES = (SIDE // PATCH)**2
TOKENS = PATCHES + 1


def build(net):
    batch = "N" if net.dynamic else 1
    x = embed(net, net.input("input", [batch, 3, SIDE, SIDE], FLOAT, image(1, 3, SIDE, SIDE)))
    for layer in range(LAYERS):
        at = f"blocks.{layer}"
        attended = attention(net, layer_norm(net, x, f"{at}/norm1"), f"{at}/attn")
        x = net.node("Add", [x, attended], at)
        inner = gelu(net, linear(net, layer_norm(net, x, f"{at}/norm2"), f"{at}/mlp/fc1", HIDDEN,
                                 INNER, 1.5), f"{at}/mlp/act")
        x = net.node("Add", [x, linear(net, inner, f"{at}/mlp/fc2", INNER, HIDDEN)], at)
    x = layer_norm(net, x, "norm")
    first = net.node("Gather", [x, net.constant(0, np.int64)], axis=1)
    net.output(gemm(net, first, "head", HIDDEN, 1000), "output", [batch, 1000])


def embed(net, x):
    """Patches and a class token before them, plus their positions: N x TOKENS x HIDDEN."""
    at = "patch_embed/proj"
    weight = net.weight("patch_embed.proj.weight", (HIDDEN, 3, PATCH, PATCH),
                        np.sqrt(1.0 / (3 * PATCH * PATCH)))
    bias = net.weight("patch_embed.proj.bias", (HIDDEN,), 0.1)
    x = net.node("Conv", [x, weight, bias], at, dilations=[1, 1], group=1,
                 kernel_shape=[PATCH] * 2, pads=[0] * 4, strides=[PATCH] * 2)
    x = reshape(net, x, [1, HIDDEN, PATCHES], "patch_embed")
    x = net.node("Transpose", [x], "patch_embed", perm=[0, 2, 1])
    token = net.weight("cls_token", (1, 1, HIDDEN), 0.5)
    if net.dynamic:
        sizes = [net.dim(x, 0), net.constant([1, HIDDEN], np.int64)]
        token = net.node("Expand", [token, net.node("Concat", sizes, axis=0)])
    x = net.node("Concat", [token, x], axis=1)
    return net.node("Add", [x, net.weight("pos_embed", (1, TOKENS, HIDDEN), 0.3)])


def attention(net, x, at):
    depth = HIDDEN // HEADS
    x = linear(net, x, f"{at}/qkv", HIDDEN, 3 * HIDDEN)
    x = reshape(net, x, [1, TOKENS, 3, HEADS, depth], at)
    x = net.node("Transpose", [x], at, perm=[2, 0, 3, 1, 4])
    query, key, value = (net.node("Gather", [x, net.constant(i, np.int64, at)], at, axis=0)
                         for i in range(3))
    query = net.node("Mul", [query, net.constant(depth**-0.5, at=at)], at)
    key = net.node("Transpose", [key], at, perm=[0, 1, 3, 2])
    weights = net.node("Softmax", [net.node("MatMul", [query, key], at)], at, axis=-1)
    x = net.node("Transpose", [net.node("MatMul", [weights, value], at)], at, perm=[0, 2, 1, 3])
    return linear(net, reshape(net, x, [1, TOKENS, HIDDEN], at), f"{at}/proj", HIDDEN, HIDDEN)
