// Prints the facts of a schedule:
//
//   stream "main"
//   note "stream main: …"
//   memory "hbm" sub_memories [209715200, 4096]      (where the device has classes of memory)
//   arena bytes 4096
//   scratch bytes 512
//   buffer b0 = arena bytes 4096 offset 0 live "main" [2, 5]
//   buffer b1 = output 0 bytes 4*n live "main" [5, 5]
//   %y: f32[n] at b1 = ...
//   %z: f32[16] at b0 + 64 = ...
//
// A fact is printed where it differs from what others imply: the bytes of a value from those of its
// storage or type, the tasks that hold a buffer from those of its live ranges.
#include <fmt/ranges.h>

#include <algorithm>

#include "common/ir/append_axis.h"
#include "common/text/names.h"
#include "common/text/printer.h"

namespace sluice::text {

std::string stream_name(const Graph& graph, uint32_t stream) {
  return stream < graph.streams.size() ? quoted_text(graph.streams[stream])
                                       : fmt::format("\"stream {}\"", stream);
}

std::string print_buffer(const Graph& graph, const MemoryBuffer& buffer) {
  const Module& module = graph.module();
  std::string text(memory_class_name(buffer.memory));
  if (buffer.memory == MemoryClass::kInput || buffer.memory == MemoryClass::kOutput)
    text += fmt::format(" {}", buffer.binding);
  if (buffer.memory == MemoryClass::kArena && buffer.binding < graph.memories.size())
    text += " " + quoted_text(graph.memories[buffer.binding].name);
  text += " bytes " + print_dim(module, buffer.bytes);
  if (!buffer.offset.is_unknown()) text += " offset " + print_dim(module, buffer.offset);
  std::string_view before = " live ";
  for (const LiveRange& range : buffer.live) {
    text += fmt::format("{}{} [{}, {}]", before, stream_name(graph, range.stream), range.first,
                        range.last);
    before = ", ";
  }
  if (buffer.held != implied_held(buffer))
    text += fmt::format(" held [{}, {}]", buffer.held.first, buffer.held.last);
  return text;
}

TaskRange implied_held(const MemoryBuffer& buffer) {
  return buffer.memory == MemoryClass::kArena ? hull_of(buffer.live) : TaskRange();
}

Dim implied_bytes(const Value& value) {
  const Type& type = value.type();
  if (value.storage() != nullptr) return value.storage()->bytes;
  if (const auto bytes = type.dense_bytes()) return Dim::fixed(static_cast<int64_t>(*bytes));
  const bool is_open = type.is_tensor() && type.ranked && dtype_bits(type.dtype) >= 8 &&
                       std::ranges::any_of(type.dims, &Dim::is_expression) &&
                       std::ranges::none_of(type.dims, &Dim::is_unknown);
  return is_open ? dense_bytes(value.graph().module(), type.dtype, type.dims) : Dim::unknown();
}

std::string print_size(const Value& value) {
  const MemoryPlace& place = value.place();
  const Module& module = value.graph().module();
  std::string text;
  if (place.bytes != implied_bytes(value)) text += " bytes " + print_dim(module, place.bytes);
  if (place.capacity >= 0) text += " of " + print_type(module, place.capacity);
  return text;
}

std::string print_place(const Value& value) {
  const MemoryPlace& place = value.place();
  const Graph& graph = value.graph();
  std::string text = print_buffer(graph, graph.buffers[static_cast<size_t>(place.buffer)]);
  if (place.offset != Dim::fixed(0))
    text = print_dim(graph.module(), place.offset) + " into " + text;
  const std::string size = print_size(value);
  return size.empty() ? text : text + "," + size;
}

void ModulePrinter::schedule(const Graph& graph) {
  for (const std::string& name : graph.streams)
    out_ += fmt::format("  stream {}\n", quoted_text(name));
  if (graph.has_notifies) out_ += "  sync notify\n";
  for (const std::string& note : graph.notes) out_ += fmt::format("  note {}\n", quoted_text(note));
  for (const DeviceMemory& memory : graph.memories) {
    out_ += "  memory " + quoted_text(memory.name);
    if (!memory.sub_memories.empty())
      out_ += fmt::format(" sub_memories [{}]", fmt::join(memory.sub_memories, ", "));
    out_ += "\n";
  }
  if (graph.arena_bytes > 0) out_ += fmt::format("  arena bytes {}\n", graph.arena_bytes);
  if (graph.scratch_bytes > 0) out_ += fmt::format("  scratch bytes {}\n", graph.scratch_bytes);
  for (size_t id = 0; id < graph.buffers.size(); ++id)
    out_ += fmt::format("  buffer b{} = {}\n", id, print_buffer(graph, graph.buffers[id]));
}

std::string ModulePrinter::place(const Value& value) const {
  const MemoryPlace& place = value.place();
  if (place.buffer < 0) return {};
  const bool is_first = place.offset == Dim::fixed(0);
  return fmt::format(" at b{}{}{}", place.buffer,
                     is_first ? "" : " + " + print_dim(module_, place.offset), print_size(value));
}

}  // namespace sluice::text
