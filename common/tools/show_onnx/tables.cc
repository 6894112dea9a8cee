#include "common/tools/show_onnx/tables.h"

#include <algorithm>
#include <cstring>

#include "common/eval/eval.h"
#include "common/tools/show_onnx/values.h"

namespace sluice {
namespace {

// Names of the attribute that a table is, by the kind of list; an empty one does not exist.
struct TableName {
  std::string_view strings, ints, floats, tensor;
};
struct TableRow {
  Op op;
  size_t table;  // of the operands after the first
  TableName name;
};
constexpr TableRow kTables[] = {
    {Op::kDictVectorizer, 0, {"string_vocabulary", "int64_vocabulary", "", ""}},
    {Op::kLabelEncoder, 0, {"keys_strings", "keys_int64s", "keys_floats", "keys_tensor"}},
    {Op::kLabelEncoder, 1, {"values_strings", "values_int64s", "values_floats", "values_tensor"}},
    {Op::kLabelEncoder, 2, {"default_string", "default_int64", "default_float", "default_tensor"}},
    {Op::kOneHotEncoder, 0, {"cats_strings", "cats_int64s", "", ""}},
    {Op::kTreeEnsemble, 0, {"", "", "", "nodes_splits"}},
    {Op::kTreeEnsemble, 1, {"", "", "", "nodes_modes"}},
    {Op::kTreeEnsemble, 2, {"", "", "", "leaf_weights"}},
    {Op::kTreeEnsemble, 3, {"", "", "", "membership_values"}},
    {Op::kZipMap, 0, {"classlabels_strings", "classlabels_int64s", "", ""}},
};

constexpr int kFirstVersion = 3, kTensorVersion = 4, kTreeVersion = 5;  // of ai.onnx.ml

bool is_ml(const Node& node) { return op_domain(node.op()) == Domain::kMl; }

bool is_listed(DType dtype) {
  return dtype == DType::kString || dtype == DType::kI64 || dtype == DType::kF32;
}

// Version 4 of LabelEncoder has other dtypes, as tensors.
bool needs_tensors(const Node& node, const std::vector<Tensor>& tables) {
  const auto is_other = [](const Tensor& table) { return !is_listed(table.dtype); };
  return node.op() == Op::kLabelEncoder && std::ranges::any_of(tables, is_other);
}

onnx::AttributeProto& add_attribute(onnx::NodeProto& proto, std::string_view name,
                                    onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *proto.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(type);
  return attribute;
}

void write_as_tensor(const Tensor& table, std::string_view name, onnx::NodeProto& proto) {
  onnx::TensorProto& tensor = *add_attribute(proto, name, onnx::AttributeProto::TENSOR).mutable_t();
  tensor.set_data_type(static_cast<int>(table.dtype));
  for (const int64_t dim : table.dims) tensor.add_dims(dim);
  if (table.dtype == DType::kString) return write_strings(table.bytes, table.dims[0], tensor);
  tensor.set_raw_data(table.bytes.data(), table.bytes.size());
}

void write_as_list(const Tensor& table, const TableName& name, bool is_single,
                   onnx::NodeProto& proto) {
  using Proto = onnx::AttributeProto;
  if (table.dtype == DType::kString) {
    onnx::TensorProto texts;
    write_strings(table.bytes, is_single ? 1 : static_cast<uint64_t>(table.dims[0]), texts);
    Proto& list = add_attribute(proto, name.strings, is_single ? Proto::STRING : Proto::STRINGS);
    if (is_single) return list.set_s(texts.string_data(0));
    for (const std::string& text : texts.string_data()) list.add_strings(text);
  } else if (table.dtype == DType::kI64) {
    Proto& list = add_attribute(proto, name.ints, is_single ? Proto::INT : Proto::INTS);
    if (is_single) return list.set_i(table.as<int64_t>()[0]);
    for (const int64_t number : table.as<int64_t>()) list.add_ints(number);
  } else {
    Proto& list = add_attribute(proto, name.floats, is_single ? Proto::FLOAT : Proto::FLOATS);
    if (is_single) return list.set_f(table.as<float>()[0]);
    for (const float number : table.as<float>()) list.add_floats(number);
  }
}

}  // namespace

bool has_constant_tables(const Node& node) {
  for (size_t i = 1; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && !node.input(i)->is_constant()) return false;
  }
  return true;
}

Result<Tables> take_tables(Module& module) {
  Tables tables;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    for (Node& node : module.graph(id).nodes()) {
      if (!is_ml(node)) continue;
      std::vector<Tensor>& own = tables[&node];
      for (size_t i = 1; i < node.input_count(); ++i) {
        own.emplace_back();
        if (node.input(i) == nullptr) continue;
        SLUICE_ASSIGN(own.back(), evaluate_segment(module, node.input(i)->segment()));
      }
      while (node.input_count() > 1) node.remove_last_input();
    }
  }
  return tables;
}

void write_tables(const Node& node, const std::vector<Tensor>& tables, onnx::NodeProto& proto) {
  const bool as_tensors = needs_tensors(node, tables) || node.op() == Op::kTreeEnsemble;
  for (const TableRow& row : kTables) {
    const bool is_its = row.op == node.op() && row.table < tables.size();
    if (!is_its || tables[row.table].dtype == DType::kUndefined) continue;
    if (as_tensors) {
      write_as_tensor(tables[row.table], row.name.tensor, proto);
    } else {
      const bool is_single = row.name.ints.starts_with("default");
      write_as_list(tables[row.table], row.name, is_single, proto);
    }
  }
}

int needed_ml_version(const Node& node, const std::vector<Tensor>& tables) {
  if (node.op() == Op::kTreeEnsemble) return kTreeVersion;
  return needs_tensors(node, tables) ? kTensorVersion : kFirstVersion;
}

}  // namespace sluice
