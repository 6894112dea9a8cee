#include "common/tools/show_onnx/nodes.h"

#include <algorithm>
#include <cstring>

#include "common/ir/module.h"
#include "common/ops/attributes.h"
#include "common/tools/show_onnx/forms.h"
#include "common/tools/show_onnx/values.h"

namespace sluice {
namespace {

constexpr int kInputAxes = 18;    // the opset in which axes of reductions became an input
constexpr int kLinearModes = 20;  // the opset in which GridSample's modes lost their "bi"

// Returns the graph of a Call or of a Fused node, or -1.
GraphId called_id(const Node& node) {
  if (node.op() != Op::kCall && node.op() != Op::kFused) return -1;
  const std::vector<GraphId> bodies = node.bodies();
  return bodies.empty() ? -1 : bodies[0];
}

// Returns the number of the last operands that the node's bodies capture, which ONNX does not list.
size_t captured_count(const Node& node) {
  const std::vector<GraphId> bodies = node.bodies();
  if (bodies.empty() || called_id(node) >= 0) return 0;
  return std::min<size_t>(node.graph().module().graph(bodies[0]).captures, node.input_count());
}

// Returns true for a Split in equal pieces, which newer opsets want to be said.
bool is_split_evenly(const Node& node) {
  return node.op() == Op::kSplit && node.input(1) == nullptr &&
         !node.has(attributes::Split::num_outputs);
}

bool takes_axes_as_attribute(const Node& node, int opset) {
  return opset < kInputAxes && has_constant_axes(node);
}

void write_axes(const Module& module, const Node& node, onnx::NodeProto& proto) {
  const Value* axes = node.input(1);
  const std::vector<std::byte>* bytes =
      axes == nullptr ? nullptr : &module.segment(axes->segment()).data;
  if (bytes == nullptr || bytes->empty()) return;  // without axes all are reduced
  onnx::AttributeProto& attribute = *proto.add_attribute();
  attribute.set_name("axes");
  attribute.set_type(onnx::AttributeProto::INTS);
  for (size_t i = 0; i + 8 <= bytes->size(); i += 8) {
    int64_t axis = 0;
    std::memcpy(&axis, bytes->data() + i, 8);
    attribute.add_ints(axis);
  }
}

std::string origins_text(const Node& node) {
  std::string text;
  for (const uint32_t origin : node.origins()) {
    text += (text.empty() ? "" : ", ") + node.graph().module().onnx_node(origin);
  }
  return text;
}

std::string after_text(const Node& node, const OnnxScope& scope) {
  std::string text;
  for (const Node* before : node.after()) {
    const bool has_result = before->output_count() > 0;
    text +=
        (text.empty() ? "" : ", ") + (has_result ? scope.name(&before->output()) : before->name());
  }
  return text;
}

}  // namespace

std::pair<std::string, std::string> foreign_operator(const Node& node) {
  const AttributeValue* value = node.find_attribute(kForeignName);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (text == nullptr) return {};
  const size_t colons = text->find("::");
  if (colons == std::string::npos) return {"", *text};
  return {text->substr(0, colons), text->substr(colons + 2)};
}

void NodeWriter::write(const Node& node, OnnxScope& scope, onnx::NodeProto& proto) const {
  if (!node.name().empty()) proto.set_name(scope.node_name(node.name()));
  if (runs() && is_decomposed(node)) return write_call(node, scope, proto);
  write_operator(node, proto);
  write_operands(node, scope, proto);
  write_attributes(node, scope, proto);
  if (!runs()) write_metadata(node, scope, proto);
}

void NodeWriter::write_call(const Node& node, OnnxScope& scope, onnx::NodeProto& proto) const {
  proto.set_domain(std::string(kSluiceDomain));
  for (const size_t i : decompositions->write_call(node, proto))
    proto.add_input(scope.name(node.input(i)));
  proto.add_output(scope.define(node.output()));
}

void NodeWriter::write_operator(const Node& node, onnx::NodeProto& proto) const {
  const GraphId called = called_id(node);
  const std::string function = called >= 0 ? function_of(called) : std::string();
  proto.set_op_type(function.empty() ? std::string(op_name(node.op())) : function);
  if (!function.empty()) {
    proto.set_domain(std::string(kFunctionDomain));
  } else if (!has_onnx_form(node)) {
    if (runs()) return write_other_operator(node, proto);
    proto.set_domain(std::string(kSluiceDomain));
  } else if (node.op() == Op::kFlexAttention) {
    proto.set_domain(std::string(kPreviewDomain));
  }
}

// Names an operator of another domain. Of those of Sluice, ONNX Runtime has Inverse.
void NodeWriter::write_other_operator(const Node& node, onnx::NodeProto& proto) const {
  if (op_domain(node.op()) == Domain::kMl) return proto.set_domain(std::string(kMlDomain));
  if (node.op() == Op::kInverse) return proto.set_domain(std::string(kMicrosoftDomain));
  if (node.op() != Op::kForeign) return;
  const auto [domain, name] = foreign_operator(node);
  proto.set_domain(domain);
  proto.set_op_type(name);
}

void NodeWriter::write_operands(const Node& node, OnnxScope& scope, onnx::NodeProto& proto) const {
  size_t count = node.input_count() - captured_count(node);
  if (takes_axes_as_attribute(node, opset)) count = std::min<size_t>(count, 1);
  for (size_t i = 0; i < count; ++i) proto.add_input(scope.name(node.input(i)));
  for (size_t i = 0; i < node.output_count(); ++i) proto.add_output(scope.define(node.output(i)));
}

// Returns true for an attribute that has another form, or did not exist in earlier opsets.
bool NodeWriter::is_left_out(const Node& node, std::string_view attribute) const {
  if (called_id(node) >= 0 || attribute == attributes::Attention::hidden_score.name) return true;
  if (runs() && node.op() == Op::kForeign && attribute == kForeignName) return true;
  if (takes_axes_as_attribute(node, opset)) return attribute == "noop_with_empty_axes";
  return opset < kInputAxes && node.op() == Op::kSplit && attribute == "num_outputs";
}

void NodeWriter::write_attributes(const Node& node, OnnxScope& scope,
                                  onnx::NodeProto& proto) const {
  if (takes_axes_as_attribute(node, opset)) write_axes(module, node, proto);
  for (const Attribute& each : node.attributes()) {
    if (is_left_out(node, each.name)) continue;
    onnx::AttributeProto& attribute = *proto.add_attribute();
    attribute.set_name(utf8_text(each.name));
    write_attribute(each.value, node, scope, attribute);
    const bool is_old_mode =
        node.op() == Op::kGridSample && opset >= kLinearModes && attribute.s().starts_with("bi");
    if (is_old_mode) attribute.set_s(attribute.s() == "bilinear" ? "linear" : "cubic");
  }
  if (runs()) {
    const auto found = tables->find(&node);
    if (found != tables->end()) write_tables(node, found->second, proto);
  }
  if (is_split_evenly(node) && opset >= kInputAxes) {
    onnx::AttributeProto& attribute = *proto.add_attribute();
    attribute.set_name(std::string(attributes::Split::num_outputs.name));
    write_attribute(static_cast<int64_t>(node.output_count()), node, scope, attribute);
  }
}

void NodeWriter::write_attribute(const AttributeValue& value, const Node& node, OnnxScope& scope,
                                 onnx::AttributeProto& proto) const {
  using Proto = onnx::AttributeProto;
  const auto fill = [&]<typename T>(const T& given) {
    if constexpr (std::is_same_v<T, int64_t>) {
      proto.set_type(Proto::INT);
      proto.set_i(given);
    } else if constexpr (std::is_same_v<T, float>) {
      proto.set_type(Proto::FLOAT);
      proto.set_f(given);
    } else if constexpr (std::is_same_v<T, std::string>) {
      proto.set_type(Proto::STRING);
      proto.set_s(given);
    } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
      proto.set_type(Proto::INTS);
      proto.mutable_ints()->Add(given.begin(), given.end());
    } else if constexpr (std::is_same_v<T, std::vector<float>>) {
      proto.set_type(Proto::FLOATS);
      proto.mutable_floats()->Add(given.begin(), given.end());
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      proto.set_type(Proto::STRINGS);
      for (const std::string& text : given) proto.add_strings(text);
    } else if constexpr (std::is_same_v<T, TypeRef>) {
      proto.set_type(Proto::TYPE_PROTO);
      write_type(module, given.id, *proto.mutable_tp());
    } else if constexpr (std::is_same_v<T, SegmentRef>) {
      proto.set_type(Proto::TENSOR);
      write_tensor(module, module.segment(given.id), *proto.mutable_t());
    } else if constexpr (std::is_same_v<T, GraphRef>) {
      proto.set_type(Proto::GRAPH);
      write_body(module.graph(given.id), node, scope, *proto.mutable_g());
    } else {
      proto.set_type(Proto::GRAPHS);
      for (const GraphRef body : given)
        write_body(module.graph(body.id), node, scope, *proto.add_graphs());
    }
  };
  std::visit(fill, value);
}

void NodeWriter::write_metadata(const Node& node, const OnnxScope& scope,
                                onnx::NodeProto& proto) const {
  auto& entries = *proto.mutable_metadata_props();
  if (node.placement.engine != EngineId::kNone)
    add_entry(entries, "engine", engine_name(node.placement.engine));
  if (node.placement.kernel >= 0)
    add_entry(entries, "kernel", module.kernel(node.placement.kernel).entry);
  add_entry(entries, "stream_label", node.placement.stream_label.text);
  add_entry(entries, "after", after_text(node, scope));
  add_entry(entries, "from", origins_text(node));
}

}  // namespace sluice
