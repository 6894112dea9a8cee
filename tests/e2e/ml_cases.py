"""Small models of single nodes of ai.onnx.ml, and what they compute by numpy: as ONNX's reference
implementation or ONNX Runtime say it."""
import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import models

RANDOM = np.random.default_rng(11)
DTYPES = {"f": TensorProto.FLOAT, "d": TensorProto.DOUBLE, "i": TensorProto.INT32,
          "l": TensorProto.INT64, "h": TensorProto.INT16, "e": TensorProto.FLOAT16,
          "b": TensorProto.INT8, "B": TensorProto.UINT8}


def dtype_of(value):
    return TensorProto.STRING if value.dtype.kind in "OU" else DTYPES[value.dtype.char]


def texts(*elements):
    return np.array(elements, dtype=object)


def f32(*elements):
    return np.array(elements, np.float32)


def i64(*elements):
    return np.array(elements, np.int64)


def tensor(value):
    value = np.asarray(value)
    if value.dtype.kind in "OU":
        return helper.make_tensor("t", TensorProto.STRING, value.shape,
                                  [text.encode() for text in value.ravel()])
    return numpy_helper.from_array(value, "t")


class Case:
    """inputs and wanted: arrays in the node's order, None for an output that is not asked for."""

    def __init__(self, name, op, inputs, wanted, version=5, tolerance=1e-5, **attributes):
        self.name, self.op, self.inputs, self.wanted = name, op, inputs, wanted
        self.version, self.tolerance, self.attributes = version, tolerance, attributes

    def model(self, free_dims):
        names = [f"x{i}" for i in range(len(self.inputs))]
        results = ["" if value is None else f"y{i}" for i, value in enumerate(self.wanted)]
        node = helper.make_node(self.op, names, results, "the_node", domain="ai.onnx.ml",
                                **self.attributes)

        def dims(name, value):
            return [f"{name}_{axis}" if axis == 0 else size
                    for axis, size in enumerate(value.shape)] if free_dims else value.shape

        inputs = [models.value(name, dims(name, array), dtype_of(array))
                  for name, array in zip(names, self.inputs)]
        outputs = [models.value(name, None, dtype_of(array))
                   for name, array in zip(results, self.wanted) if array is not None]
        return models.model_of([node], inputs, outputs, opset=None,
                               domains={"ai.onnx.ml": self.version})


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_zero(x):
    """Scores near zero stay near zero."""
    largest = x.max(-1, keepdims=True)
    counts = abs(x) > 1e-7
    e = np.where(counts, np.exp(x - largest), 0)
    return np.where(counts, e, x * np.exp(-largest)) / e.sum(-1, keepdims=True)


def probit(x):
    """The quantile of the normal distribution, by bisection of its distribution function."""
    def quantile(p):
        low, high = -10.0, 10.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle,
                         high) if 0.5 * (1 + math.erf(middle / math.sqrt(2))) < p else (low, middle)
        return low
    return np.vectorize(quantile)(x)


TRANSFORMS = {"NONE": lambda x: x, "SOFTMAX": softmax, "LOGISTIC": sigmoid,
              "SOFTMAX_ZERO": softmax_zero}


def label_encoders():
    x = texts("b", "a", "d", "c")
    yield Case("classes_text", "LabelEncoder", [x], [i64(1, 0, 42, 2)], 1,
               classes_strings=["a", "b", "c"], default_int64=42)
    yield Case("classes_number", "LabelEncoder", [i64(2, 0, 5)], [texts("c", "a", "_Unused")], 1,
               classes_strings=["a", "b", "c"])
    lists = {"strings": (["a", "b", "c"], x, texts("zz", "q", "", "é")),
             "int64s": ([1, -2, 3], i64(-2, 1, 9, 3), i64(-5, 4, 2, 9)),
             "floats": ([0.5, 2.0, 3.0], f32(2, 0.5, 9, 3), f32(1.5, -2, 7, 0))}
    for key, (keys, wanted_keys, _) in lists.items():
        for kind, (_, _, values) in lists.items():
            other = {"strings": texts("_Unused"), "int64s": i64(-1), "floats": f32(-0.0)}[kind]
            wanted = np.array([values[1], values[0], other[0], values[2]], values.dtype)
            given = [text for text in values[:3]] if kind == "strings" else values[:3].tolist()
            yield Case(f"{key}_to_{kind}", "LabelEncoder", [wanted_keys], [wanted], 2,
                       **{f"keys_{key}": keys, f"values_{kind}": given})
    yield Case("nan_key", "LabelEncoder", [f32(math.nan, 1)], [i64(7, 8)], 2,
               keys_floats=[math.nan, 1.0], values_int64s=[7, 8])
    for dtype in (np.int16, np.int32, np.float64):
        yield Case(f"tensors_{dtype.__name__}", "LabelEncoder",
                   [np.array([[3, 1], [2, 4]], dtype)], [np.array([[30, 10], [-9, -9]], dtype)],
                   4, keys_tensor=tensor(np.array([1, 3], dtype)),
                   values_tensor=tensor(np.array([10, 30], dtype)),
                   default_tensor=tensor(np.array([-9], dtype)))
    yield Case("tensors_text", "LabelEncoder", [texts("b", "x")], [texts("B", "?")], 4,
               keys_tensor=tensor(texts("a", "b")), values_tensor=tensor(texts("A", "B")),
               default_tensor=tensor(texts("?")))
    yield Case("tensor_default_of_dtype", "LabelEncoder", [i64(1, 2)],
               [np.array([5, -1], np.int16)], 4, keys_int64s=[1],
               values_tensor=tensor(np.array([5], np.int16)))
    yield Case("mapper_to_number", "CategoryMapper", [texts("x", "y")], [i64(4, -3)], 1,
               cats_int64s=[4, 5], cats_strings=["x", "z"], default_int64=-3)
    yield Case("mapper_to_text", "CategoryMapper", [i64(5, 6)], [texts("z", "_Unused")], 1,
               cats_int64s=[4, 5], cats_strings=["x", "z"])
    one_hot = np.array([[0, 1, 0], [0, 0, 0]], np.float32)
    yield Case("one_hot_text", "OneHotEncoder", [texts("b", "q")], [one_hot],
               cats_strings=["a", "b", "c"])
    yield Case("one_hot_float", "OneHotEncoder", [f32(2, 7)], [one_hot], cats_int64s=[1, 2, 3])
    yield Case("one_hot_matrix", "OneHotEncoder", [np.array([[1, 2], [3, 3]], np.int64)],
               [np.eye(3, dtype=np.float32)[[[0, 1], [2, 2]]]], cats_int64s=[1, 2, 3], zeros=0)


def features():
    x = RANDOM.standard_normal((4, 5)).astype(np.float32)
    columns = np.array([[4, 0, 0]], np.int64)
    yield Case("extract", "ArrayFeatureExtractor", [x, columns], [x[:, [4, 0, 0]]])
    yield Case("extract_vector", "ArrayFeatureExtractor", [x[0], columns[0]], [x[:1, [4, 0, 0]]])
    yield Case("extract_text", "ArrayFeatureExtractor", [texts("a", "b", "c"), i64(2)],
               [texts("c").reshape(1, 1)])
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        numbers = (x * 3).astype(dtype)
        yield Case(f"binarize_{dtype.__name__}", "Binarizer", [numbers],
                   [(numbers > np.float32(-1.25)).astype(dtype)], threshold=-1.25)
        offset, scale = [0.5, -1, 2, 0, 3], [2, 0.5, 1, 4, -1]
        wanted = ((numbers - np.array(offset)) * np.array(scale)).astype(np.float32)
        yield Case(f"scale_{dtype.__name__}", "Scaler", [numbers], [wanted],
                   offset=[float(o) for o in offset], scale=[float(s) for s in scale])
        for norm, size in (("MAX", numbers.max(1)), ("L1", abs(numbers).sum(1)),
                           ("L2", np.sqrt((numbers.astype(float) ** 2).sum(1)))):
            wanted = (numbers / np.where(size == 0, 1, size)[:, None]).astype(np.float32)
            yield Case(f"normalize_{norm}_{dtype.__name__}", "Normalizer", [numbers], [wanted],
                       norm=norm)
    yield Case("normalize_zeros", "Normalizer", [np.zeros((2, 3), np.float32)],
               [np.zeros((2, 3), np.float32)], norm="L2")
    yield Case("scale_all", "Scaler", [x], [(x - 1) * 3], offset=[1.0], scale=[3.0])
    holes = np.where(abs(x) < 0.4, np.float32(math.nan), x)
    fills = [1.0, 2.0, 3.0, 4.0, 5.0]
    yield Case("impute_nan", "Imputer", [holes], [np.where(np.isnan(holes), f32(*fills), holes)],
               imputed_value_floats=fills, replaced_value_float=math.nan)
    yield Case("impute_double", "Imputer", [np.array([[1.0, -2.0]])], [np.array([[1.0, 9.0]])],
               imputed_value_floats=[9.0], replaced_value_float=-2.0)
    yield Case("impute_int", "Imputer", [np.array([[0, 3], [4, 0]])], [np.array([[7, 3], [4, 8]])],
               imputed_value_int64s=[7, 8])
    more = np.array([[1, 2, 3]] * 4, np.int64)
    yield Case("vectorize", "FeatureVectorizer",
               [x, more], [np.hstack([x[:, :3], more, np.zeros((4, 1))]).astype(np.float32)],
               inputdimensions=[3, 4])


def linear_models():
    x = RANDOM.standard_normal((6, 3)).astype(np.float32)
    weights, bias = (RANDOM.standard_normal((4, 3)).astype(np.float32),
                     RANDOM.standard_normal(4).astype(np.float32))
    flat = dict(coefficients=weights.ravel().tolist(), intercepts=bias.tolist())
    scores = x @ weights.T + bias
    for name, function in TRANSFORMS.items():
        yield Case(f"regress_{name}", "LinearRegressor", [x], [function(scores).astype(np.float32)],
                   targets=4, post_transform=name, **flat)
        yield Case(f"classify_{name}", "LinearClassifier", [x],
                   [i64(5, 6, 7, 8)[scores.argmax(1)], function(scores).astype(np.float32)],
                   classlabels_ints=[5, 6, 7, 8], post_transform=name, **flat)
    yield Case("classify_text", "LinearClassifier",
               [x.astype(np.float64)], [texts("a", "b", "c", "d")[scores.argmax(1)], None],
               classlabels_strings=["a", "b", "c", "d"], **flat)
    single = (x @ weights[0] + bias[0])[:, None]
    for name, function in TRANSFORMS.items():
        pair = (np.hstack([1 - single, single]) if name == "NONE"
                else function(np.hstack([-single, single])))
        yield Case(f"classify_single_{name}", "LinearClassifier", [x],
                   [i64(0, 1)[(single[:, 0] > 0).astype(int)], pair.astype(np.float32)],
                   classlabels_ints=[0, 1], coefficients=weights[0].tolist(),
                   intercepts=bias[:1].tolist(), post_transform=name)
    chances = np.linspace(0.05, 0.95, 6, dtype=np.float32)[:, None]
    yield Case("probit", "LinearRegressor", [chances], [probit(chances).astype(np.float32)],
               tolerance=4e-3, coefficients=[1.0], post_transform="PROBIT")
    yield Case("classify_probit", "LinearClassifier", [chances],
               [i64(*[1] * 6), np.hstack([1 - probit(chances), probit(chances)])
                .astype(np.float32)], tolerance=4e-3, classlabels_ints=[0, 1], coefficients=[1.0],
               intercepts=[0.0], post_transform="PROBIT")
    vectors, factors = (RANDOM.standard_normal((5, 3)).astype(np.float32),
                        RANDOM.standard_normal(5).astype(np.float32))
    dots = x @ vectors.T
    for kind, values in (("LINEAR", dots), ("POLY", (0.5 * dots + 0.25) ** 3),
                         ("SIGMOID", np.tanh(0.5 * dots + 0.25)),
                         ("RBF", np.exp(-0.5 * ((x[:, None] - vectors) ** 2).sum(-1)))):
        score = (values @ factors + 0.125)[:, None].astype(np.float32)
        svm = dict(kernel_type=kind, kernel_params=[0.5, 0.25, 3.0], n_supports=5,
                   support_vectors=vectors.ravel().tolist(), coefficients=factors.tolist(),
                   rho=[0.125])
        yield Case(f"svm_{kind}", "SVMRegressor", [x], [score], **svm)
        yield Case(f"svm_one_class_{kind}", "SVMRegressor", [x],
                   [np.where(score > 0, 1, -1).astype(np.float32)], one_class=1, **svm)
    yield Case("svm_without_vectors", "SVMRegressor", [x], [(x @ weights[0] + 0.5)[:, None]],
               coefficients=weights[0].tolist(), rho=[0.5])


def coupled(chances, classes):
    """Those p of sum 1 for which the sum of (r[j, i] p[i] - r[i, j] p[j])^2 is least: its gradient
    is the same in all directions."""
    r = np.zeros((classes, classes))
    r[np.triu_indices(classes, 1)] = chances
    r += np.tril(1 - r.T, -1)
    q = -r * r.T
    np.fill_diagonal(q, (r**2).sum(0))
    ones = np.ones((classes, 1))
    system = np.block([[q, ones], [ones.T, np.zeros((1, 1))]])
    return np.linalg.solve(system, np.eye(classes + 1)[-1])[:-1]


def pair_scores(x, kernel, vectors, per_class, coefficients, rho):
    """One score for each pair i < j, and the label that wins most."""
    ends = np.cumsum([0, *per_class])
    values, scores = kernel(x, vectors), []
    votes = np.zeros((len(x), len(per_class)), int)
    for i in range(len(per_class)):
        for j in range(i + 1, len(per_class)):
            of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            score = (values[:, of_i] @ coefficients[j - 1, of_i] +
                     values[:, of_j] @ coefficients[i, of_j] + rho[len(scores)])
            votes[np.arange(len(x)), np.where(score > 0, i, j)] += 1
            scores.append(score)
    return np.stack(scores, 1), votes.argmax(1)


KERNELS = {"LINEAR": lambda x, v: x @ v.T, "POLY": lambda x, v: (0.5 * x @ v.T + 0.25) ** 3,
           "SIGMOID": lambda x, v: np.tanh(0.5 * x @ v.T + 0.25),
           "RBF": lambda x, v: np.exp(-0.5 * ((x[:, None] - v) ** 2).sum(-1))}


def pair_models(x, classes, kernel):
    """A model, its scores of pairs and its labels."""
    per_class = [int(n) for n in RANDOM.integers(1, 4, classes)]
    pairs = classes * (classes - 1) // 2
    vectors = RANDOM.standard_normal((sum(per_class), x.shape[1])).astype(np.float32)
    coefficients = RANDOM.standard_normal((classes - 1, len(vectors))).astype(np.float32)
    rho = RANDOM.standard_normal(pairs).astype(np.float32)
    svm = dict(kernel_type=kernel, kernel_params=[0.5, 0.25, 3.0], vectors_per_class=per_class,
               support_vectors=vectors.ravel().tolist(), rho=rho.tolist(),
               coefficients=coefficients.ravel().tolist())
    return svm, *pair_scores(x, KERNELS[kernel], vectors, per_class, coefficients, rho)


def support_vector_classifiers():
    x = RANDOM.standard_normal((8, 3)).astype(np.float32)
    names = texts("a", "b", "c", "d")
    for classes in (2, 3, 4):
        ids, pairs = list(range(5, 5 + classes)), classes * (classes - 1) // 2
        for kernel in KERNELS:
            svm, scores, labels = pair_models(x, classes, kernel)
            columns = np.hstack([-scores, scores]) if classes == 2 else scores
            yield Case(f"svm_{classes}_{kernel}", "SVMClassifier", [x],
                       [i64(*ids)[labels], columns.astype(np.float32)], 3, 2e-5,
                       classlabels_ints=ids, **svm)
            likely = dict(prob_a=[-1.5] * pairs, prob_b=[0.25] * pairs)
            chances = 1 - sigmoid(likely["prob_a"] * scores + likely["prob_b"])
            wanted = np.array([coupled(row, classes) for row in chances])
            yield Case(f"svm_chances_{classes}_{kernel}", "SVMClassifier", [x],
                       [names[:classes][labels], wanted.astype(np.float32)], 3, 0.01,
                       classlabels_strings=list(names[:classes]), **svm, **likely)
        svm, scores, labels = pair_models(x, classes, "RBF")
        for transform, function in TRANSFORMS.items():
            columns = function(scores)
            if classes == 2 and transform in ("NONE", "LOGISTIC"):
                columns = function(np.hstack([-scores, scores]))
            elif classes == 2:  # ONNX Runtime applies no function to the score of one pair
                columns = np.hstack([1 - scores, scores])
            yield Case(f"svm_{classes}_{transform}", "SVMClassifier", [x],
                       [i64(*ids)[labels], columns.astype(np.float32)], 3, 2e-5,
                       classlabels_ints=ids, post_transform=transform, **svm)
    for classes in (1, 2, 3):
        for is_positive in (False, True):
            weights = RANDOM.standard_normal((classes, 3)).astype(np.float32)
            weights = abs(weights) if is_positive else weights
            scores = x @ weights.T + np.float32(0.25)
            best, largest = scores.argmax(1), scores.max(1)
            if classes == 2:
                best = np.where(largest >= 0.5 if is_positive else largest > 0, 1, best)
            yield Case(f"svm_linear_{classes}_{is_positive}", "SVMClassifier", [x],
                       [i64(7, 8, 9)[best], scores.astype(np.float32)], 3,
                       classlabels_ints=[7, 8, 9][:classes], rho=[0.25],
                       coefficients=weights.ravel().tolist())


COMPARE = {"BRANCH_LEQ": np.less_equal, "BRANCH_LT": np.less, "BRANCH_GTE": np.greater_equal,
           "BRANCH_GT": np.greater, "BRANCH_EQ": np.equal, "BRANCH_NEQ": np.not_equal}


class Trees:
    """Random complete trees, as the lists that TreeEnsembleRegressor and -Classifier have."""

    def __init__(self, count, depth, features, targets, weights_in_leaf, positive=False,
                 modes=tuple(COMPARE)):
        self.count, self.nodes, self.weights = count, {}, {}
        for tree in range(count):
            inner = 2 ** depth - 1
            for node in range(2 * inner + 1):
                if node < inner:
                    mode = modes[RANDOM.integers(len(modes))]
                    split = float(np.float32(RANDOM.integers(-2, 3) / 2))
                    self.nodes[tree, node] = (mode, int(RANDOM.integers(features)), split,
                                              2 * node + 1, 2 * node + 2, int(RANDOM.integers(2)))
                else:
                    self.nodes[tree, node] = ("LEAF", 0, 0.0, 0, 0, 0)
                    chosen = RANDOM.choice(targets, int(RANDOM.integers(1, weights_in_leaf + 1)),
                                           replace=False)
                    low = 0 if positive else -1
                    self.weights[tree, node] = [(int(t), float(np.float32(RANDOM.uniform(low, 1))))
                                                for t in chosen]

    def attributes(self, prefix):
        modes, features, splits, true, false, tracks = zip(*self.nodes.values())
        trees, nodes = zip(*self.nodes)
        flat = [(tree, node, target, weight) for (tree, node), list_ in self.weights.items()
                for target, weight in list_]
        named = dict(zip(("treeids", "nodeids", "ids", "weights"), map(list, zip(*flat))))
        return dict(nodes_modes=list(modes), nodes_featureids=list(features),
                    nodes_values=list(splits), nodes_truenodeids=list(true),
                    nodes_falsenodeids=list(false), nodes_missing_value_tracks_true=list(tracks),
                    nodes_treeids=list(trees), nodes_nodeids=list(nodes),
                    **{f"{prefix}_{name}": value for name, value in named.items()})

    def leaf(self, tree, row):
        node = 0
        while self.nodes[tree, node][0] != "LEAF":
            mode, feature, split, true, false, tracks = self.nodes[tree, node]
            value = row[feature]
            node = true if COMPARE[mode](value, split) or (np.isnan(value) and tracks) else false
        return self.weights[tree, node]

    def scores(self, x, targets, aggregate="SUM"):
        given = [[[] for _ in range(targets)] for _ in x]
        for i, row in enumerate(x):
            for tree in range(self.count):
                for target, weight in self.leaf(tree, row):
                    given[i][target].append(weight)
        function = {"SUM": sum, "AVERAGE": lambda w: sum(w) / self.count, "MIN": lambda w:
                    min(w, default=0), "MAX": lambda w: max(w, default=0)}[aggregate]
        return np.array([[function(weights) for weights in row] for row in given])


def tree_models():
    x = (RANDOM.integers(-3, 4, (40, 4)) / 2).astype(np.float32)
    x[::7, 1] = math.nan
    trees = Trees(5, 3, 4, 3, 3)
    lists = trees.attributes("target")
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        wanted = (trees.scores(x, 3, aggregate) + [1, 2, 3]).astype(np.float32)
        yield Case(f"trees_{aggregate}", "TreeEnsembleRegressor", [x], [wanted], 3, n_targets=3,
                   aggregate_function=aggregate, base_values=[1.0, 2.0, 3.0], **lists)
    yield Case("trees_softmax", "TreeEnsembleRegressor", [x],
               [softmax(trees.scores(x, 3)).astype(np.float32)], 3, n_targets=3,
               post_transform="SOFTMAX", **lists)
    whole = np.nan_to_num(x * 2).astype(np.int64)
    yield Case("trees_of_integers", "TreeEnsembleRegressor", [whole],
               [trees.scores(whole, 3).astype(np.float32)], 3, n_targets=3, **lists)
    forest = Trees(150, 4, 4, 2, 2)  # of tables above what lies in the graph
    yield Case("forest", "TreeEnsembleRegressor", [x], [forest.scores(x, 2).astype(np.float32)], 3,
               2e-5, n_targets=2, **forest.attributes("target"))
    doubles = dict(lists)
    for name in ("nodes_values", "target_weights"):
        doubles[f"{name}_as_tensor"] = tensor(np.array(doubles.pop(name), np.float64))
    yield Case("trees_of_doubles", "TreeEnsembleRegressor", [x.astype(np.float64)],
               [trees.scores(x, 3).astype(np.float32)], 3, n_targets=3, **doubles)
    classes = trees.attributes("class")
    scores = trees.scores(x, 3)
    yield Case("tree_classes", "TreeEnsembleClassifier", [x],
               [texts("a", "b", "c")[scores.argmax(1)], scores.astype(np.float32)], 3,
               classlabels_strings=["a", "b", "c"], **classes)
    for positive, name in ((True, "NONE"), (False, "NONE"), (False, "LOGISTIC")):
        stumps = Trees(4, 2, 4, 1, 1, positive)
        score = stumps.scores(x, 1)
        pair = np.hstack([1 - score if positive else -score, score])
        yield Case(f"tree_pair_{positive}_{name}", "TreeEnsembleClassifier", [x],
                   [i64(3, 4)[pair.argmax(1)], TRANSFORMS[name](pair).astype(np.float32)],
                   1, classlabels_int64s=[3, 4], post_transform=name, **stumps.attributes("class"))
    lone = dict(nodes_modes=["LEAF"], nodes_featureids=[0], nodes_values=[0.0],
                nodes_truenodeids=[0], nodes_falsenodeids=[0], nodes_treeids=[0], nodes_nodeids=[0],
                target_treeids=[0], target_nodeids=[0], target_ids=[0], target_weights=[2.5])
    yield Case("lone_leaf", "TreeEnsembleRegressor", [x], [np.full((40, 1), 2.5, np.float32)], 1,
               **lone)


def forests():
    """Many rows, which are walked side by side and shared among threads, and few; splits of one
    mode, orders alone, and with NaN."""
    orders = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")
    for name, modes in (("leq", orders[:1]), ("gt", orders[3:]), ("orders", orders),
                        ("all", tuple(COMPARE))):
        for rows in (1, 13, 700):
            forest = Trees(20, 4, 5, 1, 1, modes=modes)
            x = (RANDOM.integers(-3, 4, (rows, 5)) / 2).astype(np.float32)
            if name != "leq":
                x[:, 2] = np.where(RANDOM.integers(0, 4, rows) == 0, math.nan, x[:, 2])
            lists = forest.attributes("target")
            if name == "leq":
                del lists["nodes_missing_value_tracks_true"]
            yield Case(f"forest_{name}_{rows}", "TreeEnsembleRegressor", [x],
                       [forest.scores(x, 1).astype(np.float32)], 3, 2e-5, n_targets=1, **lists)
    bushy = Trees(9, 3, 4, 5, 5)  # trees of which a walk gives several weights
    x = RANDOM.standard_normal((21, 4)).astype(np.float32)
    scores = bushy.scores(x, 5)
    yield Case("forest_of_classes", "TreeEnsembleClassifier", [x],
               [i64(*range(5))[scores.argmax(1)], softmax(scores).astype(np.float32)], 3, 2e-5,
               classlabels_int64s=list(range(5)), post_transform="SOFTMAX",
               **bushy.attributes("class"))
    unlike = [-math.inf, math.inf, math.nan]  # numbers that a comparison with the next one misses
    x = np.array([[value] for value in (*unlike, 0.0, -0.0, 1e-45)], np.float32)
    for mode, holds in COMPARE.items():
        for split in (*unlike, 0.0):
            lists = dict(nodes_modes=[mode, "LEAF", "LEAF"], nodes_featureids=[0] * 3,
                         nodes_values=[split, 0.0, 0.0], nodes_truenodeids=[1, 0, 0],
                         nodes_falsenodeids=[2, 0, 0], nodes_treeids=[0] * 3,
                         nodes_nodeids=[0, 1, 2], target_treeids=[0, 0], target_nodeids=[1, 2],
                         target_ids=[0, 0], target_weights=[1.0, 2.0])
            yield Case(f"split_{mode}_{split}", "TreeEnsembleRegressor", [x],
                       [np.where(holds(x, np.float32(split)), 1, 2).astype(np.float32)], 3,
                       n_targets=1, **lists)


def ensembles():
    """One tree of each dtype: x[0] <= 1.5 and x[1] in {1, 4}, by TreeEnsemble's tables."""
    for dtype in (np.float16, np.float32, np.float64):
        x = np.array([[0, 1], [0, 2], [2, 1], [1.5, 4]], dtype)
        tables = dict(nodes_featureids=[0, 1], nodes_modes=tensor(np.array([0, 6], np.uint8)),
                      nodes_splits=tensor(np.array([1.5, 0], dtype)), nodes_truenodeids=[1, 0],
                      nodes_trueleafs=[0, 1], nodes_falsenodeids=[2, 1], nodes_falseleafs=[1, 1],
                      membership_values=tensor(np.array([1, 4, math.nan], dtype)),
                      leaf_targetids=[0, 1, 1], leaf_weights=tensor(np.array([5, 6, 7], dtype)),
                      tree_roots=[0, 0], n_targets=2)
        one = np.array([[5, 0], [0, 6], [0, 7], [5, 0]], dtype)
        for function, wanted in enumerate((one, 2 * one, one, one)):
            yield Case(f"ensemble_{dtype.__name__}_{function}", "TreeEnsemble", [x], [wanted],
                       aggregate_function=function, **tables)
    yield Case("ensemble_softmax", "TreeEnsemble", [x], [softmax(2 * one)], post_transform=1,
               **tables)
    yield Case("ensemble_logistic", "TreeEnsemble", [x], [sigmoid(2 * one)], post_transform=2,
               **tables)
    yield Case("ensemble_softmax_zero", "TreeEnsemble", [x], [softmax_zero(2 * one)],
               post_transform=3, **tables)


def cases():
    for group in (label_encoders, features, linear_models, support_vector_classifiers,
                  tree_models, forests, ensembles):
        yield from group()
