#include "common/pass/rewriter.h"

#include <algorithm>
#include <iterator>

#include "common/ir/clone.h"
#include "common/pass/control_edges.h"

namespace sluice {
namespace {

Result<void> check_replacement(const Boundary& boundary, Graph& replacement,
                               const RewriteStatistics& statistics) {
  if (statistics.pass.empty())
    return make_error(ErrorCode::kInternal, "a replacement without the name of a pass");
  if (std::string obstacle = boundary_obstacle(boundary); !obstacle.empty())
    return make_error(ErrorCode::kBadGraph, "{}", obstacle);
  if (replacement.inputs().size() != boundary.inputs.size() ||
      replacement.outputs().size() != boundary.outputs.size()) {
    return make_error(ErrorCode::kBadGraph,
                      "a replacement with {} inputs and {} outputs for {} and {}",
                      replacement.inputs().size(), replacement.outputs().size(),
                      boundary.inputs.size(), boundary.outputs.size());
  }
  if (auto ordered = replacement.restore_order(); !ordered)
    return make_error(ErrorCode::kBadGraph, "{}", ordered.error().message);
  std::string reason;
  if (!can_fuse(boundary.nodes, reason)) return make_error(ErrorCode::kCycle, "{}", reason);
  return {};
}

class Replacer {
 public:
  Replacer(const Boundary& boundary, const Graph& replacement)
      : boundary_(boundary),
        replacement_(replacement),
        graph_(boundary.nodes[0]->graph()),
        mapper_(replacement.module(), graph_.module()),
        control_(graph_),
        values_(replacement.value_limit(), nullptr) {}

  std::vector<Node*> run() {
    copy_nodes();
    for (size_t i = 0; i < boundary_.outputs.size(); ++i)
      give_output(*boundary_.outputs[i], *replacement_.outputs()[i]);
    control_.transfer(boundary_.nodes, made_);
    for (auto node = boundary_.nodes.rbegin(); node != boundary_.nodes.rend(); ++node)
      graph_.erase_node(**node);
    return std::move(made_);
  }

 private:
  // Inserts the copies before the last old node, where everything they read has been made.
  void copy_nodes() {
    for (size_t i = 0; i < boundary_.inputs.size(); ++i) {
      values_[static_cast<size_t>(replacement_.inputs()[i]->id())] = boundary_.inputs[i];
    }
    std::vector<uint32_t> origins;
    Placement placement = boundary_.nodes[0]->placement;
    for (const Node* node : boundary_.nodes) {
      std::vector<uint32_t> merged;
      std::set_union(origins.begin(), origins.end(), node->origins().begin(), node->origins().end(),
                     std::back_inserter(merged));
      origins = std::move(merged);
      placement.keep = placement.keep || node->placement.keep;
      placement.no_fold = placement.no_fold || node->placement.no_fold;
    }
    for (const Node& node : replacement_.nodes()) {
      Node& copy = mapper_.clone_node(node, graph_, values_, boundary_.nodes.back());
      copy.add_origins(origins);
      copy.placement = placement;
      made_.push_back(&copy);
    }
  }

  // The model's own outputs keep their names, so one that becomes an input, a constant or a second
  // name of a value is copied.
  void give_output(Value& old, const Value& source) {
    Value* result = mapper_.value(source, graph_, values_);
    bool fresh = std::find(made_.begin(), made_.end(), result->producer()) != made_.end() &&
                 !result->is_output();
    if (old.is_output() && !fresh) {
      Node& copy = graph_.add_node(Op::kIdentity, {result}, 1, boundary_.nodes.back());
      copy.placement = boundary_.nodes[0]->placement;
      copy.output().set_type(result->type_id());
      made_.push_back(&copy);
      result = &copy.output();
      fresh = true;
    }
    if (fresh) result->set_name(old.name());
    if (result->type_id() == 0) result->set_type(old.type_id());
    graph_.replace_all_uses(old, *result);
  }

  const Boundary& boundary_;
  const Graph& replacement_;
  Graph& graph_;
  ModuleMapper mapper_;
  ControlEdges control_;
  std::vector<Value*> values_;  // by value id of the replacement
  std::vector<Node*> made_;
};

}  // namespace

Result<std::vector<Node*>> replace(const Boundary& boundary, Graph& replacement,
                                   RewriteStatistics& statistics) {
  ++statistics.matches;
  SLUICE_TRY(check_replacement(boundary, replacement, statistics));
  ++statistics.effects;
  return Replacer(boundary, replacement).run();
}

}  // namespace sluice
