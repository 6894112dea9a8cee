#include "common/ir/precision.h"

#include <array>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"none", "keep", "f32", "f16", "bf16"};

}  // namespace

std::string_view precision_name(Precision precision) {
  return kNames[static_cast<size_t>(precision)];
}

std::optional<Precision> precision_from_name(std::string_view name) {
  for (size_t i = 1; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Precision>(i);
  return std::nullopt;
}

}  // namespace sluice
