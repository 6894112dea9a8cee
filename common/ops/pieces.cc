#include "common/ops/pieces.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/ir/append_axis.h"
#include "common/ir/fixed.h"
#include "common/ir/module.h"
#include "common/ir/value_storage.h"
#include "common/ops/attributes.h"
#include "common/ops/value_bytes.h"
#include "common/symbolic/nominal.h"

namespace sluice {
namespace {

constexpr int64_t kPieceAlignment = 4;
constexpr int64_t kBytesPerTask = 8192;  // are copied while a task begins and ends

std::string label(const Value& value) { return fmt::format("'{}'", value.name()); }

// Returns why a piece does not lie in the whole as its elements do there, or an empty text.
std::string layout_reason(const Value& whole, const Value& piece) {
  const StorageMap map = storage_map_of(whole);
  if (storage_map_of(piece) != map)
    return fmt::format("{} is stored in another order than {}", label(piece), label(whole));
  const auto in_whole = stored_strides(whole), own = stored_strides(piece);
  if (!in_whole || !own)
    return fmt::format("{} has a size that is known only when its task has run", label(piece));
  for (size_t i = 0; i < map.size(); ++i) {
    const bool is_one = map[i].divisor == 1 && map[i].modulus == 0 &&
                        piece.type().dims[static_cast<size_t>(map[i].dim)] == Dim::fixed(1);
    if (!is_one && (*own)[i] != (*in_whole)[i])
      return fmt::format("{} is stored without the gaps that it has in {}", label(piece),
                         label(whole));
  }
  return {};
}

constexpr std::string_view kOtherClass = "it lies in another class of memory";

// Returns whether the memory that a value is made in is that of the node which takes it apart, or
// puts it together with others.
bool is_of_other_class(const Node& node, const Value& operand) {
  return memory_class_of(operand) != node.placement.memory_class;
}

// Returns the stored axis that the whole is divided along: where it is stored in blocks, that of
// whole blocks.
size_t outermost_stored(const StorageMap& map, size_t logical) {
  size_t found = map.size();
  for (size_t i = 0; i < map.size(); ++i) {
    const bool is_it = static_cast<size_t>(map[i].dim) == logical;
    if (is_it && (found == map.size() || map[i].divisor > map[found].divisor)) found = i;
  }
  return found;
}

}  // namespace

bool is_piecewise(const Node& node) { return node.op() == Op::kConcat || node.op() == Op::kSplit; }

const Value& whole_of(const Node& node) {
  return node.op() == Op::kConcat ? node.output() : *node.input(0);
}

std::vector<const Value*> pieces_of(const Node& node) {
  std::vector<const Value*> pieces;
  if (node.op() == Op::kConcat) {
    for (size_t i = 0; i < node.input_count(); ++i) pieces.push_back(node.input(i));
  } else {
    for (size_t k = 0; k < node.output_count(); ++k) pieces.push_back(&node.output(k));
  }
  return pieces;
}

size_t joined_axis(const Node& node) {
  const int64_t axis = node.op() == Op::kConcat ? node.get(attributes::Concat::axis)
                                                : node.get(attributes::Split::axis);
  return static_cast<size_t>(axis < 0 ? axis + whole_of(node).type().rank() : axis);
}

std::optional<uint32_t> copied_output(const Node& node) {
  if (node.op() != Op::kMemCopy || !node.has(attributes::MemCopy::output)) return std::nullopt;
  return static_cast<uint32_t>(node.get(attributes::MemCopy::output));
}

const Value& viewed(const Value& value) {
  const Value* base = &value;
  const auto is_view = [](const Node* node) {
    return node != nullptr && node->placement.no_task && !is_piecewise(*node);
  };
  while (is_view(base->producer())) base = base->producer()->input(0);
  return *base;
}

const std::string& memory_class_of(const Value& value) {
  static const std::string none;
  const Node* producer = viewed(value).producer();
  return producer == nullptr ? none : producer->placement.memory_class;
}

bool is_worth_pieces(const Value& whole) {
  constexpr uint64_t kMinBytes = uint64_t{1} << 14;
  const Type type = nominal_type(whole.graph().module(), whole.type());
  return type.dense_bytes().value_or(0) >= kMinBytes;
}

namespace {

// Returns how many copies of operands there may be.
size_t max_copies(const Graph& graph) {
  size_t count = 0;
  for (const Node& node : graph.nodes()) count += node.op() == Op::kConcat ? node.input_count() : 0;
  return count;
}

}  // namespace

Pieces::Pieces(const Graph& graph)
    : graph_(graph),
      expressions_(graph.module().expressions),
      groups_(expressions_, graph.value_limit() + max_copies(graph)) {
  for (const Value& value : graph.values()) {
    if (!value.is_erased() && value.producer() == nullptr) enter(value);
  }
  for (const Node& node : graph.nodes()) {
    if (node.placement.no_task || is_piecewise(node)) continue;
    for (size_t k = 0; k < node.output_count(); ++k) enter(node.output(k));
  }
  pin_outputs();
}

// Returns the bytes that a value owns: where its rows are parts of wider ones, those of its first
// row, because all that lies between its rows is divided along the same axis.
std::optional<ExpressionId> Pieces::owned_bytes(const Value& value) const {
  Module& module = graph_.module();
  const auto axis = row_axis(value);
  const auto strides = axis ? stored_strides(value) : std::nullopt;
  if (!strides) return module.dim_expression(value_bytes(value));
  const StoredAxis& stored = value.storage()->map[*axis];
  const auto extent = module.dim_expression(value.type().dims[static_cast<size_t>(stored.dim)]);
  if (!extent) return std::nullopt;
  return expressions_.multiply(*extent, (*strides)[*axis]);
}

void Pieces::enter(const Value& value) {
  const auto bytes = owned_bytes(value);
  if (!bytes) return;
  groups_.add_owner(value.id(), *bytes);
  if (value.producer() == nullptr) groups_.pin(value.id(), *bytes);
}

// An output that no copy fills is memory of the caller's, and so is what it shows, which has as
// many bytes, though not always the same expression of them: a Reshape of open sizes to a fixed
// shape.
void Pieces::pin_outputs() {
  std::vector<bool> is_copied(graph_.outputs().size(), false);
  for (const Node& node : graph_.nodes()) {
    const auto output = copied_output(node);
    if (output && *output < is_copied.size()) is_copied[*output] = true;
  }
  for (size_t k = 0; k < is_copied.size(); ++k) {
    const Value& value = viewed(*graph_.outputs()[k]);
    const auto bytes = graph_.module().dim_expression(value_bytes(value));
    if (!is_copied[k] && bytes) groups_.pin(value.id(), *bytes);
  }
}

void Pieces::add(const Node& node) {
  if (node.placement.no_task) {
    if (is_piecewise(node)) return join(node);
    groups_.overlay(node.input(0)->id(), node.output().id());  // whatever their sizes are called
  } else if (is_piecewise(node)) {
    for (size_t k = 0; k < node.output_count(); ++k) enter(node.output(k));
  }
}

// Adds the pieces of a Concat or Split with their distances. Returns why they cannot lie in their
// whole, or an empty text.
std::string Pieces::add_parts(const Node& node, std::vector<Part>& parts) {
  const Value& whole = whole_of(node);
  const auto strides = stored_strides(whole);
  if (!strides)
    return fmt::format("{} has a size that is known only when its task has run", label(whole));
  const StorageMap map = storage_map_of(whole);
  const size_t logical = joined_axis(node), stored = outermost_stored(map, logical);
  const auto has_other_rows = [&](const Value& value) {
    return row_axis(value).value_or(stored) != stored;
  };
  const ExpressionId block = expressions_.constant(map[stored].divisor);
  ExpressionId index = expressions_.constant(0);
  for (const Value* piece : pieces_of(node)) {
    if (std::string reason = layout_reason(whole, *piece); !reason.empty()) return reason;
    if (has_other_rows(whole) || has_other_rows(*piece))
      return fmt::format("{} is a piece along another axis", label(*piece));
    const auto extent = graph_.module().dim_expression(piece->type().dims[logical]);
    const ExpressionId distance =
        expressions_.multiply(expressions_.floor_divide(index, block), (*strides)[stored]);
    const auto is_multiple = [&](ExpressionId of, int64_t divisor) {
      return expressions_.modulo(of, expressions_.constant(divisor)) == expressions_.constant(0);
    };
    if (!is_multiple(index, map[stored].divisor) || !is_multiple(*extent, map[stored].divisor))
      return fmt::format("{} does not fill whole blocks of {}", label(*piece), label(whole));
    if (!is_multiple(distance, kPieceAlignment))
      return fmt::format("{} would not begin at a multiple of {} bytes", label(*piece),
                         kPieceAlignment);
    parts.push_back({piece->id(), distance, -1});
    index = expressions_.add(index, *extent);
  }
  return {};
}

Pieces::TaskReason Pieces::task_reason(const Node& node) {
  std::vector<Part> parts;
  if (append_axis(whole_of(node))) return {"it appends to a state", {}};
  if (std::string reason = add_parts(node, parts); !reason.empty()) return {reason, {}};
  if (node.op() == Op::kSplit && is_of_other_class(node, *node.input(0)))
    return {fmt::format("{}: {}", label(*node.input(0)), kOtherClass), {}};
  std::vector<std::string_view> reasons = groups_.reasons(whole_of(node).id(), parts);
  for (size_t i = 0; node.op() == Op::kConcat && i < parts.size(); ++i) {
    if (is_of_other_class(node, *node.input(i))) reasons[i] = kOtherClass;
  }
  const auto refused = std::ranges::find_if(reasons, [](std::string_view r) { return !r.empty(); });
  if (refused == reasons.end()) return {};
  if (node.op() == Op::kConcat) return copies(node, parts, reasons);
  const Value& piece = node.output(static_cast<size_t>(refused - reasons.begin()));
  return {fmt::format("{}: {}", label(piece), *refused), {}};
}

// Returns the operands whose copies let all others be pieces, where that is less work than the
// kernel's, which copies all at once.
Pieces::TaskReason Pieces::copies(const Node& node, const std::vector<Part>& parts,
                                  const std::vector<std::string_view>& reasons) {
  TaskReason found;
  std::vector<Part> with_copies = parts;
  int64_t copied = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (reasons[i].empty()) continue;
    const Value& operand = *node.input(i);
    if (found.reason.empty()) found.reason = fmt::format("{}: {}", label(operand), reasons[i]);
    const auto bytes = graph_.module().dim_expression(value_bytes(operand));
    if (row_axis(operand) || !bytes) return found;
    with_copies[i] = {-1, parts[i].distance, *bytes};
    copied += nominal_value(expressions_, *bytes);
    found.copied.push_back(i);
  }
  const auto bytes = graph_.module().dim_expression(value_bytes(node.output()));
  const int64_t whole = bytes ? nominal_value(expressions_, *bytes) : 0;
  const auto further = static_cast<int64_t>(found.copied.size()) - 1;
  const bool is_less = 2 * copied <= whole && whole - copied >= further * kBytesPerTask;
  const auto second = groups_.reasons(node.output().id(), with_copies);
  const bool fits = std::ranges::all_of(second, [](std::string_view r) { return r.empty(); });
  if (is_less && fits) return {"", found.copied};
  return {found.reason, {}};
}

std::string Pieces::copy_reason(const Node& concat, size_t operand, const Value& original) {
  std::vector<Part> parts;
  if (std::string reason = add_parts(concat, parts); !reason.empty()) return reason;
  if (is_of_other_class(concat, original)) return std::string(kOtherClass);
  parts[operand].value = original.id();
  return std::string(groups_.reasons(concat.output().id(), parts)[operand]);
}

void Pieces::join(const Node& node) {
  std::vector<Part> parts;
  if (!add_parts(node, parts).empty()) return;  // a graph that was edited, which the verifier names
  for (const Part& part : parts) groups_.join(whole_of(node).id(), part.value, part.distance);
}

Dim Pieces::offset(const Value& value) {
  const auto distance = groups_.offset(value.id());
  return distance ? graph_.module().make_dim(*distance) : Dim::unknown();
}

}  // namespace sluice
