// Says of each Concat and Split of a schedule whether it has a task, and why; of each of several
// streams how much it does; and what passes noted.
#include "common/base/readable_text.h"
#include "common/ops/pieces.h"
#include "common/tools/aligned_rows.h"
#include "common/tools/show.h"

namespace sluice {
namespace {

class PieceTable {
 public:
  explicit PieceTable(const Graph& graph) : graph_(graph), pieces_(graph) {}

  std::string text() {
    std::vector<Row> rows = {{"node", "op", "runs as", "because"}};
    for (const Node& node : graph_.nodes()) {
      if (is_piecewise(node)) rows.push_back(row(node));
      pieces_.add(node);
    }
    if (rows.size() == 1) return fmt::format("{}: no Concat and no Split\n", graph_.name());
    return fmt::format("{}: {} of {} Concat and Split nodes are tasks\n", graph_.name(), tasks_,
                       rows.size() - 1) +
           aligned(rows);
  }

 private:
  static std::string name(const Node& node) {
    return node.name().empty() ? node.output().name() : node.name();
  }

  Row row(const Node& node) {
    if (node.placement.no_task)
      return {name(node), std::string(op_name(node.op())), "no task", copies(node)};
    ++tasks_;
    const Pieces::TaskReason found = pieces_.task_reason(node);
    return {name(node), std::string(op_name(node.op())), "task", found.reason};
  }

  // Returns which operands of a Concat without task are copies, and why.
  std::string copies(const Node& node) {
    std::string text;
    for (size_t i = 0; node.op() == Op::kConcat && i < node.input_count(); ++i) {
      const Node* copy = node.input(i)->producer();
      if (copy == nullptr || copy->op() != Op::kMemCopy) continue;
      text += fmt::format("{}'{}' is copied to its place: {}", text.empty() ? "" : "; ",
                          copy->input(0)->name(), pieces_.copy_reason(node, i, *copy->input(0)));
    }
    return text.empty() ? "its pieces lie in the whole" : text;
  }

  const Graph& graph_;
  Pieces pieces_;
  size_t tasks_ = 0;
};

std::string streams_text(const Graph& graph) {
  if (graph.streams.size() < 2) return {};
  struct Count {
    size_t tasks = 0, waits = 0, records = 0;
  };
  std::vector<Count> counts(graph.streams.size());
  for (const Node& node : graph.nodes()) {
    const auto stream = static_cast<size_t>(node.placement.stream);
    if (node.placement.stream < 0 || stream >= counts.size()) continue;
    ++counts[stream].tasks;
    counts[stream].waits += node.placement.waits.size();
    counts[stream].records += node.placement.records.size();
  }
  std::vector<Row> rows = {{"stream", "tasks", "waits", "records"}};
  for (size_t i = 0; i < counts.size(); ++i) {
    rows.push_back({readable_text(graph.streams[i]), fmt::format("{}", counts[i].tasks),
                    fmt::format("{}", counts[i].waits), fmt::format("{}", counts[i].records)});
  }
  return aligned(rows);
}

std::string notes_text(const Graph& graph) {
  std::string text;
  for (const std::string& note : graph.notes) text += readable_text(note) + "\n";
  return text;
}

}  // namespace

Result<std::string> pieces_text(const Module& module) {
  SLUICE_ASSIGN(const std::vector<const Graph*> graphs, graphs_with_schedule(module, "explain"));
  std::string text;
  for (const Graph* graph : graphs)
    text += (text.empty() ? "" : "\n") + PieceTable(*graph).text() + streams_text(*graph) +
            notes_text(*graph);
  return text;
}

}  // namespace sluice
