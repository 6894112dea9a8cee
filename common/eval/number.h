// Conversions between element types and the few types that kernels compute in. Rounding is always
// half to even.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/dtype.h"
#include "common/base/float_format.h"
#include "common/base/half.h"

namespace sluice::eval {

// Reads elements [first, first + count) of a tensor of any float, integer or bool type. Packed
// elements are read from their bits. Floats read as integers are truncated; NaN and values out of
// range become the most negative i64 (i32 for targets of 32 bits, see store_doubles). Elements that
// are not numbers are read as 0 and not written: inference rejects them where it matters.
void load_doubles(DType dtype, const std::byte* data, int64_t first, int64_t count, double* into);
void load_floats(DType dtype, const std::byte* data, int64_t first, int64_t count, float* into);
// For integers and bool only; u64 is read as bits.
void load_ints(DType dtype, const std::byte* data, int64_t first, int64_t count, int64_t* into);
// Writes elements. Integers are stored modulo 2^bits, bools as "not zero". Packed targets need an
// even `first` (a multiple of four for 2 bits); bits after the last element are cleared.
void store_doubles(DType dtype, std::byte* data, int64_t first, int64_t count, const double* from,
                   const Narrowing& narrowing = {});
void store_floats(DType dtype, std::byte* data, int64_t first, int64_t count, const float* from,
                  const Narrowing& narrowing = {});
void store_ints(DType dtype, std::byte* data, int64_t first, int64_t count, const int64_t* from);

// Reads numbers as integers in the same order: equal keys for equal numbers; every NaN has the same
// key, above all others.
void load_order_keys(DType dtype, const std::byte* data, int64_t first, int64_t count,
                     int64_t* into);

// Converts all `count` elements as ONNX's Cast does: floats become integers by truncation, those of
// 4 and 2 bits by rounding half to even.
void convert(DType from, const std::byte* source, DType to, std::byte* target, int64_t count,
             const Narrowing& narrowing = {});

}  // namespace sluice::eval
