// The domain "sluice": ops of the compiler that ONNX does not have.
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/bodies.h"
#include "common/ops/families.h"

namespace sluice {
namespace {

// Infers a node whose inputs are the body's inputs and whose results are the body's results.
Result<void> infer_through(InferCall& call, const BodyAttribute& attribute) {
  SLUICE_ASSIGN(Graph * body, find_body(call, attribute));
  SLUICE_TRY(check_body(call, *body, static_cast<int64_t>(call.input_count()),
                        static_cast<int64_t>(call.node.output_count())));
  std::vector<BodyInput> inputs;
  for (size_t i = 0; i < call.input_count(); ++i)
    inputs.push_back({call.input_type(i), static_cast<int64_t>(i)});
  SLUICE_TRY(infer_body(call, *body, inputs, true, call.changed));
  for (size_t i = 0; i < call.node.output_count(); ++i)
    SLUICE_TRY(call.give_type(i, body->outputs()[i]->type()));
  return {};
}

Result<void> infer_call(InferCall& call) { return infer_through(call, attributes::Call::graph); }

Result<void> infer_fused(InferCall& call) { return infer_through(call, attributes::Fused::body); }

Result<void> infer_copy(InferCall& call) { return call.give_type(0, call.input_type(0)); }

// Infers nothing: the results keep the types that were set, since no value of them ever exists.
Result<void> infer_nothing(InferCall&) { return {}; }

Result<void> infer_stream_switch(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kBoolSet));
  return call.expect_one_element(0);
}

constexpr OpRow kRows[] = {
    {Op::kCall, 0, -1, 0, -1, kControlFlow | kAnyKind, attribute_rows::Call, infer_call},
    {Op::kFail, 0, 0, 1, -1, kAnyKind, attribute_rows::Fail, infer_nothing},
    {Op::kFused, 1, -1, 1, -1, kControlFlow | kAnyKind, attribute_rows::Fused, infer_fused},
    {Op::kMemCopy, 1, 1, 1, 1, kElementwise | kAnyKind, {}, infer_copy},
    {Op::kStreamActive, 0, 1, 0, 0, kAnyKind, {}, infer_nothing},
    {Op::kStreamSwitch, 1, 1, 0, 0, 0, {}, infer_stream_switch},
    {Op::kTransData, 1, 1, 1, 1, kElementwise, {}, infer_copy},
};

}  // namespace

std::span<const OpRow> sluice_rows() { return kRows; }

}  // namespace sluice
