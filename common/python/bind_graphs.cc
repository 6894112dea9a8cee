// Graphs: their nodes, and what is added to them.
#include <pybind11/stl.h>

#include <algorithm>

#include "common/pass/number.h"
#include "common/python/bindings.h"

namespace sluice::python {
namespace {

// A loop over them.
struct NodeWalk {
  std::vector<NodeHandle> nodes;
  size_t at = 0;
};

NodeSequence nodes_of(const GraphHandle& graph) {
  Graph& target = graph_of(graph);
  check(target.restore_order());
  NodeSequence sequence;
  sequence.nodes.reserve(target.node_count());
  for (Node& node : target.nodes()) sequence.nodes.push_back(handle(graph.box, node));
  return sequence;
}

std::vector<ValueHandle> handles_of(const Box& box, const std::vector<Value*>& values) {
  std::vector<ValueHandle> handles;
  for (Value* value : values) handles.push_back(handle(box, *value));
  return handles;
}

std::vector<ValueHandle> constants_of(const GraphHandle& graph) {
  std::vector<ValueHandle> constants;
  for (Value& value : graph_of(graph).values())
    if (!value.is_erased() && value.is_constant() && value.is_used())
      constants.push_back(handle(graph.box, value));
  return constants;
}

py::object add_operator(const GraphHandle& graph, const std::string& op,
                        const std::vector<std::optional<ValueHandle>>& inputs, size_t outputs,
                        const std::string& name, const std::optional<NodeHandle>& before,
                        const py::dict& attributes) {
  Graph& target = graph_of(graph);
  Node& node = add_node(*graph.box, target, op, values_of(inputs), outputs,
                        attributes_of_dict(*graph.box, op_of(op), attributes),
                        before ? &node_of(*before) : nullptr, name);
  if (node.output_count() == 1) return py::cast(handle(graph.box, node.output()));
  py::tuple results(node.output_count());
  for (size_t i = 0; i < node.output_count(); ++i)
    results[i] = py::cast(handle(graph.box, node.output(i)));
  return results;
}

// Numbers and lists of integers, which need no numpy. Returns null for what is another thing.
Value* plain_constant(Graph& graph, const py::object& data, const std::string& dtype) {
  const bool is_bool = py::isinstance<py::bool_>(data);
  const bool is_integer = py::isinstance<py::int_>(data);
  if ((is_integer && !is_bool) || py::isinstance<py::float_>(data)) {
    const auto wanted = dtype_from_name(dtype.empty() ? (is_integer ? "i64" : "f32") : dtype);
    return wanted ? add_number(graph, *wanted, py::cast<double>(data)) : nullptr;
  }
  const bool is_list = py::isinstance<py::list>(data) || py::isinstance<py::tuple>(data);
  if (!is_list || (!dtype.empty() && dtype != "i64")) return nullptr;
  for (const py::handle each : data)
    if (!py::isinstance<py::int_>(each) || py::isinstance<py::bool_>(each)) return nullptr;
  return &add_ints(graph, py::cast<std::vector<int64_t>>(data));
}

ValueHandle add_constant(const GraphHandle& graph, const py::object& data, const std::string& dtype,
                         const std::string& name) {
  Graph& target = graph_of(graph);
  Value* made = plain_constant(target, data, dtype);
  if (made == nullptr) {
    const Tensor tensor = tensor_of_object(data, dtype);
    Module& module = graph.box->module;
    const TypeId type = module.intern(Type::fixed_tensor(tensor.dtype, tensor.dims));
    made = &target.add_constant(
        module.make_constant(type, {tensor.bytes.begin(), tensor.bytes.end()}));
  }
  made->set_name(name);
  ++graph.box->edits;
  return handle(graph.box, *made);
}

bool is_name(const std::string& text) {
  return !text.empty() &&
         (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_') &&
         std::ranges::all_of(text,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// A dim that is a new name is a symbol, which the input's dim binds.
ValueHandle add_input(const GraphHandle& graph, const std::string& name, const py::object& type) {
  Graph& target = graph_of(graph);
  Module& module = graph.box->module;
  Value& value = target.add_input(0, name);
  try {
    const py::object dims = type.attr("dims");
    int32_t axis = 0;
    for (const py::handle dim : dims.is_none() ? py::object(py::tuple()) : dims) {
      const std::string text = py::isinstance<py::str>(dim) ? py::cast<std::string>(dim) : "";
      if (is_name(text) && !module.expressions.find_symbol(text)) {
        module.expressions.add_symbol({.name = text,
                                       .origin = SymbolOrigin::kInputDim,
                                       .graph = target.id(),
                                       .value = value.id(),
                                       .axis = axis});
      }
      ++axis;
    }
    value.set_type(type_of_object(module, type));
  } catch (...) {
    target.remove_input(target.inputs().size() - 1);
    throw;
  }
  ++graph.box->edits;
  return handle(graph.box, value);
}

template <typename Found, typename Range>
std::optional<Handle<Found>> find_named(const Box& box, Range&& range, const std::string& name) {
  for (Found& each : range)
    if (!each.is_erased() && each.name() == name) return handle(box, each);
  return std::nullopt;
}

void bind_sequence(py::module_& m, Classes& classes) {
  classes.nodes.def("__len__", [](const NodeSequence& each) { return each.nodes.size(); })
      .def("__getitem__",
           [](const NodeSequence& each, py::ssize_t index) {
             const auto count = static_cast<py::ssize_t>(each.nodes.size());
             if (index < 0) index += count;
             if (index < 0 || index >= count) throw py::index_error("no such node");
             return each.nodes[static_cast<size_t>(index)];
           })
      .def("__iter__", [](const NodeSequence& each) { return NodeWalk{each.nodes, 0}; });
  py::class_<NodeWalk>(m, "NodeWalk")
      .def("__iter__", [](const py::object& walk) { return walk; })
      .def("__next__", [](NodeWalk& walk) {
        while (walk.at < walk.nodes.size() && is_erased(walk.nodes[walk.at])) ++walk.at;
        if (walk.at >= walk.nodes.size()) throw py::stop_iteration();
        return walk.nodes[walk.at++];
      });
}

}  // namespace

void bind_graphs(py::module_& m, Classes& classes) {
  bind_sequence(m, classes);
  classes.graph
      .def_property_readonly("name",
                             [](const GraphHandle& graph) { return graph_of(graph).name(); })
      .def_property_readonly(
          "role",
          [](const GraphHandle& graph) {
            return std::string(kGraphRoleNames[static_cast<size_t>(graph_of(graph).role)]);
          })
      .def_property_readonly("nodes", &nodes_of,
                             "Its nodes in order, as they are now: edits do not disturb a loop.")
      .def_property_readonly(
          "inputs",
          [](const GraphHandle& graph) { return handles_of(graph.box, graph_of(graph).inputs()); })
      .def_property_readonly(
          "outputs",
          [](const GraphHandle& graph) { return handles_of(graph.box, graph_of(graph).outputs()); })
      .def_property_readonly("constants", &constants_of)
      .def_property_readonly(
          "owner",
          [](const GraphHandle& graph) -> std::optional<NodeHandle> {
            Node* owner = graph_of(graph).owner();
            if (owner == nullptr) return std::nullopt;
            return handle(graph.box, *owner);
          },
          "The node whose body it is.")
      .def(
          "node",
          [](const GraphHandle& graph, const std::string& name) {
            return find_named<Node>(graph.box, graph_of(graph).nodes(), name);
          },
          py::arg("name"), "The first node of that name, or None.")
      .def(
          "value",
          [](const GraphHandle& graph, const std::string& name) {
            return find_named<Value>(graph.box, graph_of(graph).values(), name);
          },
          py::arg("name"), "The first value of that name, or None.")
      .def(
          "add_node", &add_operator, py::arg("op"), py::arg("inputs"), py::arg("outputs") = 0,
          py::arg("name") = "", py::arg("before") = py::none(), py::arg("attributes") = py::dict(),
          "Adds a node behind its operands, or before another node; returns its result or results.")
      .def("constant", &add_constant, py::arg("data"), py::arg("dtype") = "", py::arg("name") = "",
           "Adds a constant: a number, a list, an array.")
      .def("add_input", &add_input, py::arg("name"), py::arg("type"))
      .def(
          "add_output",
          [](const GraphHandle& graph, const ValueHandle& value) {
            Graph& target = graph_of(graph);
            if (&value_of(value).graph() != &target)
              fail(make_error(ErrorCode::kBadGraph, "'{}' is of another graph",
                              value_of(value).name()));
            target.add_output(value_of(value));
            ++graph.box->edits;
          },
          py::arg("value"))
      .def(
          "set_output",
          [](const GraphHandle& graph, size_t index, const ValueHandle& value) {
            set_output(*graph.box, graph_of(graph), index, value_of(value));
          },
          py::arg("index"), py::arg("value"))
      .def(
          "erase_unused",
          [](const GraphHandle& graph) { return erase_unused(*graph.box, graph_of(graph)); },
          "Erases the nodes that nothing reads; returns how many.")
      .def("__len__", [](const GraphHandle& graph) { return graph_of(graph).node_count(); })
      .def("__eq__",
           [](const GraphHandle& a, const py::object& b) {
             return py::isinstance<GraphHandle>(b) && a == py::cast<const GraphHandle&>(b);
           })
      .def("__hash__", [](const GraphHandle& graph) { return std::hash<void*>()(graph.cell); })
      .def("__repr__", [](const GraphHandle& graph) {
        const Graph& target = graph_of(graph);
        return fmt::format("<Graph {}: {} nodes>", target.name(), target.node_count());
      });
}

}  // namespace sluice::python
