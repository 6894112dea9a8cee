// NhwcMaxPool is MaxPool with the channels in the last axis.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/channels_last.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

using MaxPoolAttributes = microsoft_attributes::NhwcMaxPool;

Result<void> expand_nhwc_max_pool(ExpandCall& call) {
  SLUICE_ASSIGN(const int64_t rank, call.rank(0));
  if (rank < 3) return call.bad("input 0 has rank {}, expected at least 3", rank);
  Node& node =
      call.add_node(Op::kMaxPool, {call.transpose(call.input(0), channels_first_order(rank))}, 1);
  call.copy(node, MaxPoolAttributes::auto_pad, MaxPoolAttributes::ceil_mode,
            MaxPoolAttributes::dilations, MaxPoolAttributes::kernel_shape, MaxPoolAttributes::pads,
            MaxPoolAttributes::strides);
  call.results[0] = call.transpose(&node.output(), channels_last_order(rank));
  return {};
}

}  // namespace sluice
