// Takes the JSON of --annotate.
#include "common/base/memory.h"
#include "stages/preprocess/onnx/annotation_rules.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  auto rules = within_memory([&] { return AnnotationRules::parse(fuzz::text_of(data, size)); });
  if (!rules) {
    fuzz::expect_unsupported_reason(rules.error());
    return 0;
  }
  onnx::NodeProto node;
  node.set_name("/decoder/layers.0/softmax");
  node.set_op_type("Softmax");
  Placement placement;
  rules->apply(node, placement);
  static_cast<void>(rules->unmatched());
  return 0;
}
