// The rows of attributes.def as arrays, for the op table: `attribute_rows::Gemm`.
#pragma once

#include <array>

#include "common/ops/op_table.h"

namespace sluice::attribute_rows {

template <size_t N>
using Rows = std::array<AttributeRow, N>;

template <size_t A, size_t B>
constexpr Rows<A + B> operator+(const Rows<A>& base, const Rows<B>& own) {
  Rows<A + B> all{};
  for (size_t i = 0; i < A; ++i) all[i] = base[i];
  for (size_t i = 0; i < B; ++i) all[A + i] = own[i];
  return all;
}

#define SLUICE_ATTRIBUTES(set) inline constexpr auto set = std::to_array<AttributeRow>({
#define SLUICE_ATTRIBUTES_WITH(set, base) \
  inline constexpr auto set = base + std::to_array<AttributeRow>({
#define SLUICE_END \
  });
#define SLUICE_INT(name, value) {#name, AttributeKind::kInt},
#define SLUICE_FLOAT(name, value) {#name, AttributeKind::kFloat},
#define SLUICE_STRING(name, value, words) {#name, AttributeKind::kString, false, words},
#define SLUICE_INTS(name, each) {#name, AttributeKind::kInts},
#define SLUICE_FLOATS(name) {#name, AttributeKind::kFloats},
#define SLUICE_STRINGS(name) {#name, AttributeKind::kStrings},
#define SLUICE_TYPE(name) {#name, AttributeKind::kType},
#define SLUICE_TENSOR(name) {#name, AttributeKind::kSegment},
#define SLUICE_BODY(name) {#name, AttributeKind::kGraph},
#define SLUICE_REQUIRED_INT(name) {#name, AttributeKind::kInt, true},
#define SLUICE_REQUIRED_STRING(name, words) {#name, AttributeKind::kString, true, words},
#define SLUICE_REQUIRED_INTS(name) {#name, AttributeKind::kInts, true},
#define SLUICE_REQUIRED_BODY(name) {#name, AttributeKind::kGraph, true},
#include "common/ops/attributes.def"

}  // namespace sluice::attribute_rows
