// The table of scalar instructions (scalar.def).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/dtype.h"

namespace sluice::loop {

enum class ScalarOp : uint8_t {
#define SLUICE_SCALAR(name, text, operands, result, cost) k##name,
#include "common/loop/scalar.def"
#undef SLUICE_SCALAR
};

enum class ScalarResult : uint8_t { kSame, kBool, kCast };
enum class CostClass : uint8_t { kSimple, kDivide, kTranscendental };

struct ScalarRow {
  ScalarOp op;
  std::string_view text;
  int operands;
  ScalarResult result;
  CostClass cost;
};

const ScalarRow& scalar_row(ScalarOp op);
std::optional<ScalarOp> scalar_from_text(std::string_view text);
// Returns true when an instruction can have operands of this dtype: for select the second and the
// third; for cast any, as for its result.
bool takes_dtype(ScalarOp op, DType dtype);
// Returns true when an instruction may set the fault of the launch. dtype: of its operands.
bool may_fault(ScalarOp op, DType dtype);

}  // namespace sluice::loop
