// Chooses a stream for every subgraph, where the device profile has streams by engine.
//
//   before:  %a = Call(%x) {graph = @main.p0} placement {engine = aicore}
//            %b = Call(%x) {graph = @main.p1} placement {engine = vector}
//   after:   %a = Call(%x) {graph = @main.p0} placement {engine = aicore, chosen_stream = "aicore"}
//            %b = Call(%x) {graph = @main.p1} placement {engine = vector, chosen_stream = "vector"}
//
// In this order, each for the Calls that have no stream yet:
//   1. A label of the user is a stream of its own.
//   2. Those of an independent engine share the engine's stream.
//   3. One takes the stream of a subgraph that it reads, if that has no label, is not independent,
//      is of the same engine (of any, for an engine that attaches), and is read by no other one of
//      its own engine, which would be kept from running beside this one.
//   4. The others are spread over the streams of their engine, max_parallel of them, in turn.
//   5. Those of an engine that is skipped take the stream of their neighbours, if these have one.
// A node of a parallel group without a label of the user runs in the group's stream, whatever its
// subgraph does: no two of a group may run at the same time.
//
// Legal because insert-events orders what streams no longer do. Must run before link-subgraphs,
// which gives the nodes of a subgraph the stream of its Call.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "common/ir/module.h"
#include "common/ir/predecessors.h"
#include "common/target/engine_table.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"
#include "stages/build/streams/stream_options.h"

namespace sluice {
namespace {

struct CalledSubgraph {
  Node* call;
  EngineStreams engine;
  std::string stream;  // empty: none yet
  std::vector<uint32_t> before = {}, after = {};
};

class LogicalStreams {
 public:
  LogicalStreams(Graph& graph, const EngineTable& table) : graph_(graph) {
    std::vector<int64_t> index(graph.node_limit(), -1);
    for (Node& node : graph.nodes()) {
      const Graph* callee = called_graph(node);
      if (callee == nullptr || callee->role != GraphRole::kSubgraph) continue;
      const auto own = static_cast<uint32_t>(subgraphs_.size());
      index[static_cast<size_t>(node.id())] = own;
      const EngineRow* row = table.find(node.placement.engine);
      subgraphs_.push_back({&node, row == nullptr ? EngineStreams() : row->streams, {}});
      for_each_predecessor(node, [&](const Node& before) {
        const int64_t other = index[static_cast<size_t>(before.id())];
        if (other < 0) return;
        subgraphs_[own].before.push_back(static_cast<uint32_t>(other));
        subgraphs_[static_cast<size_t>(other)].after.push_back(own);
      });
    }
  }

  bool run() {
    find_taken_names();
    for (CalledSubgraph& each : subgraphs_) {
      each.stream = user_label(each.call->placement.stream_label);
      if (!each.stream.empty()) continue;
      if (each.engine.is_independent)
        each.stream = new_stream(engine(each), "independent engine " + engine(each));
    }
    for (uint32_t i = 0; i < subgraphs_.size(); ++i) {
      CalledSubgraph& own = subgraphs_[i];
      if (!own.stream.empty() || own.engine.is_skipped) continue;
      const std::optional<uint32_t> before = reusable(i);
      own.stream = before ? subgraphs_[*before].stream : next_of_engine(own);
    }
    for (CalledSubgraph& each : subgraphs_)
      if (each.stream.empty()) each.stream = stream_of_neighbours(each);
    bool changed = false;
    for (CalledSubgraph& each : subgraphs_) {
      changed = choose(*each.call, each.stream) || changed;
      changed = choose_for_groups(*called_graph(*each.call)) || changed;
    }
    add_notes();
    return changed;
  }

 private:
  static std::string engine(const CalledSubgraph& subgraph) {
    return std::string(engine_name(subgraph.call->placement.engine));
  }

  static bool has_user_label(const CalledSubgraph& subgraph) {
    return !user_label(subgraph.call->placement.stream_label).empty();
  }

  // Those that are taken: labels of the user, and the stream of tasks without one.
  void find_taken_names() {
    taken_names_.emplace(kMainStream);
    const auto add = [&](const Node& node) {
      const std::string_view label = user_label(node.placement.stream_label);
      if (!label.empty()) taken_names_.emplace(label);
    };
    for (const CalledSubgraph& each : subgraphs_) {
      add(*each.call);
      for (const Node& node : called_graph(*each.call)->nodes()) add(node);
    }
  }

  // Returns the name, or a longer one that is not taken.
  std::string unused_name(std::string name) const {
    while (taken_names_.contains(name)) name += "_";
    return name;
  }

  // Returns the stream of this name, which no user gave to another one; notes why there is one.
  std::string new_stream(const std::string& name, const std::string& reason) {
    std::string stream = unused_name(name);
    reasons_.try_emplace(stream, reason);
    return stream;
  }

  void add_notes() const {
    for (const auto& [stream, reason] : reasons_) {
      const auto count = std::ranges::count(subgraphs_, stream, &CalledSubgraph::stream);
      graph_.notes.push_back(
          fmt::format("stream '{}' is chosen for {}, subgraphs: {}", stream, reason, count));
    }
  }

  std::optional<uint32_t> reusable(uint32_t own) const {
    const CalledSubgraph& subgraph = subgraphs_[own];
    for (const uint32_t before : subgraph.before) {
      const CalledSubgraph& other = subgraphs_[before];
      if (other.stream.empty() || other.engine.is_independent || has_user_label(other)) continue;
      const bool is_shared = std::ranges::any_of(other.after, [&](uint32_t reader) {
        return reader != own && engine(subgraphs_[reader]) == engine(other);
      });
      if (is_shared) continue;
      if (subgraph.engine.attaches || engine(subgraph) == engine(other)) return before;
    }
    return std::nullopt;
  }

  std::string next_of_engine(const CalledSubgraph& subgraph) {
    const std::string name = engine(subgraph);
    const int64_t streams = subgraph.engine.max_parallel, number = used_[name]++ % streams;
    if (streams == 1) return new_stream(name, "engine " + name);
    return new_stream(number == 0 ? name : fmt::format("{}.{}", name, number),
                      fmt::format("engine {}, {} of {}", name, number + 1, streams));
  }

  // Returns the stream that all neighbours with one have; empty: they have several, or none.
  std::string stream_of_neighbours(const CalledSubgraph& subgraph) const {
    std::set<std::string> streams;
    for (const auto* neighbours : {&subgraph.before, &subgraph.after}) {
      for (const uint32_t each : *neighbours) streams.insert(subgraphs_[each].stream);
      streams.erase("");
      if (streams.size() == 1) return *streams.begin();
    }
    return {};
  }

  static bool choose(Node& node, const std::string& stream) {
    if (stream.empty() || !user_label(node.placement.stream_label).empty()) return false;
    node.placement.stream_label = {stream, true};
    return true;
  }

  bool choose_for_groups(Graph& subgraph) {
    bool changed = false;
    for (Node& node : subgraph.nodes()) {
      const int32_t group = node.placement.parallel_group;
      if (group < 0) continue;
      const std::string name = fmt::format("parallel group {}", group);
      changed = choose(node, new_stream(name, fmt::format("parallel group {}", group))) || changed;
    }
    return changed;
  }

  Graph& graph_;
  std::vector<CalledSubgraph> subgraphs_;  // in the order of the graph
  std::set<std::string, std::less<>> taken_names_;
  std::map<std::string, int64_t> used_;         // by engine: how often a stream of it was given
  std::map<std::string, std::string> reasons_;  // by stream that was chosen
};

}  // namespace

Result<bool> assign_logical_streams(Graph& root, const Options& options) {
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(options.text("profile")));
  if (options.flag("enable-single-stream")) return false;
  const std::string mode = options.text("multi-stream-parallel-mode");
  if (mode != "cv" && (!profile.streams.are_by_engine || !mode.empty())) return false;
  SLUICE_ASSIGN(const EngineTable table, make_engine_table(profile));
  bool changed = false;
  for (Graph* graph : scheduled_graphs(root)) {
    if (graph != nullptr && graph->shapes != ShapeClass::kDynamic)
      changed = LogicalStreams(*graph, table).run() || changed;
  }
  return changed;
}

}  // namespace sluice
