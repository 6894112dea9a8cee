"""GPT-2 small, one step of decoding: new tokens, and the keys and values of those before them,
which grow along "past"; 124 M weights."""
import numpy as np

from bert_base import HEADS, HIDDEN, INNER, LAYERS, gelu, layer_norm, linear
from builder import FLOAT, INT64

WORDS, POSITIONS, DEPTH = 50257, 1024, HIDDEN // HEADS
PAST = 16  # of the examples, and without --dynamic


def build(net):
    batch, tokens, past = ("batch", "tokens", "past") if net.dynamic else (1, 1, PAST)
    ids = net.input("input_ids", [batch, tokens], INT64, lambda r: r.integers(0, WORDS, (1, 1)))
    words = net.weight("wte.weight", (WORDS, HIDDEN), 0.5)
    pasts = [[net.input(f"past_key_values.{layer}.{what}", [batch, HEADS, past, DEPTH], FLOAT,
                        past_of) for what in ("key", "value")] for layer in range(LAYERS)]
    length = net.dim(pasts[0][0], 2, "transformer")
    x = net.node("Add", [net.node("Gather", [words, ids], "wte"), positions(net, ids, length)],
                 "transformer")
    bias = causal_bias(net, ids, length)
    presents = []
    for layer, (key, value) in enumerate(pasts):
        at = f"h.{layer}"
        attended, present = attention(net, layer_norm(net, x, f"{at}/ln_1"), bias, key, value,
                                      f"{at}/attn")
        presents += present
        x = net.node("Add", [x, attended], at)
        inner = gelu(net, linear(net, layer_norm(net, x, f"{at}/ln_2"), f"{at}/mlp/c_fc", HIDDEN,
                                 INNER, 1.5), f"{at}/mlp")
        x = net.node("Add", [x, linear(net, inner, f"{at}/mlp/c_proj", INNER, HIDDEN)], at)
    x = layer_norm(net, x, "ln_f")
    head = net.weight("lm_head.weight_t", (HIDDEN, WORDS), np.sqrt(1.0 / HIDDEN))
    net.output(net.node("MatMul", [x, head], "lm_head"), "logits", [batch, tokens, WORDS])
    grown = "past + tokens" if net.dynamic else PAST + 1
    for i, present in enumerate(presents):
        net.output(present, f"present.{i // 2}.{('key', 'value')[i % 2]}",
                   [batch, HEADS, grown, DEPTH])


def past_of(random):
    return random.standard_normal((1, HEADS, PAST, DEPTH), dtype=np.float32)


def positions(net, ids, length):
    """The rows of the table from `length` on, one for each new token."""
    at = "wpe"
    table = net.weight("wpe.weight", (POSITIONS, HIDDEN), 0.3)
    end = net.node("Add", [length, net.dim(ids, 1, at)], at)
    return net.node("Slice", [table, length, end, net.constant([0], np.int64, at)], at)


def causal_bias(net, ids, length):
    """Of each new token, 0 for itself and all before it, the lowest float for those behind it:
    tokens x (past + tokens)."""
    at = "causal"
    every = net.initializer("causal.positions", np.arange(POSITIONS, dtype=np.int64))
    zero, axis = net.constant([0], np.int64, at), net.constant([0], np.int64, at)
    end = net.node("Add", [length, net.dim(ids, 1, at)], at)
    rows = net.node("Slice", [every, length, end, axis], at)
    columns = net.node("Slice", [every, zero, end, axis], at)
    is_behind = net.node("Greater", [net.unsqueeze(columns, 0, at), net.unsqueeze(rows, 1, at)], at)
    return net.node("Mul", [net.node("Cast", [is_behind], at, to=FLOAT),
                            net.constant(np.finfo(np.float32).min, at=at)], at)


def attention(net, x, bias, past_key, past_value, at):
    query, key, value = (split_heads(net, linear(net, x, f"{at}/{name}", HIDDEN, HIDDEN), at)
                         for name in ("query", "key", "value"))
    key = net.node("Concat", [past_key, key], at, axis=2)
    value = net.node("Concat", [past_value, value], at, axis=2)
    scores = net.node("MatMul", [query, net.node("Transpose", [key], at, perm=[0, 1, 3, 2])], at)
    scores = net.node("Div", [scores, net.constant(np.sqrt(DEPTH), at=at)], at)
    weights = net.node("Softmax", [net.node("Add", [scores, bias], at)], at, axis=-1)
    x = net.node("Transpose", [net.node("MatMul", [weights, value], at)], at, perm=[0, 2, 1, 3])
    x = net.node("Reshape", [x, net.constant([0, 0, HIDDEN], np.int64, at)], at)
    return linear(net, x, f"{at}/c_proj", HIDDEN, HIDDEN), [key, value]


def split_heads(net, x, at):
    x = net.node("Reshape", [x, net.constant([0, 0, HEADS, DEPTH], np.int64, at)], at)
    return net.node("Transpose", [x], at, perm=[0, 2, 1, 3])
