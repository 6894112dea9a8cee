// The domain ai.onnx.ml: the parts that other ops cannot express. Tables are inputs; ONNX has them
// as attributes, lists or tensors by version. post_transform becomes separate nodes after the op.
#include <algorithm>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"
#include "common/ops/tree_order.h"

namespace sluice {
namespace {

constexpr uint32_t kLabelSet =
    dtype_set({DType::kString, DType::kI64, DType::kF32, DType::kI32, DType::kF64, DType::kI16});
constexpr uint32_t kCategorySet = dtype_set({DType::kString, DType::kI64});

// Infers (X, keys [K], values [K], default): replaces each element of X by its key's value.
Result<void> infer_label_encoder(InferCall& call) {
  for (const size_t i : {0, 2}) SLUICE_TRY(call.expect_dtype(i, kLabelSet));
  SLUICE_TRY(call.expect_same_dtype(1, 0));
  SLUICE_TRY(call.expect_same_dtype(3, 2));
  for (const size_t i : {1, 2}) SLUICE_TRY(call.expect_rank(i, 1));
  SLUICE_TRY(call.expect_one_element(3));
  SLUICE_TRY(call.unify(call.dim(1, 0), call.dim(2, 0), "keys and values"));
  return call.give(0, call.dtype(2), call.shape(0));
}

// Infers (X, categories [C]): adds an axis with a one at the element's category.
Result<void> infer_one_hot_encoder(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kCategorySet));
  SLUICE_TRY(call.expect_same_dtype(1, 0));
  SLUICE_TRY(call.expect_rank(1, 1));
  Shape shape = call.shape(0);
  if (shape) shape->push_back(call.dim(1, 0));
  return call.give(0, DType::kF32, std::move(shape));
}

Result<void> expect_ids(const InferCall& call, const IntsAttribute& attribute, size_t count,
                        int64_t high) {
  const std::vector<int64_t> ids = call.node.get(attribute);
  if (ids.size() != count)
    return call.bad_node("attribute '{}' has {} elements, expected {}", attribute.name, ids.size(),
                         count);
  const auto wrong = std::ranges::find_if(ids, [&](int64_t id) { return id < 0 || id >= high; });
  if (wrong == ids.end()) return {};
  return call.bad_node("attribute '{}' has the element {}, expected 0 to {}", attribute.name,
                       *wrong, high - 1);
}

// Checks that every walk through the trees ends at a leaf.
Result<void> expect_trees(const InferCall& call) {
  const auto order = order_trees(TreeLinks(call.node));
  return order ? Result<void>() : call.bad_node("{}", order.error().message);
}

// Checks that the input has each feature that a node compares.
Result<void> expect_features(InferCall& call) {
  using Tree = attributes::TreeEnsemble;
  const std::vector<int64_t> features = call.node.get(Tree::nodes_featureids);
  if (features.empty()) return {};
  const Dim width = call.dim(0, 1);
  const int64_t high = width.is_fixed() ? width.value : INT32_MAX;
  SLUICE_TRY(expect_ids(call, Tree::nodes_featureids, features.size(), high));
  return call.expect_min(width, *std::ranges::max_element(features) + 1, "the number of features");
}

// Infers (X [N, F], nodes_splits [nodes], nodes_modes [nodes], leaf_weights [leaves],
// membership_values): [N, n_targets].
Result<void> infer_tree_ensemble(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, dtype_set({DType::kF16, DType::kF32, DType::kF64})));
  SLUICE_TRY(call.expect_rank(0, 2));
  for (const size_t i : {1, 3, 4}) SLUICE_TRY(call.expect_same_dtype(i, 0));
  SLUICE_TRY(call.expect_dtype(2, dtype_set({DType::kU8})));
  for (const size_t i : {1, 2, 3, 4}) SLUICE_TRY(call.expect_rank(i, 1));
  using Tree = attributes::TreeEnsemble;
  const size_t nodes = call.node.get(Tree::nodes_featureids).size();
  const size_t leaves = call.node.get(Tree::leaf_targetids).size();
  const int64_t targets = call.node.get(Tree::n_targets);
  if (targets < 1)
    return call.bad_node("attribute 'n_targets' is {}, expected at least 1", targets);
  const int64_t aggregate = call.node.get(Tree::aggregate_function);
  if (aggregate < 0 || aggregate > 3)
    return call.bad_node("attribute 'aggregate_function' is {}, expected 0 to 3", aggregate);
  const int64_t maximum = static_cast<int64_t>(std::max(nodes, leaves));
  for (const IntsAttribute& attribute : {Tree::nodes_truenodeids, Tree::nodes_falsenodeids})
    SLUICE_TRY(expect_ids(call, attribute, nodes, maximum));
  for (const IntsAttribute& attribute : {Tree::nodes_trueleafs, Tree::nodes_falseleafs})
    SLUICE_TRY(expect_ids(call, attribute, nodes, 2));
  SLUICE_TRY(expect_ids(call, Tree::tree_roots, call.node.get(Tree::tree_roots).size(),
                        static_cast<int64_t>(nodes)));
  SLUICE_TRY(expect_trees(call));
  SLUICE_TRY(expect_features(call));
  SLUICE_TRY(expect_ids(call, Tree::leaf_targetids, leaves, targets));
  for (const size_t i : {1, 2})
    SLUICE_TRY(call.unify(call.dim(i, 0), Dim::fixed(static_cast<int64_t>(nodes)), "nodes"));
  SLUICE_TRY(call.unify(call.dim(3, 0), Dim::fixed(static_cast<int64_t>(leaves)), "leaves"));
  return call.give(0, call.dtype(0), Dims{call.dim(0, 0), Dim::fixed(targets)});
}

// Infers (map, vocabulary [V]): the map's values in the vocabulary's order, zero or "" for an
// absent key, as [1, V].
Result<void> infer_dict_vectorizer(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kCategorySet));
  SLUICE_TRY(call.expect_rank(1, 1));
  const Type& map = call.input_type(0);
  const bool is_unknown = map.kind == TypeKind::kUnknown;
  if (!is_unknown && map.kind != TypeKind::kMap)
    return call.bad_node("{} is not a map", call.input_name(0));
  if (!is_unknown && map.dtype != call.dtype(1)) {
    return call.bad_node("{} has keys of {}, its vocabulary is of {}", call.input_name(0),
                         dtype_name(map.dtype), dtype_name(call.dtype(1)));
  }
  const DType value = is_unknown ? DType::kUndefined : call.module.type(map.element).dtype;
  return call.give(0, value, Dims{Dim::fixed(1), call.dim(1, 0)});
}

// Infers (X [N, C] or [C], keys [C]): for each row a map from the keys to its elements.
Result<void> infer_zip_map(InferCall& call) {
  const TypeKind kind = call.input_type(0).kind;
  if (kind != TypeKind::kTensor && kind != TypeKind::kUnknown)
    return call.bad_node("{} is not a tensor", call.input_name(0));
  SLUICE_TRY(call.expect_dtype(0, dtype_set({DType::kF32})));
  SLUICE_TRY(call.expect_dtype(1, kCategorySet));
  SLUICE_TRY(call.expect_rank(0, 1, 2));
  SLUICE_TRY(call.expect_rank(1, 1));
  if (const Shape shape = call.shape(0))
    SLUICE_TRY(call.unify(shape->back(), call.dim(1, 0), "columns and keys"));
  const TypeId value = call.module.intern(Type::fixed_tensor(DType::kF32, {}));
  return call.give_type(0, Type::sequence(call.module.intern(Type::map(call.dtype(1), value))));
}

constexpr OpRow kMlRows[] = {
    {Op::kDictVectorizer, 2, 2, 1, 1, kAnyKind, {}, infer_dict_vectorizer},
    {Op::kLabelEncoder, 4, 4, 1, 1, 0, {}, infer_label_encoder},
    {Op::kOneHotEncoder, 2, 2, 1, 1, 0, attribute_rows::OneHotEncoder, infer_one_hot_encoder},
    {Op::kTreeEnsemble, 4, 5, 1, 1, 0, attribute_rows::TreeEnsemble, infer_tree_ensemble},
    {Op::kZipMap, 2, 2, 1, 1, kAnyKind, {}, infer_zip_map},
};

}  // namespace

std::span<const OpRow> ml_rows() { return kMlRows; }

}  // namespace sluice
