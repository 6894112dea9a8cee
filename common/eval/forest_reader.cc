// Lays out the tables of a TreeEnsemble: branches in the order of walks, then leaves.
//
// Leaves of TreeEnsemble have one weight. A tree whose leaves have several, of several classes for
// example, was written as so many trees; they follow each other here and are walked once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/eval/forest.h"
#include "common/ops/tree_order.h"

namespace sluice::eval {
namespace {

using Ints = std::vector<int64_t>;
using TreeTables = attributes::TreeEnsemble;

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

// Some comparisons are the opposite of another one.
bool is_opposite(Mode mode) {
  return mode == Mode::kGreaterOrEqual || mode == Mode::kGreater || mode == Mode::kNotEqual;
}

TreeTest test_of(Mode mode) {
  if (mode == Mode::kMember) return TreeTest::kMember;
  return mode == Mode::kEqual || mode == Mode::kNotEqual ? TreeTest::kEqual
                                                         : TreeTest::kLessOrEqual;
}

// Returns the number that `x <= …` compares with. No number is less than -inf, no number is `<=`
// NaN, and what is neither `>` nor `>=` NaN is `<=` inf.
template <typename T>
T split_of(Mode mode, T split) {
  constexpr T kHighest = std::numeric_limits<T>::infinity();
  const bool is_order = test_of(mode) == TreeTest::kLessOrEqual;
  if (std::isnan(split) && is_order && is_opposite(mode)) return kHighest;
  if (mode != Mode::kLess && mode != Mode::kGreaterOrEqual) return split;
  return split == -kHighest ? std::numeric_limits<T>::quiet_NaN()
                            : std::nextafter(split, -kHighest);
}

bool are_below(const Ints& ids, int64_t high) {
  return std::ranges::all_of(ids, [&](int64_t id) { return id >= 0 && id < high; });
}

template <typename T>
class ForestReader {
 public:
  explicit ForestReader(const EvalCall& call)
      : call_(call),
        links_(call.node),
        features_(call.node.get(TreeTables::nodes_featureids)),
        tracks_(call.node.get(TreeTables::nodes_missing_value_tracks_true)),
        targets_(call.node.get(TreeTables::leaf_targetids)),
        splits_(call.input(1).as<T>()),
        modes_(call.input(2).as<uint8_t>()),
        weights_(call.input(3).as<T>()) {}

  Result<Forest<T>> read() {
    SLUICE_TRY(check_types());
    SLUICE_TRY(check_tables());
    SLUICE_TRY(read_members());
    auto order = order_trees(links_);
    if (!order) return call_.bad_value("{}", order.error().message);
    order_ = *std::move(order);
    forest_.trees = links_.roots.size();
    find_groups();
    place_nodes();
    for (const size_t first : first_trees_) add_group(first);
    return std::move(forest_);
  }

 private:
  Result<void> check_types() {
    forest_.targets = call_.node.get(TreeTables::n_targets);
    const Input& x = call_.input(0);
    if (x.rank() != 2 || forest_.targets < 1)
      return call_.bad_shape("input {} and {} targets, expected rank 2 and one target",
                             dims_text(x.dims), forest_.targets);
    for (const size_t i : {1, 3, 4}) {
      if (call_.has(i) && call_.input(i).dtype != x.dtype)
        return call_.unsupported(call_.input(i).logical);
    }
    if (call_.input(2).dtype != DType::kU8) return call_.unsupported(call_.input(2).logical);
    return {};
  }

  Result<void> check_tables() {
    const size_t branches = links_.branches, leaves = links_.leaves;
    const int64_t function = call_.node.get(TreeTables::aggregate_function);
    if (!links_.are_complete() || (!tracks_.empty() && tracks_.size() != branches) ||
        call_.input(1).count != static_cast<int64_t>(branches) ||
        call_.input(2).count != static_cast<int64_t>(branches) ||
        call_.input(3).count != static_cast<int64_t>(leaves)) {
      return call_.bad_shape("the tables of {} nodes and {} leaves are of different sizes",
                             branches, leaves);
    }
    if (function < 0 || function > 3)
      return call_.bad_value("attribute 'aggregate_function' is {}, expected 0 to 3", function);
    forest_.aggregate = static_cast<TreeAggregate>(function);
    if (branches + leaves >= kMissingIsTrue)
      return call_.bad_value("{} nodes and {} leaves are too many", branches, leaves);
    const int64_t width = call_.input(0).dims[1];
    if (!are_below(features_, std::min<int64_t>(width, kMissingIsTrue))) {
      return call_.bad_value("attribute 'nodes_featureids' names more than the input's {} features",
                             width);
    }
    if (!are_below(targets_, forest_.targets))
      return call_.bad_value("attribute 'leaf_targetids' names more than {} targets",
                             forest_.targets);
    if (std::any_of(modes_, modes_ + branches,
                    [](uint8_t mode) { return mode > static_cast<uint8_t>(Mode::kMember); })) {
      return call_.bad_value("nodes_modes has an element above 6");
    }
    for (const int64_t feature : features_)
      forest_.features = std::max(forest_.features, feature + 1);
    return {};
  }

  // Reads the sets, which are stored consecutively in the order of their nodes, each followed by
  // NaN.
  Result<void> read_members() {
    const Input& values = call_.input(4);
    members_.resize(links_.branches);
    const T* next = values.as<T>();
    const T* end = next + values.count;
    for (size_t branch = 0; branch < links_.branches; ++branch) {
      if (mode(branch) != Mode::kMember) continue;
      while (next != end && !std::isnan(*next)) members_[branch].push_back(*next++);
      if (next == end) return call_.bad_value("membership_values ends before the last set does");
      ++next;
      std::ranges::sort(members_[branch]);
    }
    return {};
  }

  // Finds the first tree of each group. Trees are put together only where no node belongs to two,
  // so that those of all but the first one are not needed.
  void find_groups() {
    const bool are_alone = std::ranges::all_of(
        order_.trees, [](const TreeOrder::Tree& tree) { return tree.is_alone; });
    for (size_t tree = 0; tree < order_.trees.size(); ++tree) {
      if (!are_alone || tree == 0 || !are_alike(first_trees_.back(), tree))
        first_trees_.push_back(tree);
    }
  }

  size_t branches_end(size_t tree) const {
    return tree + 1 < order_.trees.size() ? order_.trees[tree + 1].branches_begin
                                          : order_.branches.size();
  }
  size_t leaves_end(size_t tree) const {
    return tree + 1 < order_.trees.size() ? order_.trees[tree + 1].leaves_begin
                                          : order_.leaves.size();
  }

  // Returns whether trees differ in their leaves' terms only. The order of branches and which of
  // their children are leaves say where all children are.
  bool are_alike(size_t a, size_t b) const {
    const size_t a_begin = order_.trees[a].branches_begin, b_begin = order_.trees[b].branches_begin;
    if (branches_end(a) - a_begin != branches_end(b) - b_begin) return false;
    for (size_t i = 0; a_begin + i < branches_end(a); ++i)
      if (!are_alike_branches(order_.branches[a_begin + i], order_.branches[b_begin + i]))
        return false;
    return true;
  }

  bool are_alike_branches(uint32_t a, uint32_t b) const {
    const auto is_leaf = [&](size_t side, uint32_t i) { return links_.leaf_marks[side][i] != 0; };
    return features_[a] == features_[b] && splits_[a] == splits_[b] && modes_[a] == modes_[b] &&
           members_[a] == members_[b] && tracks_true(a) == tracks_true(b) &&
           is_leaf(0, a) == is_leaf(0, b) && is_leaf(1, a) == is_leaf(1, b);
  }

  // Numbers the nodes that are kept: branches, then leaves.
  void place_nodes() {
    branch_places_.resize(links_.branches);
    leaf_places_.resize(links_.leaves);
    uint32_t place = 0;
    for (const size_t tree : first_trees_)
      for (size_t i = order_.trees[tree].branches_begin; i < branches_end(tree); ++i)
        branch_places_[order_.branches[i]] = place++;
    forest_.leaves_begin = place;
    for (const size_t tree : first_trees_)
      for (size_t i = order_.trees[tree].leaves_begin; i < leaves_end(tree); ++i)
        leaf_places_[order_.leaves[i]] = place++;
    forest_.nodes.resize(place);
    for (uint32_t leaf = forest_.leaves_begin; leaf < place; ++leaf)
      forest_.nodes[leaf].next = {leaf, leaf};
    choose_tests();
  }

  void choose_tests() {
    const bool has_sets = std::any_of(modes_, modes_ + links_.branches, [](uint8_t m) {
      return test_of(static_cast<Mode>(m)) != TreeTest::kLessOrEqual;
    });
    bool missing = false;
    for (size_t i = 0; i < links_.branches; ++i) missing = missing || missing_is_true(i);
    if (missing) forest_.tests = TreeTests::kOrdersAndMissing;
    if (!has_sets) return;
    forest_.tests = TreeTests::kAny;
    forest_.node_tests.resize(forest_.leaves_begin);
    forest_.members.resize(forest_.leaves_begin);
  }

  void add_group(size_t tree) {
    const size_t next = next_group(tree), leaves = leaves_end(tree);
    const size_t first_leaf = order_.trees[tree].leaves_begin;
    for (size_t i = order_.trees[tree].branches_begin; i < branches_end(tree); ++i)
      add_branch(order_.branches[i]);
    const auto terms = static_cast<uint32_t>(forest_.terms.size());
    const bool is_alone = order_.trees[tree].is_alone;
    forest_.groups.push_back(
        {branch_places_[static_cast<size_t>(links_.roots[tree])],
         static_cast<uint32_t>(next - tree),
         is_alone ? forest_.leaves_begin + leaves_placed_ : forest_.leaves_begin,
         is_alone ? terms : 0});
    for (size_t i = 0; first_leaf + i < leaves; ++i)
      for (size_t t = tree; t < next; ++t)
        add_term(order_.leaves[order_.trees[t].leaves_begin + i]);
    leaves_placed_ += static_cast<uint32_t>(leaves - first_leaf);
  }

  // Returns the first tree of the group after that of `tree`, which is its first one.
  size_t next_group(size_t tree) const {
    const auto next = std::ranges::upper_bound(first_trees_, tree);
    return next == first_trees_.end() ? order_.trees.size() : *next;
  }

  void add_branch(uint32_t branch) {
    const uint32_t place = branch_places_[branch];
    TreeNode<T>& node = forest_.nodes[place];
    node.split = split_of(mode(branch), splits_[branch]);
    node.feature =
        static_cast<uint32_t>(features_[branch]) | (missing_is_true(branch) ? kMissingIsTrue : 0);
    for (size_t side = 0; side < 2; ++side) {
      const auto child = static_cast<size_t>(links_.children[side][branch]);
      node.next[is_opposite(mode(branch)) ? 1 - side : side] =
          links_.leaf_marks[side][branch] != 0 ? leaf_places_[child] : branch_places_[child];
    }
    if (forest_.node_tests.empty()) return;
    forest_.node_tests[place] = test_of(mode(branch));
    forest_.members[place] = std::move(members_[branch]);
  }

  void add_term(uint32_t leaf) {
    forest_.terms.push_back({static_cast<uint32_t>(targets_[leaf]), weights_[leaf]});
  }

  Mode mode(size_t branch) const { return static_cast<Mode>(modes_[branch]); }
  bool tracks_true(size_t branch) const { return !tracks_.empty() && tracks_[branch] != 0; }

  // Returns whether the comparison of the layout holds for NaN.
  bool missing_is_true(size_t branch) const {
    if (mode(branch) == Mode::kNotEqual) return false;  // NaN differs from every number
    return is_opposite(mode(branch)) != tracks_true(branch);
  }

  const EvalCall& call_;
  const TreeLinks links_;
  const Ints features_, tracks_, targets_;
  const T* splits_;
  const uint8_t* modes_;
  const T* weights_;
  std::vector<std::vector<T>> members_;  // by branch
  TreeOrder order_;
  std::vector<size_t> first_trees_;  // of the groups
  std::vector<uint32_t> branch_places_, leaf_places_;
  uint32_t leaves_placed_ = 0;
  Forest<T> forest_;
};

}  // namespace

template <typename T>
Result<Forest<T>> Forest<T>::read(const EvalCall& call) {
  return ForestReader<T>(call).read();
}

template Result<Forest<float>> Forest<float>::read(const EvalCall& call);
template Result<Forest<double>> Forest<double>::read(const EvalCall& call);

}  // namespace sluice::eval
