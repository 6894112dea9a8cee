// Sums over decision trees.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

// The numbers are those of ONNX.
enum class Mode : uint8_t {
  kLessOrEqual,
  kLess,
  kGreaterOrEqual,
  kGreater,
  kEqual,
  kNotEqual,
  kMember
};
enum class Aggregate : uint8_t { kAverage, kSum, kMin, kMax };

using Ints = std::vector<int64_t>;

template <typename T>
struct Forest {
  const T* splits = nullptr;
  const uint8_t* modes = nullptr;
  const T* weights = nullptr;
  Ints features, true_ids, false_ids, true_leaves, false_leaves, tracks_true, targets, roots;
  std::vector<std::vector<T>> members;  // by node; empty except for kMember

  bool goes_true(size_t node, T value) const {
    if (std::isnan(value) && !tracks_true.empty() && tracks_true[node] != 0) return true;
    const T split = splits[node];
    switch (static_cast<Mode>(modes[node])) {
      case Mode::kLessOrEqual:
        return value <= split;
      case Mode::kLess:
        return value < split;
      case Mode::kGreaterOrEqual:
        return value >= split;
      case Mode::kGreater:
        return value > split;
      case Mode::kEqual:
        return value == split;
      case Mode::kNotEqual:
        return value != split;
      case Mode::kMember:
        return std::ranges::find(members[node], value) != members[node].end();
    }
    return false;
  }

  // Returns the leaf of `row`, or -1 when the nodes form a cycle.
  int64_t leaf(const T* row, int64_t root) const {
    auto node = static_cast<size_t>(root);
    for (size_t steps = 0; steps < features.size(); ++steps) {
      const bool is_true = goes_true(node, row[features[node]]);
      const int64_t next = is_true ? true_ids[node] : false_ids[node];
      if ((is_true ? true_leaves : false_leaves)[node] != 0) return next;
      node = static_cast<size_t>(next);
    }
    return -1;
  }
};

bool are_below(const Ints& ids, size_t high) {
  return std::ranges::all_of(
      ids, [&](int64_t id) { return id >= 0 && id < static_cast<int64_t>(high); });
}

bool are_children(const Ints& ids, const Ints& leaf_marks, size_t nodes, size_t leaves) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || static_cast<size_t>(ids[i]) >= (leaf_marks[i] != 0 ? leaves : nodes))
      return false;
  }
  return true;
}

// Reads the sets, which are stored consecutively in the order of their nodes, each followed by NaN.
template <typename T>
bool read_members(const Input& values, Forest<T>& forest) {
  forest.members.resize(forest.features.size());
  const T* next = values.as<T>();
  const T* end = next + values.count;
  for (size_t node = 0; node < forest.features.size(); ++node) {
    if (static_cast<Mode>(forest.modes[node]) != Mode::kMember) continue;
    while (next != end && !std::isnan(*next)) forest.members[node].push_back(*next++);
    if (next == end) return false;
    ++next;
  }
  return true;
}

template <typename T>
Result<Forest<T>> read_forest(const EvalCall& call, int64_t width, int64_t targets) {
  const Node& node = call.node;
  const Input &splits = call.input(1), &modes = call.input(2), &weights = call.input(3),
              &members = call.input(4);
  Forest<T> forest{splits.as<T>(),
                   modes.as<uint8_t>(),
                   weights.as<T>(),
                   node.get(attributes::TreeEnsemble::nodes_featureids),
                   node.get(attributes::TreeEnsemble::nodes_truenodeids),
                   node.get(attributes::TreeEnsemble::nodes_falsenodeids),
                   node.get(attributes::TreeEnsemble::nodes_trueleafs),
                   node.get(attributes::TreeEnsemble::nodes_falseleafs),
                   node.get(attributes::TreeEnsemble::nodes_missing_value_tracks_true),
                   node.get(attributes::TreeEnsemble::leaf_targetids),
                   node.get(attributes::TreeEnsemble::tree_roots),
                   {}};
  const size_t nodes = forest.features.size(), leaves = forest.targets.size();
  const bool sizes = forest.true_ids.size() == nodes && forest.false_ids.size() == nodes &&
                     forest.true_leaves.size() == nodes && forest.false_leaves.size() == nodes &&
                     (forest.tracks_true.empty() || forest.tracks_true.size() == nodes);
  if (!sizes || splits.count != static_cast<int64_t>(nodes) || modes.count != splits.count ||
      weights.count != static_cast<int64_t>(leaves)) {
    return call.bad_shape("the tables of {} nodes and {} leaves are of different sizes", nodes,
                          leaves);
  }
  if (!are_below(forest.features, static_cast<size_t>(width))) {
    return call.bad_value("attribute 'nodes_featureids' names more than the input's {} features",
                          width);
  }
  if (!are_below(forest.roots, nodes) || !are_below(forest.targets, static_cast<size_t>(targets)) ||
      !are_children(forest.true_ids, forest.true_leaves, nodes, leaves) ||
      !are_children(forest.false_ids, forest.false_leaves, nodes, leaves)) {
    return call.bad_value("a node, leaf or target is named that is not there");
  }
  if (std::any_of(forest.modes, forest.modes + nodes,
                  [](uint8_t mode) { return mode > static_cast<uint8_t>(Mode::kMember); })) {
    return call.bad_value("nodes_modes has an element above 6");
  }
  if (!read_members(members, forest))
    return call.bad_value("membership_values ends before the last set does");
  return forest;
}

void add(Aggregate aggregate, double weight, double& score, uint8_t& any) {
  if (any == 0) {
    score = weight;
  } else if (aggregate == Aggregate::kMin) {
    score = std::min(score, weight);
  } else if (aggregate == Aggregate::kMax) {
    score = std::max(score, weight);
  } else {
    score += weight;
  }
  any = 1;
}

}  // namespace

Result<void> eval_tree_ensemble(EvalCall& call) {
  const Input& x = call.input(0);
  const int64_t targets = call.node.get(attributes::TreeEnsemble::n_targets);
  const int64_t function = call.node.get(attributes::TreeEnsemble::aggregate_function);
  if (x.rank() != 2 || targets < 1)
    return call.bad_shape("input {} and {} targets, expected rank 2 and one target",
                          dims_text(x.dims), targets);
  if (function < 0 || function > 3)
    return call.bad_value("attribute 'aggregate_function' is {}, expected 0 to 3", function);
  for (const size_t i : {1, 3, 4}) {
    if (call.has(i) && call.input(i).dtype != x.dtype)
      return call.unsupported(call.input(i).logical);
  }
  if (call.input(2).dtype != DType::kU8) return call.unsupported(call.input(2).logical);
  const auto aggregate = static_cast<Aggregate>(function);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, {x.dims[0], targets}));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    SLUICE_ASSIGN(const Forest<T> forest, read_forest<T>(call, x.dims[1], targets));
    const auto trees = static_cast<double>(forest.roots.size());
    for (int64_t row = 0; row < x.dims[0]; ++row) {
      std::vector<double> scores(static_cast<size_t>(targets));
      std::vector<uint8_t> any(scores.size());
      for (const int64_t root : forest.roots) {
        const int64_t leaf = forest.leaf(x.as<T>() + row * x.dims[1], root);
        if (leaf < 0) return call.bad_value("the tree with root {} has a circle", root);
        const auto target = static_cast<size_t>(forest.targets[static_cast<size_t>(leaf)]);
        add(aggregate, static_cast<double>(forest.weights[leaf]), scores[target], any[target]);
      }
      for (int64_t i = 0; i < targets; ++i) {
        const double score = scores[static_cast<size_t>(i)];
        y.as<T>()[row * targets + i] =
            static_cast<T>(aggregate == Aggregate::kAverage && trees > 0 ? score / trees : score);
      }
    }
    return {};
  });
}

}  // namespace sluice::eval
