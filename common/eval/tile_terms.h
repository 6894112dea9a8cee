// A constant expression, nested ones included, as one list of terms, and the evaluation of boxes of
// the terms.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "common/base/tensor.h"
#include "common/eval/eval.h"
#include "common/eval/strided.h"

namespace sluice::eval {

enum class TermKind : uint8_t {
  kBytes,        // data, dense
  kSplat,        // data, one element
  kElementwise,  // node over inputs
  kTranspose,    // numbers: the permutation
  kReshape,      // the elements of inputs[0] under other dims
  kPad,          // inputs[0] after numbers[axis] elements per axis; the others are `fill`
};

struct Term {
  TermKind kind = TermKind::kBytes;
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;
  const std::byte* data = nullptr;
  std::shared_ptr<const Tensor> owner;  // keeps data alive that was evaluated here
  const Node* node = nullptr;
  std::vector<int32_t> inputs;  // indices of terms; -1 for an absent input
  std::vector<int64_t> numbers;
  std::vector<std::byte> fill;
  uint32_t uses = 0;
  uint32_t depth = 0;  // the depth of the terms below it
};

// A part of a term's value.
struct Piece {
  StridedView view;
  std::shared_ptr<const Tensor> owner;
};

// Evaluates boxes of terms on one thread. A box of a term with several uses is kept until the next
// box of that term is evaluated.
class BoxEvaluation {
 public:
  explicit BoxEvaluation(std::span<const Term> terms) : terms_(terms) {}
  Result<Piece> evaluate(int32_t term, const Box& box);

 private:
  Result<Piece> compute(const Term& term, const Box& box);
  Result<Piece> compute_elementwise(const Term& term, const Box& box);
  Result<Piece> compute_pad(const Term& term, const Box& box);
  Result<Piece> transpose(const Term& term, const Box& box);
  Result<Piece> reshape(const Term& term, const Box& box);

  std::span<const Term> terms_;
  std::map<int32_t, std::pair<Box, Piece>> kept_;
};

size_t width_of(DType dtype);  // bytes of an element
// Returns the piece without gaps; copies it only when it has some.
Piece dense(Piece piece, DType dtype);
// Returns the dense piece aligned for kernels (is_aligned).
Piece readable(Piece piece, DType dtype);

}  // namespace sluice::eval
