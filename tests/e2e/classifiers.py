"""Classifiers as skl2onnx writes them, and what they say by numpy."""
import numpy as np
from onnx import TensorProto, ValueInfoProto, helper

from models import model_of_graph

RANDOM = np.random.default_rng(13)
ML = "ai.onnx.ml"


def maps_info(name, key, value=TensorProto.FLOAT):
    """sequence(map(key, tensor(value))); helper of this onnx knows no maps."""
    info = ValueInfoProto()
    info.name = name
    map_type = info.type.sequence_type.elem_type.map_type
    map_type.key_type = key
    map_type.value_type.tensor_type.elem_type = value
    return info


def map_info(name, key, value):
    info = ValueInfoProto()
    info.name = name
    info.type.map_type.key_type = key
    info.type.map_type.value_type.tensor_type.elem_type = value
    return info


class Classifier:
    """Outputs output_label and output_probability, of X [batch, 4]."""

    FEATURES = 4

    def __init__(self, labels, ml_opset):
        self.labels, self.ml_opset = labels, ml_opset
        self.are_texts = isinstance(labels[0], str)
        self.key = TensorProto.STRING if self.are_texts else TensorProto.INT64

    def labels_attribute(self, numbers):
        return {"classlabels_strings": self.labels} if self.are_texts else {numbers: self.labels}

    def ml(self, op, inputs, outputs, **attributes):
        return helper.make_node(op, inputs, outputs, op, domain=ML, **attributes)

    def model(self, batch=None):
        """batch: None leaves it open, as skl2onnx does."""
        nodes = [*self.nodes(), self.ml("ZipMap", ["probabilities"], ["output_probability"],
                                        **self.labels_attribute("classlabels_int64s"))]
        if self.are_texts:
            nodes.insert(1, helper.make_node("Identity", ["label"], ["output_label"], "Identity"))
        else:
            nodes.insert(1, helper.make_node("Cast", ["label"], ["output_label"], "Cast",
                                             to=TensorProto.INT64))
        outputs = [helper.make_tensor_value_info("output_label", self.key, [batch]),
                   maps_info("output_probability", self.key)]
        graph = helper.make_graph(nodes, "g",
                                  [helper.make_tensor_value_info("X", TensorProto.FLOAT,
                                                                 [batch, self.FEATURES])], outputs)
        return model_of_graph(graph, 15, domains={ML: self.ml_opset}, producer_name="skl2onnx")

    def x(self, rows):
        return np.random.default_rng(rows).standard_normal((rows, self.FEATURES)).astype(np.float32)


class LogisticRegression(Classifier):
    """Of two classes the coefficients of the second, and before them the same with the other
    sign."""

    def __init__(self, labels, ml_opset):
        super().__init__(labels, ml_opset)
        self.coefficients = RANDOM.standard_normal((len(labels), self.FEATURES)).astype(np.float32)
        self.intercepts = RANDOM.standard_normal(len(labels)).astype(np.float32)
        self.is_binary = len(labels) == 2
        if self.is_binary:
            self.coefficients[0], self.intercepts[0] = -self.coefficients[1], -self.intercepts[1]

    def nodes(self):
        return [self.ml("LinearClassifier", ["X"], ["label", "probability_tensor"],
                        coefficients=self.coefficients.ravel().tolist(),
                        intercepts=self.intercepts.tolist(), multi_class=1,
                        post_transform="LOGISTIC" if self.is_binary else "SOFTMAX",
                        **self.labels_attribute("classlabels_ints")),
                self.ml("Normalizer", ["probability_tensor"], ["probabilities"], norm="L1")]

    def probabilities(self, x):
        scores = x.astype(np.float64) @ self.coefficients.T + self.intercepts
        if self.is_binary:
            return 1 / (1 + np.exp(-scores))
        powers = np.exp(scores - scores.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)


class RandomForest(Classifier):
    """Stumps: each tree compares one feature and gives every class its share at either leaf."""

    TREES = 6

    def __init__(self, labels, ml_opset):
        super().__init__(labels, ml_opset)
        self.features = RANDOM.integers(0, self.FEATURES, self.TREES)
        self.splits = RANDOM.standard_normal(self.TREES).astype(np.float32)
        shares = RANDOM.random((self.TREES, 2, len(labels)))
        self.shares = (shares / shares.sum(2, keepdims=True) / self.TREES).astype(np.float32)

    def nodes(self):
        trees, classes = range(self.TREES), range(len(self.labels))
        weights = [(tree, leaf + 1, kind, float(self.shares[tree, leaf, kind])) for tree in trees
                   for leaf in (0, 1) for kind in classes]
        attributes = dict(
            nodes_treeids=[tree for tree in trees for _ in range(3)], nodes_nodeids=[0, 1, 2] *
            self.TREES, nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * self.TREES,
            nodes_truenodeids=[1, 0, 0] * self.TREES, nodes_falsenodeids=[2, 0, 0] * self.TREES,
            nodes_hitrates=[1.0] * 3 * self.TREES, nodes_missing_value_tracks_true=[0] *
            3 * self.TREES, nodes_featureids=[feature for tree in trees
                                              for feature in (int(self.features[tree]), 0, 0)],
            nodes_values=[split for tree in trees
                          for split in (float(self.splits[tree]), 0.0, 0.0)],
            class_treeids=[row[0] for row in weights], class_nodeids=[row[1] for row in weights],
            class_ids=[row[2] for row in weights], class_weights=[row[3] for row in weights],
            post_transform="NONE")
        return [self.ml("TreeEnsembleClassifier", ["X"], ["label", "probabilities"], **attributes,
                        **self.labels_attribute("classlabels_int64s"))]

    def probabilities(self, x):
        leaves = (x[:, self.features] > self.splits).astype(int)  # [rows, trees]
        return self.shares.astype(np.float64)[np.arange(self.TREES), leaves].sum(1)
