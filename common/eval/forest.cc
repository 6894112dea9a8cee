// The walks of a forest. A walk waits for memory at each step; so 16 go on at a time, of 16 rows
// through one tree, or of one row through 16 trees:
//
//   for tiles of rows:
//     for trees: for 16 rows: walk; add the terms of their leaves
//     for remaining rows: for 16 trees: walk; add the terms of their leaves, in order
#include "common/eval/forest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace sluice::eval {
namespace {

constexpr size_t kLanes = 16;
constexpr int64_t kTileRows = 64;  // that walk through a tree while it is in the nearest cache
constexpr double kStepNs = 2;
constexpr double kMinBlockNs = 20e3;
constexpr int64_t kBlocks = 16;  // that many rows are divided into, at least

// NaN, which no order takes, is no member.
template <typename T>
bool has_member(const std::vector<T>& sorted, T value) {
  return !std::isnan(value) && std::ranges::binary_search(sorted, value);
}

template <TreeTests kTests, typename T>
bool goes_true(const Forest<T>& forest, uint32_t at, const TreeNode<T>& node, const T* row) {
  if constexpr (kTests == TreeTests::kOrders) return row[node.feature] <= node.split;
  const T value = row[node.feature & ~kMissingIsTrue];
  const bool is_missing = std::isnan(value) & ((node.feature & kMissingIsTrue) != 0);
  if constexpr (kTests == TreeTests::kAny) {
    if (at < forest.leaves_begin && forest.node_tests[at] == TreeTest::kEqual)
      return is_missing || value == node.split;
    if (at < forest.leaves_begin && forest.node_tests[at] == TreeTest::kMember)
      return is_missing || has_member(forest.members[at], value);
  }
  return static_cast<bool>((value <= node.split) | is_missing);
}

// Walks from the nodes `at` to leaves. Lane i reads the row at rows + i * stride; stride is a
// number or the constant 0, of which the compiler makes one row.
template <TreeTests kTests, typename T, typename Stride>
void walk(const Forest<T>& forest, const T* rows, Stride stride, std::array<uint32_t, kLanes>& at) {
  const TreeNode<T>* nodes = forest.nodes.data();
  const uint32_t leaves_begin = forest.leaves_begin;
  std::array<uint32_t, kLanes> place = at;
  for (uint32_t first = 0; first < leaves_begin;) {
    first = leaves_begin;
#pragma GCC unroll 16
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const TreeNode<T>& node = nodes[place[lane]];
      const T* row = rows + static_cast<int64_t>(lane) * stride;
      place[lane] = node.next[goes_true<kTests>(forest, place[lane], node, row) ? 1 : 0];
      first = std::min(first, place[lane]);
    }
  }
  at = place;
}

// The scores of a tile of rows.
template <typename T>
class Scores {
 public:
  Scores(const Forest<T>& forest, int64_t rows)
      : forest_(forest),
        is_sum_(forest.aggregate == TreeAggregate::kSum ||
                forest.aggregate == TreeAggregate::kAverage),
        sums_(static_cast<size_t>(rows * forest.targets)),
        any_(is_sum_ ? 0 : sums_.size()) {}

  // Adds the terms of a leaf of the group to a row.
  void add(int64_t row, const TreeGroup& group, uint32_t leaf) {
    const TreeTerm<T>* term = terms_of(group, leaf);
    const auto first = static_cast<size_t>(row * forest_.targets);
    for (const TreeTerm<T>* end = term + group.trees; term != end; ++term) {
      if (is_sum_) {
        sums_[first + term->target] += static_cast<double>(term->weight);
      } else {
        combine(first + term->target, static_cast<double>(term->weight));
      }
    }
  }

  // Adds those of a leaf of each of `count` groups.
  void add(int64_t row, const TreeGroup* groups, size_t count, const uint32_t* leaves) {
    if (!is_sum_ || forest_.targets > 1) {
      for (size_t i = 0; i < count; ++i) add(row, groups[i], leaves[i]);
      return;
    }
    double sum = sums_[static_cast<size_t>(row)];
    for (size_t i = 0; i < count; ++i) {
      const TreeTerm<T>* terms = terms_of(groups[i], leaves[i]);
      for (uint32_t k = 0; k < groups[i].trees; ++k) sum += static_cast<double>(terms[k].weight);
    }
    sums_[static_cast<size_t>(row)] = sum;
  }

  void give(T* y) const {
    const bool is_mean = forest_.aggregate == TreeAggregate::kAverage && forest_.trees > 0;
    const double divisor = is_mean ? static_cast<double>(forest_.trees) : 1;
    for (size_t i = 0; i < sums_.size(); ++i) y[i] = static_cast<T>(sums_[i] / divisor);
  }

 private:
  const TreeTerm<T>* terms_of(const TreeGroup& group, uint32_t leaf) const {
    return &forest_.terms[group.terms_begin + size_t{leaf - group.leaves_begin} * group.trees];
  }

  void combine(size_t i, double weight) {
    const bool is_min = forest_.aggregate == TreeAggregate::kMin;
    if (any_[i] == 0) {
      sums_[i] = weight;
    } else {
      sums_[i] = is_min ? std::min(sums_[i], weight) : std::max(sums_[i], weight);
    }
    any_[i] = 1;
  }

  const Forest<T>& forest_;
  const bool is_sum_;
  std::vector<double> sums_;
  std::vector<uint8_t> any_;  // whether a tree gave the element a weight
};

template <TreeTests kTests, typename T>
void score_row(const Forest<T>& forest, const T* x, int64_t row, Scores<T>& scores) {
  const std::vector<TreeGroup>& groups = forest.groups;
  for (size_t first = 0; first < groups.size(); first += kLanes) {
    const size_t count = std::min(kLanes, groups.size() - first);
    std::array<uint32_t, kLanes> at;
    for (size_t lane = 0; lane < kLanes; ++lane)
      at[lane] = groups[first + std::min(lane, count - 1)].root;
    walk<kTests>(forest, x, std::integral_constant<int64_t, 0>(), at);
    scores.add(row, &groups[first], count, at.data());
  }
}

}  // namespace

template <typename T>
template <TreeTests kTests>
void Forest<T>::score_tile(const T* x, int64_t width, int64_t rows, T* y) const {
  constexpr auto kWalks = static_cast<int64_t>(kLanes);
  Scores<T> scores(*this, rows);
  const int64_t whole = rows / kWalks * kWalks;
  for (const TreeGroup& group : groups) {
    for (int64_t row = 0; row < whole; row += kWalks) {
      std::array<uint32_t, kLanes> at;
      at.fill(group.root);
      walk<kTests>(*this, x + row * width, width, at);
      for (size_t lane = 0; lane < kLanes; ++lane)
        scores.add(row + static_cast<int64_t>(lane), group, at[lane]);
    }
  }
  for (int64_t row = whole; row < rows; ++row)
    score_row<kTests>(*this, x + row * width, row, scores);
  scores.give(y);
}

template <typename T>
void Forest<T>::score(const T* x, int64_t width, int64_t rows, T* y) const {
  for (int64_t row = 0; row < rows; row += kTileRows) {
    const T* from = x + row * width;
    T* to = y + row * targets;
    const int64_t count = std::min(kTileRows, rows - row);
    switch (tests) {
      case TreeTests::kOrders:
        score_tile<TreeTests::kOrders>(from, width, count, to);
        break;
      case TreeTests::kOrdersAndMissing:
        score_tile<TreeTests::kOrdersAndMissing>(from, width, count, to);
        break;
      case TreeTests::kAny:
        score_tile<TreeTests::kAny>(from, width, count, to);
        break;
    }
  }
}

template class Forest<float>;
template class Forest<double>;

// About as many steps as a balanced tree of as many nodes has levels.
AnyForest::AnyForest(std::variant<Forest<float>, Forest<double>> forest)
    : forest_(std::move(forest)) {
  std::visit(
      [&](const auto& any) {
        const size_t trees = std::max<size_t>(any.groups.size(), 1);
        const int levels = std::bit_width(any.leaves_begin / trees);
        row_ns_ = static_cast<double>(trees) * levels * kStepNs;
      },
      forest_);
}

Result<AnyForest> AnyForest::read(const Node& node, std::span<const TensorView> inputs) {
  std::vector<Operand> operands;
  for (const TensorView& input : inputs) operands.push_back({input, nullptr});
  const EvalOptions options;
  EvalCall call(node, operands, {}, options);
  SLUICE_TRY(call.start(kPromoteNone));
  if (call.input(0).dtype == DType::kF64) {
    SLUICE_ASSIGN(auto forest, Forest<double>::read(call));
    return AnyForest(std::move(forest));
  }
  SLUICE_ASSIGN(auto forest, Forest<float>::read(call));
  return AnyForest(std::move(forest));
}

int64_t AnyForest::features() const {
  return std::visit([](const auto& forest) { return forest.features; }, forest_);
}

int64_t AnyForest::rows_of_block(int64_t rows) const {
  const auto worth = static_cast<int64_t>(std::ceil(kMinBlockNs / std::max(row_ns_, 1.0)));
  const auto shared = std::clamp<int64_t>(rows / kBlocks, 1, kTileRows);
  const int64_t count = std::max(worth, shared);
  const auto lanes = static_cast<int64_t>(kLanes);
  return count < lanes ? count : (count + lanes - 1) / lanes * lanes;
}

void AnyForest::score(const std::byte* x, int64_t width, int64_t rows, std::byte* y) const {
  std::visit(
      [&]<typename T>(const Forest<T>& forest) {
        forest.score(reinterpret_cast<const T*>(x), width, rows, reinterpret_cast<T*>(y));
      },
      forest_);
}

}  // namespace sluice::eval
