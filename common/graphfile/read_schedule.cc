#include "common/graphfile/reader.h"

namespace sluice::graphfile {
namespace {

Result<void> read_streams(const fb::Graph& row, const std::vector<std::string_view>& strings,
                          Graph& graph, Budget& budget) {
  for (size_t i = 0; i < size_of(row.streams()); ++i) {
    const uint32_t name = row.streams()->Get(static_cast<uint32_t>(i));
    if (name >= strings.size()) return bad_file("a stream has the name {}", name);
    SLUICE_TRY(budget.charge(strings[name].size() + 1, 1));
    graph.streams.emplace_back(strings[name]);
  }
  return {};
}

Result<void> read_memories(const fb::Graph& row, const std::vector<std::string_view>& strings,
                           Graph& graph, Budget& budget) {
  for (size_t i = 0; i < size_of(row.memories()); ++i) {
    const fb::DeviceMemory& each = *row.memories()->Get(static_cast<uint32_t>(i));
    if (each.name() >= strings.size()) return bad_file("a memory has the name {}", each.name());
    SLUICE_TRY(budget.charge(strings[each.name()].size() + 1, 1));
    SLUICE_TRY(budget.charge(size_of(each.sub_memories()), sizeof(uint64_t)));
    if (!is_aligned(each.sub_memories())) return bad_file("sub-memories are not aligned");
    DeviceMemory& memory = graph.memories.emplace_back();
    memory.name = strings[each.name()];
    if (each.sub_memories() != nullptr)
      memory.sub_memories.assign(each.sub_memories()->begin(), each.sub_memories()->end());
  }
  return {};
}

Result<void> read_buffers(const fb::Graph& row, const FileTables& tables, Graph& graph,
                          Budget& budget) {
  SLUICE_TRY(
      budget.charge(size_of(row.buffers()), sizeof(fb::MemoryBuffer) + sizeof(fb::TaskRange)));
  if (!is_aligned(row.buffers())) return bad_file("buffers are not aligned");
  if (size_of(row.held()) != size_of(row.buffers()))
    return bad_file("{} buffers are held {} times", size_of(row.buffers()), size_of(row.held()));
  for (size_t i = 0; i < size_of(row.buffers()); ++i) {
    const fb::MemoryBuffer& each = *row.buffers()->Get(static_cast<uint32_t>(i));
    const fb::TaskRange& held = *row.held()->Get(static_cast<uint32_t>(i));
    if (each.memory() > static_cast<uint8_t>(MemoryClass::kOutput))
      return bad_file("buffer {} is of memory class {}", i, each.memory());
    MemoryBuffer& buffer = graph.buffers.emplace_back();
    buffer.memory = static_cast<MemoryClass>(each.memory());
    buffer.binding = each.binding();
    SLUICE_ASSIGN(buffer.bytes, read_dim(each.bytes(), tables, graph.module()));
    SLUICE_ASSIGN(buffer.offset, read_dim(each.offset(), tables, graph.module()));
    buffer.held = {held.first(), held.last()};
  }
  return {};
}

Result<void> read_live_ranges(const fb::Graph& row, Graph& graph, Budget& budget) {
  SLUICE_TRY(budget.charge(size_of(row.live()), sizeof(fb::LiveRange)));
  for (size_t i = 0; i < size_of(row.live()); ++i) {
    const fb::LiveRange& range = *row.live()->Get(static_cast<uint32_t>(i));
    if (range.buffer() >= graph.buffers.size())
      return bad_file("a live range is of buffer {}", range.buffer());
    graph.buffers[range.buffer()].live.push_back({range.stream(), range.first(), range.last()});
  }
  return {};
}

Result<void> read_places(const fb::Graph& row, const FileTables& tables, Graph& graph,
                         Budget& budget) {
  SLUICE_TRY(budget.charge(size_of(row.places()), sizeof(fb::MemoryPlace) + sizeof(fb::Dim)));
  if (!is_aligned(row.places()) || !is_aligned(row.place_bytes()))
    return bad_file("places are not aligned");
  if (size_of(row.places()) != size_of(row.place_bytes()))
    return bad_file("{} places have {} sizes", size_of(row.places()), size_of(row.place_bytes()));
  for (size_t i = 0; i < size_of(row.places()); ++i) {
    const fb::MemoryPlace& place = *row.places()->Get(static_cast<uint32_t>(i));
    if (place.value() >= graph.value_limit() || place.buffer() >= graph.buffers.size())
      return bad_file("value {} lies in buffer {}", place.value(), place.buffer());
    SLUICE_ASSIGN(const Dim offset, read_dim(place.offset(), tables, graph.module()));
    const fb::Dim& size = *row.place_bytes()->Get(static_cast<uint32_t>(i));
    SLUICE_ASSIGN(const Dim bytes, read_dim(size, tables, graph.module()));
    graph.values()[place.value()].set_place(
        {static_cast<int32_t>(place.buffer()), offset, bytes, -1});
  }
  return {};
}

Result<void> read_capacities(const fb::Graph& row, const FileTables& tables, Graph& graph,
                             Budget& budget) {
  SLUICE_TRY(budget.charge(size_of(row.capacities()), sizeof(fb::ValueFact)));
  for (size_t i = 0; i < size_of(row.capacities()); ++i) {
    const fb::ValueFact& fact = *row.capacities()->Get(static_cast<uint32_t>(i));
    if (fact.value() >= graph.value_limit() || fact.id() >= tables.types.size())
      return bad_file("value {} is of wider rows of type {}", fact.value(), fact.id());
    Value& value = graph.values()[fact.value()];
    MemoryPlace place = value.place();
    if (place.buffer < 0) return bad_file("value {} is of wider rows in no buffer", fact.value());
    place.capacity = tables.types[fact.id()];
    value.set_place(place);
  }
  return {};
}

}  // namespace

Result<void> read_schedule(const fb::Graph& row, const std::vector<std::string_view>& strings,
                           const FileTables& tables, Graph& graph, Budget& budget,
                           Budget& text_budget) {
  SLUICE_TRY(read_streams(row, strings, graph, text_budget));
  SLUICE_TRY(read_memories(row, strings, graph, budget));
  SLUICE_TRY(read_buffers(row, tables, graph, budget));
  SLUICE_TRY(read_live_ranges(row, graph, budget));
  SLUICE_TRY(read_places(row, tables, graph, budget));
  graph.has_notifies = row.has_notifies();
  graph.arena_bytes = row.arena_bytes();
  graph.scratch_bytes = row.scratch_bytes();
  return read_capacities(row, tables, graph, budget);
}

}  // namespace sluice::graphfile
