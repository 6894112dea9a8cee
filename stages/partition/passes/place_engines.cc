// Assigns each node the cheapest engine that supports it.
//
//   before:  %y = Conv(%x, %w)   %z = Softmax(%y)
//   after:   %y = Conv(%x, %w) placement {engine = aicore}
//            %z = Softmax(%y) placement {engine = host_cpu}
//
// Engines are asked in ascending order of cost; the first that supports the node wins. An engine
// already in the placement is kept if its row supports the node. A Fused node that no engine
// supports whole is inlined again and its nodes are placed one by one; legal because a Fused node
// means its body. Nodes in the bodies of control flow run where their owner runs. One error lists
// all nodes that find no engine and all that cannot have the engine of their placement, each with
// the reason; another one all nodes whose class of memory the profile does not have.
#include <algorithm>

#include "common/base/pages.h"
#include "common/base/work.h"
#include "common/ir/clone.h"
#include "common/ir/states.h"
#include "common/ops/attributes.h"
#include "common/target/engine_table.h"
#include "stages/partition/passes/passes.h"

namespace sluice {
namespace {

constexpr size_t kListed = 20;

// Returns a line for each text, and how many more there are.
std::string listed(const std::vector<std::string>& texts) {
  std::string lines;
  for (size_t i = 0; i < std::min(texts.size(), kListed); ++i) lines += "\n  " + texts[i];
  if (texts.size() > kListed) lines += fmt::format("\n  … and {} more", texts.size() - kListed);
  return lines;
}

class Placer {
 public:
  Placer(EngineTable table, std::string profile, bool has_states)
      : table_(std::move(table)), profile_(std::move(profile)), has_states_(has_states) {}

  void place(Graph& graph) {
    add_work(Work::kNodeVisits, graph.node_count());
    for (Node& node : graph.nodes()) {
      if (Graph* callee = called_graph(node)) {
        place(*callee);
      } else {
        place(node);
      }
    }
  }

  bool changed() const { return changed_; }

  Result<void> finish() const {
    if (unsupported_.empty()) return {};
    const std::string nodes =
        unsupported_.size() == 1 ? "this node" : fmt::format("these {} nodes", unsupported_.size());
    std::string text =
        misplaced_
            ? fmt::format("no engine of profile '{}' supports {} as annotated:", profile_, nodes)
            : fmt::format("no engine of profile '{}' has a kernel for {}:", profile_, nodes);
    text += listed(unsupported_);
    return make_error(ErrorCode::kNoEngine, "{}", text)
        .with_hint(
            misplaced_
                ? "without the annotation 'engine' a node gets the cheapest engine that supports it"
                : fmt::format("choose another --profile, or report the operators; {} says how to "
                              "add a kernel",
                              page_path("adding-an-op.md")));
  }

 private:
  // Returns whether the node may become a task of host_cpu that appends to a state
  // (sluice-subgraph-optimize, store-states-in-place).
  bool may_append(const Node& node) const {
    return has_states_ && may_append_to_state(node) && table_.find(EngineId::kHostCpu) != nullptr;
  }

  void place(Node& node) {
    if (node.placement.engine == EngineId::kNone && may_append(node)) {
      node.placement.engine = EngineId::kHostCpu;
      changed_ = true;
    }
    if (node.placement.engine == EngineId::kNone) return choose(node);
    const std::string reason = unsupported_reason(node, node.placement.engine);
    if (reason.empty()) return assign_bodies(node);
    if (node.op() == Op::kFused && node.get(attributes::Fused::body) != nullptr)
      return inline_body(node);
    add_misplaced(node, reason);
  }

  void add_misplaced(const Node& node, const std::string& reason) {
    unsupported_.push_back(fmt::format("{}{}: annotated with engine {}: {}", node.label(),
                                       of_dtype(node), engine_name(node.placement.engine), reason));
    misplaced_ = true;
  }

  std::string engine_names() const {
    std::string names;
    for (const EngineRow& row : table_.engines)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", engine_name(row.id));
    return names;
  }

  std::string unsupported_reason(const Node& node, EngineId engine) {
    const EngineRow* row = table_.find(engine);
    if (row == nullptr)
      return fmt::format("profile '{}' has no such engine, it has {}", profile_, engine_names());
    add_work(Work::kEngineQuestions);
    return engine_unsupported_reason(*row, node);
  }

  void choose(Node& node) {
    std::string reasons;
    for (const EngineRow& row : table_.engines) {
      add_work(Work::kEngineQuestions);
      const std::string reason = engine_unsupported_reason(row, node);
      if (reason.empty()) {
        assign(node, row.id);
        return;
      }
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", engine_name(row.id), reason);
    }
    if (node.op() == Op::kFused && node.get(attributes::Fused::body) != nullptr) {
      inline_body(node);
    } else {
      unsupported_.push_back(fmt::format("{}{}: {}", node.label(), of_dtype(node), reasons));
    }
  }

  // Names the element type of the first operand; empty without operands.
  static std::string of_dtype(const Node& node) {
    const Value* first = node.input_count() > 0 ? node.input(0) : nullptr;
    return first != nullptr && first->type().is_tensor()
               ? fmt::format(" of {}", dtype_name(first->type().dtype))
               : "";
  }

  void assign(Node& node, EngineId engine) {
    changed_ = changed_ || node.placement.engine != engine;
    node.placement.engine = engine;
    assign_bodies(node);
  }

  void assign_bodies(Node& node) {
    if (node.op() == Op::kFused) return;
    for (const GraphId body : node.bodies()) {
      for (Node& inner : node.graph().module().graph(body).nodes()) assign_inner(inner, node);
    }
  }

  // Returns why an engine does not support a body's node. A Fused node is not lowered there: it
  // runs as the nodes of its body.
  std::string inner_reason(const Node& inner, EngineId engine) {
    return inner.op() == Op::kFused ? "" : unsupported_reason(inner, engine);
  }

  void assign_inner(Node& inner, const Node& owner) {
    const EngineId engine = owner.placement.engine;
    if (inner.placement.engine != EngineId::kNone && inner.placement.engine != engine) {
      add_misplaced(
          inner, fmt::format("it runs where {} runs, on {}", owner.label(), engine_name(engine)));
    } else if (const std::string reason = inner_reason(inner, engine); !reason.empty()) {
      unsupported_.push_back(fmt::format("{}{} inside {}: {}: {}", inner.label(), of_dtype(inner),
                                         owner.label(), engine_name(engine), reason));
    } else {
      assign(inner, engine);
    }
  }

  // Inlines the body's nodes before the node, which the loop over nodes has passed already, so each
  // is placed at once.
  void inline_body(Node& fused) {
    Graph& graph = fused.graph();
    Graph& body = *fused.get(attributes::Fused::body);
    std::vector<Value*> values(body.value_limit(), nullptr);
    for (size_t i = 0; i < body.inputs().size(); ++i)
      values[static_cast<size_t>(body.inputs()[i]->id())] = fused.input(i);
    ModuleMapper mapper(graph.module(), graph.module());
    std::vector<Node*> copies;
    for (const Node& node : body.nodes()) {
      Node& copy = mapper.clone_node(node, graph, values, &fused);
      if (copy.origins().empty()) copy.set_origins(fused.origins());
      copy.placement = fused.placement;  // all fused nodes had this one
      copies.push_back(&copy);
    }
    for (size_t k = 0; k < body.outputs().size(); ++k) {
      Value& result = *mapper.value(*body.outputs()[k], graph, values);
      const std::string name = fused.output(k).name();
      graph.replace_all_uses(fused.output(k), result);
      if (!name.empty() && result.producer() != nullptr) result.set_name(name);
    }
    graph.erase_node(fused);
    changed_ = true;
    for (Node* copy : copies) place(*copy);
  }

  EngineTable table_;
  std::string profile_;
  bool has_states_;
  std::vector<std::string> unsupported_;
  bool misplaced_ = false;  // some of these by an annotation
  bool changed_ = false;
};

// Adds the nodes, those of called graphs among them, whose class of memory the profile does not
// have; the hint says which it has.
void find_foreign_memory(Graph& graph, const DeviceProfile& profile,
                         std::vector<std::string>& found, std::string& hint) {
  for (const Node& node : graph.nodes()) {
    if (Graph* callee = called_graph(node)) find_foreign_memory(*callee, profile, found, hint);
    const std::string& memory = node.placement.memory_class;
    if (memory.empty()) continue;
    const auto known = find_memory_class(profile, memory);
    if (known) continue;
    found.push_back(fmt::format("{}: memory class '{}'", node.label(), memory));
    hint = known.error().hint;
  }
}

Result<void> check_memory_classes(Graph& graph, const DeviceProfile& profile) {
  std::vector<std::string> found;
  std::string hint;
  find_foreign_memory(graph, profile, found, hint);
  if (found.empty()) return {};
  return make_error(ErrorCode::kBadValue,
                    "profile '{}' does not have classes of memory that nodes are annotated with:{}",
                    profile.name, listed(found))
      .with_hint(hint);
}

}  // namespace

Result<bool> place_engines(Graph& graph, const Options& options) {
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(options.text("profile")));
  SLUICE_ASSIGN(EngineTable table, make_engine_table(profile));
  Placer placer(std::move(table), profile.name, has_states(graph));
  placer.place(graph);
  SLUICE_TRY(placer.finish());
  SLUICE_TRY(check_memory_classes(graph, profile));
  return placer.changed();
}

}  // namespace sluice
