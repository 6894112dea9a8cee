// Unique gives the different elements in the order of their first occurrence, where each element of
// the input is among them, and how often each occurs.
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_unique(ExpandCall& call) {
  const Node& node = call.add_node(Op::kUnique, {call.input(0)}, 4, {{"sorted", int64_t{0}}});
  call.results[0] = &node.output(0);
  if (call.wants(1)) call.results[1] = &node.output(2);
  if (call.wants(2)) call.results[2] = &node.output(3);
  return {};
}

}  // namespace sluice
