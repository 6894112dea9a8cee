// QLinearGlobalAveragePool is GlobalAveragePool of quantized numbers.
#include "stages/preprocess/onnx/microsoft/channels_last.h"
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/quantized.h"

namespace sluice {

Result<void> expand_qlinear_global_average_pool(ExpandCall& call) {
  SLUICE_ASSIGN(Value * result, pool_of(call, dequantized(call, 0), [&](Value* x) {
                  return call.add(Op::kGlobalAveragePool, {x});
                }));
  call.results[0] = quantized(call, result, 3, call.input(0));
  return {};
}

}  // namespace sluice
