// Modules: reading, writing, verifying, evaluating and comparing graphs.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "common/eval/eval.h"
#include "common/graphfile/graphfile.h"
#include "common/ops/op_table.h"
#include "common/python/bindings.h"
#include "common/python/filter.h"
#include "common/text/text.h"
#include "common/tools/diff.h"
#include "common/verify/verify.h"

namespace sluice::python {
namespace {

Graph& root_of(const ModuleBox& box) {
  if (box.module.has_graph(0)) return box.module.root();
  fail(make_error(ErrorCode::kBadGraph, "the module has no graph: add_graph begins it"));
}

void check_whole(const ModuleBox& box) { static_cast<void>(root_of(box)); }

Box box_of(Module module) { return std::make_shared<ModuleBox>(std::move(module)); }

Box read_bytes(const py::bytes& bytes, const std::string& name) {
  const std::string_view view = bytes;
  const auto* begin = reinterpret_cast<const std::byte*>(view.data());
  auto kept = std::make_shared<const std::vector<std::byte>>(begin, begin + view.size());
  return box_of(check(read_graph(std::move(kept), name)));
}

py::bytes bytes_of(ModuleBox& box) {
  check_whole(box);
  box.compact();
  const std::vector<std::byte> bytes = check(graph_bytes(box.module, {.is_compact = true}));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_to(ModuleBox& box, const std::string& path, bool inline_segments) {
  check_whole(box);
  box.compact();
  check(
      write_graph_file(box.module, path, {.inline_segments = inline_segments, .is_compact = true}));
}

std::string text_of(ModuleBox& box, bool header) {
  check_whole(box);
  box.compact();
  return print_module(box.module, {.header = header});
}

void verify_all(ModuleBox& box) {
  check_whole(box);
  box.compact();
  check(verify(box.module, box.module.level));
}

void infer_all(ModuleBox& box) {
  box.begin_edit();
  constexpr int kMaxWalks = 8;
  box.restore_order();
  Graph& root = root_of(box);
  for (int i = 0; i < kMaxWalks; ++i) {
    ValueFacts facts(root);
    if (!check(infer_graph(root, facts))) break;
  }
  ++box.edits;
}

py::object eval_object(EvalValue value) {
  if (value.kind == EvalValue::Kind::kTensor) return array_of(Tensor(*value.tensor));
  if (value.kind == EvalValue::Kind::kNone) return py::none();
  py::list list;
  for (EvalValue& each : value.elements) list.append(eval_object(std::move(each)));
  return list;
}

EvalValue input_of(const ModuleBox& box, const Value& input, const py::dict& given) {
  if (!given.contains(input.name())) {
    fail(make_error(ErrorCode::kBadBinding, "input '{}' of type {} is not given", input.name(),
                    print_type(box.module, input.type_id())));
  }
  const Type& type = input.type();
  const std::string dtype(type.is_tensor() ? dtype_name(type.dtype) : "");
  return EvalValue::of(tensor_of_object(given[py::str(input.name())], dtype));
}

py::dict evaluate(ModuleBox& box, const py::dict& inputs) {
  box.restore_order();
  const Graph& root = root_of(box);
  std::vector<EvalValue> values;
  for (const Value* input : root.inputs())
    if (!input->is_constant()) values.push_back(input_of(box, *input, inputs));
  std::vector<EvalValue> outputs = check(evaluate_graph(root, std::move(values)));
  py::dict made;
  for (size_t i = 0; i < outputs.size(); ++i)
    made[py::str(root.outputs()[i]->name())] = eval_object(std::move(outputs[i]));
  return made;
}

std::vector<GraphHandle> graphs_of(const Box& box) {
  std::vector<GraphHandle> graphs;
  for (GraphId id = 0; id < box->module.graph_limit(); ++id)
    if (box->module.has_graph(id)) graphs.push_back(handle(box, box->module.graph(id)));
  return graphs;
}

// The graphs that passes rewrite, callers first.
std::vector<GraphHandle> rewritten_graphs(const Box& box) {
  std::vector<GraphHandle> graphs;
  check(on_every_graph(root_of(*box), [&](Graph& graph) -> Result<bool> {
    graphs.push_back(handle(box, graph));
    return false;
  }));
  return graphs;
}

std::vector<std::string> differences(ModuleBox& a, ModuleBox& b, bool ignore_constants) {
  check_whole(a);
  check_whole(b);
  a.compact();
  b.compact();
  return find_differences(a.module, b.module, ignore_constants);
}

std::vector<std::string> digests_of(const ModuleBox& box) {
  std::vector<std::string> digests;
  for (const Digest& digest : box.module.made_from) digests.push_back(digest_hex(digest));
  return digests;
}

py::list op_rows() {
  constexpr const char* kKinds[] = {"int",       "float", "str",     "list[int]", "list[float]",
                                    "list[str]", "Type",  "ndarray", "Graph",     "list[Graph]"};
  py::list rows;
  for (int i = 0; i < op_count(); ++i) {
    const OpRow* row = find_op(static_cast<Op>(i));
    if (row == nullptr || row->op == Op::kForeign) continue;
    py::list attributes;
    for (const AttributeRow& each : row->attributes)
      attributes.append(py::make_tuple(each.name, kKinds[static_cast<size_t>(each.kind)],
                                       each.required, each.number, each.text, each.words));
    rows.append(py::make_tuple(op_name(row->op), row->min_inputs, row->max_inputs, row->min_outputs,
                               row->max_outputs, attributes));
  }
  return rows;
}

}  // namespace

void bind_modules(py::module_& m, Classes& classes) {
  classes.module
      .def(py::init([] { return box_of(Module()); }),
           "An empty module: add_graph('main') begins it.")
      .def_static("_from_bytes", &read_bytes)
      .def_static(
          "parse",
          [](const std::string& text, const std::string& name) {
            return box_of(check(parse_module(text, name)));
          },
          py::arg("text"), py::arg("name") = "text", "Reads a textual graph.")
      .def("to_bytes", &bytes_of, "The bytes of a graph file.")
      .def("_write", &write_to)
      .def("text", &text_of, py::arg("header") = false, "What sluice show prints.")
      .def("verify", &verify_all, "Checks what its level promises; an Error lists what is wrong.")
      .def("infer", &infer_all, "Infers all types again, as far as they are unknown.")
      .def("eval", &evaluate, py::arg("inputs") = py::dict(),
           "Evaluates the graph: arrays by name in, arrays by name out.")
      .def(
          "add_graph",
          [](const Box& box, const std::string& name) {
            box->begin_edit();
            ++box->edits;
            return handle(box, box->module.add_graph(name));
          },
          py::arg("name"))
      .def_property_readonly("root", [](const Box& box) { return handle(box, root_of(*box)); })
      .def_property_readonly("graphs", &graphs_of, "All of them, bodies and expressions, too.")
      .def_property_readonly("rewritten", &rewritten_graphs,
                             "Those that passes rewrite: the root and bodies of control flow.")
      .def_property_readonly(
          "level", [](const ModuleBox& box) { return std::string(level_name(box.module.level)); })
      .def_property_readonly(
          "last_stage",
          [](const ModuleBox& box) { return std::string(stage_name(box.module.last_stage)); })
      .def_property_readonly(
          "options", [](const ModuleBox& box) { return box.module.options; },
          "A copy of the semantic options that it carries.")
      .def_property_readonly("made_from", &digests_of, "File digests, the newest first.")
      .def_readwrite("has_types", &ModuleBox::has_types, "Whether values have types yet.")
      .def_readonly("edits", &ModuleBox::edits, "How often it was changed.")
      .def("__repr__", [](const ModuleBox& box) {
        if (!box.module.has_graph(0)) return std::string("<Module without graph>");
        return fmt::format("<Module {} {}: {} nodes>", level_name(box.module.level),
                           box.module.root().name(), box.module.root().node_count());
      });
  m.def("differences", &differences, py::arg("a"), py::arg("b"),
        py::arg("ignore_constants") = false);
  m.def("op_rows", &op_rows);
  m.def("read_graph", [](const std::string& path) { return box_of(check(read_graph_file(path))); });
  m.def("run_filter", &run_filter);
  m.def("end_filter", &end_filter);
}

}  // namespace sluice::python
