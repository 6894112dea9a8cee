#include "common/verify/findings.h"

namespace sluice::verifying {

Result<void> Findings::result(std::string_view what) const {
  if (count_ == 0) return {};
  if (count_ == 1) return make_error(ErrorCode::kVerifyFailed, "{}: {}", what, lines_[0]);
  std::string text;
  for (const std::string& line : lines_) text += "\n  " + line;
  if (count_ > lines_.size()) text += fmt::format("\n  and {} more", count_ - lines_.size());
  return make_error(ErrorCode::kVerifyFailed, "{}: {} findings:{}", what, count_, text);
}

std::string value_label(const Value& value) {
  const std::string name = value.name().empty() ? fmt::format("%{}", value.id()) : value.name();
  return fmt::format("value '{}' of {}", name, graph_label(value.graph()));
}

std::string graph_label(const Graph& graph) {
  return graph.name().empty() ? fmt::format("graph {}", graph.id())
                              : fmt::format("graph '{}'", graph.name());
}

bool types_fit(const Module& module, TypeId a_id, TypeId b_id) {
  if (a_id == b_id) return true;
  const Type& a = module.type(a_id);
  const Type& b = module.type(b_id);
  if (a.kind == TypeKind::kUnknown || b.kind == TypeKind::kUnknown) return true;
  if (a.kind != b.kind || a.dtype != b.dtype) return false;
  if (a.kind != TypeKind::kTensor) return types_fit(module, a.element, b.element);
  if (!a.ranked || !b.ranked) return true;
  if (a.dims.size() != b.dims.size()) return false;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i].is_fixed() && b.dims[i].is_fixed() && a.dims[i].value != b.dims[i].value)
      return false;
  }
  return true;
}

}  // namespace sluice::verifying
