// The parts of the Python module sluice.graph._graph. Internal to common/python.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/tensor.h"
#include "common/python/edit.h"
#include "common/python/module_box.h"
#include "common/rules/rule.h"

namespace sluice::python {

namespace py = pybind11;

// A dim in Python: a number, an expression as text, or None.
using PythonDim = std::variant<std::monostate, int64_t, std::string>;

struct PythonType {
  TypeKind kind = TypeKind::kUnknown;
  DType dtype = DType::kUndefined;
  std::optional<std::vector<PythonDim>> dims;  // none: of any rank
  std::shared_ptr<PythonType> element;
  std::string text;

  bool operator==(const PythonType& other) const { return text == other.text; }
};

// The nodes of a graph as they are when it is made; those that are erased meanwhile are left out.
struct NodeSequence {
  std::vector<NodeHandle> nodes;
};
// The classes, declared before any method, so that signatures name them.
struct Classes {
  py::class_<PythonType> type;
  py::class_<ValueHandle> value;
  py::class_<NodeHandle> node;
  py::class_<NodeSequence> nodes;
  py::class_<GraphHandle> graph;
  py::class_<ModuleBox, Box> module;
};

void bind_errors(py::module_& m);
void bind_types(Classes& classes);
void bind_values(Classes& classes);
void bind_nodes(py::module_& m, Classes& classes);
void bind_graphs(py::module_& m, Classes& classes);
void bind_modules(py::module_& m, Classes& classes);
void bind_rules(py::module_& m);
void bind_hosts(py::module_& m);

// Types: objects of the class Type, of a module or of none.
py::object type_object(const Module& module, TypeId id);
TypeId type_of_object(Module& module, const py::object& type);

// Attributes: numbers, texts, lists of them, types, arrays and graphs.
py::object attribute_object(const Box& box, const AttributeValue& value);
// Returns the value in the kind that the op's table has.
AttributeValue attribute_of_object(ModuleBox& box, Op op, const std::string& name,
                                   const py::object& value);
NamedAttributes attributes_of_dict(ModuleBox& box, Op op, const py::dict& attributes);

// Arrays: of numpy, which is imported at the first one. A constant's array is a view of its bytes
// that keeps the module; dtypes that numpy does not have are integers of the same width.
py::object constant_array(const Box& box, SegmentId segment);
py::object array_of(Tensor tensor);
Tensor tensor_of_object(const py::object& array, const std::string& dtype);

std::vector<Value*> values_of(const std::vector<std::optional<ValueHandle>>& handles);

}  // namespace sluice::python
