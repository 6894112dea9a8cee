#include "common/tools/show_onnx/constants.h"

#include "common/text/names.h"
#include "common/tools/show_onnx/values.h"

namespace sluice {

const std::string& ConstantsWriter::name_of(const Value& value, OnnxScope& scope) {
  return name_of(value.segment(), value.name(), scope);
}

const std::string& ConstantsWriter::name_of(SegmentId id, const std::string& like,
                                            OnnxScope& scope) {
  if (const auto found = names_.find(id); found != names_.end()) return found->second;
  const Segment& segment = module_.segment(id);
  if (!weights_.is_written(id) && segment.kind == SegmentKind::kExpression)
    return names_[id] = compute_expression(segment, like, scope);
  const std::string name = scope.fresh(like);
  if (weights_.is_written(id)) {
    initializers_.push_back({id, name});
  } else {
    compute_splat(segment, name, scope);
  }
  return names_[id] = name;
}

void ConstantsWriter::compute_splat(const Segment& segment, const std::string& name,
                                    OnnxScope& scope) {
  const Type& type = module_.type(segment.type);
  const std::string dims = scope.fresh(name + "_dims");
  write_dims_node(type, dims, *computing_.Add());
  onnx::NodeProto& node = *computing_.Add();
  node.set_op_type("ConstantOfShape");
  node.add_input(dims);
  node.add_output(name);
  onnx::AttributeProto& value = *node.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(static_cast<int>(type.dtype));
  value.mutable_t()->add_dims(1);
  value.mutable_t()->set_raw_data(segment.data.data(), segment.data.size());
}

// Returns the name of its result, which is that of an operand where it computes nothing.
std::string ConstantsWriter::compute_expression(const Segment& segment, const std::string& like,
                                                OnnxScope& scope) {
  const Graph& graph = module_.graph(segment.graph);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const std::string operand = fmt::format("{}_{}", like, i);
    scope.name_as(*graph.inputs()[i], name_of(segment.inputs[i], operand, scope));
  }
  for (const Value& value : graph.values()) {
    if (text::is_shown_constant(value) && !value.is_input())
      scope.name_as(value, name_of(value, scope));
  }
  const Value& result = *graph.outputs()[0];
  if (result.producer() != nullptr) scope.name_as(result, scope.fresh(like));
  for (const Node& node : graph.nodes()) nodes_.write(node, scope, *computing_.Add());
  return scope.name(&result);
}

}  // namespace sluice
