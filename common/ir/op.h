// The names of ops. Numbers are internal: files contain the names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

enum class Op : uint16_t {
#define SLUICE_OP(name, domain) k##name,
#include "common/ir/op.def"
#undef SLUICE_OP
};

enum class Domain : uint8_t { kOnnx, kMl, kSluice };

// The attribute of Op::kForeign that names the operator: "com.acme::Gelu".
inline constexpr std::string_view kForeignName = "foreign";

int op_count();
std::string_view op_name(Op op);
Domain op_domain(Op op);
std::optional<Op> op_from_name(std::string_view name);

}  // namespace sluice
