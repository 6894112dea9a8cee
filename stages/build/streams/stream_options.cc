#include "stages/build/streams/stream_options.h"

#include <algorithm>

#include "stages/build/parts.h"

namespace sluice {

std::optional<StreamBalance> stream_balance(const Options& options, const DeviceProfile& profile) {
  const std::string mode = options.text("multi-stream-parallel-mode");
  if (options.flag("enable-single-stream") || mode == "cv") return std::nullopt;
  StreamBalance balance;
  if (mode.empty()) {
    // Where streams, events and their tasks are few, the user says how they are used.
    const StreamLimits& limits = profile.streams;
    if (limits.are_by_engine || limits.max_tasks > 0 || limits.max_events > 0 ||
        limits.max_notifies > 0)
      return std::nullopt;
    if (limits.max_streams > 0) balance.streams = std::min(balance.streams, limits.max_streams);
  } else {
    const size_t colon = mode.find(':');  // options.cc checked the number
    balance.is_automatic = false;
    balance.keeps_main = mode.starts_with("MainStream");
    balance.streams = std::stoi(mode.substr(colon + 1));
  }
  return balance;
}

Result<void> check_stream_options(const Options& options) {
  const std::string mode = options.text("multi-stream-parallel-mode");
  if (!options.flag("enable-single-stream") || mode.empty()) return {};
  return make_error(ErrorCode::kBadOption,
                    "--enable-single-stream is for one stream, --multi-stream-parallel-mode={} for "
                    "several",
                    mode)
      .with_hint("leave one of them out");
}

Result<void> check_single_stream(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    const std::string_view label = user_label(node.placement.stream_label);
    if (label.empty()) continue;
    return make_error(ErrorCode::kBadOption,
                      "{}: has stream_label '{}', and --enable-single-stream is for one stream",
                      node.label(), label)
        .with_hint("leave the option or the labels out");
  }
  return {};
}

int64_t tasks_of_node(const Node& node, const DeviceProfile& profile, const EngineTable& table) {
  const EngineRow* row = table.find(node.placement.engine);
  const int64_t own = row == nullptr ? 0 : row->streams.tasks_per_node;
  return own > 0 ? own : profile.streams.tasks_per_node;
}

Result<void> check_stream_limits(const Graph& root, const Options& options) {
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(options.text("profile")));
  SLUICE_ASSIGN(const EngineTable table, make_engine_table(profile));
  const StreamLimits& limits = profile.streams;
  for (const Graph* graph : scheduled_graphs(root)) {
    std::vector<size_t> tasks(graph->streams.size(), 0);
    size_t events = 0;
    for (const Node* task : tasks_of(*graph)) {
      const Placement& placement = task->placement;
      for (const uint32_t event : placement.records) events = std::max(events, size_t{event} + 1);
      if (static_cast<size_t>(placement.stream) < tasks.size())
        tasks[static_cast<size_t>(placement.stream)] +=
            static_cast<size_t>(tasks_of_node(*task, profile, table)) + placement.waits.size() +
            placement.records.size();
    }
    const bool notifies = graph->has_notifies;
    SLUICE_TRY(check_limit(*graph, profile, "streams", tasks.size(), limits.max_streams,
                           "put tasks into fewer streams"));
    SLUICE_TRY(check_limit(*graph, profile, notifies ? "notifies" : "events", events,
                           notifies ? limits.max_notifies : limits.max_events,
                           "record some of them again"));
    for (size_t stream = 0; stream < tasks.size(); ++stream) {
      if (limits.has_huge_stream && tasks.size() == 1) continue;
      SLUICE_TRY(check_limit(*graph, profile,
                             fmt::format("tasks in stream '{}', {} of which the device keeps,",
                                         graph->streams[stream], kReservedTasks),
                             tasks[stream] + kReservedTasks, limits.max_tasks,
                             "put tasks into more streams"));
    }
  }
  return {};
}

Result<void> check_limit(const Graph& graph, const DeviceProfile& profile, std::string_view what,
                         size_t needed, int64_t limit, std::string_view hint) {
  if (limit == 0 || needed <= static_cast<size_t>(limit)) return {};
  return make_error(ErrorCode::kLimit, "graph '{}' needs {} {}, device profile '{}' has {}",
                    graph.name(), needed, what, profile.name, limit)
      .with_hint(std::string(hint));
}

}  // namespace sluice
