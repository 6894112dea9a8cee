"""BERT-base encoder with pooler, 128 tokens: LayerNorm decomposed, GELU by Erf, attention in
MatMuls; 110 M weights."""
import numpy as np

from builder import INT64

HIDDEN, HEADS, LAYERS, INNER, WORDS, POSITIONS = 768, 12, 12, 3072, 30522, 512
LENGTH = 128


def build(net):
    dims = ["batch", "seq"] if net.dynamic else [1, LENGTH]
    ids = net.input("input_ids", dims, INT64, lambda r: r.integers(0, WORDS, (1, LENGTH)))
    mask = net.input("attention_mask", dims, INT64, prefix_mask)
    types = net.input("token_type_ids", dims, INT64,
                      lambda r: np.arange(LENGTH)[None] // r.integers(20, LENGTH) % 2)
    bias = attention_bias(net, mask)
    x = embed(net, ids, types)
    for layer in range(LAYERS):
        at = f"encoder/layer.{layer}"
        attended = attention(net, x, bias, f"{at}/attention")
        x = layer_norm(net, net.node("Add", [attended, x], f"{at}/attention/output"),
                       f"{at}/attention/output/LayerNorm")
        inner = gelu(net, linear(net, x, f"{at}/intermediate/dense", HIDDEN, INNER, 1.5),
                     f"{at}/intermediate/act")
        outer = linear(net, inner, f"{at}/output/dense", INNER, HIDDEN)
        x = layer_norm(net, net.node("Add", [outer, x], f"{at}/output"), f"{at}/output/LayerNorm")
    pooled = pooler(net, x)
    net.output(x, "last_hidden_state", dims + [HIDDEN])
    net.output(pooled, "pooler_output", [dims[0], HIDDEN])


def prefix_mask(random):
    """Ones for the tokens, zeros for the padding after them."""
    return (np.arange(LENGTH)[None] < random.integers(LENGTH // 2, LENGTH + 1)).astype(np.int64)


def attention_bias(net, mask):
    """0 for tokens and the lowest float for padding, shaped batch x 1 x 1 x seq."""
    x = net.unsqueeze(net.unsqueeze(mask, 1), 2)
    x = net.node("Cast", [x], to=1)
    x = net.node("Sub", [net.constant(1.0), x])
    return net.node("Mul", [x, net.constant(np.finfo(np.float32).min)])


def embed(net, ids, types):
    at = "embeddings"
    words = net.weight("embeddings.word_embeddings.weight", (WORDS, HIDDEN), 0.5)
    positions = net.weight("embeddings.position_embeddings.weight", (POSITIONS, HIDDEN), 0.3)
    kinds = net.weight("embeddings.token_type_embeddings.weight", (2, HIDDEN), 0.3)
    x = net.node("Gather", [words, ids], f"{at}/word_embeddings")
    x = net.node("Add", [x, net.node("Gather", [kinds, types], f"{at}/token_type_embeddings")], at)
    place = net.node("Gather", [positions, position_ids(net, ids, at)], f"{at}/position_embeddings")
    return layer_norm(net, net.node("Add", [x, place], at), f"{at}/LayerNorm")


def position_ids(net, ids, at):
    if not net.dynamic:
        return net.constant([list(range(LENGTH))], np.int64, at)
    every = net.initializer("embeddings.position_ids", np.arange(POSITIONS, dtype=np.int64)[None])
    ends = [net.constant([0], np.int64, at), net.dim(ids, 1, at)]
    return net.node("Slice", [every] + ends +
                    [net.constant([1], np.int64, at), net.constant([1], np.int64, at)], at)


def layer_norm(net, x, at):
    scope = at.replace("/", ".")
    centred = net.node("Sub", [x, net.node("ReduceMean", [x], at, axes=[-1])], at)
    squares = net.node("Pow", [centred, net.constant(2.0, at=at)], at)
    variance = net.node("Add", [net.node("ReduceMean", [squares], at, axes=[-1]),
                                net.constant(1e-12, at=at)], at)
    x = net.node("Div", [centred, net.node("Sqrt", [variance], at)], at)
    x = net.node("Mul", [x, net.positive(f"{scope}.weight", (HIDDEN,), 0.8, 1.2)], at)
    return net.node("Add", [x, net.weight(f"{scope}.bias", (HIDDEN,), 0.1)], at)


def linear(net, x, at, size_in, size_out, gain=1.0):
    """MatMul by the transposed weight, then bias + product in this order, as exported for inputs of
    rank 3."""
    scope = at.replace("/", ".")
    weight = net.weight(f"{scope}.weight_t", (size_in, size_out), np.sqrt(gain / size_in))
    bias = net.weight(f"{scope}.bias", (size_out,), 0.1)
    return net.node("Add", [bias, net.node("MatMul", [x, weight], at)], at)


def gelu(net, x, at):
    erf = net.node("Erf", [net.node("Div", [x, net.constant(np.sqrt(2.0), at=at)], at)], at)
    product = net.node("Mul", [x, net.node("Add", [erf, net.constant(1.0, at=at)], at)], at)
    return net.node("Mul", [product, net.constant(0.5, at=at)], at)


def attention(net, x, bias, at):
    query, key, value = (split_heads(net, linear(net, x, f"{at}/self/{name}", HIDDEN, HIDDEN),
                                     f"{at}/self", order)
                         for name, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]),
                                             ("value", [0, 2, 1, 3])))
    scores = net.node("MatMul", [query, key], f"{at}/self")
    scores = net.node("Div", [scores, net.constant(np.sqrt(HIDDEN // HEADS), at=f"{at}/self")],
                      f"{at}/self")
    scores = net.node("Add", [scores, bias], f"{at}/self")
    weights = net.node("Softmax", [scores], f"{at}/self", axis=-1)
    x = net.node("MatMul", [weights, value], f"{at}/self")
    x = net.node("Transpose", [x], f"{at}/self", perm=[0, 2, 1, 3])
    x = reshape(net, x, f"{at}/self", [HIDDEN])
    return linear(net, x, f"{at}/output/dense", HIDDEN, HIDDEN)


def split_heads(net, x, at, order):
    return net.node("Transpose", [reshape(net, x, at, [HEADS, HIDDEN // HEADS])], at, perm=order)


def reshape(net, x, at, last_dims):
    """Keeps the first two axes; their sizes are constants, or computed from x when symbolic."""
    if net.dynamic:
        parts = [net.dim(x, 0, at), net.dim(x, 1, at)] + [net.constant([size], np.int64, at)
                                                          for size in last_dims]
        target = net.node("Concat", parts, at, axis=0)
    else:
        target = net.constant([1, LENGTH] + last_dims, np.int64, at)
    return net.node("Reshape", [x, target], at)


def pooler(net, x):
    first = net.node("Gather", [x, net.constant(0, np.int64, "pooler")], "pooler", axis=1)
    weight = net.weight("pooler.dense.weight", (HIDDEN, HIDDEN), np.sqrt(1.0 / HIDDEN))
    bias = net.weight("pooler.dense.bias", (HIDDEN,), 0.1)
    dense = net.node("Gemm", [first, weight, bias], "pooler/dense", alpha=1.0, beta=1.0, transB=1)
    return net.node("Tanh", [dense], "pooler/activation")
