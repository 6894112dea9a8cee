// Values.
#include <pybind11/stl.h>

#include "common/pass/number.h"
#include "common/python/bindings.h"

namespace sluice::python {
namespace {

py::object dims_of(const ValueHandle& value) {
  return type_object(value.box->module, value_of(value).type_id()).attr("dims");
}

std::vector<std::pair<NodeHandle, uint32_t>> uses_of(const ValueHandle& value) {
  std::vector<Use> uses = value_of(value).uses();
  std::ranges::sort(uses, [](const Use& a, const Use& b) {
    return a.node == b.node ? a.input < b.input : a.node->is_before(*b.node);
  });
  std::vector<std::pair<NodeHandle, uint32_t>> made;
  for (const Use& use : uses) made.emplace_back(handle(value.box, *use.node), use.input);
  return made;
}

std::vector<NodeHandle> users_of(const ValueHandle& value) {
  std::vector<NodeHandle> users;
  for (const auto& [node, index] : uses_of(value))
    if (users.empty() || !(users.back() == node)) users.push_back(node);
  return users;
}

py::object array_of_value(const ValueHandle& value) {
  const Value& target = value_of(value);
  if (target.is_constant()) return constant_array(value.box, target.segment());
  fail(make_error(ErrorCode::kBadValue, "'{}' is no constant, so it has no array", target.name())
           .with_hint("module.eval(inputs) computes values"));
}

std::string value_text(const ValueHandle& value) {
  if (is_erased(value)) return "<erased Value>";
  const Value& target = value_of(value);
  std::string name = target.name();
  if (name.empty() && target.producer() != nullptr)
    name = "result of " + target.producer()->label();
  return fmt::format(
      "<Value {}: {}>", name,
      py::cast<std::string>(py::str(type_object(value.box->module, target.type_id()))));
}

}  // namespace

std::vector<Value*> values_of(const std::vector<std::optional<ValueHandle>>& handles) {
  std::vector<Value*> values;
  for (const auto& each : handles) values.push_back(each ? &value_of(*each) : nullptr);
  return values;
}

void bind_values(Classes& classes) {
  classes.value
      .def_property(
          "name", [](const ValueHandle& value) { return value_of(value).name(); },
          [](const ValueHandle& value, const std::string& name) {
            value_of(value).set_name(name);
            ++value.box->edits;
          })
      .def_property(
          "type",
          [](const ValueHandle& value) {
            return type_object(value.box->module, value_of(value).type_id());
          },
          [](const ValueHandle& value, const py::object& type) {
            Value& target = value_of(value);
            set_type(*value.box, target,
                     type.is_none() ? std::nullopt
                                    : std::optional(type_of_object(value.box->module, type)));
          },
          "Setting None infers it again.")
      .def_property_readonly("dtype",
                             [](const ValueHandle& value) {
                               const DType dtype = value_of(value).type().dtype;
                               return dtype == DType::kUndefined
                                          ? std::nullopt
                                          : std::optional(std::string(dtype_name(dtype)));
                             })
      .def_property_readonly("dims", &dims_of, "Numbers, expressions as text, None; None: unknown.")
      .def_property_readonly("rank",
                             [](const ValueHandle& value) -> std::optional<int64_t> {
                               const Type& type = value_of(value).type();
                               if (!type.ranked) return std::nullopt;
                               return type.rank();
                             })
      .def_property_readonly("producer",
                             [](const ValueHandle& value) -> std::optional<NodeHandle> {
                               Node* node = value_of(value).producer();
                               if (node == nullptr) return std::nullopt;
                               return handle(value.box, *node);
                             })
      .def_property_readonly(
          "index", [](const ValueHandle& value) { return value_of(value).result(); },
          "Which result of its producer it is.")
      .def_property_readonly("uses", &uses_of, "Pairs of a node and the number of its operand.")
      .def_property_readonly("users", &users_of, "The nodes that read it, in order.")
      .def_property_readonly(
          "graph",
          [](const ValueHandle& value) { return handle(value.box, value_of(value).graph()); })
      .def_property_readonly("is_input",
                             [](const ValueHandle& value) { return value_of(value).is_input(); })
      .def_property_readonly("is_constant",
                             [](const ValueHandle& value) { return value_of(value).is_constant(); })
      .def_property_readonly("is_output",
                             [](const ValueHandle& value) { return value_of(value).is_output(); })
      .def_property_readonly("erased", [](const ValueHandle& value) { return is_erased(value); })
      .def_property_readonly("array", &array_of_value,
                             "The array of a constant: numpy's, read-only, without a copy.")
      .def_property_readonly(
          "number", [](const ValueHandle& value) { return find_number(&value_of(value)); },
          "The number of a constant of one element, else None.")
      .def_property_readonly(
          "integers", [](const ValueHandle& value) { return constant_ints(&value_of(value)); },
          "The elements of a small constant of i64, else None.")
      .def(
          "replace_with",
          [](const ValueHandle& value, const ValueHandle& other,
             const std::vector<NodeHandle>& keep) {
            std::vector<Node*> nodes;
            for (const NodeHandle& node : keep) nodes.push_back(&node_of(node));
            replace_uses(*value.box, value_of(value), value_of(other), nodes);
          },
          py::arg("other"), py::arg("keep") = std::vector<NodeHandle>(),
          "Lets its readers, but those of keep, read another value of the same type.")
      .def("__eq__",
           [](const ValueHandle& a, const py::object& b) {
             return py::isinstance<ValueHandle>(b) && a == py::cast<const ValueHandle&>(b);
           })
      .def("__hash__", [](const ValueHandle& value) { return std::hash<void*>()(value.cell); })
      .def("__repr__", &value_text);
}

}  // namespace sluice::python
