#include "common/tools/show_onnx/decompositions.h"

#include <algorithm>

#include "common/ops/attributes.h"
#include "common/tools/show_onnx/forms.h"

namespace sluice {
namespace {

constexpr size_t kPastKey = 4, kPastValue = 5, kLengths = 6;  // operands of Attention

// Keys are hidden by a score that ONNX's operator does not know.
bool has_hidden_score(const Node& node) {
  const Value* mask = node.input(3);
  return mask != nullptr && mask->type().dtype == DType::kBool &&
         node.has(attributes::Attention::hidden_score);
}

// Queries lie by length, keys and values by head, or the other way around.
bool has_mixed_ranks(const Node& node) {
  for (const size_t i : {1, 2}) {
    if (node.input(i)->type().rank() != node.input(0)->type().rank()) return true;
  }
  return false;
}

// ONNX Runtime wants a row of the mask for each query.
bool has_broadcast_mask(const Node& node) {
  const Value* mask = node.input(3);
  const Type& queries = node.input(0)->type();
  if (mask == nullptr || !queries.ranked || !mask->type().ranked) return false;
  const std::vector<Dim>& dims = mask->type().dims;
  return dims.size() < 2 || dims[dims.size() - 2] != queries.dims[queries.dims.size() == 4 ? 2 : 1];
}

bool has_plain_form(const Node& attention) {
  return has_hidden_score(attention) || has_broadcast_mask(attention);
}

bool is_fixed(const Type& type, size_t axis) {
  return type.ranked && type.dims.size() > axis && type.dims[axis].is_fixed();
}

std::string attention_reason(const Node& node) {
  if (node.output_count() > 1 || node.input(kPastKey) != nullptr ||
      node.input(kPastValue) != nullptr)
    return "queries, keys and values of different layouts, with states or scores";
  if (has_plain_form(node) && node.input(kLengths) != nullptr)
    return "a mask that ONNX Runtime does not read, with lengths";
  const auto by_head = [&](size_t i) { return node.input(i)->type().rank() == 4; };
  for (const size_t i : {0, 1, 2}) {
    if (!node.input(i)->type().ranked) return "a rank is not known";
    const size_t heads = by_head(i) ? 1 : 2;
    if (!is_fixed(node.input(i)->type(), heads)) return "the number of heads is not known";
  }
  return "";
}

std::string interleave_reason(const Node& node) {
  return is_fixed(node.input(0)->type(), 1) ? "" : "the number of channels is not known";
}

}  // namespace

bool is_plain_attention(const Node& node) {
  return node.op() == Op::kAttention && has_plain_form(node);
}

bool is_decomposed(const Node& node) {
  if (node.op() == Op::kInterleave) return true;
  if (node.op() != Op::kAttention) return false;
  if (has_hidden_score(node) || has_mixed_ranks(node)) return true;
  return has_broadcast_mask(node) && attention_reason(node).empty();
}

std::string undecomposed_reason(const Node& node) {
  return node.op() == Op::kInterleave ? interleave_reason(node) : attention_reason(node);
}

std::vector<size_t> Decompositions::write_call(const Node& node, onnx::NodeProto& proto) {
  onnx::FunctionProto function =
      node.op() == Op::kInterleave ? interleave_function(node) : attention_function(node);
  std::string& name = names_[function.SerializeAsString()];
  if (name.empty()) {
    name = unique_.add(function.name());
    function.set_name(name);
    functions_.push_back(std::move(function));
  }
  proto.set_op_type(name);
  std::vector<size_t> present;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr) present.push_back(i);
  }
  return present;
}

}  // namespace sluice
