#include <fmt/ranges.h>

#include <algorithm>

#include "common/base/readable_text.h"
#include "common/text/names.h"
#include "common/tools/aligned_rows.h"
#include "common/tools/show.h"

namespace sluice {
namespace {

std::string listed(const std::vector<uint32_t>& events) {
  return fmt::format("{}", fmt::join(events, " "));
}

std::string listed(const std::vector<EventWait>& waits) {
  std::string text;
  for (const EventWait& wait : waits) text += (text.empty() ? "" : " ") + wait_text(wait);
  return text;
}

class ScheduleTable {
 public:
  explicit ScheduleTable(const Graph& graph) : graph_(graph), names_(text::value_names(graph)) {}

  std::string text() {
    std::vector<Row> rows = {
        {"task", "stream", "waits", "records", "engine", "op", "node", "writes", "reads"}};
    for (const Node& node : graph_.nodes()) rows.push_back(row(node));
    std::string streams;
    for (const std::string& name : graph_.streams)
      streams += (streams.empty() ? "" : ", ") + readable_text(name);
    return fmt::format("{}: {} tasks, streams: {}, buffers: {}\n", graph_.name(), tasks_, streams,
                       graph_.buffers.size()) +
           aligned(rows);
  }

 private:
  // Returns "%y@b3+64": the value and its place.
  std::string value(const Value* value) const {
    if (value == nullptr) return "_";
    const MemoryPlace& place = value->place();
    std::string text = names_[static_cast<size_t>(value->id())];
    if (place.buffer < 0) return text;
    text += fmt::format("@b{}", place.buffer);
    return place.offset == Dim::fixed(0) || !place.offset.is_fixed()
               ? text
               : text + fmt::format("+{}", place.offset.value);
  }

  Row row(const Node& node) {
    const Placement& placement = node.placement;
    std::vector<std::string> writes, reads;
    for (size_t k = 0; k < node.output_count(); ++k) writes.push_back(value(&node.output(k)));
    for (size_t i = 0; i < node.input_count(); ++i) reads.push_back(value(node.input(i)));
    const bool has_stream =
        placement.stream >= 0 && static_cast<size_t>(placement.stream) < graph_.streams.size();
    return {placement.no_task ? "-" : fmt::format("{}", tasks_++),
            has_stream ? readable_text(graph_.streams[static_cast<size_t>(placement.stream)]) : "",
            listed(placement.waits),
            listed(placement.records),
            placement.no_task ? "" : std::string(engine_name(placement.engine)),
            std::string(op_name(node.op())),
            node.name(),
            fmt::format("{}", fmt::join(writes, " ")),
            fmt::format("{}", fmt::join(reads, " "))};
  }

  const Graph& graph_;
  std::vector<std::string> names_;
  size_t tasks_ = 0;
};

}  // namespace

Result<std::vector<const Graph*>> graphs_with_schedule(const Module& module,
                                                       std::string_view view) {
  std::vector<const Graph*> graphs;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (module.has_graph(id) && !module.graph(id).streams.empty())
      graphs.push_back(&module.graph(id));
  }
  if (!graphs.empty()) return graphs;
  return make_error(ErrorCode::kWrongLevel, "--{} needs level 'scheduled', got '{}'", view,
                    level_name(module.level))
      .with_hint("sluice-build --stop-after=plan-memory writes it");
}

Result<std::string> schedule_text(const Module& module) {
  SLUICE_ASSIGN(const std::vector<const Graph*> graphs, graphs_with_schedule(module, "schedule"));
  std::string text;
  for (const Graph* graph : graphs)
    text += (text.empty() ? "" : "\n") + ScheduleTable(*graph).text();
  return text;
}

}  // namespace sluice
