#include "stages/build/tasks/fixed.h"

#include "common/ir/module.h"
#include "common/ir/unfixed_dims.h"

namespace sluice {
namespace {

constexpr size_t kListed = 10;
constexpr uint64_t kMostValueBytes = uint64_t{1} << 47;  // what x86-64 gives a process

std::string describe(const Value& value) {
  if (value.is_constant()) return fmt::format("constant '{}'", value.name());
  return value.producer() == nullptr ? fmt::format("input '{}'", value.name())
                                     : fmt::format("{}, result '{}'", value.producer()->label(), value.name());
}

}  // namespace

Result<void> check_fixed(const Graph& root) {
  std::vector<std::string> symbolic, other, large;
  for (const Value& value : root.values()) {
    const auto bytes = value.type().dense_bytes();
    if (value.is_erased() || (bytes && *bytes <= kMostValueBytes) || (value.is_constant() && !value.is_used())) continue;
    if (value.type().is_fixed() && value.type().dtype != DType::kString) {
      large.push_back(describe(value));
      continue;
    }
    if (!value.is_used() && value.producer() != nullptr && value.type().kind == TypeKind::kUnknown) continue;
    const Type& type = value.type();
    const bool has_expression = type.is_tensor() && type.ranked && !type.has_unknown();
    (has_expression && type.dtype != DType::kString ? symbolic : other).push_back(describe(value));
  }
  const std::vector<std::string>& findings = !large.empty() ? large : symbolic.empty() ? other : symbolic;
  if (findings.empty()) return {};
  std::string text;
  for (size_t i = 0; i < std::min(findings.size(), kListed); ++i) text += "\n  " + findings[i];
  if (findings.size() > kListed) text += fmt::format("\n  … and {} more", findings.size() - kListed);
  if (!large.empty()) {
    return make_error(ErrorCode::kLimit, "{} values have more bytes than a process can address:{}", findings.size(), text)
        .with_hint("look at the shapes; sluice-show prints them");
  }
  const std::string options = unfixed_dims_hint(root.module());
  if (!symbolic.empty() && !options.empty()) {
    return make_error(ErrorCode::kDimNotFixed, "{} values have shapes that depend on the inputs; this release builds fixed shapes:{}",
                      findings.size(), text)
        .with_hint(fmt::format("fix the dims where the model is read, for example: sluice compile {}", options));
  }
  return make_error(ErrorCode::kNotBuildable, "{} values have no fixed shape or no plain elements; this release builds fixed shapes:{}",
                    findings.size(), text);
}

}  // namespace sluice
