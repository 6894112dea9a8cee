#include "stages/preprocess/onnx/unknown_attributes.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "common/ops/op_table.h"
#include "stages/preprocess/onnx/node_order.h"

namespace sluice {
namespace {

struct OtherFormRow {
  Op op;
  std::string_view words;  // with a blank before and after each
};

// Attributes of forms of other opsets that change results.
constexpr OtherFormRow kOtherForms[] = {
    {Op::kAdd, " axis "},
    {Op::kAnd, " axis "},
    {Op::kClip, " max min "},
    {Op::kDFT, " axis "},
    {Op::kDiv, " axis "},
    {Op::kEqual, " axis "},
    {Op::kGreater, " axis "},
    {Op::kLess, " axis "},
    {Op::kMul, " axis "},
    {Op::kOr, " axis "},
    {Op::kPad, " paddings pads value "},
    {Op::kPow, " axis "},
    {Op::kReduceL1, " axes "},
    {Op::kReduceL2, " axes "},
    {Op::kReduceLogSum, " axes "},
    {Op::kReduceLogSumExp, " axes "},
    {Op::kReduceMax, " axes "},
    {Op::kReduceMean, " axes "},
    {Op::kReduceMin, " axes "},
    {Op::kReduceProd, " axes "},
    {Op::kReduceSum, " axes "},
    {Op::kReduceSumSquare, " axes "},
    {Op::kReshape, " shape "},
    {Op::kResize, " height_scale scales width_scale "},
    {Op::kScan, " directions "},
    {Op::kSlice, " axes ends starts "},
    {Op::kSplit, " split "},
    {Op::kSqueeze, " axes "},
    {Op::kSub, " axis "},
    {Op::kTopK, " k "},
    {Op::kUnsqueeze, " axes "},
    {Op::kXor, " axis "},
};

bool is_of_other_form(Op op, const std::string& name) {
  const auto* row = std::ranges::find(kOtherForms, op, &OtherFormRow::op);
  return row != std::end(kOtherForms) &&
         row->words.find(" " + name + " ") != std::string_view::npos;
}

}  // namespace

bool knows_attribute(Op op, std::string_view name) {
  const OpRow* row = find_op(op);
  return row != nullptr &&
         std::ranges::find(row->attributes, name, &AttributeRow::name) != row->attributes.end();
}

std::string unknown_attribute_text(const onnx::NodeProto& node, std::string_view attribute) {
  return fmt::format("{}: attribute '{}' is not known and has no effect", node_label(node),
                     attribute);
}

void drop_unknown_attributes(const onnx::NodeProto& proto, Node& node, Warnings& warnings) {
  std::vector<std::string> unknown;
  for (const Attribute& attribute : node.attributes()) {
    if (!knows_attribute(node.op(), attribute.name) && !is_of_other_form(node.op(), attribute.name))
      unknown.push_back(attribute.name);
  }
  for (const std::string& name : unknown) {
    node.remove_attribute(name);
    warnings.add(Leniency::kUnknownAttribute, unknown_attribute_text(proto, name));
  }
}

}  // namespace sluice
