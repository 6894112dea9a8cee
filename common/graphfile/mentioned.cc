#include "common/base/work.h"
#include "common/graphfile/writer.h"

namespace sluice::graphfile {

uint32_t TextTable::id(std::string_view text) {
  if (const auto found = index_.find(text); found != index_.end()) return found->second;
  const auto added = index_.emplace(std::string(text), static_cast<uint32_t>(texts_.size())).first;
  texts_.push_back(added->first);
  return added->second;
}

flatbuffers::Offset<fb::Texts> TextTable::build(flatbuffers::FlatBufferBuilder& builder) const {
  std::string bytes;
  std::vector<uint32_t> ends;
  for (const std::string_view text : texts_) {
    bytes += text;
    ends.push_back(static_cast<uint32_t>(bytes.size()));
  }
  const auto bytes_offset =
      builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return fb::CreateTexts(builder, bytes_offset, builder.CreateVector(ends));
}

Mentioned::Mentioned(const Module& module)
    : expressions(module.expressions.size()),
      symbols(module.expressions.symbol_count()),
      types(module.type_count()),
      storages(module.storage_count()),
      segments(module.segment_count()),
      kernels(module.kernel_count()),
      module_(module),
      used_expressions_(module.expressions.size(), false) {
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    const Graph& graph = module.graph(id);
    for (const Value& value : graph.values()) {
      type(value.type_id());
      storage(value.storage_id());
      segment(value.segment());
      place(value.place());
    }
    for (const MemoryBuffer& buffer : graph.buffers) {
      dim(buffer.bytes);
      dim(buffer.offset);
    }
    add_work(Work::kNodeVisits, graph.node_count());
    for (const Node& each : graph.nodes()) node(each);
  }
  for (const Requirement& requirement : module.requirements.rows()) {
    expression(requirement.a);
    expression(requirement.b);
  }
  std::vector<bool> used_symbols(module.expressions.symbol_count(), false);
  for (size_t id = 0; id < used_expressions_.size(); ++id) {
    if (!used_expressions_[id]) continue;
    const Expression& e = module.expressions[static_cast<ExpressionId>(id)];
    if (e.op == ExpressionOp::kSymbol) used_symbols[static_cast<size_t>(e.value)] = true;
  }
  for (size_t id = 0; id < used_symbols.size(); ++id) {
    if (used_symbols[id]) symbols.add(static_cast<int32_t>(id));
  }
}

void Mentioned::dim(const Dim& dim) {
  if (dim.is_expression()) expression(static_cast<ExpressionId>(dim.value));
}

void Mentioned::place(const MemoryPlace& place) {
  dim(place.offset);
  dim(place.bytes);
  if (place.capacity >= 0) type(place.capacity);
}

void Mentioned::expression(ExpressionId id) {
  if (id < 0 || used_expressions_[static_cast<size_t>(id)]) return;
  used_expressions_[static_cast<size_t>(id)] = true;
  const Expression& e = module_.expressions[id];
  expression(e.a);
  expression(e.b);
  expressions.add(static_cast<int32_t>(id));
}

void Mentioned::type(TypeId id) {
  if (types.has(id)) return;
  const Type& type_ = module_.type(id);
  for (const Dim& each : type_.dims) dim(each);
  if (type_.kind != TypeKind::kTensor && type_.kind != TypeKind::kUnknown) type(type_.element);
  types.add(id);
}

void Mentioned::storage(StorageId id) {
  if (id < 0 || storages.has(id)) return;
  for (const Dim& each : module_.storage(id).dims) dim(each);
  dim(module_.storage(id).bytes);
  storages.add(id);
}

void Mentioned::segment(SegmentId id) {
  if (id < 0 || segments.has(id)) return;
  type(module_.segment(id).type);
  for (const SegmentId input : module_.segment(id).inputs) segment(input);
  segments.add(id);
}

void Mentioned::node(const Node& node) {
  for (const Attribute& attribute : node.attributes()) {
    if (const auto* ref = std::get_if<TypeRef>(&attribute.value)) type(ref->id);
    if (const auto* ref = std::get_if<SegmentRef>(&attribute.value)) segment(ref->id);
  }
  if (node.placement.kernel < 0 || kernels.has(node.placement.kernel)) return;
  segment(module_.kernel(node.placement.kernel).object);
  kernels.add(node.placement.kernel);
}

}  // namespace sluice::graphfile
