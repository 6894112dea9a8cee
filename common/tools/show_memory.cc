// Draws the arenas of a schedule: time runs to the right, a column for each task; bytes downwards.
// A rectangle is a buffer while it is live; its title names the values that lie in it.
#include <algorithm>

#include "common/text/names.h"
#include "common/tools/show.h"
#include "common/tools/svg.h"

namespace sluice {
namespace {

constexpr double kHeight = 600, kGap = 30;

struct Rectangle {
  uint32_t first = 0, last = 0;  // tasks
  uint64_t offset = 0, bytes = 0;
  std::string names;
};

// The arena of a graph, or one class of its memory.
class ArenaPicture {
 public:
  ArenaPicture(const Graph& graph, uint32_t memory)
      : graph_(graph), memory_(memory), begin_(begin_of(graph.memories, memory)) {
    names_ = text::value_names(graph);
    values_.resize(graph.buffers.size());
    for (const Value& value : graph.values()) {
      if (!value.is_erased() && value.place().buffer >= 0)
        values_[static_cast<size_t>(value.place().buffer)].push_back(&value);
    }
    for (const Node& node : graph.nodes()) tasks_ += node.placement.no_task ? 0 : 1;
    for (size_t id = 0; id < graph.buffers.size(); ++id) add(id);
    if (!graph.memories.empty()) bytes_ = begin_of(graph.memories, memory + 1) - begin_;
  }

  // Returns the picture below `top`.
  std::string svg(double top) const {
    const std::string name = graph_.memories.empty() ? "arena" : graph_.memories[memory_].name;
    std::string text = fmt::format("<text x=\"{}\" y=\"{:.1f}\">{}: {} {} bytes, {} tasks</text>\n",
                                   kPictureMargin, top - 8, xml_escaped(graph_.name()),
                                   xml_escaped(name), bytes_, tasks_);
    text +=
        fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" class=\"frame\"/>\n",
                    kPictureMargin, top, kPictureWidth, kHeight);
    for (const Rectangle& each : rectangles_) text += drawn(each, top);
    if (!graph_.memories.empty()) text += borders(top);
    return text;
  }

 private:
  void add(size_t id) {
    const MemoryBuffer& buffer = graph_.buffers[id];
    if (buffer.memory != MemoryClass::kArena || buffer.binding != memory_ ||
        !buffer.offset.is_fixed() || buffer.live.empty())
      return;
    const TaskRange tasks = hull_of(buffer.live);
    Rectangle each{tasks.first,
                   tasks.last,
                   static_cast<uint64_t>(buffer.offset.value) - begin_,
                   largest(buffer),
                   {}};
    for (const Value* value : values_[id])
      each.names += (each.names.empty() ? "" : ", ") + names_[static_cast<size_t>(value->id())];
    bytes_ = std::max(bytes_, each.offset + each.bytes);
    rectangles_.push_back(std::move(each));
  }

  uint64_t largest(const MemoryBuffer& buffer) const {
    if (buffer.bytes.is_unknown()) return 0;
    const int64_t bytes =
        buffer.bytes.is_fixed()
            ? buffer.bytes.value
            : graph_.module()
                  .expressions.bounds(static_cast<ExpressionId>(buffer.bytes.value))
                  .high;
    return static_cast<uint64_t>(bytes);
  }

  double byte_height() const {
    return kHeight / static_cast<double>(std::max<uint64_t>(bytes_, 1));
  }

  // Draws a line where one sub-memory follows on another.
  std::string borders(double top) const {
    std::string text;
    uint64_t end = 0;
    for (const uint64_t bytes : graph_.memories[memory_].sub_memories) {
      if (end > 0) {
        const double y = top + static_cast<double>(end) * byte_height();
        text += fmt::format(
            "<line x1=\"{}\" x2=\"{}\" y1=\"{:.2f}\" y2=\"{:.2f}\" stroke=\"black\"/>\n",
            kPictureMargin, kPictureMargin + kPictureWidth, y, y);
      }
      end += bytes;
    }
    return text;
  }

  std::string drawn(const Rectangle& each, double top) const {
    const double column = kPictureWidth / static_cast<double>(std::max<size_t>(tasks_, 1));
    const double row = byte_height();
    return fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"hsl({}, 60%, "
        "75%)\"><title>{}\ntasks {} to {}, bytes {} to {}</title></rect>\n",
        kPictureMargin + each.first * column, top + static_cast<double>(each.offset) * row,
        (each.last - each.first + 1) * column, static_cast<double>(each.bytes) * row,
        (each.offset / 64 * 47) % 360, xml_escaped(each.names), each.first, each.last, each.offset,
        each.offset + each.bytes);
  }

  const Graph& graph_;
  const uint32_t memory_;  // into Graph::memories, where there are any
  const uint64_t begin_;   // of the class, in the arena
  std::vector<std::string> names_;
  std::vector<std::vector<const Value*>> values_;  // by buffer
  std::vector<Rectangle> rectangles_;
  size_t tasks_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace

Result<std::string> memory_svg(const Module& module) {
  SLUICE_ASSIGN(const std::vector<const Graph*> graphs, graphs_with_schedule(module, "memory"));
  std::string pictures;
  double top = kPictureMargin;
  for (const Graph* graph : graphs) {
    for (uint32_t memory = 0; memory < std::max<size_t>(1, graph->memories.size()); ++memory) {
      pictures += ArenaPicture(*graph, memory).svg(top);
      top += kHeight + kGap;
    }
  }
  return svg_file(kPictureWidth + 2 * kPictureMargin, top + kPictureMargin,
                  "rect { stroke: #555; stroke-width: 0.5 } .frame { fill: #fafafa }", pictures);
}

}  // namespace sluice
