// Lets the chosen branch take the place of an If whose condition is a constant, and the initial
// values that of a Loop without iterations.
//
//   before:  %y = If(true, %x) {then_branch = @a, else_branch = @b}     @a(%x): %r = Sin(%x)
//            %v, %all = Loop(0, , %x) {body = @c}
//   after:   %y = Sin(%x)
//            %x in the place of %v, a constant without elements in that of %all
//
// Legal because nothing else runs. The nodes of a branch have no kernels: in a root or part they
// become tasks of host_cpu, as the If was; a body within a body stays plain. A graph of fixed or
// symbolic sizes is a list of tasks whose results have their places, so all values of the branch
// must then be tensors of fixed sizes. Left alone are nodes that the placement keeps, branches that
// sizes are read from (their symbols stay with them) or that have an order of their own, and Loops
// whose scan outputs have a size that no constant has. An output whose value is no task's own is
// written by an Identity.
//
// Sluice-preprocess does the same before sizes are inferred, for conditions that are constants by
// then; here are those that folding and linking made.
#include <algorithm>

#include "common/ops/attributes.h"
#include "common/ops/small_constant.h"
#include "common/pass/editor.h"
#include "common/pass/inline_body.h"
#include "stages/build/passes/passes.h"
#include "stages/build/walk.h"

namespace sluice {
namespace {

// Returns the number, or truth, that a constant is; nothing for other values.
std::optional<int64_t> known_number(const Value* value) {
  if (value == nullptr || !value->is_constant()) return std::nullopt;
  const Module& module = value->graph().module();
  const auto elements = read_small_integers(module, value->segment());
  return elements && elements->size() == 1 ? std::optional(elements->front()) : std::nullopt;
}

bool is_fixed_tensor(const Value& value) {
  const Type& type = value.type();
  return type.is_tensor() && type.is_fixed() && type.dense_bytes().has_value();
}

bool has_symbols(const Graph& body) {
  const ExpressionTable& expressions = body.module().expressions;
  for (SymbolId id = 0; static_cast<size_t>(id) < expressions.symbol_count(); ++id) {
    if (expressions.symbol(id).graph == body.id()) return true;
  }
  return false;
}

class Folder {
 public:
  Folder(Graph& graph, bool may_vary) : editor_(graph), may_vary_(may_vary) {}

  bool fold(Node& node) {
    if (node.placement.keep) return false;
    if (node.op() == Op::kIf) return fold_if(node);
    return node.op() == Op::kLoop && fold_loop(node);
  }

 private:
  bool fold_if(Node& node) {
    const auto condition = known_number(node.input(0));
    const Graph* body = !condition        ? nullptr
                        : *condition != 0 ? node.get(attributes::If::then_branch)
                                          : node.get(attributes::If::else_branch);
    if (body == nullptr || !can_inline(node, *body)) return false;
    const Node* before = node.previous();
    const std::vector<Value*> results = inline_body(node, *body);
    std::vector<Node*> placed;
    for (Node* inner = first_after(before); inner != &node; inner = inner->next())
      placed.push_back(inner);
    for (Node* inner : placed) place(*inner, node);
    finish(node, results, placed);
    for (Node* inner : placed) {
      if (!inner->is_erased()) fold(*inner);
    }
    return true;
  }

  bool can_inline(const Node& node, const Graph& body) const {
    if (has_symbols(body) || body.may_have_control_edges()) return false;
    for (size_t k = 0; k < node.output_count(); ++k) {
      if (body.outputs()[k]->type_id() != node.output(k).type_id()) return false;
    }
    return may_vary_ || std::ranges::all_of(body.values(), [](const Value& value) {
             return value.is_erased() || is_fixed_tensor(value);
           });
  }

  Node* first_after(const Node* node) const {
    return node == nullptr ? editor_.graph().first_node() : node->next();
  }

  bool fold_loop(Node& node) {
    const auto trips = known_number(node.input(0)), condition = known_number(node.input(1));
    if (trips.value_or(1) > 0 && condition.value_or(1) != 0) return false;
    const Graph& body = *node.get(attributes::Loop::body);
    const size_t carried = body.inputs().size() - body.captures - 2;
    for (size_t k = 0; k < node.output_count(); ++k) {
      const Value& result = node.output(k);
      const bool is_known =
          k < carried ? node.input(2 + k)->type_id() == result.type_id()
                      : is_fixed_tensor(result) && result.type().element_count().value_or(1) == 0;
      if (!is_known) return false;
    }
    std::vector<Value*> results;
    for (size_t k = 0; k < node.output_count(); ++k)
      results.push_back(k < carried ? node.input(2 + k) : &add_empty(node.output(k)));
    finish(node, results, {});
    return true;
  }

  Value& add_empty(const Value& like) {
    Graph& graph = editor_.graph();
    return graph.add_constant(graph.module().make_constant(like.type_id(), {}));
  }

  // Lets a node run where the If ran. Plain nodes of a body have no engine.
  void place(Node& inner, const Node& node) const {
    if (node.graph().role == GraphRole::kBody) return;
    inner.placement.engine = EngineId::kHostCpu;
    inner.placement.stream_label = node.placement.stream_label;
    inner.add_origins(node.origins());
  }

  // Lets the results replace those of the node, with copies where outputs need a task, and erases
  // the node and what then feeds nothing.
  void finish(Node& node, const std::vector<Value*>& results, std::vector<Node*> placed) {
    Graph& graph = editor_.graph();
    for (size_t k = 0; k < node.output_count(); ++k) {
      if (editor_.replace(node.output(k), *results[k])) continue;
      Node& copy = graph.add_node(Op::kIdentity, {results[k]}, 1, &node);
      copy.output().set_type(node.output(k).type_id());
      place(copy, node);
      editor_.replace(node.output(k), copy.output());
      placed.push_back(&copy);
    }
    editor_.control().transfer({&node}, placed);
    std::vector<Node*> producers;
    for (size_t i = 0; i < node.input_count(); ++i) {
      if (node.input(i) != nullptr && node.input(i)->producer() != nullptr)
        producers.push_back(node.input(i)->producer());
    }
    graph.erase_node(node);
    for (Node* producer : producers) {
      if (!producer->is_erased()) editor_.erase_unused(*producer);
    }
  }

  Editor editor_;
  const bool may_vary_;
};

}  // namespace

Result<bool> fold_conditions(Graph& root, const Options&) {
  const bool walked = is_walked(root);
  return on_every_graph(root, [&](Graph& graph) -> Result<bool> {
    if (!graph.may_have_bodies()) return false;
    const bool is_body = graph.role == GraphRole::kBody;
    Folder folder(graph, is_body || (walked && graph.role == GraphRole::kRoot));
    bool changed = false;
    for (Node& node : graph.nodes()) changed = folder.fold(node) || changed;
    return changed;
  });
}

}  // namespace sluice
