// Infers the type of every value and folds constant nodes at the same time.
//
//   before:  %s = Shape(%x)   %t = Gather(%s, 0)   %u = Concat(%t, -1)   %y = Reshape(%x, %u)
//            x: f32[2, 3, 4]
//   after:   %y: f32[2, 12] = Reshape(%x, [2, -1])
//
// Shapes need the values of other nodes and folding needs shapes, so both are done in one walk: a
// node's types are inferred, then it is folded if it can be, and its readers see the constant at
// once. In topological order one walk reaches the fixed point of everything but the symbols: a node
// may demand that a symbol is a multiple of something (the halves of a U-Net), which simplifies
// dims before it. So the walk is repeated while the facts about symbols change; each is linear.
//
// A branch of an If in which inference fails is replaced by one that fails when it is taken, with
// the same message; only inside such a branch does the walk continue after an error.
//
// Legal because a folded node reads constants alone and the evaluator defines the graph. Random ops
// are not folded.
#include <tuple>
#include <vector>

#include "common/base/work.h"
#include "common/ops/infer.h"
#include "common/ops/refine.h"
#include "stages/preprocess/infer/bodies.h"
#include "stages/preprocess/infer/failing_branches.h"
#include "stages/preprocess/infer/fold.h"
#include "stages/preprocess/passes/passes.h"

namespace sluice {
namespace {

constexpr int kMaxWalks = 8;  // each except the last raised a divisor; real models need two

using SymbolState = std::vector<std::tuple<int64_t, int64_t, int64_t>>;

SymbolState symbol_state(const ExpressionTable& table) {
  SymbolState state;
  for (SymbolId id = 0; id < static_cast<SymbolId>(table.symbol_count()); ++id) {
    const Symbol& symbol = table.symbol(id);
    state.emplace_back(symbol.low, symbol.high, symbol.divisor);
  }
  return state;
}

Result<bool> walk(Graph& graph, ValueFacts& facts);

// Shares the facts about captured values with the body, where they are true too.
void share_facts(const Node& node, const Graph& body, ValueFacts& outer, ValueFacts& inner) {
  for (size_t back = 0; back < body.captures; ++back) {
    const Value* captured = node.input(node.input_count() - 1 - back);
    const auto* known = captured == nullptr ? nullptr : outer.find(*captured);
    if (known != nullptr) inner.set(*body.inputs()[body.inputs().size() - 1 - back], *known);
  }
}

Result<bool> walk_body(Node& node, Graph& body, ValueFacts& facts) {
  ValueFacts inner(body);
  share_facts(node, body, facts, inner);
  const size_t mark = body.module().expressions.mark();
  auto walked = walk(body, inner);
  if (walked || node.op() != Op::kIf) return walked;
  body.module().expressions.forget_since(mark);
  SLUICE_TRY(fail_when_taken(node, body, std::move(walked).error()));
  return true;
}

Result<bool> walk_bodies(Node& node, ValueFacts& facts) {
  bool changed = false;
  for (const GraphId id : node.bodies()) {
    SLUICE_ASSIGN(const bool body_changed, walk_body(node, node.graph().module().graph(id), facts));
    changed = changed || body_changed;
  }
  if (changed) SLUICE_TRY(infer_node(node, facts));
  return changed;
}

Result<bool> walk(Graph& graph, ValueFacts& facts) {
  bool changed = false;
  for (Node* node = graph.first_node(); node != nullptr;) {
    add_work(Work::kNodeVisits);
    bool inlined = false;
    Node* here = inline_decided_if(*node, inlined);
    if (inlined) {
      changed = true;
      node = here;
      continue;
    }
    changed = tidy_captures(*node) || changed;
    SLUICE_ASSIGN(const bool inferred, infer_node(*node, facts));
    SLUICE_ASSIGN(const bool bodies_changed, walk_bodies(*node, facts));
    Node* next = node->next();
    changed = fold_node(*node, facts) || inferred || bodies_changed || changed;
    node = next;
  }
  return changed;
}

// Types are known now, and with them which sizes must be at least 1.
void settle_open_symbols(ExpressionTable& table) {
  for (SymbolId id = 0; id < static_cast<SymbolId>(table.symbol_count()); ++id) {
    SymbolOrigin& origin = table.symbol(id).origin;
    if (origin == SymbolOrigin::kOpenDim) origin = SymbolOrigin::kInputDim;
  }
}

// Readers of a model rely on the types that it declares for its outputs.
void warn_of_outputs(Module& module) {
  for (const Value* output : module.root().outputs()) {
    const auto declared = module.declared_outputs.find(output->name());
    if (declared == module.declared_outputs.end()) continue;
    const Type& promised = module.type(declared->second);
    if (refine(module, promised, output->type())) continue;
    module.warnings.add(
        Leniency::kDeclaredType,
        fmt::format("output '{}' is declared as {}, but is {}", output->name(),
                    type_text(module, promised), type_text(module, output->type())));
  }
  module.declared_outputs.clear();
}

// Operators of other domains are there only where a rule names them, or a pass of the user runs;
// none may be left now.
Result<void> check_foreign_nodes(const Module& module) {
  std::string nodes;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    for (const Node& node : module.graph(id).nodes()) {
      if (node.op() != Op::kForeign) continue;
      nodes += fmt::format("\n  {} of node '{}'",
                           std::get<std::string>(*node.find_attribute(kForeignName)), node.name());
    }
  }
  if (nodes.empty()) return {};
  return make_error(ErrorCode::kUnsupportedOp,
                    "operators that this release does not know, which no rule and no pass "
                    "replaced:{}",
                    nodes)
      .with_hint("sluice rules why FILE MODEL says what does not fit in a rule");
}

}  // namespace

Result<bool> infer_types(Graph& graph, const Options&) {
  Module& module = graph.module();
  SLUICE_TRY(check_foreign_nodes(module));
  bool changed = false;
  for (int i = 0; i < kMaxWalks; ++i) {
    const SymbolState before = symbol_state(module.expressions);
    ValueFacts facts(graph);
    SLUICE_ASSIGN(const bool walked, walk(graph, facts));
    changed = changed || walked;
    if (!walked || symbol_state(module.expressions) == before) break;
  }
  settle_open_symbols(module.expressions);
  module.requirements.drop_proved(module.expressions);
  warn_of_outputs(module);
  return erase_dead_nodes(graph) || changed;
}

}  // namespace sluice
