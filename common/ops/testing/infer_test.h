// Builds one-node graphs for tests of inference: types and small constants as short texts.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "common/ops/infer.h"
#include "common/ops/refine.h"

namespace sluice {

using Ints = std::vector<int64_t>;  // an attribute, or elements

struct InferCase {
  Op op;
  // "f32[N, 3, ?]" is a type, "f32" a tensor of unknown rank, "?" the unknown type, "map(i64, f32)"
  // a map, "i64{2, -1}" a constant of rank 1, "i64(5)" a scalar constant, and "_" an absent input.
  // Letters are symbols of at least 1.
  std::vector<std::string> inputs;
  std::vector<Attribute> attributes;
  // The type_text of each result, or one text that starts with "error" and quotes a part of the
  // error.
  std::vector<std::string> results;
};

class InferBed {
 public:
  Module module;
  Graph& graph = module.add_graph("main");

  Dim dim(const std::string& text) {
    if (text == "?") return Dim::unknown();
    if (isdigit(text[0]) != 0 || text[0] == '-') return Dim::fixed(std::stoll(text));
    auto symbol = module.expressions.find_symbol(text);
    if (!symbol) symbol = module.expressions.add_symbol({.name = text, .low = 1});
    return Dim::expression(module.expressions.symbol_expression(*symbol));
  }

  static std::vector<std::string> parts(const std::string& text) {
    std::vector<std::string> found;
    std::string part;
    for (const char c : text + ",") {
      if (c == ',' && !part.empty()) found.push_back(std::exchange(part, {}));
      if (c != ',' && c != ' ') part += c;
    }
    return found;
  }

  Value* value(const std::string& text) {
    if (text == "_") return nullptr;
    if (text == "?") return &graph.add_input(0, name());
    if (text.starts_with("map("))
      return &graph.add_input(module.intern(map_type(parts(text.substr(4, text.size() - 5)))),
                              name());
    const size_t open = text.find_first_of("[{(");
    const DType dtype = dtype_from_name(text.substr(0, open)).value();
    if (open == std::string::npos)
      return &graph.add_input(module.intern(Type::unranked(dtype)), name());
    const auto elements = parts(text.substr(open + 1, text.size() - open - 2));
    if (text[open] == '[') {
      std::vector<Dim> dims;
      for (const std::string& element : elements) dims.push_back(dim(element));
      return &graph.add_input(module.intern(Type::tensor(dtype, dims)), name());
    }
    return &graph.add_constant(constant(dtype, elements, text[open] == '('), name());
  }

  // Makes the map type from the dtypes of keys and values.
  Type map_type(const std::vector<std::string>& dtypes) {
    const TypeId value =
        module.intern(Type::fixed_tensor(dtype_from_name(dtypes.at(1)).value(), {}));
    return Type::map(dtype_from_name(dtypes.at(0)).value(), value);
  }

  SegmentId constant(DType dtype, const std::vector<std::string>& elements, bool scalar) {
    std::vector<std::byte> bytes;
    const auto append = [&](auto number) {
      const auto* from = reinterpret_cast<const std::byte*>(&number);
      bytes.insert(bytes.end(), from, from + sizeof number);
    };
    for (const std::string& element : elements) {
      if (dtype == DType::kI64) append(static_cast<int64_t>(std::stoll(element)));
      if (dtype == DType::kI32) append(static_cast<int32_t>(std::stoll(element)));
      if (dtype == DType::kF32) append(std::stof(element));
      if (dtype == DType::kBool) append(static_cast<uint8_t>(element == "1"));
    }
    std::vector<int64_t> extents;
    if (!scalar) extents.push_back(static_cast<int64_t>(elements.size()));
    return module.make_constant(module.intern(Type::fixed_tensor(dtype, extents)),
                                std::move(bytes));
  }

  Node& node(const InferCase& wanted) {
    std::vector<Value*> inputs;
    for (const std::string& input : wanted.inputs) inputs.push_back(value(input));
    const bool fails = wanted.results.size() == 1 && wanted.results[0].starts_with("error");
    Node& node = graph.add_node(wanted.op, inputs, fails ? 1 : wanted.results.size());
    for (const Attribute& attribute : wanted.attributes)
      node.set_attribute(attribute.name, attribute.value);
    return node;
  }

 private:
  std::string name() { return std::string(1, static_cast<char>('a' + count_++ % 26)); }

  int count_ = 0;
};

// Returns one text per result, or the error's.
inline std::vector<std::string> infer_case(const InferCase& wanted) {
  InferBed bed;
  Node& node = bed.node(wanted);
  ValueFacts facts(bed.graph);
  const auto changed = infer_node(node, facts);
  if (!changed) return {"error: " + changed.error().message};
  std::vector<std::string> texts;
  for (size_t i = 0; i < node.output_count(); ++i)
    texts.push_back(type_text(bed.module, node.output(i).type()));
  return texts;
}

}  // namespace sluice
