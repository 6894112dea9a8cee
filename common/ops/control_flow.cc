// If, Loop, Scan. Captured values are trailing inputs of the node and of its bodies; both branches
// of an If take all of them.
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/bodies.h"
#include "common/ops/failing_branch.h"
#include "common/ops/families.h"
#include "common/ops/op_table.h"
#include "common/ops/refine.h"

namespace sluice {
namespace {

std::vector<BodyInput> captured_inputs(const InferCall& call, size_t first) {
  std::vector<BodyInput> inputs;
  for (size_t i = first; i < call.input_count(); ++i)
    inputs.push_back({call.input_type(i), static_cast<int64_t>(i)});
  return inputs;
}

// Infers an If whose condition is known: the other branch never runs, so its errors do not count.
Result<void> infer_taken(InferCall& call, Graph& taken, Graph& other) {
  const auto inputs = captured_inputs(call, 1);
  SLUICE_TRY(infer_body(call, taken, inputs, true, call.changed));
  static_cast<void>(infer_body(call, other, inputs, false, call.changed).ok());
  for (size_t i = 0; i < call.node.output_count(); ++i)
    SLUICE_TRY(call.give_type(i, taken.outputs()[i]->type()));
  return {};
}

// Returns the reason why a branch cannot run with these sizes, or nothing where it can.
// Requirements that a failing branch put on symbols are undone.
Result<std::optional<Error>> infer_branch(InferCall& call, Graph& branch,
                                          std::span<const BodyInput> inputs) {
  if (const Node* node = failing_node(branch)) {
    return std::optional(
        make_error(ErrorCode::kBadShape, "{}", node->get(attributes::Fail::message)));
  }
  ExpressionTable& expressions = call.module.expressions;
  const size_t mark = expressions.mark();
  auto inferred = infer_body(call, branch, inputs, false, call.changed);
  if (inferred) return std::optional<Error>();
  if (!is_of_sizes(inferred.error().code)) return std::move(inferred).error();
  expressions.forget_since(mark);
  return std::optional(std::move(inferred).error());
}

// Returns true when a symbol is the size of a value in the body or in a nested body, so that it is
// unknown outside.
bool is_from_inside(const Module& module, const Graph& body, ExpressionId id) {
  const Expression& e = module.expressions[id];
  if (e.op == ExpressionOp::kConstant) return false;
  if (e.op != ExpressionOp::kSymbol)
    return is_from_inside(module, body, e.a) || is_from_inside(module, body, e.b);
  const Symbol& symbol = module.expressions.symbol(static_cast<SymbolId>(e.value));
  const Graph* graph = module.has_graph(symbol.graph) ? &module.graph(symbol.graph) : nullptr;
  while (graph != nullptr && graph != &body)
    graph = graph->owner() == nullptr ? nullptr : &graph->owner()->graph();
  return graph == &body;
}

Type seen_from_outside(const Module& module, const Graph& body, Type type) {
  for (Dim& dim : type.dims) {
    if (dim.is_expression() && is_from_inside(module, body, static_cast<ExpressionId>(dim.value)))
      dim = Dim::unknown();
  }
  return type;
}

// The results have the types of the only branch that can run.
Result<void> infer_other_fails(InferCall& call, const Graph& branch, Graph& other) {
  const bool is_marked = failing_node(other) != nullptr;
  for (size_t i = 0; i < call.node.output_count(); ++i) {
    SLUICE_TRY(
        call.give_type(i, seen_from_outside(call.module, branch, branch.outputs()[i]->type())));
    if (!is_marked || other.outputs()[i]->type_id() == call.node.output(i).type_id()) continue;
    other.outputs()[i]->set_type(call.node.output(i).type_id());
    call.changed = true;
  }
  return {};
}

Result<void> infer_if(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kBoolSet));
  SLUICE_ASSIGN(Graph * yes, find_body(call, attributes::If::then_branch));
  SLUICE_ASSIGN(Graph * no, find_body(call, attributes::If::else_branch));
  const auto captures = static_cast<int64_t>(call.input_count()) - 1;
  const auto results = static_cast<int64_t>(call.node.output_count());
  SLUICE_TRY(check_body(call, *yes, captures, results));
  SLUICE_TRY(check_body(call, *no, captures, results));
  if (const auto condition = call.integers(0); condition && condition->size() == 1) {
    return condition->front() != 0 ? infer_taken(call, *yes, *no) : infer_taken(call, *no, *yes);
  }
  const auto inputs = captured_inputs(call, 1);
  SLUICE_ASSIGN(const std::optional<Error> yes_fails, infer_branch(call, *yes, inputs));
  SLUICE_ASSIGN(const std::optional<Error> no_fails, infer_branch(call, *no, inputs));
  if (yes_fails && no_fails)
    return call.bad_shape("both branches fail: {}; {}", yes_fails->message, no_fails->message);
  if (yes_fails) return infer_other_fails(call, *no, *yes);
  if (no_fails) return infer_other_fails(call, *yes, *no);
  for (size_t i = 0; i < call.node.output_count(); ++i) {
    const Type& a = yes->outputs()[i]->type();
    const Type& b = no->outputs()[i]->type();
    const auto both = generalize(call.module, a, b);
    if (!both)
      return call.bad_shape("result {} is {} in one branch and {} in the other", i,
                            type_text(call.module, a), type_text(call.module, b));
    SLUICE_TRY(call.give_type(i, *both));
  }
  return {};
}

// Returns a scalar, unless the body declares one element of rank 1.
Type scalar_for(const Value& input, DType dtype) {
  const Type& type = input.type();
  return type.is_tensor() && type.ranked ? Type::unranked(dtype) : Type::tensor(dtype, {});
}

// Returns true when the condition that the body returns is the one it got, or true, so that only
// the trip count ends the loop.
bool runs_all_trips(InferCall& call, const Graph& body) {
  if (call.has_input(1)) {
    const auto condition = call.integers(1);
    if (!condition || condition->size() != 1 || condition->front() == 0) return false;
  }
  const Value* value = body.outputs()[0];
  while (value->producer() != nullptr && value->producer()->op() == Op::kIdentity &&
         value->producer()->input(0) != nullptr) {
    value = value->producer()->input(0);
  }
  if (value == body.inputs()[1]) return true;
  ValueFacts facts(body);
  const auto* elements = value->is_constant() ? facts.find(*value) : nullptr;
  return elements != nullptr && elements->size() == 1 &&
         call.module.expressions.as_constant(elements->front()).value_or(0) != 0;
}

// Returns the number of iterations: the length of scan outputs.
Dim trip_count(InferCall& call, const Graph& body, size_t output) {
  const auto maximum = call.has_input(0) ? call.value_dims(0) : std::nullopt;
  const bool known = maximum && maximum->size() == 1;
  if (known && runs_all_trips(call, body))
    return call.math.maximum(maximum->front(), Dim::fixed(0));
  return call.result_dim(output, 0,
                         known && maximum->front().is_fixed() ? maximum->front() : Dim::unknown());
}

// Returns the type of a stacked output: the body's type with one more dim.
Type stacked(const Type& type, const Dim& length, size_t axis) {
  Type result = type;
  if (type.is_tensor() && type.ranked && axis <= type.dims.size())
    result.dims.insert(result.dims.begin() + static_cast<std::ptrdiff_t>(axis), length);
  return result;
}

// Checks that only the first `optional` inputs are absent.
Result<void> check_present(const InferCall& call, size_t optional) {
  for (size_t i = optional; i < call.input_count(); ++i) {
    if (!call.has_input(i)) return call.bad_node("input {} is absent", i);
  }
  return {};
}

// Infers Loop. Inputs: trip count, condition, carried values, captures. Body: iteration, condition,
// carried, captures -> condition, carried, stacked.
Result<void> infer_loop(InferCall& call) {
  SLUICE_ASSIGN(Graph * body, find_body(call, attributes::Loop::body));
  SLUICE_TRY(check_body(call, *body, static_cast<int64_t>(call.input_count()),
                        static_cast<int64_t>(call.node.output_count()) + 1));
  if (call.input_count() < 2 + body->captures)
    return call.bad_node("graph '{}' has {} captures", body->name(), body->captures);
  const size_t count = call.input_count() - 2 - body->captures;
  if (count > call.node.output_count())
    return call.bad_node("it carries {} values and has {} outputs", count,
                         call.node.output_count());
  SLUICE_TRY(check_present(call, 2));
  SLUICE_TRY(call.expect_dtype(0, kI64Set));
  SLUICE_TRY(call.expect_dtype(1, kBoolSet));
  std::vector<BodyInput> inputs = captured_inputs(call, 0);
  inputs[0] = {scalar_for(*body->inputs()[0], DType::kI64)};
  inputs[1] = {scalar_for(*body->inputs()[1], DType::kBool)};
  SLUICE_ASSIGN(const std::vector<Type> carried,
                infer_repeated_body(call, *body, std::move(inputs), 2, 1, count));
  for (size_t i = 0; i < count; ++i) SLUICE_TRY(call.give_type(i, carried[i]));
  if (count == call.node.output_count()) return {};
  const Dim trips = trip_count(call, *body, count);
  for (size_t i = count; i < call.node.output_count(); ++i) {
    SLUICE_TRY(call.give_type(i, stacked(body->outputs()[i + 1]->type(), trips, 0)));
  }
  return {};
}

// Returns the type of one slice of a scanned input, and writes its length to `length`.
Result<Type> scanned_slice(InferCall& call, size_t index, int64_t axis, Dim& length) {
  Type type = call.input_type(index);
  if (!type.is_tensor() || !type.ranked) return type;
  SLUICE_ASSIGN(const int64_t place, call.axis(axis, type.rank()));
  SLUICE_ASSIGN(length, call.unify(length, type.dims[static_cast<size_t>(place)],
                                   "lengths of the scanned inputs"));
  type.dims.erase(type.dims.begin() + place);
  return type;
}

// Infers Scan. Inputs: states, scanned, captures. Body: states, slices, captures -> states, slices
// of stacked results.
Result<void> infer_scan(InferCall& call) {
  SLUICE_ASSIGN(Graph * body, find_body(call, attributes::Scan::body));
  SLUICE_TRY(check_body(call, *body, static_cast<int64_t>(call.input_count()),
                        static_cast<int64_t>(call.node.output_count())));
  SLUICE_TRY(check_present(call, 0));
  const int64_t scans = call.node.get(attributes::Scan::num_scan_inputs);
  const bool fits = scans >= 1 && scans <= static_cast<int64_t>(call.input_count());
  const int64_t states =
      fits ? static_cast<int64_t>(call.input_count()) - scans - body->captures : -1;
  const int64_t stacks = static_cast<int64_t>(call.node.output_count()) - states;
  if (states < 0 || stacks < 0) return call.bad_node("attribute 'num_scan_inputs' is {}", scans);
  SLUICE_ASSIGN(const auto axes, call.ints(attributes::Scan::scan_input_axes,
                                           static_cast<size_t>(scans), INT64_MIN));
  SLUICE_ASSIGN(const auto result_axes, call.ints(attributes::Scan::scan_output_axes,
                                                  static_cast<size_t>(stacks), INT64_MIN));
  SLUICE_TRY(call.ints(attributes::Scan::scan_input_directions, static_cast<size_t>(scans), 0));
  SLUICE_TRY(call.ints(attributes::Scan::scan_output_directions, static_cast<size_t>(stacks), 0));
  std::vector<BodyInput> inputs = captured_inputs(call, 0);
  Dim length = Dim::unknown();
  for (int64_t i = 0; i < scans; ++i) {
    SLUICE_ASSIGN(Type slice, scanned_slice(call, static_cast<size_t>(states + i),
                                            axes[static_cast<size_t>(i)], length));
    inputs[static_cast<size_t>(states + i)] = {std::move(slice)};
  }
  SLUICE_ASSIGN(
      const std::vector<Type> carried,
      infer_repeated_body(call, *body, std::move(inputs), 0, 0, static_cast<size_t>(states)));
  for (size_t i = 0; i < carried.size(); ++i) SLUICE_TRY(call.give_type(i, carried[i]));
  for (size_t i = carried.size(); i < call.node.output_count(); ++i) {
    const Type& slice = body->outputs()[i]->type();
    int64_t axis = 0;
    if (slice.is_tensor() && slice.ranked) {
      SLUICE_ASSIGN(axis, call.axis(result_axes[i - carried.size()], slice.rank() + 1));
    }
    SLUICE_TRY(call.give_type(i, stacked(slice, length, static_cast<size_t>(axis))));
  }
  return {};
}

constexpr uint32_t kFlags = kControlFlow | kAnyKind;

constexpr OpRow kControlFlowRows[] = {
    {Op::kIf, 1, -1, 1, -1, kFlags, attribute_rows::If, infer_if},
    {Op::kLoop, 2, -1, 1, -1, kFlags | kAbsentInputs, attribute_rows::Loop, infer_loop},
    {Op::kScan, 1, -1, 1, -1, kFlags, attribute_rows::Scan, infer_scan},
};

}  // namespace

std::span<const OpRow> control_flow_rows() { return kControlFlowRows; }

}  // namespace sluice
