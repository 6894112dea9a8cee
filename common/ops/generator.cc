// Ops that make tensors from shapes or numbers, random ones too.
#include <cmath>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

// Returns the dtype that an attribute names, or `fallback` when it is absent.
Result<DType> dtype_attribute(const InferCall& call, DType fallback) {
  const int64_t number =
      call.node.get(attributes::RandomNormal::dtype, static_cast<int64_t>(fallback));
  if (number < 0 || number > INT32_MAX || !dtype_is_valid(static_cast<int>(number))) {
    return call.bad_node("attribute 'dtype' names no dtype: {}", number);
  }
  return static_cast<DType>(number);
}

Result<void> infer_constant_of_shape(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kI64Set));
  SLUICE_TRY(call.expect_rank(0, 1));
  DType dtype = DType::kF32;
  if (call.node.has(attributes::ConstantOfShape::value)) {
    const SegmentId value = call.node.get(attributes::ConstantOfShape::value);
    if (value < 0) return call.bad_node("attribute 'value' contains no constant");
    const Type& type = call.module.type(call.module.segment(value).type);
    if (type.element_count() != 1) return call.bad_node("attribute 'value' has not one element");
    dtype = type.dtype;
  }
  const auto dims = call.value_dims(0);
  return call.give(0, dtype, dims ? Shape(*dims) : unknown_dims(call.dim(0, 0)));
}

// Computes max(0, ceil((limit - start) / delta)).
Dim range_size(InferCall& call) {
  const auto start = call.value_dims(0);
  const auto limit = call.value_dims(1);
  const auto delta = call.integers(2);
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 || delta->size() != 1)
    return call.result_dim(0, 0);
  const int64_t step = delta->front();
  if (step == 0 || step == INT64_MIN) return Dim::unknown();
  const Dim distance = step > 0 ? call.math.subtract(limit->front(), start->front())
                                : call.math.subtract(start->front(), limit->front());
  return call.math.maximum(call.math.ceil_divide(distance, step > 0 ? step : -step), Dim::fixed(0));
}

Result<void> infer_range(InferCall& call) {
  for (const size_t i : {0, 1, 2}) {
    SLUICE_TRY(call.expect_dtype(i, kNumericSet));
    SLUICE_TRY(call.expect_same_dtype(i, 0));
    SLUICE_TRY(call.expect_one_element(i));
  }
  const auto delta = call.reals(2);
  const auto whole = call.integers(2);
  if ((delta && delta->size() == 1 && delta->front() == 0) ||
      (whole && whole->size() == 1 && whole->front() == 0)) {
    return call.bad_shape("{} is 0", call.input_name(2));
  }
  const auto start = call.reals(0);
  const auto limit = call.reals(1);
  const bool numbers =
      start && limit && delta && start->size() == 1 && limit->size() == 1 && delta->size() == 1;
  if (!numbers) return call.give(0, call.dtype(0), Dims{range_size(call)});
  const double count = std::ceil((limit->front() - start->front()) / delta->front());
  if (!(count < 1e15)) return call.bad_shape("its result would have {} elements", count);
  return call.give(0, call.dtype(0), Dims{Dim::fixed(count > 0 ? static_cast<int64_t>(count) : 0)});
}

Result<void> infer_eye_like(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kRealSet));
  SLUICE_TRY(call.expect_rank(0, 2));
  SLUICE_ASSIGN(const DType dtype, dtype_attribute(call, call.dtype(0)));
  return call.give(0, dtype, call.shape(0));
}

// Returns the dtype of random numbers: that of the attribute, or `fallback`; it must be in `set`.
Result<DType> random_dtype(const InferCall& call, DType fallback, uint32_t set) {
  SLUICE_ASSIGN(const DType dtype, dtype_attribute(call, fallback));
  if (dtype == DType::kUndefined || (set >> static_cast<int>(dtype) & 1) != 0) return dtype;
  return call.bad_node("there are no random numbers of dtype {}", dtype_name(dtype))
      .with_hint("attribute 'dtype' chooses another one");
}

Result<void> infer_random(InferCall& call) {
  SLUICE_ASSIGN(const DType dtype, random_dtype(call, DType::kF32, kFloatSet));
  Dims dims;
  for (const int64_t dim : call.node.get(attributes::RandomNormal::shape))
    dims.push_back(Dim::fixed(dim));
  return call.give(0, dtype, std::move(dims));
}

Result<void> infer_random_like(InferCall& call) {
  SLUICE_ASSIGN(const DType dtype, random_dtype(call, call.dtype(0), kFloatSet));
  return call.give(0, dtype, call.shape(0));
}

Result<void> infer_bernoulli(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_ASSIGN(const DType dtype, random_dtype(call, call.dtype(0), kNumericSet | kBoolSet));
  return call.give(0, dtype, call.shape(0));
}

Result<void> infer_multinomial(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 2));
  SLUICE_ASSIGN(const DType dtype, random_dtype(call, DType::kI32, kIndexSet));
  const int64_t samples = call.node.get(attributes::Multinomial::sample_size);
  if (samples < 1)
    return call.bad_node("attribute 'sample_size' is {}, expected at least 1", samples);
  return call.give(0, dtype, Dims{call.dim(0, 0), Dim::fixed(samples)});
}

constexpr OpRow kGeneratorRows[] = {
    {Op::kBernoulli, 1, 1, 1, 1, kRandom, attribute_rows::Bernoulli, infer_bernoulli},
    {Op::kConstantOfShape, 1, 1, 1, 1, 0, attribute_rows::ConstantOfShape, infer_constant_of_shape},
    {Op::kEyeLike, 1, 1, 1, 1, 0, attribute_rows::EyeLike, infer_eye_like},
    {Op::kMultinomial, 1, 1, 1, 1, kRandom, attribute_rows::Multinomial, infer_multinomial},
    {Op::kRandomNormal, 0, 0, 1, 1, kRandom, attribute_rows::RandomNormal, infer_random},
    {Op::kRandomNormalLike, 1, 1, 1, 1, kRandom, attribute_rows::RandomNormalLike,
     infer_random_like},
    {Op::kRandomUniform, 0, 0, 1, 1, kRandom, attribute_rows::RandomUniform, infer_random},
    {Op::kRandomUniformLike, 1, 1, 1, 1, kRandom, attribute_rows::RandomUniformLike,
     infer_random_like},
    {Op::kRange, 3, 3, 1, 1, kDataDependent, {}, infer_range},
};

}  // namespace

std::span<const OpRow> generator_rows() { return kGeneratorRows; }

}  // namespace sluice
