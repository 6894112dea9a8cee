// Here a leaf may have several weights, each of a target; a leaf of TreeEnsemble has one. So a tree
// is repeated as often as its leaf with most weights has weights, each time with another weight of
// each leaf; a leaf without further weights adds a neutral value: 0 to a sum, its first weight once
// more to a minimum or maximum.
#include "stages/preprocess/onnx/ml/trees.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "common/ir/module.h"

namespace sluice {
namespace {

using TreeNodeAttributes = ml_attributes::TreeNodes;

using Ints = std::vector<int64_t>;
using Place = std::pair<int64_t, int64_t>;  // tree, node

constexpr RealsAttribute kSplits{TreeNodeAttributes::nodes_values,
                                 TreeNodeAttributes::nodes_values_as_tensor};

struct Weight {
  int64_t target = 0;
  double weight = 0;
};

// The attributes as the node has them.
struct NodeLists {
  Ints trees, nodes, features, true_nodes, false_nodes, tracks_true;
  std::vector<std::string> modes;
  std::vector<double> splits;
  std::map<Place, size_t> places;                // of nodes in these lists
  std::map<Place, std::vector<Weight>> weights;  // of leaves
};

// The attributes of TreeEnsemble.
struct Tables {
  Ints features, true_ids, false_ids, true_leaves, false_leaves, tracks_true, targets, roots;
  std::vector<uint8_t> modes;
  std::vector<double> splits, weights;
};

std::optional<uint8_t> mode_number(const std::string& name) {
  constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  const auto* found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<uint8_t>(found - std::begin(kNames));
}

Result<void> read_weights(ExpandCall& call, const TreeWeights& wanted, NodeLists& lists) {
  const WeightAttributes& names = wanted.attributes;
  const Ints trees = call.get(names.trees), nodes = call.get(names.nodes),
             targets = call.get(names.ids);
  SLUICE_ASSIGN(const std::vector<double> weights, reals_of(call, names.weights));
  if (trees.size() != nodes.size() || trees.size() != targets.size() ||
      trees.size() != weights.size()) {
    return call.bad("the attributes '{}' are of different lengths", names.together);
  }
  for (size_t i = 0; i < trees.size(); ++i) {
    const int64_t target = wanted.one_target ? 0 : targets[i];
    if (target < 0 || target >= wanted.targets) {
      return call.bad("attribute '{}' has the element {}, expected 0 to {}", names.ids.name, target,
                      wanted.targets - 1);
    }
    if (!lists.places.contains({trees[i], nodes[i]})) {
      return call.bad("the attributes '{}' have a weight of node {} of tree {}, which is not there",
                      names.together, nodes[i], trees[i]);
    }
    lists.weights[{trees[i], nodes[i]}].push_back({target, weights[i]});
  }
  return {};
}

Result<NodeLists> read_lists(ExpandCall& call, const TreeWeights& wanted) {
  NodeLists lists{call.get(TreeNodeAttributes::nodes_treeids),
                  call.get(TreeNodeAttributes::nodes_nodeids),
                  call.get(TreeNodeAttributes::nodes_featureids),
                  call.get(TreeNodeAttributes::nodes_truenodeids),
                  call.get(TreeNodeAttributes::nodes_falsenodeids),
                  call.get(TreeNodeAttributes::nodes_missing_value_tracks_true),
                  call.get(TreeNodeAttributes::nodes_modes),
                  {},
                  {},
                  {}};
  SLUICE_ASSIGN(lists.splits, reals_of(call, kSplits));
  const size_t count = lists.trees.size();
  if (lists.tracks_true.empty()) lists.tracks_true.resize(count);
  if (lists.nodes.size() != count || lists.features.size() != count ||
      lists.true_nodes.size() != count || lists.false_nodes.size() != count ||
      lists.tracks_true.size() != count || lists.modes.size() != count ||
      lists.splits.size() != count) {
    return call.bad("the attributes 'nodes_…' are of different lengths");
  }
  for (size_t i = 0; i < count; ++i) {
    if (!lists.places.emplace(Place(lists.trees[i], lists.nodes[i]), i).second) {
      return call.bad("tree {} has node {} twice", lists.trees[i], lists.nodes[i]);
    }
  }
  SLUICE_TRY(read_weights(call, wanted, lists));
  return lists;
}

class Builder {
 public:
  Builder(ExpandCall& call, const NodeLists& lists, bool is_sum)
      : call_(call), lists_(lists), is_sum_(is_sum) {}

  // Adds one copy of the tree of the nodes in `members`, with the weights at `turn` of its leaves.
  Result<void> add_tree(std::span<const size_t> members, size_t turn) {
    ids_.clear();
    for (const size_t i : members) {
      SLUICE_TRY(number(i, turn));
    }
    for (const size_t i : members) {
      if (!is_leaf(i)) SLUICE_TRY(add_branch(i));
    }
    return add_root(members);
  }
  Tables tables;

 private:
  bool is_leaf(size_t i) const { return lists_.modes[i] == "LEAF"; }

  Result<void> number(size_t i, size_t turn) {
    if (!is_leaf(i)) {
      ids_[i] = static_cast<int64_t>(next_branch_++);
      return {};
    }
    const auto found = lists_.weights.find({lists_.trees[i], lists_.nodes[i]});
    Weight weight;
    if (found != lists_.weights.end() && turn < found->second.size()) {
      weight = found->second[turn];
    } else if (found != lists_.weights.end()) {
      weight = {found->second[0].target, is_sum_ ? 0 : found->second[0].weight};
    } else if (!is_sum_) {
      return call_.unsupported(
          "leaf {} of tree {} has no weight, of which there is no minimum or maximum",
          lists_.nodes[i], lists_.trees[i]);
    }
    ids_[i] = static_cast<int64_t>(tables.targets.size());
    tables.targets.push_back(weight.target);
    tables.weights.push_back(weight.weight);
    return {};
  }

  Result<void> add_child(size_t parent, int64_t node, Ints& ids, Ints& leaves) {
    const auto found = lists_.places.find({lists_.trees[parent], node});
    if (found == lists_.places.end())
      return call_.bad("tree {} has no node {}", lists_.trees[parent], node);
    ids.push_back(ids_.at(found->second));
    leaves.push_back(is_leaf(found->second) ? 1 : 0);
    children_.push_back(found->second);
    return {};
  }

  Result<void> add_branch(size_t i) {
    const auto mode = mode_number(lists_.modes[i]);
    if (!mode) return call_.bad("attribute 'nodes_modes' has the element '{}'", lists_.modes[i]);
    SLUICE_TRY(add_child(i, lists_.true_nodes[i], tables.true_ids, tables.true_leaves));
    SLUICE_TRY(add_child(i, lists_.false_nodes[i], tables.false_ids, tables.false_leaves));
    tables.features.push_back(lists_.features[i]);
    tables.modes.push_back(*mode);
    tables.splits.push_back(lists_.splits[i]);
    tables.tracks_true.push_back(lists_.tracks_true[i]);
    return {};
  }

  // Adds the node that is not a child as the root. A lone leaf gets a branch both ends of which are
  // that leaf.
  Result<void> add_root(std::span<const size_t> members) {
    std::ranges::sort(children_);
    const auto is_no_child = [&](size_t i) { return !std::ranges::binary_search(children_, i); };
    const auto root = std::ranges::find_if(members, is_no_child);
    if (root == members.end()) return call_.bad("tree {} has no root", lists_.trees[members[0]]);
    const auto other = std::find_if(root + 1, members.end(), is_no_child);
    if (other != members.end()) {
      return call_.bad("tree {} has two roots: nodes {} and {} are no children",
                       lists_.trees[*root], lists_.nodes[*root], lists_.nodes[*other]);
    }
    if (is_leaf(*root) && members.size() > 1) {
      return call_.bad("tree {} has a circle: its root, node {}, is a leaf", lists_.trees[*root],
                       lists_.nodes[*root]);
    }
    children_.clear();
    if (!is_leaf(*root)) {
      tables.roots.push_back(ids_.at(*root));
      return {};
    }
    tables.roots.push_back(static_cast<int64_t>(next_branch_++));
    for (Ints* ids : {&tables.true_ids, &tables.false_ids}) ids->push_back(ids_.at(*root));
    for (Ints* leaves : {&tables.true_leaves, &tables.false_leaves}) leaves->push_back(1);
    for (Ints* zeros : {&tables.features, &tables.tracks_true}) zeros->push_back(0);
    tables.modes.push_back(0);
    tables.splits.push_back(0);
    return {};
  }

  ExpandCall& call_;
  const NodeLists& lists_;
  const bool is_sum_;
  size_t next_branch_ = 0;
  std::map<size_t, int64_t> ids_;  // of the tree's nodes, among branches or among leaves
  std::vector<size_t> children_;
};

// Returns nodes by tree, in the order of the trees' first nodes.
std::vector<std::vector<size_t>> members_of_trees(const NodeLists& lists) {
  std::vector<std::vector<size_t>> members;
  std::map<int64_t, size_t> index;
  for (size_t i = 0; i < lists.trees.size(); ++i) {
    const auto [found, is_new] = index.emplace(lists.trees[i], members.size());
    if (is_new) members.emplace_back();
    members[found->second].push_back(i);
  }
  return members;
}

size_t max_weights(const NodeLists& lists, std::span<const size_t> members) {
  size_t maximum = 1;
  for (const size_t i : members) {
    const auto found = lists.weights.find({lists.trees[i], lists.nodes[i]});
    if (found != lists.weights.end()) maximum = std::max(maximum, found->second.size());
  }
  return maximum;
}

Value* reals(ExpandCall& call, const std::vector<double>& elements, DType dtype) {
  if (dtype != DType::kF64) return call.floats({elements.begin(), elements.end()});
  const auto bytes = std::as_bytes(std::span(elements));
  return call.constant(DType::kF64, {static_cast<int64_t>(elements.size())},
                       {bytes.begin(), bytes.end()});
}

Value* add_ensemble(ExpandCall& call, const Tables& tables, const TreeWeights& weights, Value* x,
                    DType dtype) {
  const auto modes = std::as_bytes(std::span(tables.modes));
  Value* mode_table =
      call.constant(DType::kU8, {static_cast<int64_t>(modes.size())}, {modes.begin(), modes.end()});
  const int64_t aggregate = weights.aggregate == "MIN" ? 2 : weights.aggregate == "MAX" ? 3 : 1;
  return call.add(
      Op::kTreeEnsemble,
      {x, reals(call, tables.splits, dtype), mode_table, reals(call, tables.weights, dtype)},
      {{"aggregate_function", aggregate},
       {"leaf_targetids", tables.targets},
       {"n_targets", weights.targets},
       {"nodes_falseleafs", tables.false_leaves},
       {"nodes_falsenodeids", tables.false_ids},
       {"nodes_featureids", tables.features},
       {"nodes_missing_value_tracks_true", tables.tracks_true},
       {"nodes_trueleafs", tables.true_leaves},
       {"nodes_truenodeids", tables.true_ids},
       {"tree_roots", tables.roots}});
}

template <typename T>
std::vector<double> as_doubles(std::span<const std::byte> bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(T));
  return {elements.begin(), elements.end()};
}

}  // namespace

Result<std::vector<double>> reals_of(ExpandCall& call, const RealsAttribute& attribute) {
  if (!call.has(attribute.tensor)) {
    const std::vector<float> floats = call.get(attribute.floats);
    return std::vector<double>(floats.begin(), floats.end());
  }
  SLUICE_ASSIGN(const Value* value, call.tensor(attribute.tensor));
  const Module& module = call.graph.module();
  const Type& type = value->type();
  if (type.dtype != DType::kF32 && type.dtype != DType::kF64) {
    return call.bad("attribute '{}' is of dtype {}, expected f32 or f64", attribute.tensor.name,
                    dtype_name(type.dtype));
  }
  const Segment& segment = module.segment(value->segment());
  const bool is_splat = segment.kind == SegmentKind::kSplat;
  std::span<const std::byte> bytes(segment.data);
  if (!is_splat) {
    SLUICE_ASSIGN(bytes, module.bytes(value->segment()));
  }
  std::vector<double> elements =
      type.dtype == DType::kF32 ? as_doubles<float>(bytes) : as_doubles<double>(bytes);
  if (is_splat && !elements.empty())
    elements.assign(static_cast<size_t>(type.element_count().value_or(0)), elements[0]);
  return elements;
}

Result<Value*> tree_scores(ExpandCall& call, const TreeWeights& weights) {
  SLUICE_ASSIGN(const DType given, call.dtype(0));
  const DType dtype = given == DType::kF64 ? DType::kF64 : DType::kF32;
  Value* x = given == dtype ? call.input(0) : call.cast(call.input(0), dtype);
  const bool is_sum = weights.aggregate == "SUM" || weights.aggregate == "AVERAGE";
  SLUICE_ASSIGN(const NodeLists lists, read_lists(call, weights));
  const auto trees = members_of_trees(lists);
  if (trees.empty()) return call.bad("attribute 'nodes_treeids' is absent or empty");
  Builder builder(call, lists, is_sum);
  for (const std::vector<size_t>& members : trees) {
    for (size_t turn = 0; turn < max_weights(lists, members); ++turn)
      SLUICE_TRY(builder.add_tree(members, turn));
  }
  Value* scores = add_ensemble(call, builder.tables, weights, x, dtype);
  if (weights.aggregate != "AVERAGE") return scores;
  return call.add(Op::kDiv, {scores, reals(call, {static_cast<double>(trees.size())}, dtype)});
}

}  // namespace sluice
