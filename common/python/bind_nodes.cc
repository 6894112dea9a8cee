// Nodes, their attributes and their placement.
#include <pybind11/stl.h>

#include <algorithm>

#include "common/ops/op_table.h"
#include "common/pass/can_fuse.h"
#include "common/python/bindings.h"
#include "common/rules/term.h"

namespace sluice::python {
namespace {

const AttributeRow* find_row(Op op, const std::string& name) {
  const OpRow* row = find_op(op);
  if (row == nullptr) return nullptr;
  const auto found = std::ranges::find(row->attributes, name, &AttributeRow::name);
  return found == row->attributes.end() ? nullptr : &*found;
}

std::string names_of(Op op) {
  const OpRow* row = find_op(op);
  std::string names;
  if (row != nullptr)
    for (const AttributeRow& each : row->attributes)
      names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names.empty() ? "it has none" : "it has " + names;
}

// The kind of an attribute of an operator of another domain is that of its value.
AttributeValue guessed_attribute(const py::object& value) {
  if (py::isinstance<py::int_>(value)) return py::cast<int64_t>(value);
  if (py::isinstance<py::float_>(value)) return py::cast<float>(value);
  if (py::isinstance<py::str>(value)) return py::cast<std::string>(value);
  const auto list = py::cast<std::vector<py::object>>(value);
  const auto is_all = [&](auto is) { return std::ranges::all_of(list, is); };
  if (is_all([](const py::object& each) { return py::isinstance<py::int_>(each); }))
    return py::cast<std::vector<int64_t>>(value);
  if (is_all([](const py::object& each) { return py::isinstance<py::str>(each); }))
    return py::cast<std::vector<std::string>>(value);
  return py::cast<std::vector<float>>(value);
}

AttributeValue attribute_of_kind(ModuleBox& box, AttributeKind kind, const py::object& value) {
  switch (kind) {
    case AttributeKind::kInt:
      return py::cast<int64_t>(value);
    case AttributeKind::kFloat:
      return py::cast<float>(value);
    case AttributeKind::kString:
      return py::cast<std::string>(value);
    case AttributeKind::kInts:
      return py::cast<std::vector<int64_t>>(value);
    case AttributeKind::kFloats:
      return py::cast<std::vector<float>>(value);
    case AttributeKind::kStrings:
      return py::cast<std::vector<std::string>>(value);
    case AttributeKind::kType:
      return TypeRef(type_of_object(box.module, value));
    case AttributeKind::kGraph:
      return GraphRef{graph_of(py::cast<GraphHandle>(value)).id()};
    case AttributeKind::kSegment: {
      const Tensor tensor = tensor_of_object(value, "");
      const TypeId type = box.module.intern(Type::fixed_tensor(tensor.dtype, tensor.dims));
      return SegmentRef{box.module.make_constant(type, {tensor.bytes.begin(), tensor.bytes.end()})};
    }
    case AttributeKind::kGraphs: {
      std::vector<GraphRef> graphs;
      for (const GraphHandle& graph : py::cast<std::vector<GraphHandle>>(value))
        graphs.push_back({graph_of(graph).id()});
      return graphs;
    }
  }
  return int64_t{0};
}

py::dict attributes_of(const NodeHandle& handle) {
  py::dict made;
  for (const Attribute& attribute : node_of(handle).attributes())
    if (attribute.name != kForeignName)
      made[py::str(attribute.name)] = attribute_object(handle.box, attribute.value);
  return made;
}

py::object get_attribute(const NodeHandle& handle, const std::string& name) {
  const Node& node = node_of(handle);
  const auto value = attribute_or_default(node, name);
  if (value) return attribute_object(handle.box, *value);
  if (node.op() != Op::kForeign && find_row(node.op(), name) == nullptr)
    throw py::key_error(
        fmt::format("{} has no attribute '{}': {}", op_name(node.op()), name, names_of(node.op())));
  return py::none();
}

std::vector<std::optional<ValueHandle>> operands_of(const NodeHandle& handle_) {
  const Node& node = node_of(handle_);
  std::vector<std::optional<ValueHandle>> inputs;
  for (size_t i = 0; i < node.input_count(); ++i) {
    Value* input = node.input(i);
    inputs.push_back(input == nullptr ? std::nullopt : std::optional(handle(handle_.box, *input)));
  }
  return inputs;
}

std::vector<ValueHandle> results_of(const NodeHandle& handle_) {
  Node& node = node_of(handle_);
  std::vector<ValueHandle> outputs;
  for (size_t i = 0; i < node.output_count(); ++i)
    outputs.push_back(handle(handle_.box, node.output(i)));
  return outputs;
}

ValueHandle only_result(const NodeHandle& handle_) {
  Node& node = node_of(handle_);
  if (node.output_count() == 1) return handle(handle_.box, node.output());
  fail(make_error(ErrorCode::kBadNode, "{} has {} results: node.outputs", node.label(),
                  node.output_count()));
}

std::vector<GraphHandle> bodies_of(const NodeHandle& handle_) {
  std::vector<GraphHandle> bodies;
  for (const GraphId body : node_of(handle_).bodies())
    if (handle_.box->module.has_graph(body))
      bodies.push_back(handle(handle_.box, handle_.box->module.graph(body)));
  return bodies;
}

std::vector<std::string> origins_of(const NodeHandle& handle) {
  std::vector<std::string> names;
  for (const uint32_t origin : node_of(handle).origins())
    names.push_back(handle.box->module.onnx_node(origin));
  return names;
}

std::vector<NodeHandle> after_of(const NodeHandle& handle_) {
  std::vector<NodeHandle> nodes;
  for (Node* before : node_of(handle_).after())
    if (!before->is_erased()) nodes.push_back(handle(handle_.box, *before));
  return nodes;
}

// Facts of the placement that users set.
template <typename T>
void bind_placement(py::class_<NodeHandle>& c, const char* name, T Placement::* field,
                    const char* doc) {
  c.def_property(
      name, [field](const NodeHandle& node) { return node_of(node).placement.*field; },
      [field](const NodeHandle& node, const T& value) {
        node_of(node).placement.*field = value;
        ++node.box->edits;
      },
      doc);
}

std::pair<bool, std::string> fuse_answer(const std::vector<NodeHandle>& handles) {
  std::vector<Node*> nodes;
  for (const NodeHandle& handle : handles) nodes.push_back(&node_of(handle));
  std::string reason;
  const bool can = can_fuse(nodes, reason);
  return {can, reason};
}

}  // namespace

py::object attribute_object(const Box& box, const AttributeValue& value) {
  if (const auto* type = std::get_if<TypeRef>(&value)) return type_object(box->module, type->id);
  if (const auto* segment = std::get_if<SegmentRef>(&value))
    return constant_array(box, segment->id);
  if (const auto* graph = std::get_if<GraphRef>(&value)) {
    if (!box->module.has_graph(graph->id)) return py::none();
    return py::cast(handle(box, box->module.graph(graph->id)));
  }
  if (const auto* graphs = std::get_if<std::vector<GraphRef>>(&value)) {
    py::list made;
    for (const GraphRef& graph : *graphs)
      if (box->module.has_graph(graph.id)) made.append(handle(box, box->module.graph(graph.id)));
    return made;
  }
  if (const auto* number = std::get_if<int64_t>(&value)) return py::cast(*number);
  if (const auto* real = std::get_if<float>(&value)) return py::cast(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return py::cast(*text);
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) return py::cast(*ints);
  if (const auto* reals = std::get_if<std::vector<float>>(&value)) return py::cast(*reals);
  return py::cast(std::get<std::vector<std::string>>(value));
}

AttributeValue attribute_of_object(ModuleBox& box, Op op, const std::string& name,
                                   const py::object& value) {
  try {
    if (op == Op::kForeign) return guessed_attribute(value);
    const AttributeRow* row = find_row(op, name);
    if (row == nullptr) {
      fail(make_error(ErrorCode::kBadNode, "{} has no attribute '{}': {}", op_name(op), name,
                      names_of(op)));
    }
    return attribute_of_kind(box, row->kind, value);
  } catch (const py::cast_error&) {
    fail(make_error(ErrorCode::kBadNode, "attribute '{}' of {} cannot be {}", name, op_name(op),
                    py::cast<std::string>(py::repr(value))));
  }
}

NamedAttributes attributes_of_dict(ModuleBox& box, Op op, const py::dict& attributes) {
  NamedAttributes made;
  for (const auto& [key, value] : attributes) {
    if (value.is_none()) continue;
    const auto name = py::cast<std::string>(key);
    made.emplace_back(
        name, attribute_of_object(box, op, name, py::reinterpret_borrow<py::object>(value)));
  }
  return made;
}

void bind_nodes(py::module_& m, Classes& classes) {
  py::class_<NodeHandle>& c = classes.node;
  c.def_property(
       "name", [](const NodeHandle& node) { return node_of(node).name(); },
       [](const NodeHandle& node, const std::string& name) {
         node_of(node).set_name(name);
         ++node.box->edits;
       })
      .def_property_readonly("op", [](const NodeHandle& node) { return op_text(node_of(node)); })
      .def_property_readonly("inputs", &operands_of, "Its operands; None where one is absent.")
      .def_property_readonly("outputs", &results_of, "Its results.")
      .def_property_readonly("output", &only_result, "Its result, where it has one.")
      .def_property_readonly("attributes", &attributes_of,
                             "A copy of those that it has; node['axis'] has defaults, too.")
      .def_property_readonly("bodies", &bodies_of)
      .def_property_readonly("origins", &origins_of, "The nodes of the ONNX model it comes from.")
      .def_property_readonly("after", &after_of, "The nodes it runs after by control edges.")
      .def_property_readonly(
          "graph", [](const NodeHandle& node) { return handle(node.box, node_of(node).graph()); })
      .def_property_readonly("erased", [](const NodeHandle& node) { return is_erased(node); })
      .def_property_readonly("label", [](const NodeHandle& node) { return node_of(node).label(); })
      .def("__getitem__", &get_attribute)
      .def("__setitem__",
           [](const NodeHandle& node, const std::string& name, const py::object& value) {
             Node& target = node_of(node);
             set_attribute(*node.box, target, name,
                           attribute_of_object(*node.box, target.op(), name, value));
           })
      .def("__delitem__",
           [](const NodeHandle& node, const std::string& name) {
             set_attribute(*node.box, node_of(node), name, std::nullopt);
           })
      .def(
          "set_input",
          [](const NodeHandle& node, size_t index, const std::optional<ValueHandle>& value) {
            set_operand(*node.box, node_of(node), index, value ? &value_of(*value) : nullptr);
          },
          py::arg("index"), py::arg("value"),
          "Makes it read another value; None: none. Types are inferred again.")
      .def(
          "run_after",
          [](const NodeHandle& node, const NodeHandle& before) {
            add_control_edge(*node.box, node_of(node), node_of(before));
          },
          py::arg("node"), "Adds a control edge.")
      .def(
          "move_before",
          [](const NodeHandle& node, const std::optional<NodeHandle>& before) {
            Node& target = node_of(node);
            Node* place = before ? &node_of(*before) : nullptr;
            if (place != nullptr && &place->graph() != &target.graph())
              fail(make_error(ErrorCode::kBadGraph, "{} is of another graph", place->label()));
            node.box->begin_edit();
            target.graph().move_before(target, place);
            ++node.box->edits;
            check(target.graph().restore_order());
          },
          py::arg("node") = py::none(), "Moves it in the graph's order, as far as that allows it.")
      .def(
          "take_origins",
          [](const NodeHandle& node, const NodeHandle& other) {
            node_of(node).add_origins(node_of(other).origins());
            ++node.box->edits;
          },
          py::arg("node"), "Notes that it comes from what the other node comes from, too.")
      .def(
          "erase", [](const NodeHandle& node) { erase_node(*node.box, node_of(node)); },
          "Erases it; nothing may read its results.")
      .def("__eq__",
           [](const NodeHandle& a, const py::object& b) {
             return py::isinstance<NodeHandle>(b) && a == py::cast<const NodeHandle&>(b);
           })
      .def("__hash__", [](const NodeHandle& node) { return std::hash<void*>()(node.cell); })
      .def("__repr__", [](const NodeHandle& node) {
        return is_erased(node) ? std::string("<erased Node>")
                               : fmt::format("<Node {}>", node_of(node).label().substr(5));
      });
  bind_placement(c, "keep", &Placement::keep, "No pass may remove it.");
  bind_placement(c, "no_fold", &Placement::no_fold, "No pass may evaluate it.");
  bind_placement(c, "stage_level", &Placement::stage_level, "The user's pipeline stage; -1: none.");
  bind_placement(c, "parallel_group", &Placement::parallel_group, "-1: none.");
  bind_placement(c, "super_kernel_scope", &Placement::super_kernel_scope, "Empty: none.");
  bind_placement(c, "memory_class", &Placement::memory_class, "Of its results; empty: any.");
  c.def_property(
      "stream_label",
      [](const NodeHandle& node) { return node_of(node).placement.stream_label.text; },
      [](const NodeHandle& node, const std::string& label) {
        node_of(node).placement.stream_label = {label, false};
        ++node.box->edits;
      },
      "The stream that it runs in, by a name of the user.");
  c.def_property_readonly(
      "engine",
      [](const NodeHandle& node) -> std::optional<std::string> {
        const EngineId engine = node_of(node).placement.engine;
        if (engine == EngineId::kNone) return std::nullopt;
        return std::string(engine_name(engine));
      },
      "The engine that it runs on, once partition has chosen it.");
  c.def_property_readonly("stream", [](const NodeHandle& node) -> std::optional<std::string> {
    const Node& target = node_of(node);
    const auto& streams = target.graph().streams;
    const auto index = static_cast<size_t>(target.placement.stream);
    if (target.placement.stream < 0 || index >= streams.size()) return std::nullopt;
    return streams[index];
  });
  m.def("can_fuse", &fuse_answer, py::arg("nodes"),
        "Whether the nodes could be one node, and why not.");
}

}  // namespace sluice::python
