// QLinearAveragePool is AveragePool of quantized numbers.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/channels_last.h"
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/quantized.h"

namespace sluice {

using AveragePoolAttributes = microsoft_attributes::QLinearAveragePool;

Result<void> expand_qlinear_average_pool(ExpandCall& call) {
  SLUICE_ASSIGN(Value * result, pool_of(call, dequantized(call, 0), [&](Value* x) {
                  Node& node = call.add_node(Op::kAveragePool, {x}, 1);
                  call.copy(node, AveragePoolAttributes::auto_pad, AveragePoolAttributes::ceil_mode,
                            AveragePoolAttributes::count_include_pad,
                            AveragePoolAttributes::kernel_shape, AveragePoolAttributes::pads,
                            AveragePoolAttributes::strides);
                  return &node.output();
                }));
  call.results[0] = quantized(call, result, 3, call.input(0));
  return {};
}

}  // namespace sluice
