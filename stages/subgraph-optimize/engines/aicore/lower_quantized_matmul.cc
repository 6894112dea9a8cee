// Products of matrices of bytes whose second one is read as it is in memory become one kernel each,
// which packs it.
#include "stages/subgraph-optimize/codegen/int8/int8.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"

namespace sluice {
namespace {

class QuantizedMatMulLowering {
 public:
  QuantizedMatMulLowering(Lowering& lowering, const Contraction& contraction,
                          const QuantizedContraction& quantized)
      : lowering_(lowering), contraction_(contraction), q_(quantized) {}

  Result<void> run() {
    SLUICE_TRY(add_dense(*q_.x.integers));
    SLUICE_TRY(add_dense(*q_.w.integers));
    SLUICE_TRY(add_product());
    set_numbers();
    // The epilogue's operands follow the zero points.
    operands_.insert(operands_.end(), read_.begin(), read_.end());
    const KernelId kernel = lowering_.kernel(spec_, generate_int8_matmul);
    return lowering_.replace(contraction_, std::move(operands_), kernel,
                             dense_map(contraction_.node->output().type().dims.size()));
  }

 private:
  Result<Value*> dense(const Value& inside) const {
    return lowering_.dense(lowering_.operand_value(contraction_, inside), contraction_.node);
  }

  Result<void> add_dense(const Value& inside) {
    SLUICE_ASSIGN(Value * value, dense(inside));
    operands_.push_back({&inside, value});
    return {};
  }

  Result<void> add_product() {
    StoredOperands stored{operands_[0].value, operands_[1].value, {}};
    if (q_.result->type().dtype == DType::kI32) {
      SLUICE_ASSIGN(spec_.product, make_matmul_spec(contraction_, stored));
      return {};
    }
    SLUICE_ASSIGN(const loop::LoweredEpilogue epilogue, lower_epilogue(contraction_, &q_));
    for (const loop::EpilogueRead& own : epilogue.reads) {
      SLUICE_ASSIGN(Value * value, dense(*own.value));
      stored.epilogue.emplace_back(&own, value);
      read_.push_back({own.value, value});
    }
    SLUICE_ASSIGN(spec_.product, make_matmul_spec(contraction_, stored));
    spec_.product.epilogue.loops = epilogue.loops;
    spec_.product.epilogue.math = lowering_.math();
    return {};
  }

  void set_numbers() {
    Int8Numbers& numbers = spec_.numbers;
    numbers.x_signed = q_.x.integers->type().dtype == DType::kI8;
    spec_.w_signed = q_.w.integers->type().dtype == DType::kI8;
    if (const Value* zero = q_.w.zero_point; zero != nullptr) {
      numbers.has_w_zero = true;
      spec_.w_zero_per_column = zero->type().element_count() != 1;
      operands_.push_back({zero, &lowering_.operand_value(contraction_, *zero)});
    }
    if (const Value* zero = q_.x.zero_point; zero != nullptr) {
      const auto known = known_number(contraction_, *zero);
      numbers.x_zero = static_cast<int32_t>(known.value_or(0));
      numbers.x_zero_is_operand = !known.has_value();
      if (!known) operands_.push_back({zero, &lowering_.operand_value(contraction_, *zero)});
    }
  }

  Lowering& lowering_;
  const Contraction& contraction_;
  const QuantizedContraction& q_;
  Int8MatMulSpec spec_;
  std::vector<Lowering::Operand> operands_, read_;
};

}  // namespace

Result<void> lower_quantized_matmul(Lowering& lowering, const Contraction& contraction,
                                    const QuantizedContraction& quantized) {
  return QuantizedMatMulLowering(lowering, contraction, quantized).run();
}

}  // namespace sluice
