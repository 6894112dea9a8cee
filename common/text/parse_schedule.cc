#include <algorithm>
#include <charconv>

#include "common/text/parser.h"
#include "common/text/printer.h"

namespace sluice::text {

// Parses: stream "name".
Result<void> ModuleParser::parse_stream(Graph& graph) {
  SLUICE_TRY(advance());
  const size_t offset = token().offset;
  SLUICE_ASSIGN(std::string name, take_name("the name of a stream"));
  if (std::ranges::find(graph.streams, name) != graph.streams.end())
    return lexer_.error_at(offset, fmt::format("stream '{}' stands twice", name));
  graph.streams.push_back(std::move(name));
  return {};
}

// Parses: sync notify.
Result<void> ModuleParser::parse_sync(Graph& graph) {
  SLUICE_TRY(advance());
  SLUICE_TRY(expect("notify"));
  graph.has_notifies = true;
  return {};
}

// Parses: note "text".
Result<void> ModuleParser::parse_note(Graph& graph) {
  SLUICE_TRY(advance());
  SLUICE_ASSIGN(graph.notes.emplace_back(), take_name("a text"));
  return {};
}

Result<uint32_t> ModuleParser::take_stream(const Graph& graph) {
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const std::string name, take_name("the name of a stream"));
  const auto found = std::ranges::find(graph.streams, name);
  if (found == graph.streams.end())
    return lexer_.error_at(offset, fmt::format("there is no stream '{}' above", name));
  return static_cast<uint32_t>(found - graph.streams.begin());
}

// Parses: memory "class" [sub_memories [bytes, …]].
Result<void> ModuleParser::parse_memory(Graph& graph) {
  SLUICE_TRY(advance());
  const size_t offset = token().offset;
  DeviceMemory memory;
  SLUICE_ASSIGN(memory.name, take_name("the name of a memory class"));
  if (std::ranges::find(graph.memories, memory.name, &DeviceMemory::name) != graph.memories.end())
    return lexer_.error_at(offset, fmt::format("memory '{}' stands twice", memory.name));
  SLUICE_ASSIGN(const bool is_planned, skip("sub_memories"));
  if (is_planned) {
    SLUICE_ASSIGN(const std::vector<int64_t> list,
                  take_numbers("the bytes of a sub-memory", INT64_MAX));
    memory.sub_memories.assign(list.begin(), list.end());
  }
  graph.memories.push_back(std::move(memory));
  return {};
}

Result<uint32_t> ModuleParser::take_memory(const Graph& graph) {
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const std::string name, take_name("the name of a memory class"));
  const auto found = std::ranges::find(graph.memories, name, &DeviceMemory::name);
  if (found == graph.memories.end())
    return lexer_.error_at(offset, fmt::format("there is no memory '{}' above", name));
  return static_cast<uint32_t>(found - graph.memories.begin());
}

// Parses: "arena" or "scratch" bytes <number>.
Result<void> ModuleParser::parse_bytes(uint64_t& bytes) {
  SLUICE_TRY(advance());
  SLUICE_TRY(expect("bytes"));
  SLUICE_ASSIGN(const int64_t number, take_int("a number of bytes", 0, INT64_MAX));
  bytes = static_cast<uint64_t>(number);
  return {};
}

// Parses: b<number>.
Result<int32_t> ModuleParser::take_buffer() {
  const Token name = token();
  int32_t number = -1;
  const char* end = name.text.data() + name.text.size();
  const bool is_buffer = name.kind == TokenKind::kWord && name.text.starts_with('b');
  if (is_buffer) {
    const auto [stop, error] = std::from_chars(name.text.data() + 1, end, number);
    if (stop != end || error != std::errc()) number = -1;
  }
  if (number < 0) return unexpected("a buffer (b0, b1, …)");
  SLUICE_TRY(advance());
  return number;
}

// Parses: buffer b0 = class [binding or "class of memory"] bytes dim [offset dim] [live "stream"
// [first, last], …] [held [first, last]].
Result<void> ModuleParser::parse_buffer(Graph& graph) {
  SLUICE_TRY(advance());
  const size_t offset = token().offset;
  SLUICE_ASSIGN(const int32_t number, take_buffer());
  if (number != static_cast<int64_t>(graph.buffers.size()))
    return lexer_.error_at(offset,
                           fmt::format("buffer b{} stands where b{} is due: they are numbered in "
                                       "order",
                                       number, graph.buffers.size()));
  SLUICE_TRY(expect("="));
  const auto memory = memory_class_from_name(token().text);
  if (!memory) return unexpected("a memory class (arena, weights, input, output)");
  SLUICE_TRY(advance());
  MemoryBuffer buffer;
  buffer.memory = *memory;
  if (*memory == MemoryClass::kInput || *memory == MemoryClass::kOutput) {
    SLUICE_ASSIGN(const int64_t binding, take_int("the index of an input or output", 0, INT32_MAX));
    buffer.binding = static_cast<uint32_t>(binding);
  } else if (*memory == MemoryClass::kArena &&
             (!graph.memories.empty() || token().kind == TokenKind::kString)) {
    SLUICE_ASSIGN(buffer.binding, take_memory(graph));
  }
  SLUICE_TRY(expect("bytes"));
  SLUICE_ASSIGN(buffer.bytes, parse_dim());
  SLUICE_ASSIGN(const bool has_offset, skip("offset"));
  if (has_offset) {
    SLUICE_ASSIGN(buffer.offset, parse_dim());
  }
  SLUICE_TRY(parse_live_ranges(graph, buffer));
  SLUICE_ASSIGN(const bool has_held, skip("held"));
  buffer.held = implied_held(buffer);
  if (has_held) {
    SLUICE_ASSIGN(buffer.held, take_tasks());
  }
  graph.buffers.push_back(std::move(buffer));
  return {};
}

Result<void> ModuleParser::parse_live_ranges(const Graph& graph, MemoryBuffer& buffer) {
  SLUICE_ASSIGN(bool is_more, skip("live"));
  while (is_more) {
    LiveRange& range = buffer.live.emplace_back();
    SLUICE_ASSIGN(range.stream, take_stream(graph));
    SLUICE_ASSIGN(const TaskRange tasks, take_tasks());
    range.first = tasks.first;
    range.last = tasks.last;
    SLUICE_ASSIGN(is_more, skip(","));
  }
  return {};
}

// Parses: [first, last].
Result<TaskRange> ModuleParser::take_tasks() {
  SLUICE_TRY(expect("["));
  SLUICE_ASSIGN(const int64_t first, take_int("the position of a task", 0, UINT32_MAX));
  SLUICE_TRY(expect(","));
  SLUICE_ASSIGN(const int64_t last, take_int("the position of a task", first, UINT32_MAX));
  SLUICE_TRY(expect("]"));
  return TaskRange{static_cast<uint32_t>(first), static_cast<uint32_t>(last)};
}

// Parses, after "at": b<number> [+ offset] [bytes dim] [of type].
Result<void> ModuleParser::parse_place(Definition& definition) {
  MemoryPlace& place = definition.place;
  SLUICE_ASSIGN(place.buffer, take_buffer());
  SLUICE_ASSIGN(const bool has_offset, skip("+"));
  if (has_offset) {
    SLUICE_ASSIGN(place.offset, parse_dim());
  }
  SLUICE_ASSIGN(definition.has_bytes, skip("bytes"));
  if (definition.has_bytes) {
    SLUICE_ASSIGN(place.bytes, parse_dim());
  }
  SLUICE_ASSIGN(const bool has_capacity, skip("of"));
  if (has_capacity) {
    SLUICE_ASSIGN(place.capacity, parse_type());
  }
  return {};
}

// Gives a value, whose type is known, its storage and its place.
void ModuleParser::place(const Definition& definition, Value& value) {
  value.set_storage(definition.storage);
  MemoryPlace place = definition.place;
  if (place.buffer >= 0 && !definition.has_bytes) place.bytes = implied_bytes(value);
  value.set_place(place);
}

// Parses: [0, 1, …].
Result<std::vector<int64_t>> ModuleParser::take_numbers(std::string_view what, int64_t largest) {
  std::vector<int64_t> numbers;
  SLUICE_TRY(expect("["));
  while (!token().is("]")) {
    if (!numbers.empty()) SLUICE_TRY(expect(","));
    SLUICE_ASSIGN(numbers.emplace_back(), take_int(what, 0, largest));
  }
  SLUICE_TRY(advance());
  return numbers;
}

Result<std::vector<uint32_t>> ModuleParser::take_events() {
  SLUICE_ASSIGN(const std::vector<int64_t> numbers,
                take_numbers("the number of an event", INT32_MAX));
  return std::vector<uint32_t>(numbers.begin(), numbers.end());
}

// Parses: "[0, 3:2]", the first record of event 0 and the second of event 3.
Result<std::vector<EventWait>> ModuleParser::take_waits() {
  std::vector<EventWait> waits;
  SLUICE_TRY(expect("["));
  while (!token().is("]")) {
    if (!waits.empty()) SLUICE_TRY(expect(","));
    SLUICE_ASSIGN(const int64_t event, take_int("the number of an event", 0, INT32_MAX));
    SLUICE_ASSIGN(const bool names_record, skip(":"));
    int64_t record = 1;
    if (names_record) {
      SLUICE_ASSIGN(record, take_int("the number of a record", 1, INT32_MAX));
    }
    waits.push_back({static_cast<uint32_t>(event), static_cast<uint32_t>(record)});
  }
  SLUICE_TRY(advance());
  return waits;
}

// Checks that the buffers exist: inputs name them before the lines that define them.
Result<void> ModuleParser::check_places(const Scope& scope, const Graph& graph) const {
  for (const Value& value : graph.values()) {
    const int32_t buffer = value.place().buffer;
    if (buffer >= static_cast<int64_t>(graph.buffers.size())) {
      return lexer_.error(fmt::format("{} has a value at b{}, and {} buffers", scope.name, buffer,
                                      graph.buffers.size()));
    }
  }
  return {};
}

}  // namespace sluice::text
