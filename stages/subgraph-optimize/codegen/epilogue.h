// The program that a kernel applies to each result before it stores it: straight-line, over vectors
// of output elements.
//
// A program is a list of instructions; instruction i defines value i and reads earlier values only.
// The last value is stored. An empty program stores the accumulator. Example, relu(acc +
// bias[column] + residual):
//
//   EpilogueBuilder e;
//   int sum = e.add(e.accumulator(), e.load(EpilogueOperand::column()));
//   sum = e.add(sum, e.load(EpilogueOperand::full(row_stride)));
//   spec.epilogue = e.finish(e.relu(sum));
//
// NaN: every op with a NaN operand produces NaN (relu, max, min and clip too, as ONNX Runtime
// does). exp, tanh, erf, sigmoid have a relative error below 1e-6 against double precision, are
// exact in their limits for large |x|, and return +-0, 1 or infinity there as the true function
// rounds.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "stages/subgraph-optimize/codegen/extent.h"

namespace sluice {

// The position of the elements of an extra f32 operand relative to the output element (batch
// indices, row, column). Strides are in elements; 0 broadcasts. For a MatMul a row is a row of C
// and batch_strides has one stride per MatMulSpec.batch entry (or is empty: all 0). For a Conv a
// row is an output pixel in the order oh, ow of one image, the column is the output channel, and
// batch_strides is empty (row_stride then counts pixels over all images) or contains the one stride
// from image to image.
struct EpilogueOperand {
  std::vector<Extent> batch_strides;
  Extent row_stride = 0;
  Extent column_stride = 0;  // 0 or 1, fixed

  static EpilogueOperand scalar() { return {}; }
  static EpilogueOperand column() { return {{}, 0, 1}; }  // bias per output channel
  static EpilogueOperand row(Extent stride = 1) {
    return {{}, std::move(stride), 0};
  }  // one element per row
  static EpilogueOperand full(Extent row_stride,
                              std::vector<Extent> batch_strides = {}) {  // residual
    return {std::move(batch_strides), std::move(row_stride), 1};
  }
  bool operator==(const EpilogueOperand&) const = default;
};

enum class EpilogueOp : uint8_t {
  kAccumulator,  // the sum of products
  kConstant,     // `constant`
  kLoad,         // operand number a of Epilogue.operands
  kAdd,          // a + b
  kSub,          // a - b
  kMul,          // a * b
  kDiv,          // a / b
  kMax,          // max(a, b)
  kMin,          // min(a, b)
  kNeg,          // -a
  kAbs,          // |a|
  kRelu,         // max(a, 0)
  kExp,
  kTanh,
  kErf,
  kSigmoid,  // 1 / (1 + exp(-a))
  kSqrt,
  kReciprocal,      // 1 / a
  kSelectPositive,  // a > 0 ? b : c (a NaN a selects c); with mul: leaky relu, elu
};

struct EpilogueInstruction {
  EpilogueOp op = EpilogueOp::kAccumulator;
  int a = -1, b = -1, c = -1;
  float constant = 0;
  bool operator==(const EpilogueInstruction&) const = default;
};

struct Epilogue {
  std::vector<EpilogueInstruction> code;
  // The pointers follow the kernel's own, in this order; all are f32.
  std::vector<EpilogueOperand> operands;
  bool operator==(const Epilogue&) const = default;
};

// Returns the number of values that an op reads besides constants and operands: 0 to 3.
int epilogue_arity(EpilogueOp op);

// Returns kCodegen when a value reads itself or a later one, an operand does not exist, a column
// stride is not 0 or 1, or batch_strides has neither 0 nor `batch_rank` entries.
Result<void> check_epilogue(const Epilogue& epilogue, size_t batch_rank);
bool is_fixed(const Epilogue& epilogue);  // whether no stride has symbols
std::string canonical_text(const Epilogue& epilogue);

// Writes programs; every call returns the number of the new value.
class EpilogueBuilder {
 public:
  int accumulator() { return push({EpilogueOp::kAccumulator}); }
  int constant(float value) { return push({EpilogueOp::kConstant, -1, -1, -1, value}); }
  int load(EpilogueOperand operand) {
    epilogue_.operands.push_back(std::move(operand));
    return push({EpilogueOp::kLoad, static_cast<int>(epilogue_.operands.size()) - 1});
  }
  int unary(EpilogueOp op, int a) { return push({op, a}); }
  int binary(EpilogueOp op, int a, int b) { return push({op, a, b}); }
  int add(int a, int b) { return binary(EpilogueOp::kAdd, a, b); }
  int sub(int a, int b) { return binary(EpilogueOp::kSub, a, b); }
  int mul(int a, int b) { return binary(EpilogueOp::kMul, a, b); }
  int relu(int a) { return unary(EpilogueOp::kRelu, a); }
  int clip(int a, float low, float high) {
    return binary(EpilogueOp::kMin, binary(EpilogueOp::kMax, a, constant(low)), constant(high));
  }
  int leaky_relu(int a, float slope) {
    const int scaled = mul(a, constant(slope));
    return push({EpilogueOp::kSelectPositive, a, a, scaled});
  }
  int select_positive(int a, int b, int c) { return push({EpilogueOp::kSelectPositive, a, b, c}); }
  // Makes `result`, any earlier value, the stored one.
  Epilogue finish(int result);

 private:
  int push(EpilogueInstruction instruction) {
    epilogue_.code.push_back(instruction);
    return static_cast<int>(epilogue_.code.size()) - 1;
  }
  Epilogue epilogue_;
};

}  // namespace sluice
