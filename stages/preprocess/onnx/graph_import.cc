#include "stages/preprocess/onnx/graph_import.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "common/base/tensor.h"
#include "common/ir/annotation.h"
#include "common/ops/attributes.h"
#include "common/ops/failing_branch.h"
#include "common/ops/op_table.h"
#include "stages/preprocess/onnx/node_order.h"
#include "stages/preprocess/onnx/operators.h"
#include "stages/preprocess/onnx/overridable.h"
#include "stages/preprocess/onnx/types.h"
#include "stages/preprocess/onnx/unknown_attributes.h"

namespace sluice {
namespace {

using onnx::AttributeProto;

constexpr int kMaxBodyDepth = 64;  // the maximum of inference

// Returns the type of a Loop's counter or condition where the body declares it of rank 1; otherwise
// the type that inference will determine.
TypeId declared_counter(Module& module, const Node& node, size_t index,
                        const onnx::ValueInfoProto& input) {
  const auto& type = input.type().tensor_type();
  const bool is_vector = type.has_shape() && type.shape().dim_size() == 1;
  if (node.op() != Op::kLoop || index > 1 || !is_vector) return 0;
  return module.intern(Type::fixed_tensor(index == 0 ? DType::kI64 : DType::kBool, {1}));
}

template <typename To, typename List>
std::vector<To> copied(const List& list) {
  return std::vector<To>(list.begin(), list.end());
}

// Returns nothing for tensors, types and graphs.
std::optional<AttributeValue> plain_attribute(const AttributeProto& attribute) {
  switch (attribute_type(attribute)) {
    case AttributeProto::FLOAT:
      return AttributeValue(attribute.f());
    case AttributeProto::INT:
      return AttributeValue(attribute.i());
    case AttributeProto::STRING:
      return AttributeValue(attribute.s());
    case AttributeProto::FLOATS:
      return AttributeValue(copied<float>(attribute.floats()));
    case AttributeProto::INTS:
      return AttributeValue(copied<int64_t>(attribute.ints()));
    case AttributeProto::STRINGS:
      return AttributeValue(copied<std::string>(attribute.strings()));
    default:
      return std::nullopt;
  }
}

bool is_graph_attribute(const AttributeProto& attribute) {
  const auto type = attribute_type(attribute);
  return type == AttributeProto::GRAPH || type == AttributeProto::GRAPHS;
}

template <typename T>
std::vector<std::byte> bytes_of(const T* elements, size_t count) {
  std::vector<std::byte> bytes(count * sizeof(T));
  if (count > 0) std::memcpy(bytes.data(), elements, bytes.size());
  return bytes;
}

std::vector<std::byte> string_bytes(const std::vector<std::string>& texts) {
  const Tensor tensor = make_string_tensor({static_cast<int64_t>(texts.size())}, texts);
  return {tensor.bytes.begin(), tensor.bytes.end()};
}

// Gives a random node without a seed one that no other has: the same model produces the same
// results. Users' seeds are not negative.
void give_seed(Node& node, size_t index) {
  const OpRow* row = find_op(node.op());
  const bool is_random = row != nullptr && (row->flags & kRandom) != 0;
  if (!is_random || node.has(attributes::RandomNormal::seed)) return;
  const int64_t seed = -1 - static_cast<int64_t>(index);
  if (node.op() != Op::kDropout)
    return node.set(attributes::RandomNormal::seed, static_cast<float>(seed));
  if (node.input(2) != nullptr)
    node.set(attributes::Dropout::seed, seed);  // else it is not trained
}

}  // namespace

Result<void> GraphImport::define(const std::string& name, Value& value) {
  if (names_.emplace(name, &value).second) return {};
  return make_error(ErrorCode::kBadModel, "value '{}' is defined twice in graph '{}'", name,
                    graph_.name());
}

Result<Value*> GraphImport::find(const std::string& name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  if (outer_ == nullptr) return static_cast<Value*>(nullptr);
  SLUICE_ASSIGN(Value * outer, outer_->find(name));
  return outer == nullptr ? Result<Value*>(nullptr) : capture(name, *outer);
}

Result<Value*> GraphImport::capture(const std::string& name, Value& outer) {
  if (outer.is_constant()) return names_[name] = &graph_.add_constant(outer.segment(), name);
  Value& input = graph_.add_input(outer.type_id(), name);
  captures_.emplace_back(&outer, &input);
  return names_[name] = &input;
}

// Defines a constant. Of several with one name the last counts, for all readers: nodes that read it
// come after all of them (order_nodes).
Result<void> GraphImport::define_constant(const std::string& name, SegmentId segment,
                                          const std::string& who) {
  const auto known = names_.find(name);
  if (known == names_.end() || !known->second->is_constant())
    return define(name, graph_.add_constant(segment, name));
  const bool is_equal = known->second->segment() == segment;
  model_.module.warnings.add(
      Leniency::kDefinedTwice,
      fmt::format("{}: value '{}' is defined twice, by {}", who, name,
                  is_equal ? "equal constants" : "constants that differ: the last one counts"));
  if (!is_equal) known->second = &graph_.add_constant(segment, name);
  return {};
}

Result<void> GraphImport::define_initializer(const std::string& name, SegmentId segment) {
  const auto input = overridable_.find(name);
  if (input == overridable_.end())
    return define_constant(name, segment, fmt::format("initializer '{}'", name));
  return define(name, add_overridable(graph_, *input->second, segment, name));
}

Result<void> GraphImport::add_initializers(const onnx::GraphProto& proto) {
  for (const onnx::TensorProto& tensor : proto.initializer()) {
    SLUICE_ASSIGN(const SegmentId segment, model_.constants.segment(tensor, "an initializer"));
    SLUICE_TRY(define_initializer(tensor.name(), segment));
  }
  for (const onnx::SparseTensorProto& tensor : proto.sparse_initializer()) {
    const std::string& name = tensor.values().name();
    SLUICE_ASSIGN(const SegmentId segment,
                  model_.constants.segment(tensor, fmt::format("initializer '{}'", name)));
    SLUICE_TRY(define_initializer(name, segment));
  }
  return {};
}

Result<SegmentId> GraphImport::constant_segment(const onnx::NodeProto& node) {
  Module& module = model_.module;
  const auto made = [&](DType dtype, std::vector<int64_t> dims, std::vector<std::byte> bytes) {
    return module.make_constant(module.intern(Type::fixed_tensor(dtype, dims)), std::move(bytes));
  };
  for (const AttributeProto& a : node.attribute()) {
    if (a.name() == "value" && a.has_t()) return model_.constants.segment(a.t(), node_label(node));
    if (a.name() == "sparse_value" && a.has_sparse_tensor())
      return model_.constants.segment(a.sparse_tensor(), node_label(node));
    if (a.name() == "value_int") {
      const int64_t number = a.i();
      return made(DType::kI64, {}, bytes_of(&number, 1));
    }
    if (a.name() == "value_float") {
      const float number = a.f();
      return made(DType::kF32, {}, bytes_of(&number, 1));
    }
    if (a.name() == "value_ints")
      return made(DType::kI64, {a.ints_size()},
                  bytes_of(a.ints().data(), static_cast<size_t>(a.ints_size())));
    if (a.name() == "value_floats") {
      return made(DType::kF32, {a.floats_size()},
                  bytes_of(a.floats().data(), static_cast<size_t>(a.floats_size())));
    }
    if (a.name() == "value_string") return made(DType::kString, {}, string_bytes({a.s()}));
    if (a.name() == "value_strings") {
      return made(DType::kString, {a.strings_size()},
                  string_bytes(copied<std::string>(a.strings())));
    }
  }
  return make_error(ErrorCode::kBadModel, "{}: none of its attributes is a value",
                    node_label(node));
}

Result<void> GraphImport::add_constant_node(const onnx::NodeProto& node) {
  if (node.output_size() != 1)
    return make_error(ErrorCode::kBadModel, "{} has {} outputs, expected 1", node_label(node),
                      node.output_size());
  SLUICE_ASSIGN(const SegmentId segment, constant_segment(node));
  return define_constant(node.output(0), segment, node_label(node));
}

Result<void> GraphImport::set_attributes(const onnx::NodeProto& proto, Node& node) {
  for (const AttributeProto& attribute : proto.attribute()) {
    const std::string what = fmt::format("{}: attribute '{}'", node_label(proto), attribute.name());
    if (is_graph_attribute(attribute)) continue;
    if (node.find_attribute(attribute.name()) != nullptr)
      return make_error(ErrorCode::kBadModel, "{} is there twice", what);
    if (auto value = plain_attribute(attribute)) {
      node.set_attribute(attribute.name(), std::move(*value));
    } else if (attribute_type(attribute) == AttributeProto::TENSOR) {
      SLUICE_ASSIGN(const SegmentId segment, model_.constants.segment(attribute.t(), what));
      node.set_attribute(attribute.name(), SegmentRef{segment});
    } else if (attribute_type(attribute) == AttributeProto::TYPE_PROTO) {
      SLUICE_ASSIGN(const TypeId type, declared_type(model_.module, attribute.tp(), what));
      node.set_attribute(attribute.name(), TypeRef{type});
    } else if (knows_attribute(node.op(), attribute.name())) {
      return make_error(ErrorCode::kBadModel, "{} is of a kind that no operator takes", what);
    } else {
      model_.module.warnings.add(Leniency::kUnknownAttribute,
                                 unknown_attribute_text(proto, attribute.name()));
    }
  }
  return {};
}

Result<void> GraphImport::import_body(const Node& node, const onnx::GraphProto& body,
                                      const std::string& name, Imports& imports) {
  if (depth() >= kMaxBodyDepth) {
    return make_error(ErrorCode::kLimit, "{}: more than {} bodies lie in one another", node.label(),
                      kMaxBodyDepth);
  }
  Graph& graph = model_.module.add_graph(name, GraphRole::kBody);
  imports.push_back(std::make_unique<GraphImport>(model_, graph, this));
  std::set<std::string_view> constants;
  for (const auto& tensor : body.initializer()) constants.insert(tensor.name());
  for (const auto& input : body.input()) {
    if (constants.count(input.name()) > 0) continue;
    const TypeId type = declared_counter(model_.module, node, graph.inputs().size(), input);
    SLUICE_TRY(imports.back()->define(input.name(), graph.add_input(type, input.name())));
  }
  return imports.back()->run(body);
}

// Imports a body. A branch that cannot be imported because inference failed in it fails when it is
// taken.
Result<GraphId> GraphImport::add_body(const Node& node, const onnx::GraphProto& body,
                                      const std::string& name, Imports& imports) {
  const size_t index = imports.size();
  auto imported = import_body(node, body, name, imports);
  if (imported) return imports[index]->graph_.id();
  if (index == imports.size() || !imports[index]->failure_) return std::move(imported).error();
  const Error failure = *imports[index]->failure_;
  if (node.op() != Op::kIf) return failure;
  Graph& graph = model_.module.add_graph(name, GraphRole::kBody);
  imports[index] = std::make_unique<GraphImport>(model_, graph, this);
  add_failing_node(graph, static_cast<size_t>(body.output_size()), failure.message);
  model_.module.warnings.add(Leniency::kFailingBranch,
                             failing_branch_text(node, name, failure.message));
  return graph.id();
}

// Adds bodies, then the captures that all of them take as their trailing inputs.
Result<void> GraphImport::add_bodies(const onnx::NodeProto& proto, Node& node) {
  Imports imports;
  for (const AttributeProto& attribute : proto.attribute()) {
    if (!is_graph_attribute(attribute)) continue;
    if (!knows_attribute(node.op(), attribute.name())) {
      model_.module.warnings.add(Leniency::kUnknownAttribute,
                                 unknown_attribute_text(proto, attribute.name()));
      continue;
    }
    const std::string name = fmt::format(
        "{}.{}", proto.name().empty() ? proto.op_type() : proto.name(), attribute.name());
    if (attribute_type(attribute) == AttributeProto::GRAPH) {
      SLUICE_ASSIGN(const GraphId body, add_body(node, attribute.g(), name, imports));
      node.set_attribute(attribute.name(), GraphRef{body});
    } else {
      std::vector<GraphRef> bodies;
      for (const onnx::GraphProto& graph : attribute.graphs()) {
        SLUICE_ASSIGN(const GraphId body, add_body(node, graph, name, imports));
        bodies.push_back({body});
      }
      node.set_attribute(attribute.name(), std::move(bodies));
    }
  }
  std::vector<Value*> captured;
  std::set<int32_t> seen;  // by id: of this graph
  for (const auto& import : imports) {
    for (const Capture& capture : import->captures_) {
      if (seen.insert(capture.first->id()).second) captured.push_back(capture.first);
    }
  }
  for (const auto& import : imports) {
    Graph& body = import->graph_;
    for (Value* outer : captured) {
      const auto known = std::find_if(import->captures_.begin(), import->captures_.end(),
                                      [&](const Capture& c) { return c.first == outer; });
      if (known == import->captures_.end()) {
        body.add_input(outer->type_id(), outer->name());
      } else {
        const auto place = std::find(body.inputs().begin(), body.inputs().end(), known->second);
        body.move_input_last(static_cast<size_t>(place - body.inputs().begin()));
      }
    }
    body.captures = static_cast<uint32_t>(captured.size());
  }
  for (Value* outer : captured) node.add_input(outer);
  return {};
}

// Reads what ONNX cannot express: metadata keys "sluice.<name>" of a node, and the rules of
// --annotate.
Result<Placement> GraphImport::placement_of(const onnx::NodeProto& proto) {
  Placement placement;
  for (const auto& entry : proto.metadata_props()) {
    if (!entry.key().starts_with("sluice.")) continue;
    if (auto set = annotate(placement, entry.key().substr(7), entry.value()); !set) {
      Error error = std::move(set).error().within(
          fmt::format("{}: metadata '{}'", node_label(proto), entry.key()));
      error.code = ErrorCode::kBadModel;
      return error;
    }
  }
  model_.rules.apply(proto, placement);
  return placement;
}

Result<void> GraphImport::name_results(const onnx::NodeProto& proto,
                                       const std::vector<Value*>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string& name = proto.output(static_cast<int>(i));
    if (name.empty()) continue;
    results[i]->set_name(name);
    SLUICE_TRY(define(name, *results[i]));
  }
  return {};
}

// Infers the node's types. An error of inference in a node of a body may be wrong only while
// nothing is folded, or the node may never be reached: the passes infer it again.
Result<void> GraphImport::infer(Node& node) {
  if (node.op() == Op::kForeign) return {};
  auto inferred = infer_node(node, facts_);
  if (inferred) return {};
  if (outer_ == nullptr || !is_of_sizes(inferred.error().code)) return std::move(inferred).error();
  if (!failure_) failure_ = std::move(inferred).error();
  return {};
}

// Sets origins and names of the nodes made of one ONNX node, which are those after `before`; infers
// types where adapters need ranks.
Result<void> GraphImport::finish_nodes(const onnx::NodeProto& proto, Node* before,
                                       const Node* named) {
  const size_t index = model_.node_index++;
  const std::string origin =
      proto.name().empty() ? fmt::format("{}_{}", proto.op_type(), index) : proto.name();
  const uint32_t onnx_node = model_.module.add_onnx_node(origin);
  SLUICE_ASSIGN(const Placement placement, placement_of(proto));
  for (Node* made = before == nullptr ? graph_.first_node() : before->next(); made != nullptr;
       made = made->next()) {
    made->add_origins({onnx_node});
    made->placement = placement;
    if (made == named) {
      made->set_name(proto.name());
    } else {
      made->set_name(fmt::format("{}/{}", origin, op_name(made->op())));
    }
    if (!model_.needs_ranks) continue;
    SLUICE_TRY(infer(*made));
  }
  return {};
}

Result<std::vector<Value*>> GraphImport::inputs_of(const onnx::NodeProto& proto) {
  std::vector<Value*> inputs;
  for (const std::string& name : proto.input()) {
    if (name.empty()) {
      inputs.push_back(nullptr);
      continue;
    }
    SLUICE_ASSIGN(Value * value, find(name));
    if (value == nullptr) {
      return make_error(ErrorCode::kBadModel,
                        "{}: input '{}' is not defined by any node, input or initializer",
                        node_label(proto), name);
    }
    inputs.push_back(value);
  }
  return inputs;
}

// Imports a node of another domain as the canonical nodes that compute the same.
Result<void> GraphImport::add_expanded_node(const onnx::NodeProto& proto, const ExpandRow& row) {
  SLUICE_ASSIGN(std::vector<Value*> inputs, inputs_of(proto));
  Node* before = graph_.last_node();
  ExpandCall call{graph_, proto, std::move(inputs), {}, &model_.constants, &facts_, model_.states};
  SLUICE_TRY(expand_node(call, row));
  SLUICE_TRY(name_results(proto, call.results));
  const auto first =
      std::ranges::find_if(call.results, [](const Value* value) { return value != nullptr; });
  return finish_nodes(proto, before, first == call.results.end() ? nullptr : (*first)->producer());
}

// Imports a node that rules replace before types are inferred.
Result<void> GraphImport::add_foreign_node(const onnx::NodeProto& proto) {
  SLUICE_ASSIGN(const std::vector<Value*> inputs, inputs_of(proto));
  Node* before = graph_.last_node();
  Node& node = graph_.add_node(Op::kForeign, inputs, static_cast<size_t>(proto.output_size()));
  node.set_attribute(kForeignName, foreign_name(proto));
  for (const AttributeProto& attribute : proto.attribute()) {
    if (auto value = plain_attribute(attribute))
      node.set_attribute(attribute.name(), std::move(*value));
  }
  std::vector<Value*> results;
  for (size_t i = 0; i < node.output_count(); ++i) results.push_back(&node.output(i));
  SLUICE_TRY(name_results(proto, results));
  return finish_nodes(proto, before, &node);
}

Result<void> GraphImport::add_node(const onnx::NodeProto& proto) {
  if (const ExpandRow* row = find_expansion(proto)) return add_expanded_node(proto, *row);
  if (!find_operator(proto)) return add_foreign_node(proto);
  SLUICE_ASSIGN(const std::vector<Value*> inputs, inputs_of(proto));
  int outputs = proto.output_size();
  while (outputs > 1 && proto.output(outputs - 1).empty()) --outputs;
  const Op op = find_operator(proto).value();  // check_operators has accepted it
  Node* before = graph_.last_node();
  Node& node = graph_.add_node(op, inputs, static_cast<size_t>(outputs));
  const OpRow* row = find_op(op);
  const bool has_bodies = row != nullptr && (row->flags & kControlFlow) != 0;
  while (!has_bodies && node.input_count() > 0 && node.input(node.input_count() - 1) == nullptr)
    node.remove_last_input();
  const auto own = static_cast<size_t>(row == nullptr ? 0 : row->min_inputs);
  // Captures are appended after it.
  if (has_bodies && node.input_count() < own) node.set_input(own - 1, nullptr);
  node.set_name(proto.name());
  for (size_t i = 0; i < node.output_count(); ++i)
    node.output(i).set_name(proto.output(static_cast<int>(i)));  // for messages
  SLUICE_TRY(set_attributes(proto, node));
  SLUICE_TRY(add_bodies(proto, node));
  give_seed(node, model_.node_index);
  UpgradeCall call{graph_, &node, {}};
  for (size_t i = 0; i < node.output_count(); ++i) call.results.push_back(&node.output(i));
  SLUICE_TRY(upgrade_node(call, model_.opset_of(proto)));
  drop_unknown_attributes(proto, node, model_.module.warnings);
  for (size_t i = 0; i < node.output_count(); ++i) node.output(i).set_name({});
  SLUICE_TRY(name_results(proto, call.results));
  return finish_nodes(proto, before, call.results.empty() ? &node : call.results[0]->producer());
}

Result<void> GraphImport::run(const onnx::GraphProto& proto) {
  SLUICE_TRY(add_initializers(proto));
  SLUICE_ASSIGN(const std::vector<const onnx::NodeProto*> order, order_nodes(proto));
  for (const onnx::NodeProto* node : order) {
    SLUICE_TRY(is_constant_node(*node) ? add_constant_node(*node) : add_node(*node));
  }
  for (const onnx::ValueInfoProto& output : proto.output()) {
    SLUICE_ASSIGN(Value * value, find(output.name()));
    if (value == nullptr) {
      return make_error(
          ErrorCode::kBadModel,
          "output '{}' of graph '{}' is not defined by any node, input or initializer",
          output.name(), graph_.name());
    }
    graph_.add_output(*value);
  }
  return {};
}

}  // namespace sluice
