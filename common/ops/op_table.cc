#include "common/ops/op_table.h"

#include <algorithm>
#include <vector>

#include "common/ops/families.h"

namespace sluice {
namespace {

std::vector<const OpRow*> index_rows() {
  std::vector<const OpRow*> index(static_cast<size_t>(op_count()), nullptr);
  for (const auto rows : {attention_rows(),
                          control_flow_rows(),
                          contraction_rows(),
                          einsum_rows(),
                          elementwise_binary_rows(),
                          elementwise_unary_rows(),
                          generator_rows(),
                          image_rows(),
                          indexing_rows(),
                          loss_rows(),
                          ml_rows(),
                          normalization_rows(),
                          pooling_rows(),
                          quantization_rows(),
                          recurrent_rows(),
                          reduction_rows(),
                          resize_rows(),
                          scatter_rows(),
                          selection_rows(),
                          sequence_rows(),
                          shape_rows(),
                          signal_rows(),
                          sluice_rows(),
                          split_rows(),
                          string_rows()}) {
    for (const OpRow& row : rows) index[static_cast<size_t>(row.op)] = &row;
  }
  return index;
}

constexpr std::string_view kKindNames[] = {"int",     "float", "string", "ints",  "floats",
                                           "strings", "type",  "tensor", "graph", "graphs"};

AttributeKind kind_of(const AttributeValue& value) {
  constexpr AttributeKind kKinds[] = {AttributeKind::kInt,    AttributeKind::kFloat,
                                      AttributeKind::kString, AttributeKind::kInts,
                                      AttributeKind::kFloats, AttributeKind::kStrings,
                                      AttributeKind::kType,   AttributeKind::kSegment,
                                      AttributeKind::kGraph,  AttributeKind::kGraphs};
  static_assert(std::variant_size_v<AttributeValue> == std::size(kKinds));
  return kKinds[value.index()];
}

void add_finding(std::string& findings, const std::string& finding) {
  findings += (findings.empty() ? "" : "; ") + finding;
}

std::string count_text(int low, int high) {
  if (high < 0) return fmt::format("at least {}", low);
  return low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
}

void check_counts(const Node& node, const OpRow& row, std::string& findings) {
  const auto inputs = static_cast<int64_t>(node.input_count());
  const auto outputs = static_cast<int64_t>(node.output_count());
  if (inputs < row.min_inputs || (row.max_inputs >= 0 && inputs > row.max_inputs)) {
    add_finding(findings, fmt::format("has {} inputs, expected {}", inputs,
                                      count_text(row.min_inputs, row.max_inputs)));
  }
  if (outputs < row.min_outputs || (row.max_outputs >= 0 && outputs > row.max_outputs)) {
    add_finding(findings, fmt::format("has {} outputs, expected {}", outputs,
                                      count_text(row.min_outputs, row.max_outputs)));
  }
  if ((row.flags & kAbsentInputs) != 0) return;
  for (size_t i = 0; i < static_cast<size_t>(row.min_inputs) && i < node.input_count(); ++i) {
    if (node.input(i) == nullptr) add_finding(findings, fmt::format("input {} is absent", i));
  }
}

bool is_one_of(std::string_view word, std::string_view words) {
  while (!words.empty()) {
    const std::string_view first = words.substr(0, words.find(' '));
    if (first == word) return true;
    words.remove_prefix(std::min(words.size(), first.size() + 1));
  }
  return false;
}

void check_attributes(const Node& node, const OpRow& row, std::string& findings) {
  for (const Attribute& attribute : node.attributes()) {
    const auto found = std::find_if(
        row.attributes.begin(), row.attributes.end(),
        [&](const AttributeRow& candidate) { return candidate.name == attribute.name; });
    if (found == row.attributes.end()) {
      add_finding(findings, fmt::format("has no attribute '{}'", attribute.name));
    } else if (found->kind != kind_of(attribute.value)) {
      add_finding(findings, fmt::format("attribute '{}' is of kind {}, expected {}", attribute.name,
                                        kKindNames[static_cast<size_t>(kind_of(attribute.value))],
                                        kKindNames[static_cast<size_t>(found->kind)]));
    } else if (const auto* word = std::get_if<std::string>(&attribute.value);
               word != nullptr && !found->words.empty() && !is_one_of(*word, found->words)) {
      add_finding(findings, fmt::format("attribute '{}' is '{}', expected one of {}",
                                        attribute.name, *word, found->words));
    }
  }
  for (const AttributeRow& attribute : row.attributes) {
    if (attribute.required && node.find_attribute(attribute.name) == nullptr) {
      add_finding(findings, fmt::format("attribute '{}' is missing", attribute.name));
    }
  }
}

}  // namespace

std::optional<AttributeValue> attribute_or_default(const Node& node, std::string_view name) {
  if (const AttributeValue* value = node.find_attribute(name)) return *value;
  const OpRow* op = find_op(node.op());
  if (op == nullptr) return std::nullopt;
  const auto row = std::ranges::find(op->attributes, name, &AttributeRow::name);
  if (row == op->attributes.end() || row->required) return std::nullopt;
  if (row->kind == AttributeKind::kInt) return AttributeValue(static_cast<int64_t>(row->number));
  if (row->kind == AttributeKind::kFloat) return AttributeValue(static_cast<float>(row->number));
  if (row->kind == AttributeKind::kString) return AttributeValue(std::string(row->text));
  return std::nullopt;
}

const OpRow* find_op(Op op) {
  static const std::vector<const OpRow*> kIndex = index_rows();
  return kIndex[static_cast<size_t>(op)];
}

Result<void> check_signature(const Node& node) {
  const OpRow* row = find_op(node.op());
  if (row == nullptr)
    return make_error(ErrorCode::kBadNode, "{}: the op is not in the table of this release",
                      node.label());
  std::string findings;
  check_counts(node, *row, findings);
  check_attributes(node, *row, findings);
  if (!findings.empty()) return make_error(ErrorCode::kBadNode, "{}: {}", node.label(), findings);
  return {};
}

}  // namespace sluice
