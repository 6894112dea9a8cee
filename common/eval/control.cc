// Ops with bodies. Captures are the trailing inputs of the node and of each body.
#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "common/eval/axes.h"
#include "common/eval/kernels.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

Result<const Graph*> body_of(const EvalCall& call, const BodyAttribute& attribute) {
  const Graph* body = call.node.get(attribute);
  if (body == nullptr)
    return make_error(ErrorCode::kBadNode, "{}: has no body '{}'", call.node.label(),
                      attribute.name);
  return body;
}

// Makes every output of a body the output of the node.
Result<void> forward(EvalCall& call, const Graph& body, std::span<const Operand> inputs) {
  SLUICE_ASSIGN(auto outputs, evaluate_body(body, inputs, call.options));
  if (outputs.size() != call.node.output_count()) {
    return make_error(ErrorCode::kBadNode, "{}: has {} outputs, its body {}", call.node.label(),
                      call.node.output_count(), outputs.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) call.set_value(i, std::move(outputs[i]));
  return {};
}

bool is_true(const EvalValue& value) {
  return value.tensor != nullptr && !value.tensor->bytes.empty() &&
         value.tensor->bytes[0] != std::byte{0};
}

// Returns the dims of a body's counter or condition: a scalar, or one element of rank 1 when it is
// declared so.
std::vector<int64_t> dims_of_one(const Value& input) {
  const Type& type = input.type();
  return type.is_tensor() && type.ranked && type.rank() == 1 ? std::vector<int64_t>{1}
                                                             : std::vector<int64_t>{};
}

Tensor one_i64(int64_t value, const std::vector<int64_t>& dims) {
  Tensor tensor = make_tensor(DType::kI64, dims);
  std::memcpy(tensor.bytes.data(), &value, sizeof value);
  return tensor;
}

Tensor one_bool(bool value, const std::vector<int64_t>& dims) {
  Tensor tensor = make_tensor(DType::kBool, dims);
  tensor.bytes[0] = static_cast<std::byte>(value);
  return tensor;
}

// Returns element `index` along `axis`, without that axis.
Result<EvalValue> element_along(const EvalCall& call, const Operand& from, int64_t axis,
                                int64_t index) {
  const AxisSplit split(from.view.dims, axis);
  if (dtype_bits(from.view.dtype) < 8) return call.unsupported(from.view.dtype);
  std::vector<int64_t> dims = to_vector(from.view.dims);
  dims.erase(dims.begin() + axis);
  Tensor tensor = make_tensor(from.view.dtype, dims);
  const size_t run =
      static_cast<size_t>(split.inner) * static_cast<size_t>(dtype_bits(tensor.dtype)) / 8;
  for (int64_t outer = 0; run > 0 && outer < split.outer; ++outer) {
    std::memcpy(tensor.bytes.data() + static_cast<size_t>(outer) * run,
                from.view.data + static_cast<size_t>(outer * split.count + index) * run, run);
  }
  return EvalValue::of(std::move(tensor));
}

// Returns the dims of a type whose symbols the dims of the node's inputs tell; others count as 0.
std::vector<int64_t> extents_from_inputs(const EvalCall& call, const Type& type) {
  const ExpressionTable& expressions = call.node.graph().module().expressions;
  std::map<SymbolId, int64_t> known;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (call.node.input(i) == nullptr) continue;
    const std::vector<Dim>& dims = call.node.input(i)->type().dims;
    const std::span<const int64_t> extents = call.operands[i].view.dims;
    for (size_t axis = 0; axis < std::min(dims.size(), extents.size()); ++axis) {
      if (!dims[axis].is_expression()) continue;
      const Expression& e = expressions[static_cast<ExpressionId>(dims[axis].value)];
      if (e.op == ExpressionOp::kSymbol)
        known.emplace(static_cast<SymbolId>(e.value), extents[axis]);
    }
  }
  const auto extent_of = [&](const Dim& dim) -> int64_t {
    if (dim.is_fixed()) return dim.value;
    if (dim.is_unknown()) return 0;
    bool is_known = true;
    const auto extent =
        expressions.evaluate(static_cast<ExpressionId>(dim.value), [&](SymbolId symbol) {
          const auto found = known.find(symbol);
          is_known = is_known && found != known.end();
          return is_known ? found->second : 0;
        });
    return extent && is_known ? std::max<int64_t>(*extent, 0) : 0;
  };
  std::vector<int64_t> extents;
  for (const Dim& dim : type.dims) extents.push_back(extent_of(dim));
  return extents;
}

// Stacks equal tensors along a new axis. Without any, the type and dims are those of the body's
// output.
Result<EvalValue> stack(const EvalCall& call, const std::vector<EvalValue>& parts, int64_t axis,
                        bool reverse, const Value& like) {
  std::vector<int64_t> dims;
  DType dtype = like.type().dtype;
  if (parts.empty()) {
    dims = extents_from_inputs(call, like.type());
  } else {
    if (parts[0].tensor == nullptr)
      return call.unsupported(std::string("a scan output that is no tensor"));
    dims = parts[0].tensor->dims;
    dtype = parts[0].tensor->dtype;
  }
  if (dtype_bits(dtype) < 8) return call.unsupported(dtype);
  SLUICE_ASSIGN(axis, call.axis(axis, static_cast<int64_t>(dims.size()) + 1));
  dims.insert(dims.begin() + axis, static_cast<int64_t>(parts.size()));
  Tensor tensor = make_tensor(dtype, dims);
  const AxisSplit split(dims, axis);
  const size_t run = static_cast<size_t>(split.inner) * static_cast<size_t>(dtype_bits(dtype)) / 8;
  for (size_t i = 0; i < parts.size(); ++i) {
    const EvalValue& part = parts[reverse ? parts.size() - 1 - i : i];
    if (part.tensor == nullptr || part.tensor->dims != parts[0].tensor->dims ||
        part.tensor->dtype != dtype) {
      return call.bad_shape("the shape of a scan output changes from one iteration to the next");
    }
    for (int64_t outer = 0; run > 0 && outer < split.outer; ++outer) {
      std::memcpy(tensor.bytes.data() + (static_cast<size_t>(outer) * parts.size() + i) * run,
                  part.tensor->bytes.data() + static_cast<size_t>(outer) * run, run);
    }
  }
  return EvalValue::of(std::move(tensor));
}

// The common part of Loop and Scan: runs the body, keeps the first `states` of its outputs from
// `skip` on as the new state, and collects the others.
Result<void> iterate(const EvalCall& call, const Graph& body, std::span<const Operand> inputs,
                     size_t skip, std::vector<EvalValue>& states,
                     std::vector<std::vector<EvalValue>>& scans, EvalValue* condition) {
  SLUICE_ASSIGN(auto outputs, evaluate_body(body, inputs, call.options));
  if (outputs.size() != skip + states.size() + scans.size())
    return make_error(ErrorCode::kBadNode, "{}: its body has {} outputs", call.node.label(),
                      outputs.size());
  if (skip > 0) *condition = std::move(outputs[0]);
  for (size_t i = 0; i < states.size(); ++i) states[i] = std::move(outputs[skip + i]);
  for (size_t i = 0; i < scans.size(); ++i)
    scans[i].push_back(std::move(outputs[skip + states.size() + i]));
  return {};
}

Result<int64_t> count_states(const EvalCall& call, const Graph& body, size_t others) {
  const size_t fixed = others + body.captures;
  if (call.operands.size() != body.inputs().size() || body.inputs().size() < fixed) {
    return make_error(ErrorCode::kBadNode, "{}: has {} inputs, its body {}", call.node.label(),
                      call.operands.size(), body.inputs().size());
  }
  const size_t states = body.inputs().size() - fixed;
  if (call.node.output_count() < states)
    return make_error(ErrorCode::kBadNode, "{}: has fewer outputs than states", call.node.label());
  return static_cast<int64_t>(states);
}

}  // namespace

Result<void> eval_if(EvalCall& call) {
  if (call.input(0).dtype != DType::kBool || call.input(0).count != 1)
    return call.bad_value("the condition is not one bool");
  SLUICE_ASSIGN(const Graph* body,
                body_of(call, call.integer(0, 0) != 0 ? attributes::If::then_branch
                                                      : attributes::If::else_branch));
  return forward(call, *body, call.operands.subspan(1));
}

// Returns the error that inference left for a run that takes this branch.
Result<void> eval_fail(EvalCall& call) {
  return make_error(ErrorCode::kBadShape, "{}", call.node.get(attributes::Fail::message));
}

Result<void> eval_fused(EvalCall& call) {
  const auto bodies = call.node.bodies();
  if (bodies.size() != 1 || !call.node.graph().module().has_graph(bodies[0]))
    return make_error(ErrorCode::kBadNode, "{}: its body is missing", call.node.label());
  return forward(call, call.node.graph().module().graph(bodies[0]), call.operands);
}

Result<void> eval_loop(EvalCall& call) {
  SLUICE_ASSIGN(const Graph* body, body_of(call, attributes::Loop::body));
  SLUICE_ASSIGN(const int64_t state_count, count_states(call, *body, 2));
  const auto count = static_cast<size_t>(state_count);
  std::vector<EvalValue> states;
  for (size_t i = 0; i < count; ++i) states.push_back(value_of(call.operands[2 + i]));
  std::vector<std::vector<EvalValue>> scans(call.node.output_count() - count);
  const int64_t trips = call.has(0) ? call.integer(0, 0) : std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> counter_dims = dims_of_one(*body->inputs()[0]);
  const std::vector<int64_t> condition_dims = dims_of_one(*body->inputs()[1]);
  EvalValue condition =
      EvalValue::of(one_bool(!call.has(1) || call.integer(1, 0) != 0, condition_dims));
  for (int64_t trip = 0; trip < trips && is_true(condition); ++trip) {
    const EvalValue index = EvalValue::of(one_i64(trip, counter_dims));
    std::vector<Operand> inputs = {Operand::of(index), Operand::of(condition)};
    for (const EvalValue& state : states) inputs.push_back(Operand::of(state));
    inputs.insert(inputs.end(), call.operands.begin() + 2 + state_count, call.operands.end());
    EvalValue next;
    SLUICE_TRY(iterate(call, *body, inputs, 1, states, scans, &next));
    condition = EvalValue::of(one_bool(is_true(next), condition_dims));
  }
  for (size_t i = 0; i < count; ++i) call.set_value(i, std::move(states[i]));
  for (size_t i = 0; i < scans.size(); ++i) {
    SLUICE_ASSIGN(EvalValue stacked,
                  stack(call, scans[i], 0, false, *body->outputs()[1 + count + i]));
    call.set_value(count + i, std::move(stacked));
  }
  return {};
}

Result<void> eval_scan(EvalCall& call) {
  SLUICE_ASSIGN(const Graph* body, body_of(call, attributes::Scan::body));
  const auto scan_inputs = static_cast<size_t>(call.node.get(attributes::Scan::num_scan_inputs));
  SLUICE_ASSIGN(const int64_t state_count, count_states(call, *body, scan_inputs));
  const auto count = static_cast<size_t>(state_count);
  const size_t scan_outputs = call.node.output_count() - count;
  const auto attribute = [&](const IntsAttribute& name, size_t size) {
    std::vector<int64_t> values = call.node.get(name);
    values.resize(size, 0);
    return values;
  };
  std::vector<int64_t> axes = attribute(attributes::Scan::scan_input_axes, scan_inputs);
  const auto input_directions = attribute(attributes::Scan::scan_input_directions, scan_inputs);
  const auto output_axes = attribute(attributes::Scan::scan_output_axes, scan_outputs);
  const auto output_directions = attribute(attributes::Scan::scan_output_directions, scan_outputs);
  int64_t length = -1;
  for (size_t i = 0; i < scan_inputs; ++i) {
    const auto dims = call.operands[count + i].view.dims;
    SLUICE_ASSIGN(axes[i], call.axis(axes[i], static_cast<int64_t>(dims.size())));
    const int64_t extent = dims[static_cast<size_t>(axes[i])];
    if (length >= 0 && extent != length)
      return call.bad_shape("scan inputs have {} and {} elements", length, extent);
    length = extent;
  }
  std::vector<EvalValue> states;
  for (size_t i = 0; i < count; ++i) states.push_back(value_of(call.operands[i]));
  std::vector<std::vector<EvalValue>> scans(scan_outputs);
  for (int64_t step = 0; step < length; ++step) {
    std::vector<EvalValue> elements;
    for (size_t i = 0; i < scan_inputs; ++i) {
      SLUICE_ASSIGN(EvalValue element,
                    element_along(call, call.operands[count + i], axes[i],
                                  input_directions[i] != 0 ? length - 1 - step : step));
      elements.push_back(std::move(element));
    }
    std::vector<Operand> inputs;
    for (const EvalValue& state : states) inputs.push_back(Operand::of(state));
    for (const EvalValue& element : elements) inputs.push_back(Operand::of(element));
    inputs.insert(inputs.end(),
                  call.operands.begin() + static_cast<std::ptrdiff_t>(count + scan_inputs),
                  call.operands.end());
    SLUICE_TRY(iterate(call, *body, inputs, 0, states, scans, nullptr));
  }
  for (size_t i = 0; i < count; ++i) call.set_value(i, std::move(states[i]));
  for (size_t i = 0; i < scan_outputs; ++i) {
    SLUICE_ASSIGN(EvalValue stacked, stack(call, scans[i], output_axes[i],
                                           output_directions[i] != 0, *body->outputs()[count + i]));
    call.set_value(count + i, std::move(stacked));
  }
  return {};
}

Result<void> eval_sequence_map(EvalCall& call) {
  SLUICE_ASSIGN(const Graph* body, body_of(call, attributes::Fused::body));
  const EvalValue* sequence = call.operands[0].value;
  if (sequence == nullptr || sequence->kind != EvalValue::Kind::kSequence)
    return call.bad_value("input 0 is no sequence");
  std::vector<EvalValue> results(call.node.output_count());
  for (EvalValue& result : results) result.kind = EvalValue::Kind::kSequence;
  for (size_t i = 0; i < sequence->elements.size(); ++i) {
    std::vector<Operand> inputs;
    for (size_t k = 0; k < call.operands.size(); ++k) {
      const EvalValue* value = call.operands[k].value;
      const bool mapped = value != nullptr && value->kind == EvalValue::Kind::kSequence &&
                          k + body->captures < call.operands.size();
      if (mapped && i >= value->elements.size())
        return call.bad_value("the sequences have different lengths");
      inputs.push_back(mapped ? Operand::of(value->elements[i]) : call.operands[k]);
    }
    SLUICE_ASSIGN(auto outputs, evaluate_body(*body, inputs, call.options));
    if (outputs.size() != results.size())
      return make_error(ErrorCode::kBadNode, "{}: its body has {} outputs", call.node.label(),
                        outputs.size());
    for (size_t k = 0; k < outputs.size(); ++k)
      results[k].elements.push_back(std::move(outputs[k]));
  }
  for (size_t k = 0; k < results.size(); ++k) call.set_value(k, std::move(results[k]));
  return {};
}

}  // namespace sluice::eval
