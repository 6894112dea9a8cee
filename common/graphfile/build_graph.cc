#include <algorithm>

#include "common/base/work.h"
#include "common/graphfile/writer.h"

namespace sluice::graphfile {
namespace {

class GraphBufferWriter {
 public:
  GraphBufferWriter(const Module& module, const Mentioned& mentioned)
      : module_(module), mentioned_(mentioned), builder_(1 << 16) {}

  flatbuffers::DetachedBuffer finish() {
    std::vector<flatbuffers::Offset<fb::Graph>> graphs;
    for (GraphId id = 0; id < module_.graph_limit(); ++id)
      graphs.push_back(graph(module_.graph(id)));
    const auto graphs_offset = builder_.CreateVector(graphs);
    const auto types_offset = types();
    const auto storages_offset = storages();
    const auto segments_offset = segments();
    const auto kernels_offset = kernels();
    const auto expressions_offset = expressions();
    const auto symbols_offset = symbols();
    const auto ints_offset = builder_.CreateVector(ints_);
    const auto floats_offset = builder_.CreateVector(floats_);
    const auto strings_offset = strings_.build(builder_);
    const auto ops_offset = ops_.build(builder_);
    const auto names_offset = attribute_names_.build(builder_);
    const auto requirements_offset = requirements();
    builder_.Finish(fb::CreateFile(builder_, ops_offset, names_offset, expressions_offset,
                                   symbols_offset, types_offset, storages_offset, segments_offset,
                                   kernels_offset, graphs_offset, ints_offset, floats_offset,
                                   strings_offset, requirements_offset));
    return builder_.Release();
  }

 private:
  fb::Dim row(const Dim& dim) const {
    const int64_t value = dim.is_expression()
                              ? mentioned_.expressions[static_cast<ExpressionId>(dim.value)]
                              : dim.value;
    return {static_cast<uint8_t>(dim.kind), dim.is_unknown() ? 0 : value};
  }

  flatbuffers::Offset<flatbuffers::Vector<const fb::Dim*>> rows(const std::vector<Dim>& dims) {
    std::vector<fb::Dim> result;
    for (const Dim& dim : dims) result.push_back(row(dim));
    return builder_.CreateVectorOfStructs(result);
  }

  flatbuffers::Offset<flatbuffers::Vector<const fb::Expression*>> expressions() {
    std::vector<fb::Expression> result;
    for (const int32_t id : mentioned_.expressions.order()) {
      const Expression& e = module_.expressions[id];
      const int64_t value = e.op == ExpressionOp::kSymbol
                                ? mentioned_.symbols[static_cast<SymbolId>(e.value)]
                                : e.value;
      result.emplace_back(static_cast<uint8_t>(e.op), mentioned_.expressions[e.a],
                          mentioned_.expressions[e.b], value);
    }
    return builder_.CreateVectorOfStructs(result);
  }

  flatbuffers::Offset<flatbuffers::Vector<const fb::Symbol*>> symbols() {
    std::vector<fb::Symbol> result;
    for (const int32_t id : mentioned_.symbols.order()) {
      const Symbol& s = module_.expressions.symbol(id);
      result.emplace_back(static_cast<uint8_t>(s.origin), s.graph, s.value, s.axis, s.low, s.high,
                          s.divisor);
    }
    return builder_.CreateVectorOfStructs(result);
  }

  flatbuffers::Offset<flatbuffers::Vector<const fb::Requirement*>> requirements() {
    std::vector<fb::Requirement> result;
    for (const Requirement& each : module_.requirements.rows())
      result.emplace_back(mentioned_.expressions[each.a], mentioned_.expressions[each.b]);
    if (result.empty()) return 0;
    return builder_.CreateVectorOfStructs(result);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Type>>> types() {
    std::vector<flatbuffers::Offset<fb::Type>> result;
    for (const int32_t id : mentioned_.types.order()) {
      const Type& type = module_.type(id);
      const bool has_element = type.kind != TypeKind::kTensor && type.kind != TypeKind::kUnknown;
      const auto dims = type.dims.empty() ? 0 : rows(type.dims);
      result.push_back(fb::CreateType(
          builder_, static_cast<uint8_t>(type.kind), static_cast<uint8_t>(type.dtype), type.ranked,
          dims, has_element ? static_cast<uint32_t>(mentioned_.types[type.element]) : 0));
    }
    return builder_.CreateVector(result);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Storage>>> storages() {
    std::vector<flatbuffers::Offset<fb::Storage>> result;
    for (const int32_t id : mentioned_.storages.order()) {
      const Storage& storage = module_.storage(id);
      const auto dims = rows(storage.dims);
      std::vector<fb::StoredAxis> axes;
      for (const StoredAxis& axis : storage.map)
        axes.emplace_back(axis.dim, axis.divisor, axis.modulus);
      const auto map = builder_.CreateVectorOfStructs(axes);
      const fb::Dim bytes = row(storage.bytes);
      result.push_back(fb::CreateStorage(builder_, dims, &bytes, map));
    }
    return builder_.CreateVector(result);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Segment>>> segments() {
    std::vector<flatbuffers::Offset<fb::Segment>> result;
    for (const int32_t id : mentioned_.segments.order()) {
      const Segment& segment = module_.segment(id);
      flatbuffers::Offset<flatbuffers::Vector<uint8_t>> data;
      if (!segment.data.empty()) {
        builder_.ForceVectorAlignment(segment.data.size(), 1, 16);
        data = builder_.CreateVector(reinterpret_cast<const uint8_t*>(segment.data.data()),
                                     segment.data.size());
      }
      std::vector<uint32_t> inputs;
      for (const SegmentId input : segment.inputs)
        inputs.push_back(static_cast<uint32_t>(mentioned_.segments[input]));
      const auto inputs_offset = inputs.empty() ? 0 : builder_.CreateVector(inputs);
      const fb::Digest digest(segment.digest.bytes);
      result.push_back(fb::CreateSegment(builder_, static_cast<fb::SegmentKind>(segment.kind),
                                         static_cast<uint32_t>(mentioned_.types[segment.type]),
                                         &digest, segment.size, data, segment.graph, inputs_offset,
                                         segment.parameter));
    }
    return builder_.CreateVector(result);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Kernel>>> kernels() {
    std::vector<flatbuffers::Offset<fb::Kernel>> result;
    for (const int32_t id : mentioned_.kernels.order()) {
      const Kernel& kernel = module_.kernel(id);
      const auto entry = builder_.CreateString(kernel.entry);
      const auto isa = builder_.CreateString(kernel.isa);
      const auto multiply_add_symbols = numbers(kernel.multiply_add_symbols);
      result.push_back(
          fb::CreateKernel(builder_, static_cast<uint32_t>(mentioned_.segments[kernel.object]),
                           entry, isa, kernel.blocks, kernel.scratch_bytes, kernel.multiply_adds,
                           kernel.symbolic, multiply_add_symbols, kernel.multiply_adds_per_block, 0,
                           kernel.cycles, kernel.nominal_multiply_adds));
    }
    return builder_.CreateVector(result);
  }

  // The location of an attribute's value: the pool of its kind, or none when the id is the value.
  struct Place {
    fb::AttributeKind kind;
    uint32_t first = 0;
    uint32_t count = 1;
  };
  template <typename T>
  static uint32_t append(std::vector<T>& pool, const std::vector<T>& values) {
    pool.insert(pool.end(), values.begin(), values.end());
    return static_cast<uint32_t>(pool.size() - values.size());
  }
  Place place(int64_t value) { return {fb::AttributeKind::int_, append(ints_, {value})}; }
  Place place(float value) { return {fb::AttributeKind::float_, append(floats_, {value})}; }
  Place place(const std::string& value) { return {fb::AttributeKind::string_, strings_.id(value)}; }
  Place place(const std::vector<int64_t>& values) {
    return {fb::AttributeKind::ints, append(ints_, values), static_cast<uint32_t>(values.size())};
  }
  Place place(const std::vector<float>& values) {
    return {fb::AttributeKind::floats, append(floats_, values),
            static_cast<uint32_t>(values.size())};
  }
  // Texts are stored once, so a list of them is a list of numbers in the pool of ints.
  Place place(const std::vector<std::string>& values) {
    std::vector<int64_t> ids;
    for (const std::string& value : values) ids.push_back(strings_.id(value));
    return {fb::AttributeKind::strings, append(ints_, ids), static_cast<uint32_t>(ids.size())};
  }
  Place place(TypeRef value) {
    return {fb::AttributeKind::type, static_cast<uint32_t>(mentioned_.types[value.id])};
  }
  Place place(SegmentRef value) {
    return {fb::AttributeKind::segment, static_cast<uint32_t>(mentioned_.segments[value.id])};
  }
  Place place(GraphRef value) {
    return {fb::AttributeKind::graph, static_cast<uint32_t>(value.id)};
  }
  Place place(const std::vector<GraphRef>& values) {
    std::vector<int64_t> ids;
    for (const GraphRef value : values) ids.push_back(value.id);
    return {fb::AttributeKind::graphs, append(ints_, ids), static_cast<uint32_t>(ids.size())};
  }

  flatbuffers::Offset<flatbuffers::Vector<const fb::Attribute*>> attributes(const Node& node) {
    if (node.attributes().empty()) return 0;
    attribute_rows_.clear();
    for (const Attribute& attribute : node.attributes()) {
      const auto name = static_cast<uint16_t>(attribute_names_.id(attribute.name));
      const Place where =
          std::visit([&](const auto& value) { return place(value); }, attribute.value);
      attribute_rows_.emplace_back(name, where.kind, where.first, where.count);
    }
    return builder_.CreateVectorOfStructs(attribute_rows_);
  }

  int32_t engine(EngineId engine) {
    return engine == EngineId::kNone ? -1 : static_cast<int32_t>(strings_.id(engine_name(engine)));
  }

  flatbuffers::Offset<fb::Placement> placement(const Placement& placement) {
    if (placement == Placement{}) return 0;
    const auto id_of = [&](const std::string& text) {
      return text.empty() ? -1 : static_cast<int32_t>(strings_.id(text));
    };
    const int32_t label = id_of(placement.stream_label.text);
    std::vector<uint32_t> waits, wait_records;
    bool is_reused = false;
    for (const EventWait& wait : placement.waits) {
      waits.push_back(wait.event);
      wait_records.push_back(wait.record);
      is_reused = is_reused || wait.record != 1;
    }
    if (!is_reused) wait_records.clear();
    return fb::CreatePlacement(
        builder_, mentioned_.kernels[placement.kernel], label, placement.stage_level,
        placement.parallel_group, placement.no_task, placement.keep, placement.no_fold,
        static_cast<uint8_t>(placement.precision), id_of(placement.super_kernel_scope),
        engine(placement.engine), placement.stream, numbers(waits), numbers(placement.records),
        id_of(placement.memory_class), id_of(placement.layouts), placement.complete_after,
        placement.stream_label.is_chosen, numbers(wait_records));
  }

  flatbuffers::Offset<flatbuffers::Vector<uint32_t>> numbers(const std::vector<uint32_t>& list) {
    return list.empty() ? 0 : builder_.CreateVector(list);
  }

  flatbuffers::Offset<fb::Node> node(const Node& node) {
    inputs_.clear();
    for (size_t i = 0; i < node.input_count(); ++i)
      inputs_.push_back(node.input(i) == nullptr ? -1 : node.input(i)->id());
    std::vector<uint32_t> after;
    for (const Node* before : node.after()) after.push_back(static_cast<uint32_t>(before->id()));
    std::sort(after.begin(), after.end());
    const auto inputs = inputs_.empty() ? 0 : builder_.CreateVector(inputs_);
    const auto attributes_offset = attributes(node);
    const auto after_offset = after.empty() ? 0 : builder_.CreateVector(after);
    const auto placement_offset = placement(node.placement);
    const auto op = static_cast<uint16_t>(ops_.id(op_name(node.op())));
    return fb::CreateNode(builder_, op, inputs, static_cast<uint32_t>(node.output_count()),
                          attributes_offset, after_offset, placement_offset);
  }

  // The facts of a graph's schedule; nothing before it has any.
  struct Schedule {
    flatbuffers::Offset<flatbuffers::Vector<uint32_t>> streams;
    flatbuffers::Offset<flatbuffers::Vector<const fb::MemoryBuffer*>> buffers;
    flatbuffers::Offset<flatbuffers::Vector<const fb::LiveRange*>> live;
    flatbuffers::Offset<flatbuffers::Vector<const fb::MemoryPlace*>> places;
    flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::DeviceMemory>>> memories;
    flatbuffers::Offset<flatbuffers::Vector<const fb::TaskRange*>> held;
    flatbuffers::Offset<flatbuffers::Vector<const fb::Dim*>> place_bytes;
    flatbuffers::Offset<flatbuffers::Vector<const fb::ValueFact*>> capacities;
  };

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::DeviceMemory>>> memories(
      const Graph& graph) {
    if (graph.memories.empty()) return 0;
    std::vector<flatbuffers::Offset<fb::DeviceMemory>> rows;
    for (const DeviceMemory& memory : graph.memories) {
      rows.push_back(fb::CreateDeviceMemory(builder_, strings_.id(memory.name),
                                            builder_.CreateVector(memory.sub_memories)));
    }
    return builder_.CreateVector(rows);
  }

  Schedule schedule(const Graph& graph) {
    Schedule schedule;
    std::vector<uint32_t> streams;
    for (const std::string& name : graph.streams) streams.push_back(strings_.id(name));
    schedule.streams = numbers(streams);
    schedule.memories = memories(graph);
    if (graph.buffers.empty()) return schedule;
    write_buffers(graph, schedule);
    write_places(graph, schedule);
    return schedule;
  }

  void write_buffers(const Graph& graph, Schedule& schedule) {
    std::vector<fb::MemoryBuffer> buffers;
    std::vector<fb::LiveRange> live;
    std::vector<fb::TaskRange> held;
    for (const MemoryBuffer& buffer : graph.buffers) {
      const auto id = static_cast<uint32_t>(buffers.size());
      buffers.emplace_back(static_cast<uint8_t>(buffer.memory), buffer.binding, row(buffer.bytes),
                           row(buffer.offset));
      held.emplace_back(buffer.held.first, buffer.held.last);
      for (const LiveRange& range : buffer.live)
        live.emplace_back(id, range.stream, range.first, range.last);
    }
    schedule.buffers = builder_.CreateVectorOfStructs(buffers);
    schedule.live = builder_.CreateVectorOfStructs(live);
    schedule.held = builder_.CreateVectorOfStructs(held);
  }

  void write_places(const Graph& graph, Schedule& schedule) {
    std::vector<fb::MemoryPlace> places;
    std::vector<fb::Dim> bytes;
    std::vector<fb::ValueFact> capacities;
    for (const Value& value : graph.values()) {
      const MemoryPlace& place = value.place();
      if (place.buffer < 0) continue;
      const auto id = static_cast<uint32_t>(value.id());
      places.emplace_back(id, static_cast<uint32_t>(place.buffer), row(place.offset));
      bytes.push_back(row(place.bytes));
      if (place.capacity >= 0)
        capacities.emplace_back(id, static_cast<uint32_t>(mentioned_.types[place.capacity]));
    }
    schedule.places = builder_.CreateVectorOfStructs(places);
    schedule.place_bytes = builder_.CreateVectorOfStructs(bytes);
    if (!capacities.empty()) schedule.capacities = builder_.CreateVectorOfStructs(capacities);
  }

  flatbuffers::Offset<fb::Graph> graph(const Graph& graph) {
    std::vector<flatbuffers::Offset<fb::Node>> nodes;
    add_work(Work::kNodeVisits, graph.node_count());
    for (const Node& each : graph.nodes()) nodes.push_back(node(each));
    std::vector<uint32_t> types, outputs;
    std::vector<fb::ValueFact> segments, storages;
    for (const Value& value : graph.values()) {
      const auto id = static_cast<uint32_t>(value.id());
      types.push_back(static_cast<uint32_t>(mentioned_.types[value.type_id()]));
      if (value.segment() >= 0)
        segments.emplace_back(id, static_cast<uint32_t>(mentioned_.segments[value.segment()]));
      if (value.storage_id() >= 0)
        storages.emplace_back(id, static_cast<uint32_t>(mentioned_.storages[value.storage_id()]));
    }
    for (const Value* output : graph.outputs())
      outputs.push_back(static_cast<uint32_t>(output->id()));
    const auto outputs_offset = builder_.CreateVector(outputs);
    const auto types_offset = builder_.CreateVector(types);
    const auto segments_offset = builder_.CreateVectorOfStructs(segments);
    const auto storages_offset = builder_.CreateVectorOfStructs(storages);
    const Schedule facts = schedule(graph);
    return fb::CreateGraph(
        builder_, static_cast<uint8_t>(graph.role), static_cast<uint32_t>(graph.inputs().size()),
        graph.captures, outputs_offset, types_offset, segments_offset, storages_offset,
        builder_.CreateVector(nodes), static_cast<uint8_t>(graph.shapes), engine(graph.engine),
        facts.streams, facts.buffers, facts.live, facts.places, facts.memories, graph.arena_bytes,
        graph.scratch_bytes, facts.held, facts.place_bytes, facts.capacities, graph.has_notifies);
  }

  const Module& module_;
  const Mentioned& mentioned_;
  flatbuffers::FlatBufferBuilder builder_;
  TextTable ops_;
  TextTable attribute_names_;
  TextTable strings_;
  std::vector<int64_t> ints_;
  std::vector<float> floats_;
  std::vector<int32_t> inputs_;                // of the current node
  std::vector<fb::Attribute> attribute_rows_;  // of the current node
};

}  // namespace

flatbuffers::DetachedBuffer build_graph_buffer(const Module& module, const Mentioned& mentioned) {
  return GraphBufferWriter(module, mentioned).finish();
}

}  // namespace sluice::graphfile
