// Stores states that each execution appends to in memory as large as their bound, so that an
// execution writes only its new elements, after the existing ones.
//
//   before:  %k = Concat(%past, %new) {axis = 2}   %past: state input, [B, 12, P, 64], P <= 1023
//                                                  %k: its output
//   after:   the same; %past and %k have storage dense [B, 12, 1023, 64]
//
// Legal because a storage never changes a value's type: the Concat becomes a task that only copies
// %new to its place, and the run binds both values to the same memory. Existing elements keep their
// place, so other nodes may read %past before or after that. Matrix products on aicore and the
// loops of vector read the storage in place; all other readers of %k read a dense copy of it
// (TransData). The pass applies to f32 and other types of whole bytes, to inputs that only nodes
// read which do so in place, and to sizes with a bound.
#include <algorithm>

#include "common/base/log.h"
#include "common/ir/append_axis.h"
#include "common/ir/limits.h"
#include "common/ir/module.h"
#include "common/ir/states.h"
#include "common/ops/attributes.h"
#include "common/target/aicore.h"
#include "common/target/quantized.h"
#include "common/text/text.h"
#include "stages/subgraph-optimize/passes/passes.h"

namespace sluice {
namespace {

// The values and nodes that a state passes through: in the root, in the part, and in the subgraph
// that appends to it.
struct AppendedState {
  Value *input = nullptr, *output = nullptr;            // of the root
  Node* part_call = nullptr;                            // in the root
  Value *part_input = nullptr, *part_output = nullptr;  // of the part
  Node* append_call = nullptr;                          // in the part
  Node* append = nullptr;                               // the Concat
  size_t axis = 0;
};

Value* only_input_of(const Value& value, Op op, Node*& node) {
  node = value.uses().size() == 1 && !value.is_output() ? value.uses()[0].node : nullptr;
  if (node == nullptr || node->op() != op) return nullptr;
  Graph* body = node->get(attributes::Call::graph);
  return body == nullptr ? nullptr : body->inputs()[value.uses()[0].input];
}

// Returns the value of the called graph that is this result.
Value* result_inside(const Value& result) {
  const Node* call = result.producer();
  const Graph* body =
      call == nullptr || call->op() != Op::kCall ? nullptr : call->get(attributes::Call::graph);
  return body == nullptr ? nullptr : body->outputs()[result.result()];
}

// Returns whether the use is a matrix product or attention, which reads the operand by strides.
bool is_matrix_operand(const Use& use) {
  const auto is_matrix = [](const Use& at) {
    if (at.node->op() == Op::kAttention) return at.input < 3;
    return (at.node->op() == Op::kMatMul || at.node->op() == Op::kGemm) && at.input < 2;
  };
  if (read_quantized(*use.node)) return false;
  if (use.node->op() != Op::kFused) return is_matrix(use);
  const Graph* body = use.node->get(attributes::Fused::body);
  if (body == nullptr) return false;
  const Value& inside = *body->inputs()[use.input];
  return std::all_of(inside.uses().begin(), inside.uses().end(), [&](const Use& at) {
    if (at.node->op() != Op::kTranspose) return is_matrix(at);
    const std::vector<Use>& further = at.node->output().uses();
    return std::all_of(further.begin(), further.end(), is_matrix);
  });
}

// Returns whether the node reads no elements, or reads them where they lie.
bool can_read(const Use& use) {
  const EngineId engine = use.node->graph().engine;
  return use.node->op() == Op::kShape || use.node->op() == Op::kSize ||
         engine_name(engine) == "vector" || (engine == EngineId::kAicore && is_matrix_operand(use));
}

// Returns whether all readers of a part's value but the Concat can read it where it lies.
bool is_read_by(const Value& value, const Node& append) {
  return !value.is_output() &&
         std::all_of(value.uses().begin(), value.uses().end(), [&](const Use& call) {
           const Graph* body = called_graph(*call.node);
           if (body == nullptr) return false;
           const Value& inside = *body->inputs()[call.input];
           return !inside.is_output() &&
                  std::all_of(inside.uses().begin(), inside.uses().end(), [&](const Use& use) {
                    return can_read(use) || (use.node == &append && use.input == 0);
                  });
         });
}

bool appends(const Node& node, const Value& past, size_t& axis) {
  if (node.op() != Op::kConcat || node.input(0) != &past || node.input_count() < 2) return false;
  const Type &before = past.type(), &after = node.output().type();
  const int64_t given = node.get(attributes::Concat::axis);
  if (!before.is_tensor() || !before.ranked || before.rank() != after.rank()) return false;
  axis = static_cast<size_t>(given < 0 ? given + before.rank() : given);
  for (size_t d = 0; d < before.dims.size(); ++d) {
    if (d != axis && before.dims[d] != after.dims[d]) return false;
  }
  return before.dims[axis].is_expression() && after.dims[axis].is_expression() &&
         dtype_bits(before.dtype) % 8 == 0;
}

std::optional<AppendedState> find_append(Value& input, Value& output) {
  AppendedState state;
  state.input = &input;
  state.output = &output;
  state.part_input = only_input_of(input, Op::kCall, state.part_call);
  state.part_output = result_inside(output);
  const bool is_one_part =
      state.part_input != nullptr && state.part_output != nullptr &&
      output.producer() == state.part_call && output.uses().empty() &&
      state.part_call->get(attributes::Call::graph)->shapes == ShapeClass::kSymbolic;
  if (!is_one_part) return std::nullopt;
  const Value* result = result_inside(*state.part_output);
  if (result == nullptr || result->producer() == nullptr ||
      state.part_output->producer()->get(attributes::Call::graph)->engine != EngineId::kHostCpu)
    return std::nullopt;
  state.append_call = state.part_output->producer();
  state.append = result->producer();
  const Graph& subgraph = *state.append_call->get(attributes::Call::graph);
  for (size_t i = 0; i < state.append_call->input_count(); ++i) {
    if (state.append_call->input(i) != state.part_input ||
        !appends(*state.append, *subgraph.inputs()[i], state.axis))
      continue;
    if (is_read_by(*state.part_input, *state.append)) return state;
  }
  return std::nullopt;
}

// Returns whether an output is in the list once, so that it is bound to memory of its own.
bool is_once(const Graph& graph, const Value& output) {
  return std::count(graph.outputs().begin(), graph.outputs().end(), &output) == 1;
}

// Returns the maximum of elements along the axis that the input takes; INT64_MAX when it has no
// bound.
int64_t bound_of(const AppendedState& state) {
  const Dim& dim = state.input->type().dims[state.axis];
  return state.input->graph()
      .module()
      .expressions.bounds(static_cast<ExpressionId>(dim.value))
      .high;
}

bool is_possible(const Type& type, size_t axis, int64_t bound) {
  uint64_t bytes = dtype_bits(type.dtype) / 8;
  for (size_t d = 0; d < type.dims.size(); ++d) {
    const int64_t extent = d == axis ? bound : type.dims[d].is_fixed() ? type.dims[d].value : 1;
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes) ||
        bytes > kMaxValueBytes)
      return false;
  }
  return true;
}

class Storer {
 public:
  Storer(AppendedState state, StorageId storage) : state_(std::move(state)), storage_(storage) {}

  void run() {
    for (Value* value : {state_.input, state_.output, state_.part_input, state_.part_output,
                         &state_.append->output()})
      store(*value);
    for (const Use& call : state_.part_input->uses())
      store(*call.node->get(attributes::Call::graph)->inputs()[call.input]);
    read_inside();
    const std::vector<Use> calls = state_.part_output->uses();
    for (const Use& call : calls) read_outside(call);
  }

 private:
  void store(Value& value) const { value.set_storage(storage_); }

  // Handles the readers in the subgraph that appends.
  void read_inside() {
    const std::vector<Use> uses = state_.append->output().uses();
    for (const Use& use : uses) {
      if (!can_read(use)) use.node->set_input(use.input, &dense());
    }
  }

  // Handles a reader in another subgraph of the part.
  void read_outside(const Use& call) {
    Value& inside = *call.node->get(attributes::Call::graph)->inputs()[call.input];
    if (!inside.is_output() && std::all_of(inside.uses().begin(), inside.uses().end(), can_read))
      return store(inside);
    if (dense_result_ == nullptr) {
      state_.append->graph().add_output(dense());
      dense_result_ =
          &state_.append_call->add_output(state_.part_output->type_id(), dense().name());
    }
    call.node->set_input(call.input, dense_result_);
  }

  Value& dense() {
    if (dense_ != nullptr) return *dense_;
    Value& appended = state_.append->output();
    Node& copy = appended.graph().add_node(Op::kTransData, {&appended}, 1, state_.append->next());
    copy.placement.engine = state_.append->placement.engine;
    copy.set_origins(state_.append->origins());
    copy.output().set_type(appended.type_id());
    copy.output().set_name(appended.name() + ":dense");
    return *(dense_ = &copy.output());
  }

  AppendedState state_;
  StorageId storage_;
  Value *dense_ = nullptr, *dense_result_ = nullptr;
};

// Warns, since a missing bound is mostly an oversight.
void warn_of_unbounded(const std::vector<AppendedState>& states) {
  if (states.empty()) return;
  const Value& first = *states[0].input;
  const Module& module = first.graph().module();
  log_warning("sluice-subgraph-optimize",
              fmt::format("states that each execution copies, because nothing bounds them: {} "
                          "('{}', ...); to write "
                          "them in place: --dim {}=0..SIZE",
                          states.size(), first.name(),
                          print_dim(module, first.type().dims[states[0].axis])));
}

}  // namespace

Result<bool> store_states_in_place(Graph& root, const Options&) {
  if (root.engine != EngineId::kNone) return false;  // a subgraph in a file of its own
  Module& module = root.module();
  SLUICE_ASSIGN(const std::vector<State> states, find_states(root, state_option(module)));
  std::vector<Value*> inputs;
  for (Value* input : root.inputs()) {
    if (!input->is_constant()) inputs.push_back(input);
  }
  bool changed = false;
  std::vector<AppendedState> unbounded;
  const auto is_kept_twice = [&](const State& state) {
    return std::count_if(states.begin(), states.end(),
                         [&](const State& other) { return other.output == state.output; }) > 1;
  };
  for (const State& state : states) {
    if (is_kept_twice(state)) continue;
    Value& output = *root.outputs()[state.output];
    const auto appended = find_append(*inputs[state.input], output);
    if (!appended || !is_once(root, output) ||
        !is_once(appended->part_output->graph(), *appended->part_output))
      continue;
    const int64_t bound = bound_of(*appended);
    if (bound == INT64_MAX) unbounded.push_back(*appended);
    if (bound == INT64_MAX || !is_possible(output.type(), appended->axis, bound)) continue;
    Storer(*appended, module.intern(append_storage(module, output.type(), appended->axis, bound)))
        .run();
    changed = true;
  }
  warn_of_unbounded(unbounded);
  return changed;
}

}  // namespace sluice
