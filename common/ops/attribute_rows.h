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

#include "common/ops/attribute_rows.inc"
#include "common/ops/attributes.def"

}  // namespace sluice::attribute_rows
