#include "common/pass/constant_match.h"

#include <algorithm>

#include "common/ir/module.h"

namespace sluice {
namespace {

// Returns true for equal types without symbols, whose dims are the same in every module.
bool types_match(const Type& a, const Type& b) { return a.is_fixed() && a == b; }

bool repeats(std::span<const std::byte> bytes, std::span<const std::byte> element) {
  if (element.empty() || bytes.size() % element.size() != 0) return false;
  for (size_t i = 0; i < bytes.size(); i += element.size()) {
    if (!std::equal(element.begin(), element.end(), bytes.begin() + static_cast<std::ptrdiff_t>(i)))
      return false;
  }
  return true;
}

bool has_digest_of_bytes(const Segment& segment) {
  return segment.kind == SegmentKind::kSmall || segment.kind == SegmentKind::kBytes;
}

bool segments_match(const Module& a_module, SegmentId a_id, const Module& b_module,
                    SegmentId b_id) {
  const Segment& a = a_module.segment(a_id);
  const Segment& b = b_module.segment(b_id);
  if (!types_match(a_module.type(a.type), b_module.type(b.type))) return false;
  if (has_digest_of_bytes(a) && has_digest_of_bytes(b)) return a.digest == b.digest;
  if (a.kind == SegmentKind::kSplat && b.kind == SegmentKind::kSplat) return a.data == b.data;
  if (b.kind == SegmentKind::kSplat && has_digest_of_bytes(a))
    return segments_match(b_module, b_id, a_module, a_id);
  if (a.kind != SegmentKind::kSplat || !has_digest_of_bytes(b)) return false;
  const auto bytes = b_module.bytes(b_id);
  return bytes && repeats(*bytes, a.data);
}

bool values_match(const Module& a_module, const AttributeValue& a, const Module& b_module,
                  const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* type = std::get_if<TypeRef>(&a))
    return types_match(a_module.type(type->id), b_module.type(std::get<TypeRef>(b).id));
  if (const auto* segment = std::get_if<SegmentRef>(&a))
    return segments_match(a_module, segment->id, b_module, std::get<SegmentRef>(b).id);
  if (std::holds_alternative<GraphRef>(a) || std::holds_alternative<std::vector<GraphRef>>(a))
    return false;
  return a == b;
}

}  // namespace

bool constant_matches(const Value& pattern, const Value& target, bool by_value) {
  if (!target.is_constant()) return false;
  return !by_value || segments_match(pattern.graph().module(), pattern.segment(),
                                     target.graph().module(), target.segment());
}

bool attributes_match(const Node& pattern, const Node& target) {
  return std::equal(
      pattern.attributes().begin(), pattern.attributes().end(), target.attributes().begin(),
      target.attributes().end(), [&](const Attribute& a, const Attribute& b) {
        return a.name == b.name &&
               values_match(pattern.graph().module(), a.value, target.graph().module(), b.value);
      });
}

}  // namespace sluice
