#include "common/verify/findings.h"
#include "common/verify/verify.h"

namespace sluice {
namespace {

// Returns true for a constant, or an intermediate value of one: an expression can read and make
// much and have a small result. The bytes of a parameter are those of a constant elsewhere.
bool is_made(const Value& value) {
  if (value.graph().role == GraphRole::kExpression) return true;
  return value.is_constant() &&
         value.graph().module().segment(value.segment()).kind != SegmentKind::kParameter;
}

}  // namespace

Result<void> verify_constant_sizes(const Module& module, uint64_t maximum) {
  verifying::Findings findings;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    for (const Value& value : module.graph(id).values()) {
      if (value.is_erased() || !value.is_used() || !is_made(value)) continue;
      const Type& type = value.type();
      if (!type.is_fixed() || type.dtype == DType::kString) continue;
      const auto bytes = type.dense_bytes();
      if (!bytes)
        findings.add("{} has {} elements", verifying::value_label(value),
                     type.element_count().value_or(0));
      if (bytes.value_or(0) > maximum)
        findings.add("{} has {} bytes", verifying::value_label(value), *bytes);
    }
  }
  auto result = findings.result(fmt::format("constants have more than {} bytes", maximum));
  if (result) return {};
  result.error().code = ErrorCode::kLimit;
  result.error().hint = "--max-constant-bytes=N allows larger ones";
  return result;
}

}  // namespace sluice
