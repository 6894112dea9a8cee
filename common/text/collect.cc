#include "common/text/names.h"
#include "common/text/printer.h"

namespace sluice::text {

ModulePrinter::ModulePrinter(const Module& module)
    : module_(module),
      graph_names_(graph_names(module)),
      symbols_(module.expressions.symbol_count(), false),
      expressions_(module.expressions.size(), false),
      types_(module.type_count(), false),
      segments_(module.segment_count(), false),
      numbers_(module.segment_count(), -1),
      kernel_names_(module.kernel_count()) {}

void ModulePrinter::collect(const Graph& graph) {
  for (const Value& value : graph.values()) {
    const bool is_shown = !value.is_erased() && (value.is_input() || value.producer() != nullptr ||
                                                 is_shown_constant(value));
    if (!is_shown) continue;
    collect_type(value.type_id());
    if (const Storage* storage = value.storage()) {
      for (const Dim& dim : storage->dims) collect_dim(dim);
      collect_dim(storage->bytes);
    }
    collect_segment(value.segment());
    collect_dim(value.place().offset);
    collect_dim(value.place().bytes);
    if (value.place().capacity >= 0) collect_type(value.place().capacity);
  }
  for (const MemoryBuffer& buffer : graph.buffers) {
    collect_dim(buffer.bytes);
    collect_dim(buffer.offset);
  }
  for (const Node& node : graph.nodes()) {
    for (const Attribute& attribute : node.attributes()) {
      if (const auto* ref = std::get_if<TypeRef>(&attribute.value)) collect_type(ref->id);
      if (const auto* ref = std::get_if<SegmentRef>(&attribute.value)) collect_segment(ref->id);
    }
    if (node.placement.kernel < 0 ||
        !kernel_names_[static_cast<size_t>(node.placement.kernel)].empty())
      continue;
    kernel_names_[static_cast<size_t>(node.placement.kernel)] = "?";  // named when all are known
    kernels_.push_back(node.placement.kernel);
    collect_segment(module_.kernel(node.placement.kernel).object);
  }
}

void ModulePrinter::collect_dim(const Dim& dim) {
  if (dim.is_expression()) collect_expression(static_cast<ExpressionId>(dim.value));
}

void ModulePrinter::collect_expression(ExpressionId id) {
  if (id < 0 || expressions_[static_cast<size_t>(id)]) return;
  expressions_[static_cast<size_t>(id)] = true;
  const Expression& e = module_.expressions[id];
  if (e.op == ExpressionOp::kSymbol) symbols_[static_cast<size_t>(e.value)] = true;
  collect_expression(e.a);
  collect_expression(e.b);
}

void ModulePrinter::collect_type(TypeId id) {
  if (types_[static_cast<size_t>(id)]) return;
  types_[static_cast<size_t>(id)] = true;
  const Type& type = module_.type(id);
  for (const Dim& dim : type.dims) collect_dim(dim);
  if (type.kind != TypeKind::kTensor && type.kind != TypeKind::kUnknown) collect_type(type.element);
}

// Gives each operand of a constant expression its own line "constant $n", operands first.
void ModulePrinter::collect_segment(SegmentId id) {
  if (id < 0 || segments_[static_cast<size_t>(id)]) return;
  segments_[static_cast<size_t>(id)] = true;
  const Segment& segment = module_.segment(id);
  collect_type(segment.type);
  for (const SegmentId input : segment.inputs) {
    collect_segment(input);
    if (numbers_[static_cast<size_t>(input)] >= 0) continue;
    numbers_[static_cast<size_t>(input)] = static_cast<int32_t>(numbered_.size());
    numbered_.push_back(input);
  }
}

}  // namespace sluice::text
