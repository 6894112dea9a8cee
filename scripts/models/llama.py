"""Four blocks of a Llama-like decoder, 128 tokens: RMSNorm decomposed, rotary positions, four
query heads for each pair of key and value, SwiGLU; 62 M weights."""
import numpy as np

from builder import INT64
from parts import reshape

HIDDEN, HEADS, PAIRS, INNER, LAYERS, WORDS = 1024, 16, 4, 2816, 4, 8192
DEPTH, LENGTH = HIDDEN // HEADS, 128


def build(net):
    dims = ["batch", "seq"] if net.dynamic else [1, LENGTH]
    ids = net.input("input_ids", dims, INT64, lambda r: r.integers(0, WORDS, (1, LENGTH)))
    mask = net.input("attention_mask", dims, INT64, prefix_mask)
    places = net.input("position_ids", dims, INT64, lambda r: np.arange(LENGTH)[None])
    x = net.node("Gather", [net.weight("model.embed_tokens.weight", (WORDS, HIDDEN), 0.5), ids],
                 "model/embed_tokens")
    bias, rotation = causal_bias(net, mask, places), rotary(net, places)
    for layer in range(LAYERS):
        at = f"model/layers.{layer}"
        attended = attention(net, rms_norm(net, x, f"{at}/input_layernorm"), bias, rotation,
                             f"{at}/self_attn")
        x = net.node("Add", [x, attended], at)
        y = swiglu(net, rms_norm(net, x, f"{at}/post_attention_layernorm"), f"{at}/mlp")
        x = net.node("Add", [x, y], at)
    x = rms_norm(net, x, "model/norm")
    net.output(linear(net, x, "lm_head", HIDDEN, WORDS), "logits", dims + [WORDS])


def prefix_mask(random):
    """Ones for the tokens, zeros for the padding after them."""
    return (np.arange(LENGTH)[None] < random.integers(LENGTH // 2, LENGTH + 1)).astype(np.int64)


def causal_bias(net, mask, places):
    """0 where a token looks at itself or at one before it that is no padding, otherwise the lowest
    float: batch x 1 x seq x seq."""
    at = "model"
    rows = net.unsqueeze(net.unsqueeze(places, 1, at), 3, at)
    columns = net.unsqueeze(net.unsqueeze(places, 1, at), 2, at)
    is_before = net.node("LessOrEqual", [columns, rows], at)
    is_token = net.node("Cast", [net.unsqueeze(net.unsqueeze(mask, 1, at), 2, at)], at, to=9)
    is_seen = net.node("And", [is_before, is_token], at)
    lowest = net.constant(np.finfo(np.float32).min, at=at)
    return net.node("Where", [is_seen, net.constant(0.0, at=at), lowest], at)


def rotary(net, places):
    """Cosines and sines of batch x 1 x seq x DEPTH: the second half repeats the first."""
    at = "model/rotary_emb"
    powers = 10000.0**(-np.arange(0, DEPTH, 2, dtype=np.float64) / DEPTH)
    frequencies = net.initializer("model.rotary_emb.inv_freq",
                                  powers.astype(np.float32).reshape(1, DEPTH // 2, 1))
    if net.dynamic:
        sizes = [net.dim(places, 0, at), net.constant([DEPTH // 2, 1], np.int64, at)]
        target = net.node("Concat", sizes, at, axis=0)
    else:
        target = net.constant([1, DEPTH // 2, 1], np.int64, at)
    frequencies = net.node("Expand", [frequencies, target], at)
    numbers = net.node("Cast", [net.unsqueeze(places, 1, at)], at, to=1)
    angles = net.node("MatMul", [frequencies, numbers], at)
    angles = net.node("Transpose", [angles], at, perm=[0, 2, 1])
    angles = net.node("Concat", [angles, angles], at, axis=-1)
    scale = net.constant(1.0, at=at)
    return [net.unsqueeze(net.node("Mul", [net.node(op, [angles], at), scale], at), 1, at)
            for op in ("Cos", "Sin")]


def rms_norm(net, x, at):
    mean = net.node("ReduceMean", [net.node("Pow", [x, net.constant(2.0, at=at)], at)], at,
                    axes=[-1])
    root = net.node("Sqrt", [net.node("Add", [mean, net.constant(1e-5, at=at)], at)], at)
    x = net.node("Mul", [x, net.node("Div", [net.constant(1.0, at=at), root], at)], at)
    return net.node("Mul", [net.positive(f"{at.replace('/', '.')}.weight", (HIDDEN,), 0.8, 1.2), x],
                    at)


def linear(net, x, at, size_in, size_out, gain=1.0):
    weight = net.weight(f"{at.replace('/', '.')}.weight_t", (size_in, size_out),
                        np.sqrt(gain / size_in))
    return net.node("MatMul", [x, weight], at)


def attention(net, x, bias, rotation, at):
    query = split_heads(net, linear(net, x, f"{at}/q_proj", HIDDEN, HIDDEN), HEADS, at)
    key, value = (split_heads(net, linear(net, x, f"{at}/{name}", HIDDEN, PAIRS * DEPTH), PAIRS,
                              at) for name in ("k_proj", "v_proj"))
    query, key = rotate(net, query, rotation, at), rotate(net, key, rotation, at)
    key, value = repeat_heads(net, key, at), repeat_heads(net, value, at)
    scores = net.node("MatMul", [query, net.node("Transpose", [key], at, perm=[0, 1, 3, 2])], at)
    scores = net.node("Mul", [scores, net.constant(DEPTH**-0.5, at=at)], at)
    weights = net.node("Softmax", [net.node("Add", [scores, bias], at)], at, axis=-1)
    x = net.node("Transpose", [net.node("MatMul", [weights, value], at)], at, perm=[0, 2, 1, 3])
    return linear(net, reshape(net, x, [1, LENGTH, HIDDEN], at, kept=2), f"{at}/o_proj", HIDDEN,
                  HIDDEN)


def split_heads(net, x, heads, at):
    x = reshape(net, x, [1, LENGTH, heads, DEPTH], at, kept=2)
    return net.node("Transpose", [x], at, perm=[0, 2, 1, 3])


def rotate(net, x, rotation, at):
    """x * cos + (-second half, first half) * sin."""
    cosines, sines = rotation
    axis, one = net.constant([3], np.int64, at), net.constant([1], np.int64, at)
    cut = lambda start, end: net.node("Slice", [
        x, net.constant([start], np.int64, at), net.constant([end], np.int64, at), axis, one], at)
    first, second = cut(0, DEPTH // 2), cut(DEPTH // 2, np.iinfo(np.int64).max)
    turned = net.node("Concat", [net.node("Neg", [second], at), first], at, axis=-1)
    return net.node("Add", [net.node("Mul", [x, cosines], at),
                            net.node("Mul", [turned, sines], at)], at)


def repeat_heads(net, x, at):
    """Each of the PAIRS heads stands for HEADS / PAIRS heads of queries."""
    times = HEADS // PAIRS
    if net.dynamic:
        sizes = [net.dim(x, 0, at), net.constant([PAIRS, times], np.int64, at), net.dim(x, 2, at),
                 net.constant([DEPTH], np.int64, at)]
        wide = net.node("Concat", sizes, at, axis=0)
        sizes = [sizes[0], net.constant([HEADS], np.int64, at), *sizes[2:]]
        heads = net.node("Concat", sizes, at, axis=0)
    else:
        wide = net.constant([1, PAIRS, times, LENGTH, DEPTH], np.int64, at)
        heads = net.constant([1, HEADS, LENGTH, DEPTH], np.int64, at)
    x = net.node("Expand", [net.unsqueeze(x, 2, at), wide], at)
    return net.node("Reshape", [x, heads], at)


def swiglu(net, x, at):
    gate = linear(net, x, f"{at}/gate_proj", HIDDEN, INNER, 1.5)
    gate = net.node("Mul", [gate, net.node("Sigmoid", [gate], f"{at}/act_fn")], f"{at}/act_fn")
    inner = net.node("Mul", [gate, linear(net, x, f"{at}/up_proj", HIDDEN, INNER, 1.5)], at)
    return linear(net, inner, f"{at}/down_proj", INNER, HIDDEN)
