// The Python module sluice.graph._graph.
#include "common/python/bindings.h"

PYBIND11_MODULE(_graph, m) {
  using namespace sluice::python;
  m.doc() = "Graphs of Sluice; sluice.graph is the interface.";
  bind_errors(m);
  bind_types(m);
  bind_values(m);
  bind_nodes(m);
  bind_graphs(m);
  bind_modules(m);
  bind_rules(m);
}
