#include "stages/preprocess/onnx/functions.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

constexpr size_t kMaxNodes = 4'000'000;
constexpr int kMaxCallDepth = 64;

using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

class Inliner {
 public:
  explicit Inliner(const onnx::ModelProto& model) : model_opset_(model_opset(model)) {
    for (const onnx::FunctionProto& function : model.functions()) {
      functions_.emplace(FunctionKey{std::string(plain_domain(function.domain())), function.name(),
                                     function.overload()},
                         &function);
    }
  }

  // Rejects calls that would not end or not fit before any of them is inlined.
  Result<void> check_size(const onnx::GraphProto& graph) {
    SLUICE_ASSIGN(const size_t size, expanded_size(graph.node(), 0));
    if (size <= kMaxNodes) return {};
    return make_error(ErrorCode::kLimit, "the model's functions expand to more than {} nodes",
                      kMaxNodes);
  }

  Result<void> expand(onnx::GraphProto& graph, int64_t opset, int depth) {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (onnx::NodeProto& node : nodes)
      SLUICE_TRY(expand_node(std::move(node), opset, depth, *graph.mutable_node()));
    return {};
  }

  NodeOpsets take_opsets() { return std::move(opsets_); }

 private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  const onnx::FunctionProto* find_function(const onnx::NodeProto& call) const {
    const auto found = functions_.find(
        {std::string(plain_domain(call.domain())), call.op_type(), call.overload()});
    return found == functions_.end() ? nullptr : found->second;
  }

  static Result<void> too_deep(const onnx::FunctionProto& function) {
    return make_error(ErrorCode::kBadModel,
                      "function '{}' calls itself, or calls are nested too deeply",
                      function.name());
  }

  // Returns the number of nodes that `nodes` expand to, calls counted too; kMaxNodes + 1 stands for
  // every larger number.
  Result<size_t> expanded_size(const Nodes& nodes, int depth) {
    size_t size = 0;
    for (const onnx::NodeProto& node : nodes) {
      SLUICE_ASSIGN(const size_t own, expanded_size(node, depth));
      size = std::min(size + own, kMaxNodes + 1);
    }
    return size;
  }

  Result<size_t> expanded_size(const onnx::NodeProto& node, int depth) {
    size_t size = 1;
    if (const onnx::FunctionProto* function = find_function(node)) {
      SLUICE_ASSIGN(const size_t body, function_size(*function, depth));
      size += body + static_cast<size_t>(node.output_size());  // outputs may need an Identity each
    }
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        SLUICE_ASSIGN(const size_t body, expanded_size(attribute.g().node(), depth));
        size += body;
      }
      for (const onnx::GraphProto& graph : attribute.graphs()) {
        SLUICE_ASSIGN(const size_t body, expanded_size(graph.node(), depth));
        size += body;
      }
    }
    return std::min(size, kMaxNodes + 1);
  }

  Result<size_t> function_size(const onnx::FunctionProto& function, int depth) {
    if (depth > kMaxCallDepth) return too_deep(function).error();
    const auto found = sizes_.find(&function);
    if (found != sizes_.end()) return found->second;
    SLUICE_ASSIGN(const size_t size, expanded_size(function.node(), depth + 1));
    sizes_.emplace(&function, size);
    return size;
  }

  // Returns the prefix of names inside a call: the call's own name, made unique where it has none
  // or shares it.
  std::string unique_prefix(const onnx::NodeProto& call) {
    std::string prefix = call.name();
    if (prefix.empty() || prefix.back() == '/')
      prefix += fmt::format("{}_{}", call.op_type(), calls_);
    ++calls_;
    const std::string wanted = prefix;
    for (size_t again = 1; !prefixes_.insert(prefix).second; ++again)
      prefix = fmt::format("{}_{}", wanted, again);
    return prefix + "/";
  }

  Result<void> expand_node(onnx::NodeProto node, int64_t opset, int depth, Nodes& out) {
    if (const onnx::FunctionProto* function = find_function(node))
      return expand_call(node, *function, depth, out);
    if (++count_ > kMaxNodes)
      return make_error(ErrorCode::kLimit, "the model's functions expand to more than {} nodes",
                        kMaxNodes);
    onnx::NodeProto& placed = *out.Add();
    placed.Swap(&node);
    if (opset != model_opset_) opsets_[&placed] = opset;
    if (++graphs_ > kMaxCallDepth + 1) {
      return make_error(ErrorCode::kLimit, "node '{}' lies in more than {} bodies", placed.name(),
                        kMaxCallDepth);
    }
    for (onnx::AttributeProto& attribute : *placed.mutable_attribute()) {
      if (attribute.has_g()) SLUICE_TRY(expand(*attribute.mutable_g(), opset, depth));
      for (onnx::GraphProto& graph : *attribute.mutable_graphs())
        SLUICE_TRY(expand(graph, opset, depth));
    }
    --graphs_;
    return {};
  }

  Result<void> expand_call(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                           int depth, Nodes& out) {
    if (depth > kMaxCallDepth) return too_deep(function);
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
      return make_error(ErrorCode::kBadModel,
                        "node '{}' calls function '{}' with more inputs or outputs than it has",
                        call.name(), function.name());
    }
    Names names;
    for (int i = 0; i < function.input_size(); ++i)
      names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    for (int i = 0; i < call.output_size(); ++i) {
      if (!call.output(i).empty() && names.count(function.output(i)) == 0)
        names[function.output(i)] = call.output(i);
    }
    const std::string prefix = unique_prefix(call);
    const int64_t imported = onnx_opset(function.opset_import());
    const int64_t opset = imported < 0 ? model_opset_ : imported;
    for (const onnx::NodeProto& node : function.node()) {
      onnx::NodeProto copy = node;
      rename(copy, names, prefix);
      bind_attributes(copy, call, function);
      SLUICE_TRY(expand_node(std::move(copy), opset, depth + 1, out));
    }
    return pass_inputs_through(call, function, out);
  }

  using Names = std::map<std::string, std::string>;

  static std::string renamed(const std::string& name, const Names& names,
                             const std::string& prefix) {
    if (name.empty()) return name;
    const auto found = names.find(name);
    return found == names.end() ? prefix + name : found->second;
  }

  // Renames a node's values. A function sees no names from outside, so every name below it is its
  // own.
  static void rename(onnx::NodeProto& node, const Names& names, const std::string& prefix) {
    node.set_name(prefix + node.name());
    for (std::string& name : *node.mutable_input()) name = renamed(name, names, prefix);
    for (std::string& name : *node.mutable_output()) name = renamed(name, names, prefix);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) rename(*attribute.mutable_g(), names, prefix);
      for (onnx::GraphProto& graph : *attribute.mutable_graphs()) rename(graph, names, prefix);
    }
  }

  static void rename(onnx::GraphProto& graph, const Names& names, const std::string& prefix) {
    for (auto& input : *graph.mutable_input()) input.set_name(renamed(input.name(), names, prefix));
    for (auto& output : *graph.mutable_output())
      output.set_name(renamed(output.name(), names, prefix));
    for (auto& tensor : *graph.mutable_initializer())
      tensor.set_name(renamed(tensor.name(), names, prefix));
    for (auto& value : *graph.mutable_value_info())
      value.set_name(renamed(value.name(), names, prefix));
    for (auto& node : *graph.mutable_node()) rename(node, names, prefix);
  }

  static const onnx::AttributeProto* find_argument(const std::string& name,
                                                   const onnx::NodeProto& call,
                                                   const onnx::FunctionProto& function) {
    for (const onnx::AttributeProto& attribute : call.attribute()) {
      if (attribute.name() == name) return &attribute;
    }
    for (const onnx::AttributeProto& attribute : function.attribute_proto()) {
      if (attribute.name() == name) return &attribute;
    }
    return nullptr;
  }

  // Binds attributes that refer to the function's own: they take the call's value, or the default,
  // or are absent.
  static void bind_attributes(onnx::NodeProto& node, const onnx::NodeProto& call,
                              const onnx::FunctionProto& function) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> bound;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.ref_attr_name().empty()) {
        onnx::AttributeProto& copy = *bound.Add();
        copy = attribute;
        if (copy.has_g()) bind_in_graph(*copy.mutable_g(), call, function);
        for (onnx::GraphProto& graph : *copy.mutable_graphs()) bind_in_graph(graph, call, function);
      } else if (const onnx::AttributeProto* argument =
                     find_argument(attribute.ref_attr_name(), call, function)) {
        onnx::AttributeProto& copy = *bound.Add();
        copy = *argument;
        copy.set_name(attribute.name());
      }
    }
    bound.Swap(node.mutable_attribute());
  }

  static void bind_in_graph(onnx::GraphProto& graph, const onnx::NodeProto& call,
                            const onnx::FunctionProto& function) {
    for (onnx::NodeProto& node : *graph.mutable_node()) bind_attributes(node, call, function);
  }

  // Adds an Identity for an output that is also an input of the function, since no node produces
  // it.
  static Result<void> pass_inputs_through(const onnx::NodeProto& call,
                                          const onnx::FunctionProto& function, Nodes& out) {
    for (int i = 0; i < call.output_size(); ++i) {
      for (int k = 0; k < call.input_size(); ++k) {
        if (call.output(i).empty() || function.output(i) != function.input(k)) continue;
        onnx::NodeProto& node = *out.Add();
        node.set_op_type("Identity");
        node.add_input(call.input(k));
        node.add_output(call.output(i));
        break;
      }
    }
    return {};
  }

  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  std::map<const onnx::FunctionProto*, size_t> sizes_;  // expanded; only ever looked up
  std::set<std::string> prefixes_;
  NodeOpsets opsets_;
  int64_t model_opset_;
  size_t count_ = 0;
  size_t calls_ = 0;
  int graphs_ = 0;  // number of graphs that the current node is nested in
};

}  // namespace

Result<NodeOpsets> inline_functions(onnx::ModelProto& model) {
  if (model.functions_size() == 0) return NodeOpsets{};
  Inliner inliner(model);
  SLUICE_TRY(inliner.check_size(model.graph()));
  SLUICE_TRY(inliner.expand(*model.mutable_graph(), model_opset(model), 0));
  return inliner.take_opsets();
}

}  // namespace sluice
