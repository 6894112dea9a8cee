// Types of values, and errors.
#include <pybind11/stl.h>

#include "common/base/lexer.h"
#include "common/ops/refine.h"
#include "common/python/bindings.h"
#include "common/symbolic/parse_expression.h"
#include "common/text/text.h"

namespace sluice::python {
namespace {

PythonDim dim_object(const Module& module, const Dim& dim) {
  if (dim.is_fixed()) return dim.value;
  if (dim.is_unknown()) return std::monostate();
  return print_dim(module, dim);
}

PythonType python_type(const Module& module, TypeId id) {
  const Type& type = module.type(id);
  PythonType made{.kind = type.kind,
                  .dtype = type.dtype,
                  .dims = {},
                  .element = {},
                  .text = print_type(module, id)};
  if (type.ranked) {
    made.dims.emplace();
    for (const Dim& dim : type.dims) made.dims->push_back(dim_object(module, dim));
  }
  if (type.kind != TypeKind::kTensor && type.kind != TypeKind::kUnknown)
    made.element = std::make_shared<PythonType>(python_type(module, type.element));
  return made;
}

Dim parse_dim(Module& module, const std::string& text) {
  text::ExpressionParser::Symbols symbols;
  for (SymbolId id = 0; static_cast<size_t>(id) < module.expressions.symbol_count(); ++id)
    symbols.emplace(module.expressions.symbol(id).name, id);
  text::Lexer lexer(text, "dim '" + text + "'");
  check(lexer.advance());
  return module.make_dim(check(text::ExpressionParser(lexer, module.expressions, symbols).parse()));
}

TypeId intern(Module& module, const PythonType& type) {
  switch (type.kind) {
    case TypeKind::kUnknown:
      return 0;
    case TypeKind::kSequence:
      return module.intern(Type::sequence(intern(module, *type.element)));
    case TypeKind::kOptional:
      return module.intern(Type::optional(intern(module, *type.element)));
    case TypeKind::kMap:
      return module.intern(Type::map(type.dtype, intern(module, *type.element)));
    case TypeKind::kTensor:
      break;
  }
  if (!type.dims) return module.intern(Type::unranked(type.dtype));
  std::vector<Dim> dims;
  for (const PythonDim& dim : *type.dims) {
    if (const auto* number = std::get_if<int64_t>(&dim)) dims.push_back(Dim::fixed(*number));
    if (const auto* text = std::get_if<std::string>(&dim)) dims.push_back(parse_dim(module, *text));
    if (dim.index() == 0) dims.push_back(Dim::unknown());
  }
  return module.intern(Type::tensor(type.dtype, std::move(dims)));
}

std::string dims_text(const std::optional<std::vector<PythonDim>>& dims) {
  if (!dims) return "*";
  std::string text;
  for (const PythonDim& dim : *dims) {
    text += text.empty() ? "" : ", ";
    if (const auto* number = std::get_if<int64_t>(&dim)) text += std::to_string(*number);
    if (const auto* name = std::get_if<std::string>(&dim)) text += *name;
    if (dim.index() == 0) text += "?";
  }
  return text;
}

PythonType make_tensor_type(const std::string& dtype, std::optional<std::vector<PythonDim>> dims) {
  const auto found = dtype_from_name(dtype);
  if (!found)
    fail(make_error(ErrorCode::kBadValue, "'{}' is no dtype", dtype)
             .with_hint("f32, f16, bf16, f64, i64, i32, i8, u8, bool, string, …"));
  for (size_t i = 0; dims && i < dims->size(); ++i) {
    const auto* number = std::get_if<int64_t>(&(*dims)[i]);
    if (number != nullptr && *number < 0)
      fail(make_error(ErrorCode::kBadValue, "dim {} is {}; an unknown one is None", i, *number));
  }
  std::string text = fmt::format("{}[{}]", dtype, dims_text(dims));
  return {TypeKind::kTensor, *found, std::move(dims), {}, std::move(text)};
}

PythonType nested_type(TypeKind kind, const char* name, const PythonType& element) {
  return {kind,
          DType::kUndefined,
          {},
          std::make_shared<PythonType>(element),
          fmt::format("{}({})", name, element.text)};
}

py::object error_class(const char* name) {
  return py::module_::import("sluice.graph.errors").attr(name);
}

}  // namespace

void bind_errors(py::module_& m) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const ErasedHandle& erased) {
      PyErr_SetString(error_class("ErasedError").ptr(), erased.message.c_str());
    } catch (const Failure& failure) {
      const Error& error = failure.error;
      const py::object type = error_class("Error");
      PyErr_SetObject(
          type.ptr(),
          type(static_cast<int>(error.code), error.message, error.hint, error.file).ptr());
    }
  });
  m.def("exit_code", [](int code) {
    return is_error_code(static_cast<uint16_t>(code))
               ? static_cast<int>(exit_class(static_cast<ErrorCode>(code)))
               : 3;
  });
}

py::object type_object(const Module& module, TypeId id) {
  return py::cast(python_type(module, id));
}

TypeId type_of_object(Module& module, const py::object& type) {
  return intern(module, py::cast<const PythonType&>(type));
}

void bind_types(Classes& classes) {
  classes.type
      .def(py::init(&make_tensor_type), py::arg("dtype"), py::arg("dims") = py::none(),
           "A tensor's type. A dim is a number, a text such as 'N' or '2*N + 1', or None; without "
           "dims any rank.")
      .def_static("sequence",
                  [](const PythonType& element) {
                    return nested_type(TypeKind::kSequence, "seq", element);
                  })
      .def_static("optional",
                  [](const PythonType& element) {
                    return nested_type(TypeKind::kOptional, "optional", element);
                  })
      .def_property_readonly("kind",
                             [](const PythonType& type) {
                               constexpr const char* kNames[] = {"unknown", "tensor", "sequence",
                                                                 "optional", "map"};
                               return kNames[static_cast<size_t>(type.kind)];
                             })
      .def_property_readonly("dtype",
                             [](const PythonType& type) -> std::optional<std::string> {
                               if (type.dtype == DType::kUndefined) return std::nullopt;
                               return std::string(dtype_name(type.dtype));
                             })
      .def_property_readonly("dims",
                             [](const PythonType& type) -> py::object {
                               if (!type.dims) return py::none();
                               return py::tuple(py::cast(*type.dims));
                             })
      .def_property_readonly("rank",
                             [](const PythonType& type) -> std::optional<size_t> {
                               if (!type.dims) return std::nullopt;
                               return type.dims->size();
                             })
      .def_property_readonly("element",
                             [](const PythonType& type) -> std::optional<PythonType> {
                               if (type.element == nullptr) return std::nullopt;
                               return *type.element;
                             })
      .def("__eq__",
           [](const PythonType& a, const py::object& b) {
             return py::isinstance<PythonType>(b) && a == py::cast<const PythonType&>(b);
           })
      .def("__hash__", [](const PythonType& type) { return std::hash<std::string>()(type.text); })
      .def("__str__", [](const PythonType& type) { return type.text; })
      .def("__repr__", [](const PythonType& type) { return "<Type " + type.text + ">"; });
}

}  // namespace sluice::python
