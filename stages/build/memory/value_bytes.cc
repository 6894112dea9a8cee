#include "stages/build/memory/value_bytes.h"

#include "common/ir/fixed.h"
#include "common/ir/limits.h"

namespace sluice {

uint64_t storage_bytes(const Value& value) {
  const Dim bytes = value.type().is_fixed() ? value_bytes(value) : Dim::unknown();
  return bytes.is_fixed() ? static_cast<uint64_t>(bytes.value) : 0;
}

std::optional<uint64_t> max_bytes(const Module& module, const Dim& bytes) {
  if (bytes.is_unknown()) return std::nullopt;
  const int64_t largest =
      bytes.is_fixed() ? bytes.value
                       : module.expressions.bounds(static_cast<ExpressionId>(bytes.value)).high;
  if (largest < 0 || static_cast<uint64_t>(largest) > kMaxValueBytes) return std::nullopt;
  return static_cast<uint64_t>(largest);
}

}  // namespace sluice
