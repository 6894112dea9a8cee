// The trees of a TreeEnsemble, read once from its tables and walked for any number of rows.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "common/eval/call.h"

namespace sluice::eval {

// A branch, or a leaf, which leads to itself: walks of several rows, or trees, go on in step until
// the last of them has come to a leaf.
template <typename T>
struct TreeNode {
  T split = 0;
  uint32_t feature = 0;                   // and kMissingIsTrue
  std::array<uint32_t, 2> next = {0, 0};  // [1]: where the comparison is true
};
inline constexpr uint32_t kMissingIsTrue = uint32_t{1} << 31;

// What a leaf adds to a row.
template <typename T>
struct TreeTerm {
  uint32_t target = 0;
  T weight = 0;
};

// A tree, or several that differ in the terms of their leaves only and are walked once.
struct TreeGroup {
  uint32_t root = 0;
  uint32_t trees = 1;
  uint32_t leaves_begin = 0;  // the node that terms are counted from
  uint32_t terms_begin = 0;   // of that node; each leaf has one for each tree
};

// All orders of numbers are one comparison: `x < s` is `x <= the number before s`, and the others
// are these with their children exchanged.
enum class TreeTest : uint8_t { kLessOrEqual, kEqual, kMember };
enum class TreeTests : uint8_t { kOrders, kOrdersAndMissing, kAny };
enum class TreeAggregate : uint8_t { kAverage, kSum, kMin, kMax };  // the numbers are those of ONNX

template <typename T>
class Forest {
 public:
  // Reads the tables of a call's node, and checks them. Errors: kBadShape, kBadValue.
  static Result<Forest> read(const EvalCall& call);

  // Computes y [rows, targets] of x [rows, width], which has all features. The trees' terms are
  // added in the order of the trees, in f64.
  void score(const T* x, int64_t width, int64_t rows, T* y) const;

  int64_t targets = 1;
  int64_t features = 0;  // that a row must have
  TreeAggregate aggregate = TreeAggregate::kSum;
  TreeTests tests = TreeTests::kOrders;
  size_t trees = 0;
  uint32_t leaves_begin = 0;  // nodes from here on are leaves
  std::vector<TreeNode<T>> nodes;
  std::vector<TreeTerm<T>> terms;
  std::vector<TreeGroup> groups;
  std::vector<TreeTest> node_tests;     // by branch; empty unless tests is kAny
  std::vector<std::vector<T>> members;  // by branch, sorted; the same

 private:
  template <TreeTests kTests>
  void score_tile(const T* x, int64_t width, int64_t rows, T* y) const;
};

extern template class Forest<float>;
extern template class Forest<double>;

// A forest of either dtype, for a node whose tables are constant.
class AnyForest {
 public:
  // inputs: those of a TreeEnsemble; of the first one, dims and dtype are read. It is f32 or f64.
  static Result<AnyForest> read(const Node& node, std::span<const TensorView> inputs);

  int64_t features() const;
  // How many rows are worth a block of their own: so many take some 20 µs, and few enough share
  // `rows` among threads.
  int64_t rows_of_block(int64_t rows) const;
  void score(const std::byte* x, int64_t width, int64_t rows, std::byte* y) const;

 private:
  explicit AnyForest(std::variant<Forest<float>, Forest<double>> forest);

  std::variant<Forest<float>, Forest<double>> forest_;
  double row_ns_ = 0;  // about what a row takes
};

}  // namespace sluice::eval
