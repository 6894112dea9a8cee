// The Python module sluice.graph._graph.
#include "common/python/bindings.h"

PYBIND11_MODULE(_graph, m) {
  using namespace sluice::python;
  m.doc() = "Graphs of Sluice; sluice.graph is the interface.";
  Classes classes{
      .type = {m, "Type", "The type of a value: dtype and dims of a tensor, or nested."},
      .value = {m, "Value", "A value of a graph: an input, a constant or a result."},
      .node = {m, "Node", "A node of a graph."},
      .nodes = {m, "Nodes", "Nodes in order, as they were when it was made."},
      .graph = {m, "Graph", py::dynamic_attr(), "A graph: a model, a part or a body."},
      .module = {m, "Module", "All of a graph file: graphs and what they share."}};
  bind_errors(m);
  bind_types(classes);
  bind_values(classes);
  bind_nodes(m, classes);
  bind_graphs(m, classes);
  bind_modules(m, classes);
  bind_rules(m);
  bind_hosts(m);
}
