#include "stages/build/tasks/fixed.h"

#include "common/ir/module.h"

namespace sluice {
namespace {

constexpr size_t kListed = 10;

// "--dim batch=1 --dim seq=…": every symbol read from an input's dim that some value still depends on.
std::string dim_line(const Module& module) {
  std::string line;
  for (SymbolId id = 0; static_cast<size_t>(id) < module.expressions.symbol_count(); ++id) {
    const Symbol& symbol = module.expressions.symbol(id);
    if (symbol.origin == SymbolOrigin::kInputDim)
      line += fmt::format("{}--dim {}={}", line.empty() ? "" : " ", symbol.name, std::max<int64_t>(symbol.low, symbol.divisor));
  }
  return line;
}

std::string describe(const Value& value) {
  return value.producer() == nullptr ? fmt::format("input '{}'", value.name())
                                     : fmt::format("{}, result '{}'", value.producer()->label(), value.name());
}

}  // namespace

Result<void> check_fixed(const Graph& root) {
  std::vector<std::string> symbolic, other;
  for (const Value& value : root.values()) {
    if (value.is_erased() || value.type().dense_bytes() || (value.producer() == nullptr && !value.is_input())) continue;
    if (!value.is_used() && value.producer() != nullptr && value.type().kind == TypeKind::kUnknown) continue;
    const Type& type = value.type();
    const bool has_expression = type.is_tensor() && type.ranked && !type.has_unknown();
    (has_expression && type.dtype != DType::kString ? symbolic : other).push_back(describe(value));
  }
  const std::vector<std::string>& findings = symbolic.empty() ? other : symbolic;
  if (findings.empty()) return {};
  std::string text;
  for (size_t i = 0; i < std::min(findings.size(), kListed); ++i) text += "\n  " + findings[i];
  if (findings.size() > kListed) text += fmt::format("\n  … and {} more", findings.size() - kListed);
  const std::string line = dim_line(root.module());
  if (!symbolic.empty() && !line.empty()) {
    return make_error(ErrorCode::kDimNotFixed, "{} values have shapes that depend on the inputs; this release builds fixed shapes:{}",
                      findings.size(), text)
        .with_hint(fmt::format("fix the dims where the model is read, for example: sluice compile {}", line));
  }
  return make_error(ErrorCode::kNotBuildable, "{} values have no fixed shape or no plain elements; this release builds fixed shapes:{}",
                    findings.size(), text);
}

}  // namespace sluice
