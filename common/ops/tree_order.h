// How the branches and leaves that a TreeEnsemble names by number hang together. It is a header
// alone, so that the evaluator needs no library of the op table.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/ops/attributes.h"

namespace sluice {

struct TreeLinks {
  explicit TreeLinks(const Node& node)
      : roots(node.get(attributes::TreeEnsemble::tree_roots)),
        children{node.get(attributes::TreeEnsemble::nodes_falsenodeids),
                 node.get(attributes::TreeEnsemble::nodes_truenodeids)},
        leaf_marks{node.get(attributes::TreeEnsemble::nodes_falseleafs),
                   node.get(attributes::TreeEnsemble::nodes_trueleafs)},
        branches(node.get(attributes::TreeEnsemble::nodes_featureids).size()),
        leaves(node.get(attributes::TreeEnsemble::leaf_targetids).size()) {}

  bool are_complete() const {
    for (size_t side = 0; side < 2; ++side)
      if (children[side].size() != branches || leaf_marks[side].size() != branches) return false;
    return true;
  }

  std::vector<int64_t> roots;
  std::array<std::vector<int64_t>, 2> children;    // by branch; [1]: where its comparison is true
  std::array<std::vector<int64_t>, 2> leaf_marks;  // 0: the child is a branch
  size_t branches = 0;
  size_t leaves = 0;
};

// The branches and leaves that walks can come to, each once: those of the first tree, then those of
// the second one that are new, and so on. A branch stands before its children, a true child before
// the false one.
struct TreeOrder {
  struct Tree {
    size_t branches_begin = 0;
    size_t leaves_begin = 0;
    bool is_alone = true;  // no walk comes to one of its nodes in two ways
  };
  std::vector<uint32_t> branches;
  std::vector<uint32_t> leaves;
  std::vector<Tree> trees;  // by root
};

// Visits the trees one after the other; a path from the root is kept instead of a recursion,
// because trees may be as deep as they have nodes.
class TreeVisit {
 public:
  explicit TreeVisit(const TreeLinks& links)
      : links_(links), branches_(links.branches), leaves_(links.leaves) {}

  Result<TreeOrder> order() {
    for (const int64_t root : links_.roots) {
      order_.trees.push_back({order_.branches.size(), order_.leaves.size()});
      SLUICE_TRY(enter(root, false));
      SLUICE_TRY(follow_path(root));
    }
    return std::move(order_);
  }

 private:
  enum class State : uint8_t { kNew, kOnPath, kDone };
  struct Step {
    uint32_t branch = 0;
    size_t sides_left = 2;
  };

  Result<void> follow_path(int64_t root) {
    while (!path_.empty()) {
      Step& step = path_.back();
      if (step.sides_left == 0) {
        branches_[step.branch] = State::kDone;
        path_.pop_back();
        continue;
      }
      const size_t side = --step.sides_left, branch = step.branch;
      const int64_t child = links_.children[side][branch];
      const bool is_leaf = links_.leaf_marks[side][branch] != 0;
      SLUICE_TRY(enter(child, is_leaf));
      if (!has_circle_) continue;
      return make_error(ErrorCode::kBadValue, "the tree with root {} has a circle", root);
    }
    return {};
  }

  Result<void> enter(int64_t id, bool is_leaf) {
    std::vector<State>& states = is_leaf ? leaves_ : branches_;
    if (id < 0 || static_cast<size_t>(id) >= states.size()) {
      return make_error(ErrorCode::kBadValue, "there is no {} {}, only {}",
                        is_leaf ? "leaf" : "branch", id, states.size());
    }
    State& state = states[static_cast<size_t>(id)];
    has_circle_ = state == State::kOnPath;
    if (state != State::kNew) {
      order_.trees.back().is_alone = false;
      return {};
    }
    (is_leaf ? order_.leaves : order_.branches).push_back(static_cast<uint32_t>(id));
    state = is_leaf ? State::kDone : State::kOnPath;
    if (!is_leaf) path_.push_back({static_cast<uint32_t>(id)});
    return {};
  }

  const TreeLinks& links_;
  std::vector<State> branches_;
  std::vector<State> leaves_;
  std::vector<Step> path_;
  bool has_circle_ = false;
  TreeOrder order_;
};

// Errors: kBadValue for a child or root that is not there, and for circles. links are complete.
inline Result<TreeOrder> order_trees(const TreeLinks& links) { return TreeVisit(links).order(); }

}  // namespace sluice
