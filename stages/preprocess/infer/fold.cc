#include "stages/preprocess/infer/fold.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "common/base/work.h"
#include "common/eval/eval.h"
#include "common/eval/steps.h"
#include "common/ops/attributes.h"
#include "common/ops/op_table.h"

namespace sluice {
namespace {

using Bytes = std::vector<std::byte>;

template <typename T>
void append(Bytes& bytes, int64_t number) {
  const T element = static_cast<T>(number);
  const auto* begin = reinterpret_cast<const std::byte*>(&element);
  bytes.insert(bytes.end(), begin, begin + sizeof(T));
}

bool append_integer(Bytes& bytes, DType dtype, int64_t number) {
  if (dtype == DType::kI64) return append<int64_t>(bytes, number), true;
  if (dtype == DType::kI32)
    return append<int32_t>(bytes, number), number == static_cast<int32_t>(number);
  if (dtype == DType::kBool) return append<uint8_t>(bytes, number != 0 ? 1 : 0), true;
  return false;
}

void replace_result(Value& result, SegmentId segment) {
  Graph& graph = result.graph();
  if (result.is_used()) graph.replace_all_uses(result, graph.add_constant(segment, result.name()));
}

// Returns the result as a constant, when each of its elements is known to be a number.
std::optional<SegmentId> known_value(const Value& result, ValueFacts& facts) {
  const auto* elements = result.type().is_fixed() ? facts.find(result) : nullptr;
  if (elements == nullptr ||
      static_cast<int64_t>(elements->size()) != result.type().element_count())
    return std::nullopt;
  Module& module = result.graph().module();
  Bytes bytes;
  for (const ExpressionId element : *elements) {
    const auto number = module.expressions.as_constant(element);
    if (!number || !append_integer(bytes, result.type().dtype, *number)) return std::nullopt;
  }
  return module.make_constant(result.type_id(), std::move(bytes));
}

bool fold_known_values(Node& node, ValueFacts& facts) {
  std::vector<SegmentId> segments;
  for (size_t i = 0; i < node.output_count(); ++i) {
    const auto segment = known_value(node.output(i), facts);
    if (!segment) return false;
    segments.push_back(*segment);
  }
  for (size_t i = 0; i < segments.size(); ++i) replace_result(node.output(i), segments[i]);
  return true;
}

bool fold_to_splat(Node& node) {
  const Type& type = node.output().type();
  if (node.op() != Op::kConstantOfShape || !type.is_fixed() || dtype_bits(type.dtype) < 8)
    return false;
  if (type.dense_bytes().value_or(0) <= kSmallSegmentBytes) return false;
  Module& module = node.graph().module();
  Bytes element(static_cast<size_t>(dtype_bits(type.dtype)) / 8);
  if (node.has(attributes::ConstantOfShape::value)) {
    const SegmentId value = node.get(attributes::ConstantOfShape::value);
    if (value < 0 || module.segment(value).data.size() != element.size()) return false;
    element = module.segment(value).data;
  }
  replace_result(node.output(), module.make_splat(node.output().type_id(), element));
  return true;
}

// Returns whether the node may be evaluated now: it reads constants alone, and few bytes.
bool is_cheap(const Node& node, uint32_t flags) {
  const Module& module = node.graph().module();
  uint64_t bytes = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* input = node.input(i);
    if (input == nullptr) continue;
    if (!input->is_constant() || module.segment(input->segment()).kind == SegmentKind::kParameter)
      return false;
    bytes += module.segment(input->segment()).size;
  }
  for (size_t i = 0; i < node.output_count(); ++i) {
    const Type& type = node.output(i).type();
    if (!type.is_tensor()) return false;
    const bool is_small_anyway = type.dtype == DType::kString || (flags & kDataDependent) != 0;
    if (!type.is_fixed() && !is_small_anyway) return false;
    bytes += type.dense_bytes().value_or(0);
  }
  return bytes <= kFoldLimitBytes && hidden_steps(node) <= kMaxFoldSteps;
}

bool fold_by_evaluation(Node& node) {
  Module& module = node.graph().module();
  add_work(Work::kFoldings);
  std::vector<EvalValue> values(node.input_count());
  std::vector<const EvalValue*> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    inputs.push_back(node.input(i) == nullptr ? nullptr : &values[i]);
    if (node.input(i) == nullptr) continue;
    auto tensor = evaluate_segment(module, node.input(i)->segment());
    if (!tensor) return false;
    values[i] = EvalValue::of(std::move(tensor).value());
  }
  const auto results = evaluate_node(node, inputs);
  if (!results || results->size() != node.output_count()) return false;
  uint64_t made = 0;
  for (size_t i = 0; i < results->size(); ++i) {
    const EvalValue& result = (*results)[i];
    if (!node.output(i).is_used()) continue;
    if (result.kind != EvalValue::Kind::kTensor || result.tensor == nullptr) return false;
    made += result.tensor->bytes.size();
  }
  if (made > kFoldLimitBytes) return false;
  for (size_t i = 0; i < results->size(); ++i) {
    if (!node.output(i).is_used()) continue;
    const Tensor& tensor = *(*results)[i].tensor;
    const TypeId type = module.intern(Type::fixed_tensor(tensor.dtype, tensor.dims));
    replace_result(node.output(i),
                   module.make_constant(type, {tensor.bytes.begin(), tensor.bytes.end()}));
  }
  return true;
}

}  // namespace

bool fold_node(Node& node, ValueFacts& facts) {
  const OpRow* row = find_op(node.op());
  if (row == nullptr || (row->flags & (kRandom | kControlFlow)) != 0 || node.placement.no_fold ||
      node.placement.keep)
    return false;
  // A contraction may need the integers; sluice-optimize folds the others.
  if (node.op() == Op::kDequantizeLinear) return false;
  if (node.output_count() == 0 || op_domain(node.op()) == Domain::kSluice) return false;
  const bool folded =
      fold_known_values(node, facts) || fold_to_splat(node) ||
      (is_evaluable(node.op()) && is_cheap(node, row->flags) && fold_by_evaluation(node));
  if (folded) node.graph().erase_node(node);
  return folded;
}

}  // namespace sluice
