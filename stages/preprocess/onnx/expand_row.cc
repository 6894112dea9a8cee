#include "stages/preprocess/onnx/expand_row.h"

#include <algorithm>
#include <map>
#include <vector>

#include "stages/preprocess/onnx/types.h"
#include "stages/preprocess/onnx/unknown_attributes.h"

namespace sluice {
namespace {

using enum AttributeKind;

struct Slot {
  std::string_view name;
  bool optional = false;
};

// Returns the slots of a row's "A B? C"; sets `more` to whether "..." follows.
std::vector<Slot> slots(std::string_view text, bool& more) {
  std::vector<Slot> result;
  more = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    Slot slot{text.substr(0, end)};
    text.remove_prefix(std::min(end + 1, text.size()));
    if (slot.name == "...") {
      more = true;
      continue;
    }
    slot.optional = slot.name.ends_with('?');
    if (slot.optional) slot.name.remove_suffix(1);
    result.push_back(slot);
  }
  return result;
}

template <typename IsThere>
Result<void> check_slots(const ExpandCall& call, std::string_view text, size_t count,
                         std::string_view kind, IsThere is_there) {
  bool more = false;
  const std::vector<Slot> wanted = slots(text, more);
  if (count > wanted.size() && !more)
    return call.bad("it has {} {}s, expected at most {}", count, kind, wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].optional && !is_there(i))
      return call.bad("{} {} '{}' is absent", kind, i, wanted[i].name);
  }
  return {};
}

onnx::AttributeProto::AttributeType proto_type(AttributeKind kind) {
  switch (kind) {
    case kInt:
      return onnx::AttributeProto::INT;
    case kFloat:
      return onnx::AttributeProto::FLOAT;
    case kString:
      return onnx::AttributeProto::STRING;
    case kInts:
      return onnx::AttributeProto::INTS;
    case kFloats:
      return onnx::AttributeProto::FLOATS;
    case kStrings:
      return onnx::AttributeProto::STRINGS;
    case kSegment:
      return onnx::AttributeProto::TENSOR;
    default:
      return onnx::AttributeProto::UNDEFINED;
  }
}

Result<void> check_attributes(const ExpandCall& call, const ExpandRow& row) {
  std::map<std::string_view, int> seen;
  for (const onnx::AttributeProto& attribute : call.proto.attribute()) {
    const auto known = std::ranges::find(row.attributes, attribute.name(), &AttributeRow::name);
    if (known == row.attributes.end()) {
      // com.microsoft gets attributes with each release of ONNX Runtime: the effect of a new one
      // would be lost.
      if (call.proto.domain() != "ai.onnx.ml")
        return call.unsupported("attribute '{}' is not known", attribute.name());
      call.graph.module().warnings.add(Leniency::kUnknownAttribute,
                                       unknown_attribute_text(call.proto, attribute.name()));
      continue;
    }
    if (++seen[known->name] > 1) return call.bad("attribute '{}' is there twice", attribute.name());
    const auto expected = proto_type(known->kind);
    const auto given = attribute_type(attribute);
    if (given != expected) {
      return call.bad("attribute '{}' is of type {}, expected {}", attribute.name(),
                      onnx::AttributeProto::AttributeType_Name(given),
                      onnx::AttributeProto::AttributeType_Name(expected));
    }
  }
  for (const AttributeRow& attribute : row.attributes) {
    if (attribute.required && seen.count(attribute.name) == 0)
      return call.bad("attribute '{}' is absent", attribute.name);
  }
  return {};
}

}  // namespace

Result<void> expand_node(ExpandCall& call, const ExpandRow& row) {
  SLUICE_TRY(check_slots(call, row.inputs, call.inputs.size(), "input",
                         [&](size_t i) { return call.input(i) != nullptr; }));
  SLUICE_TRY(check_slots(call, row.outputs, static_cast<size_t>(call.proto.output_size()), "output",
                         [&](size_t i) { return call.wants(i); }));
  SLUICE_TRY(check_attributes(call, row));
  call.results.assign(static_cast<size_t>(call.proto.output_size()), nullptr);
  SLUICE_TRY(row.expand(call));
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (call.wants(i) && call.results[i] == nullptr)
      return call.unsupported("output {} is not supported", i);
  }
  return {};
}

}  // namespace sluice
