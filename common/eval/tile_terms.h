// A constant expression, nested ones included, as one list of terms, and the evaluation of boxes of
// them.
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
  kPad,          // inputs[0] behind numbers[axis] elements per axis; the rest is `fill`
};

struct Term {
  TermKind kind = TermKind::kBytes;
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;
  const std::byte* data = nullptr;
  std::shared_ptr<const Tensor> owner;  // of data that was evaluated here
  const Node* node = nullptr;
  std::vector<int32_t> inputs;  // terms; -1 an absent input
  std::vector<int64_t> numbers;
  std::vector<std::byte> fill;
  uint32_t uses = 0;
  uint32_t depth = 0;  // of terms below it
};

// Part of a term's value.
struct Piece {
  StridedView view;
  std::shared_ptr<const Tensor> owner;
};

// Evaluates boxes of terms on one thread; a box of a term with several uses is kept until the next
// box of it.
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
// Without gaps, copied only where there are some.
Piece dense(Piece piece, DType dtype);
// And where a kernel can read it: is_aligned.
Piece readable(Piece piece, DType dtype);

}  // namespace sluice::eval
