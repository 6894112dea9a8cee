#include "common/eval/call.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "common/eval/number.h"

namespace sluice::eval {
namespace {

// Bytes of one output; a larger one means a wrong shape.
constexpr uint64_t kMaxBytes = uint64_t{1} << 36;

}  // namespace

Output::Output(DType dtype, std::vector<int64_t> dims, std::byte* data, int64_t count)
    : dtype(dtype), dims(std::move(dims)), data(data), count(count) {}
Output::Output(const Output&) = default;
Output::Output(Output&&) noexcept = default;
Output& Output::operator=(const Output&) = default;
Output& Output::operator=(Output&&) noexcept = default;
Output::~Output() = default;

Operand Operand::of(const EvalValue& value) {
  Operand operand;
  operand.value = &value;
  if (value.tensor != nullptr)
    operand.view = {value.tensor->dtype, value.tensor->dims, value.tensor->bytes.data()};
  return operand;
}

EvalValue value_of(const Operand& operand) {
  if (operand.value != nullptr) return *operand.value;
  Tensor tensor;
  tensor.dtype = operand.view.dtype;
  tensor.dims.assign(operand.view.dims.begin(), operand.view.dims.end());
  const uint64_t count = element_count(tensor.dims).value_or(0);
  uint64_t bytes = dtype_bytes(tensor.dtype, count);
  if (tensor.dtype == DType::kString) {
    bytes = (count + 1) * sizeof(uint64_t) +
            reinterpret_cast<const uint64_t*>(operand.view.data)[count];
  }
  tensor.bytes.assign(operand.view.data, operand.view.data + bytes);
  return EvalValue::of(std::move(tensor));
}

EvalCall::EvalCall(const Node& node, std::span<const Operand> operands,
                   std::span<const MutableTensorView> targets, const EvalOptions& options)
    : node(node),
      options(options),
      operands(operands),
      targets_(targets),
      slots_(node.output_count()) {}

EvalCall::~EvalCall() = default;

DType EvalCall::promoted_dtype(DType logical) const {
  const int bits = dtype_bits(logical);
  const bool narrow_float = dtype_is_float(logical) && bits < 32;
  if ((promotion_ & kPromoteFloats) != 0 && narrow_float) return DType::kF32;
  if ((promotion_ & kPromoteIntegers) != 0 &&
      (dtype_is_integer(logical) || logical == DType::kBool) && bits < 64)
    return DType::kI64;
  if ((promotion_ & kPromotePacked) != 0 && bits > 0 && bits < 8)
    return dtype_is_signed(logical) && !narrow_float ? DType::kI8 : DType::kU8;
  if ((promotion_ & kPromoteStrings) != 0 && logical == DType::kString) return DType::kI64;
  return logical;
}

Result<void> EvalCall::start(uint8_t promotion) {
  promotion_ = promotion;
  inputs_.resize(operands.size());
  promoted_inputs_.reserve(operands.size());
  bool strings = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const TensorView& view = operands[i].view;
    Input& input = inputs_[i];
    input.value = operands[i].value;
    if (view.data == nullptr && view.dtype == DType::kUndefined) continue;
    // An empty tensor may have no memory, but it is not absent.
    static constexpr std::byte kNothing[16] = {};
    input.data = view.data != nullptr ? view.data : kNothing;
    input.dtype = input.logical = view.dtype;
    input.dims = view.dims;
    const auto count = element_count(view.dims);
    if (!count) return bad_shape("input {} has the impossible shape {}", i, dims_text(view.dims));
    input.count = static_cast<int64_t>(*count);
    const DType promoted = promoted_dtype(view.dtype);
    if (promoted == view.dtype) continue;
    if (view.dtype == DType::kString) {
      strings = true;
      continue;
    }
    Tensor& tensor =
        promoted_inputs_.emplace_back(make_tensor(promoted, {view.dims.begin(), view.dims.end()}));
    if (dtype_bits(view.dtype) < 8 && promoted == DType::kU8 && dtype_is_float(view.dtype)) {
      // 4-bit floats are moved as bits.
      convert(DType::kU4, view.data, promoted, tensor.bytes.data(), input.count);
    } else {
      convert(view.dtype, view.data, promoted, tensor.bytes.data(), input.count);
    }
    input.dtype = promoted;
    input.data = tensor.bytes.empty() ? kNothing : tensor.bytes.data();
  }
  return strings ? promote_strings() : Result<void>();
}

Result<void> EvalCall::promote_strings() {
  std::vector<EvalValue> values(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (inputs_[i].dtype != DType::kString) continue;
    values[i] = value_of(operands[i]);
    for (int64_t k = 0; k < inputs_[i].count; ++k)
      handles_.emplace(string_at(*values[i].tensor, static_cast<uint64_t>(k)), 0);
  }
  for (auto& [text, handle] : handles_) {
    handle = static_cast<int64_t>(texts_.size());
    texts_.push_back(text);
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    Input& input = inputs_[i];
    if (input.dtype != DType::kString) continue;
    Tensor& tensor = promoted_inputs_.emplace_back(
        make_tensor(DType::kI64, {input.dims.begin(), input.dims.end()}));
    for (int64_t k = 0; k < input.count; ++k) {
      tensor.as<int64_t>()[static_cast<size_t>(k)] =
          handles_.find(string_at(*values[i].tensor, static_cast<uint64_t>(k)))->second;
    }
    input.dtype = DType::kI64;
    if (input.count > 0) input.data = tensor.bytes.data();
  }
  return {};
}

int64_t EvalCall::handle(const std::string& text) {
  const auto [found, is_new] = handles_.emplace(text, static_cast<int64_t>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return found->second;
}

const Input& EvalCall::input(size_t index) const {
  static const Input kAbsent;
  return index < inputs_.size() ? inputs_[index] : kAbsent;
}

std::vector<double> doubles_of(const Input& input) {
  std::vector<double> values(static_cast<size_t>(input.count));
  if (input.count > 0) load_doubles(input.dtype, input.data, 0, input.count, values.data());
  return values;
}

std::vector<int64_t> EvalCall::ints(size_t index) const {
  const Input& from = input(index);
  std::vector<int64_t> elements(static_cast<size_t>(from.count));
  if (from.count > 0) load_ints(from.dtype, from.data, 0, from.count, elements.data());
  return elements;
}

double EvalCall::number(size_t index, double fallback) const {
  const Input& from = input(index);
  if (from.count > 0) load_doubles(from.dtype, from.data, 0, 1, &fallback);
  return fallback;
}

int64_t EvalCall::integer(size_t index, int64_t fallback) const {
  const Input& from = input(index);
  if (from.count > 0) load_ints(from.dtype, from.data, 0, 1, &fallback);
  return fallback;
}

Error EvalCall::error(ErrorCode code, fmt::string_view format, fmt::format_args args) const {
  return make_error(code, "{}: {}", node.label(), fmt::vformat(format, args));
}

Error EvalCall::unsupported(DType dtype) const {
  return unsupported(fmt::format("elements of type {}", dtype_name(dtype)));
}

Error EvalCall::unsupported(const std::string& what) const {
  return make_error(ErrorCode::kNotEvaluable, "{}: the reference evaluator does not know {} here",
                    node.label(), what);
}

Result<int64_t> EvalCall::axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    return bad_value("axis {} lies outside a tensor of rank {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

Result<void> EvalCall::check_target(size_t index, DType dtype,
                                    const std::vector<int64_t>& dims) const {
  const MutableTensorView& target = targets_[index];
  if (target.dtype == dtype && std::ranges::equal(target.dims, dims)) return {};
  return bad_shape("output {} came out as {}[{}], planned was {}[{}]", index, dtype_name(dtype),
                   dims_text(dims), dtype_name(target.dtype), dims_text(target.dims));
}

Result<Output> EvalCall::output(size_t index, DType dtype, std::vector<int64_t> dims) {
  if (index >= slots_.size()) slots_.resize(index + 1);
  const auto count = element_count(dims);
  const uint64_t width = static_cast<uint64_t>(std::max(dtype_bits(dtype), 64)) / 8;
  if (!count)
    return bad_shape("output {} would have the impossible shape {}", index, dims_text(dims));
  if (*count > kMaxBytes / width) {
    return make_error(ErrorCode::kLimit,
                      "{}: output {} would have the shape {}: {} bytes, at most {}", node.label(),
                      index, dims_text(dims),
                      static_cast<double>(*count) * static_cast<double>(width), kMaxBytes)
        .with_hint("make the inputs smaller");
  }
  Slot& slot = slots_[index];
  slot.made = true;
  slot.logical = dtype;
  slot.promoted = {promoted_dtype(dtype), std::move(dims), nullptr, static_cast<int64_t>(*count)};
  const bool planned = index < targets_.size() && targets_[index].data != nullptr;
  if (planned) SLUICE_TRY(check_target(index, dtype, slot.promoted.dims));
  if (slot.promoted.dtype != dtype) {
    slot.promoted_dtype = make_tensor(slot.promoted.dtype, slot.promoted.dims);
    slot.promoted.data = slot.promoted_dtype.bytes.data();
  } else if (planned) {
    slot.promoted.data = targets_[index].data;
  } else {
    slot.tensor = make_tensor(dtype, slot.promoted.dims);
    slot.promoted.data = slot.tensor.bytes.data();
  }
  return slot.promoted;
}

Result<Output> EvalCall::output_like(size_t index, size_t input, std::vector<int64_t> dims) {
  return output(index, this->input(input).logical, std::move(dims));
}

void EvalCall::set_value(size_t index, EvalValue value) {
  if (index >= slots_.size()) slots_.resize(index + 1);
  slots_[index].made = slots_[index].has_value = true;
  slots_[index].value = std::move(value);
}

Result<void> EvalCall::copy_input(size_t index, size_t input, std::vector<int64_t> dims) {
  const Input& from = this->input(input);
  SLUICE_ASSIGN(Output to, output_like(index, input, std::move(dims)));
  if (to.count != from.count)
    return bad_shape("{} elements do not fit the shape {}", from.count, dims_text(to.dims));
  if (to.count > 0)
    std::memcpy(to.data, from.data, dtype_bytes(to.dtype, static_cast<uint64_t>(to.count)));
  return {};
}

const std::string& EvalCall::text(int64_t handle) const {
  static const std::string empty;
  const auto index = static_cast<size_t>(handle);
  return index < texts_.size() ? texts_[index] : empty;
}

Tensor EvalCall::strings_from(const Tensor& handles) const {
  std::vector<std::string> texts;
  texts.reserve(handles.as<int64_t>().size());
  for (const int64_t handle : handles.as<int64_t>()) texts.push_back(text(handle));
  return make_string_tensor(handles.dims, texts);
}

Result<void> EvalCall::finish_slot(size_t index, Slot& slot) {
  const bool planned = index < targets_.size() && targets_[index].data != nullptr;
  if (slot.has_value) {
    if (!planned) return {};
    if (slot.value.tensor == nullptr) return unsupported("a sequence in planned memory");
    SLUICE_TRY(check_target(index, slot.value.tensor->dtype, slot.value.tensor->dims));
    const TensorBytes& bytes = slot.value.tensor->bytes;
    if (!bytes.empty()) std::memcpy(targets_[index].data, bytes.data(), bytes.size());
    return {};
  }
  if (slot.logical != slot.promoted.dtype) {
    if (slot.logical == DType::kString) {
      if (planned) return unsupported("a string tensor in planned memory");
      slot.tensor = strings_from(slot.promoted_dtype);
    } else {
      if (!planned) slot.tensor = make_tensor(slot.logical, slot.promoted.dims);
      std::byte* target = planned ? targets_[index].data : slot.tensor.bytes.data();
      // The bits of 4-bit floats that were only moved are u8, too.
      const bool bits_only = slot.promoted.dtype == DType::kU8;
      convert(slot.promoted.dtype, slot.promoted.data,
              bits_only ? (dtype_bits(slot.logical) == 2 ? DType::kU2 : DType::kU4) : slot.logical,
              target, slot.promoted.count);
    }
  }
  if (!planned) slot.value = EvalValue::of(std::move(slot.tensor));
  return {};
}

Result<void> EvalCall::finish() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].made) SLUICE_TRY(finish_slot(i, slots_[i]));
    const bool needed = i < targets_.size() ? targets_[i].data != nullptr
                                            : targets_.empty() && i < node.output_count() &&
                                                  node.output(i).is_used();
    if (!slots_[i].made && needed) return unsupported(fmt::format("output {}", i));
  }
  return {};
}

std::vector<EvalValue> EvalCall::take_outputs() {
  std::vector<EvalValue> values(node.output_count());
  for (size_t i = 0; i < values.size(); ++i) {
    if (slots_[i].made) {
      values[i] = std::move(slots_[i].value);
    } else {
      values[i].kind = EvalValue::Kind::kNone;
    }
  }
  return values;
}

}  // namespace sluice::eval
