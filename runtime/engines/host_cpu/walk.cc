#include "runtime/engines/host_cpu/walk.h"

#include <algorithm>
#include <cstring>

#include "common/ir/module.h"
#include "common/ops/attributes.h"
#include "common/symbolic/any_symbol.h"

namespace sluice {
namespace {

constexpr size_t kKernelAlignment = 64;  // of every operand of a kernel: kernel_abi.h
alignas(kKernelAlignment) constexpr std::byte kNothing[1] = {};  // an address for empty tensors

HostTensor from_view(const TensorView& view) {
  const std::vector<int64_t> dims(view.dims.begin(), view.dims.end());
  return {view.dtype,
          dims,
          {view.data, dtype_bytes(view.dtype, element_count(dims).value_or(0))},
          nullptr};
}

bool is_aligned(const std::byte* data) {
  return reinterpret_cast<uintptr_t>(data) % kKernelAlignment == 0;
}

}  // namespace

RequirementsOf requirements_of_symbols(const Module& module) {
  RequirementsOf found(module.expressions.symbol_count());
  uint32_t index = 0;
  for (const Requirement& each : module.requirements.rows()) {
    const auto add = [&](SymbolId symbol) {
      std::vector<uint32_t>& of = found[static_cast<size_t>(symbol)];
      if (of.empty() || of.back() != index) of.push_back(index);
      return false;
    };
    any_symbol(module.expressions, each.a, add);
    any_symbol(module.expressions, each.b, add);
    ++index;
  }
  return found;
}

Result<void> SymbolValues::bind(const Value& value, std::span<const int64_t> dims) {
  const Type& type = value.type();
  for (size_t axis = 0; axis < std::min(type.dims.size(), dims.size()); ++axis) {
    if (!type.dims[axis].is_expression()) continue;
    const Expression& e = module_.expressions[static_cast<ExpressionId>(type.dims[axis].value)];
    if (e.op != ExpressionOp::kSymbol) continue;
    int64_t& known = values_[static_cast<size_t>(e.value)];
    if (known != kOpen) continue;
    known = dims[axis];
    SLUICE_TRY(check(static_cast<SymbolId>(e.value), value, axis));
  }
  return {};
}

// Checks a symbol that was just bound to a dim.
Result<void> SymbolValues::check(SymbolId id, const Value& value, size_t axis) const {
  const Symbol& symbol = module_.expressions.symbol(id);
  const int64_t size = values_[static_cast<size_t>(id)];
  if (size < symbol.low || size > symbol.high || size % symbol.divisor != 0) {
    return make_error(ErrorCode::kBadShape,
                      "dim {} of '{}' is {}, the nodes that read it take {} to {}, multiples of {}",
                      axis, value.name(), size, symbol.low, symbol.high, symbol.divisor);
  }
  for (const uint32_t index : requirements_[static_cast<size_t>(id)]) {
    const Requirement& requirement = module_.requirements.rows()[index];
    const auto a = this->value(requirement.a), b = this->value(requirement.b);
    if (!a || !b || *a == *b) continue;
    return make_error(ErrorCode::kBadShape, "{} differ: {} and {}", requirement.words, *a, *b);
  }
  return {};
}

std::optional<int64_t> SymbolValues::value(ExpressionId id) const {
  bool is_bound = true;
  const auto value = module_.expressions.evaluate(id, [&](SymbolId symbol) {
    const int64_t known = values_[static_cast<size_t>(symbol)];
    is_bound = is_bound && known != kOpen;
    return known;
  });
  return value && is_bound ? std::optional(*value) : std::nullopt;
}

std::optional<std::vector<int64_t>> SymbolValues::extents(const Type& type) const {
  if (type.is_fixed()) return type.extents();
  if (type.has_unknown()) return std::nullopt;
  std::vector<int64_t> extents;
  for (const Dim& dim : type.dims) {
    const auto extent =
        dim.is_fixed() ? dim.value : this->value(static_cast<ExpressionId>(dim.value));
    if (!extent || *extent < 0) return std::nullopt;
    extents.push_back(*extent);
  }
  return extents;
}

// The operands of a launch in the order of the kernel: outputs, then inputs.
struct GraphWalk::Operands {
  std::vector<void*> addresses;
  std::vector<int64_t> dims;       // of all operands, concatenated
  std::deque<TensorBytes> copies;  // of inputs that are not aligned

  void add(const std::byte* data, std::span<const int64_t> own) {
    addresses.push_back(const_cast<std::byte*>(data));
    dims.insert(dims.end(), own.begin(), own.end());
  }
};

void GraphWalk::bind_input(size_t index, const HostValue& value) {
  if (value.tensors.size() == 1)
    note(symbols_.bind(*graph_.inputs()[index], value.tensors[0].dims));
}

void GraphWalk::note(const Value& value, const EvalValue& made) {
  if (made.tensor != nullptr) note(symbols_.bind(value, made.tensor->dims));
}

// Keeps the first error.
void GraphWalk::note(Result<void> bound) {
  if (!bound && sizes_fit_) sizes_fit_ = std::move(bound);
}

uint32_t GraphWalk::kernel_of(const Node& node) const {
  if (&node.graph() != &graph_) return 0;
  const uint32_t position = positions_[static_cast<size_t>(node.id())];
  return position < hooks_.node_kernels.size() ? hooks_.node_kernels[position] : 0;
}

Result<std::vector<EvalValue>> GraphWalk::run(const Node& node,
                                              std::span<const TensorView> inputs) {
  if (!sizes_fit_) return sizes_fit_.error();
  return is_call(node) ? call_part(node, inputs) : launch(node, inputs);
}

Result<std::vector<EvalValue>> GraphWalk::call_part(const Node& node,
                                                    std::span<const TensorView> inputs) const {
  std::vector<HostTensor> tensors;
  for (const TensorView& input : inputs) tensors.push_back(from_view(input));
  SLUICE_ASSIGN(std::vector<Tensor> outputs,
                hooks_.call_part(static_cast<uint32_t>(node.get(attributes::Call::part)), tensors));
  std::vector<EvalValue> results;
  for (Tensor& output : outputs) results.push_back(EvalValue::of(std::move(output)));
  return results;
}

Result<std::vector<EvalValue>> GraphWalk::launch(const Node& node,
                                                 std::span<const TensorView> inputs) const {
  Operands operands;
  std::vector<EvalValue> results;
  for (size_t k = 0; k < node.output_count(); ++k)
    SLUICE_TRY(add_result(node.output(k), operands, results));
  for (size_t i = 0; i < inputs.size(); ++i) SLUICE_TRY(add_input(node, i, inputs[i], operands));
  auto launched = hooks_.launch(kernel_of(node) - 1, operands.addresses, operands.dims);
  if (!launched) return std::move(launched).error().within(node.label());
  return results;
}

Result<void> GraphWalk::add_result(const Value& result, Operands& operands,
                                   std::vector<EvalValue>& results) const {
  auto extents = symbols_.extents(result.type());
  if (!extents || !element_count(*extents)) {
    return make_error(ErrorCode::kBadShape,
                      "{}: result '{}' has a size that the values before it do not set",
                      result.producer()->label(), result.name());
  }
  auto tensor =
      std::make_shared<Tensor>(make_unfilled_tensor(result.type().dtype, std::move(*extents)));
  operands.add(tensor->bytes.empty() ? kNothing : tensor->bytes.data(), tensor->dims);
  results.emplace_back().tensor = std::move(tensor);
  return {};
}

Result<void> GraphWalk::add_input(const Node& node, size_t index, const TensorView& input,
                                  Operands& operands) const {
  if (node.input(index) == nullptr)
    return make_error(ErrorCode::kBadNode, "{}: its kernel has no operand {}", node.label(), index);
  const Value& value = *node.input(index);
  const auto extents = symbols_.extents(value.type());
  if (!extents || input.dtype != value.type().dtype || !std::ranges::equal(input.dims, *extents)) {
    return make_error(ErrorCode::kBadShape,
                      "{}: operand '{}' is {} {}, its kernel was compiled for {}", node.label(),
                      value.name(), dtype_name(input.dtype), dims_text(input.dims),
                      extents ? dims_text(*extents) : "sizes that no value sets");
  }
  const uint64_t bytes = dtype_bytes(input.dtype, *element_count(*extents));
  if (bytes == 0 || is_aligned(input.data)) {
    operands.add(bytes == 0 ? kNothing : input.data, input.dims);
    return {};
  }
  operands.add(operands.copies.emplace_back(input.data, input.data + bytes).data(), input.dims);
  return {};
}

}  // namespace sluice
