// Sequences and optionals.
#include <algorithm>
#include <cstring>

#include "common/eval/axes.h"
#include "common/eval/kernels.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

Result<const std::vector<EvalValue>*> elements_of(const EvalCall& call, size_t input) {
  const EvalValue* value = call.operands[input].value;
  if (value == nullptr || value->kind != EvalValue::Kind::kSequence)
    return call.bad_value("input {} is no sequence", input);
  return &value->elements;
}

EvalValue sequence_of(std::vector<EvalValue> elements) {
  EvalValue value;
  value.kind = EvalValue::Kind::kSequence;
  value.elements = std::move(elements);
  return value;
}

// Returns a position in [0, count); negative ones count from the end.
Result<size_t> position(const EvalCall& call, size_t input, int64_t fallback, int64_t count) {
  const int64_t at = call.has(input) ? call.integer(input, 0) : fallback;
  if (at < -count || at >= count)
    return call.bad_value("position {} lies outside a sequence of {}", at, count);
  return static_cast<size_t>(at < 0 ? at + count : at);
}

void give_scalar(EvalCall& call, Tensor tensor) {
  call.set_value(0, EvalValue::of(std::move(tensor)));
}

// Runs another op's kernel on the same node and operands.
Result<EvalValue> run_on(const EvalCall& call, std::span<const Operand> operands,
                         Result<void> (*kernel)(EvalCall&), uint8_t promotion) {
  EvalCall inner(call.node, operands, {}, call.options);
  SLUICE_TRY(inner.start(promotion));
  SLUICE_TRY(kernel(inner));
  SLUICE_TRY(inner.finish());
  return inner.take_outputs()[0];
}

}  // namespace

Result<void> eval_sequence_construct(EvalCall& call) {
  std::vector<EvalValue> elements;
  for (const Operand& operand : call.operands) elements.push_back(value_of(operand));
  call.set_value(0, sequence_of(std::move(elements)));
  return {};
}

Result<void> eval_sequence_empty(EvalCall& call) {
  call.set_value(0, sequence_of({}));
  return {};
}

Result<void> eval_sequence_at(EvalCall& call) {
  SLUICE_ASSIGN(const auto* elements, elements_of(call, 0));
  SLUICE_ASSIGN(const size_t at, position(call, 1, 0, static_cast<int64_t>(elements->size())));
  call.set_value(0, (*elements)[at]);
  return {};
}

Result<void> eval_sequence_insert(EvalCall& call) {
  SLUICE_ASSIGN(const auto* elements, elements_of(call, 0));
  const auto count = static_cast<int64_t>(elements->size());
  int64_t at = call.has(2) ? call.integer(2, 0) : count;
  if (at < -count || at > count)
    return call.bad_value("position {} lies outside a sequence of {}", at, count);
  if (at < 0) at += count;
  std::vector<EvalValue> result = *elements;
  result.insert(result.begin() + at, value_of(call.operands[1]));
  call.set_value(0, sequence_of(std::move(result)));
  return {};
}

Result<void> eval_sequence_erase(EvalCall& call) {
  SLUICE_ASSIGN(const auto* elements, elements_of(call, 0));
  SLUICE_ASSIGN(const size_t at, position(call, 1, -1, static_cast<int64_t>(elements->size())));
  std::vector<EvalValue> result = *elements;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(at));
  call.set_value(0, sequence_of(std::move(result)));
  return {};
}

Result<void> eval_sequence_length(EvalCall& call) {
  SLUICE_ASSIGN(const auto* elements, elements_of(call, 0));
  Tensor length = make_tensor(DType::kI64, {});
  length.as<int64_t>()[0] = static_cast<int64_t>(elements->size());
  give_scalar(call, std::move(length));
  return {};
}

Result<void> eval_concat_from_sequence(EvalCall& call) {
  SLUICE_ASSIGN(const auto* elements, elements_of(call, 0));
  std::vector<EvalValue> parts = *elements;
  if (parts.empty()) return call.bad_value("the sequence is empty");
  if (call.node.get(attributes::ConcatFromSequence::new_axis) != 0) {
    for (EvalValue& part : parts) {
      if (part.tensor == nullptr) return call.bad_value("an element is no tensor");
      Tensor tensor = *part.tensor;
      SLUICE_ASSIGN(const int64_t axis,
                    call.axis(call.node.get(attributes::ConcatFromSequence::axis),
                              static_cast<int64_t>(tensor.dims.size()) + 1));
      tensor.dims.insert(tensor.dims.begin() + axis, 1);
      part = EvalValue::of(std::move(tensor));
    }
  }
  std::vector<Operand> operands;
  for (const EvalValue& part : parts) operands.push_back(Operand::of(part));
  SLUICE_ASSIGN(EvalValue joined, run_on(call, operands, eval_concat, kPromoteMove));
  call.set_value(0, std::move(joined));
  return {};
}

Result<void> eval_split_to_sequence(EvalCall& call) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const int64_t axis,
                call.axis(call.node.get(attributes::SplitToSequence::axis), x.rank()));
  const AxisSplit split(x.dims, axis);
  if (dtype_bits(x.dtype) < 8) return call.unsupported(x.dtype);
  std::vector<int64_t> sizes = call.ints(1);
  if (!call.has(1)) sizes.assign(static_cast<size_t>(split.count), 1);
  if (call.has(1) && call.input(1).rank() == 0) {
    const int64_t size = sizes[0];
    if (size < 1) return call.bad_value("parts of {} elements", size);
    sizes.clear();
    for (int64_t at = 0; at < split.count; at += size)
      sizes.push_back(std::min(size, split.count - at));
  }
  const bool keep = call.has(1) || call.node.get(attributes::SplitToSequence::keepdims) != 0;
  const size_t run =
      static_cast<size_t>(split.inner) * static_cast<size_t>(dtype_bits(x.dtype)) / 8;
  std::vector<EvalValue> parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > split.count - start)
      return call.bad_shape("parts do not fit an axis of {}", split.count);
    std::vector<int64_t> dims = to_vector(x.dims);
    dims[static_cast<size_t>(axis)] = size;
    Tensor part = make_tensor(x.dtype, dims);
    const size_t bytes = static_cast<size_t>(size) * run;
    for (int64_t outer = 0; bytes > 0 && outer < split.outer; ++outer) {
      std::memcpy(part.bytes.data() + static_cast<size_t>(outer) * bytes,
                  x.data + static_cast<size_t>(outer * split.count + start) * run, bytes);
    }
    if (x.logical == DType::kString) part = call.strings_from(part);
    if (!keep) part.dims.erase(part.dims.begin() + axis);
    parts.push_back(EvalValue::of(std::move(part)));
    start += size;
  }
  call.set_value(0, sequence_of(std::move(parts)));
  return {};
}

Result<void> eval_optional(EvalCall& call) {
  EvalValue value;
  value.kind = EvalValue::Kind::kNone;
  if (!call.operands.empty() && call.operands[0].present()) value = value_of(call.operands[0]);
  call.set_value(0, std::move(value));
  return {};
}

Result<void> eval_optional_has_element(EvalCall& call) {
  const bool present =
      !call.operands.empty() && call.operands[0].present() &&
      (call.operands[0].value == nullptr || call.operands[0].value->kind != EvalValue::Kind::kNone);
  Tensor answer = make_tensor(DType::kBool, {});
  answer.bytes[0] = static_cast<std::byte>(present);
  give_scalar(call, std::move(answer));
  return {};
}

Result<void> eval_optional_get_element(EvalCall& call) {
  const EvalValue value = value_of(call.operands[0]);
  if (value.kind == EvalValue::Kind::kNone) return call.bad_value("the optional is empty");
  call.set_value(0, value);
  return {};
}

}  // namespace sluice::eval
