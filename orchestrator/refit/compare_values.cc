#include "orchestrator/refit/compare_values.h"

#include <algorithm>

#include "common/omfile/om_types.h"
#include "fmt/format.h"

namespace sluice {
namespace {

constexpr uint32_t kNoValue = UINT32_MAX;

template <typename Column>
bool equal_columns(const Column& a, const Column& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool is_constant(const pb::FixedPart& part, uint32_t value) {
  return part.value_region(static_cast<int>(value)) == pb::REGION_WEIGHTS;
}

}  // namespace

bool same_type(const pb::ModelDef& base_model, uint32_t base, const pb::ModelDef& made_model,
               uint32_t made) {
  const pb::TypeDef &a = base_model.types(static_cast<int>(base)),
                    &b = made_model.types(static_cast<int>(made));
  if (a.kind() != b.kind() || a.dtype() != b.dtype()) return false;
  if (a.kind() != pb::VALUE_TENSOR)
    return same_type(base_model, a.element(), made_model, b.element());
  return a.unranked() == b.unranked() && equal_columns(a.dims(), b.dims()) &&
         equal_columns(a.dim_names(), b.dim_names()) && equal_columns(a.dim_low(), b.dim_low()) &&
         equal_columns(a.dim_high(), b.dim_high()) &&
         equal_columns(a.dim_divisor(), b.dim_divisor()) &&
         equal_columns(a.dim_expression(), b.dim_expression());
}

ValueComparison::ValueComparison(const pb::ModelDef& base_model, const pb::FixedPart& base,
                                 const pb::ModelDef& made_model, const pb::FixedPart& made)
    : base_model_(base_model),
      base_(base),
      made_model_(made_model),
      made_(made),
      made_names_(made),
      made_of_(static_cast<size_t>(base.value_type_size()), kNoValue),
      base_of_(static_cast<size_t>(made.value_type_size()), kNoValue) {}

std::string ValueComparison::compare_operands(int t) {
  const auto first = [t](const pb::FixedPart& part) {
    return static_cast<int>(t == 0 ? 0 : part.task_operand_end(t - 1));
  };
  const int count = static_cast<int>(base_.task_operand_end(t)) - first(base_);
  for (int i = 0; i < count; ++i) {
    const uint32_t base = base_.operand(first(base_) + i), made = made_.operand(first(made_) + i);
    if (std::string text = compare(base, made); !text.empty()) return text;
  }
  return {};
}

std::string ValueComparison::compare(uint32_t base, uint32_t made) {
  if (base == kNoValue || made == kNoValue)
    return base == made ? "" : "an operand that may be left out is there in one of both only";
  const std::string& name = made_names_[made];
  const int a = static_cast<int>(base), b = static_cast<int>(made);
  if (!same_type(base_model_, base_.value_type(a), made_model_, made_.value_type(b)))
    return fmt::format("'{}' is {}, expected {}", name, type_text(made_model_, made_.value_type(b)),
                       type_text(base_model_, base_.value_type(a)));
  if (is_constant(base_, base) != is_constant(made_, made))
    return fmt::format("'{}' is {}", name,
                       is_constant(made_, made) ? "a constant, expected one that is computed"
                                                : "computed, expected a constant");
  if (!is_same_storage(a, b) || !is_same_capacity(a, b))
    return fmt::format("'{}' is stored otherwise", name);
  return are_paired(base, made) ? "" : fmt::format("'{}' is another value", name);
}

bool ValueComparison::are_paired(uint32_t base, uint32_t made) {
  if (is_constant(base_, base)) return true;
  if (base_.value_region(static_cast<int>(base)) != made_.value_region(static_cast<int>(made)))
    return false;
  if (made_of_[base] == kNoValue && base_of_[made] == kNoValue) {
    made_of_[base] = made;
    base_of_[made] = base;
  }
  return made_of_[base] == made && base_of_[made] == base;
}

bool ValueComparison::is_same_storage(int base, int made) const {
  const uint32_t a = base_.value_storage(base), b = made_.value_storage(made);
  if (a == 0 || b == 0) return a == b;
  const pb::StorageDef &x = base_model_.storages(static_cast<int>(a) - 1),
                       &y = made_model_.storages(static_cast<int>(b) - 1);
  return equal_columns(x.dim(), y.dim()) && equal_columns(x.divisor(), y.divisor()) &&
         equal_columns(x.modulus(), y.modulus());
}

bool ValueComparison::is_same_capacity(int base, int made) const {
  const auto capacity = [](const pb::FixedPart& part, int value) {
    return value < part.value_capacity_size() ? part.value_capacity(value) : 0;
  };
  const uint32_t a = capacity(base_, base), b = capacity(made_, made);
  if (a == 0 || b == 0) return a == b;
  return same_type(base_model_, a - 1, made_model_, b - 1);
}

std::string ValueComparison::compare_pieces() {
  bool is_same = base_.piece_value_size() == made_.piece_value_size() &&
                 base_.alias_value_size() == made_.alias_value_size();
  for (int i = 0; is_same && i < base_.piece_value_size(); ++i) {
    is_same = compare(base_.piece_of(i), made_.piece_of(i)).empty() &&
              compare(base_.piece_value(i), made_.piece_value(i)).empty();
  }
  for (int i = 0; is_same && i < base_.alias_value_size(); ++i) {
    is_same = base_.alias_after_task(i) == made_.alias_after_task(i) &&
              compare(base_.alias_value(i), made_.alias_value(i)).empty();
  }
  return is_same ? "" : "a Concat, Split or view puts values into other places";
}

}  // namespace sluice
