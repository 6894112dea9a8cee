// Signals: Fourier transforms, windows, and linear algebra of small matrices.
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

// Returns the single number in an input, or unknown when it is not known or absent.
Dim number(InferCall& call, size_t index) {
  const auto value = call.value_dims(index);
  return value && value->size() == 1 ? value->front() : Dim::unknown();
}

Result<DType> window_dtype(const InferCall& call) {
  const int64_t named =
      call.node.get(attributes::SignalWindow::output_datatype, static_cast<int64_t>(DType::kF32));
  if (named <= 0 || named > INT32_MAX || !dtype_is_valid(static_cast<int>(named)))
    return call.bad_node("attribute 'output_datatype' is {}", named);
  return static_cast<DType>(named);
}

Result<void> infer_window(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kIndexSet));
  SLUICE_TRY(call.expect_one_element(0));
  SLUICE_ASSIGN(const DType dtype, window_dtype(call));
  return call.give(0, dtype, Dims{number(call, 0)});
}

// Infers the inputs bins, DFT length, … to [DFT length / 2 + 1, bins].
Result<void> infer_mel(InferCall& call) {
  for (size_t i = 0; i < 5; ++i) SLUICE_TRY(call.expect_dtype(i, kNumericSet));
  for (size_t i = 0; i < 5; ++i) SLUICE_TRY(call.expect_one_element(i));
  SLUICE_ASSIGN(const DType dtype, window_dtype(call));
  const Dim length = number(call, 1);
  return call.give(0, dtype,
                   Dims{call.math.add(call.math.floor_divide(length, 2), 1), number(call, 0)});
}

// Infers DFT. The last dim is 1 for real numbers, 2 for complex ones.
Result<void> infer_dft(InferCall& call) {
  for (const size_t i : {1, 2}) SLUICE_TRY(call.expect_dtype(i, kIndexSet));
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 2, INT64_MAX));
  SLUICE_TRY(call.expect_one_element(1));
  SLUICE_TRY(call.expect_one_element(2));
  const bool inverse = call.node.get(attributes::DFT::inverse) != 0;
  const bool onesided = call.node.get(attributes::DFT::onesided) != 0;
  const Shape input = call.shape(0);
  if (!input) return call.give(0, call.dtype(0), std::nullopt);
  const Dim parts_given = input->back();
  if (parts_given.is_fixed() && parts_given.value != 1 && parts_given.value != 2) {
    return call.bad_shape("the last dim of {} is {}, expected 1 (real numbers) or 2 (complex ones)",
                          call.input_name(0), parts_given.value);
  }
  const auto axes = call.has_input(2) ? call.integers(2) : std::vector<int64_t>{-2};
  Dims dims(input->size(), Dim::unknown());
  dims.back() = Dim::fixed(onesided && inverse ? 1 : 2);
  if (!axes || axes->size() != 1) return call.give(0, call.dtype(0), std::move(dims));
  SLUICE_ASSIGN(const int64_t axis, call.axis(axes->front(), rank_of(*input)));
  if (axis == rank_of(*input) - 1)
    return call.bad_shape("axis {} holds real and imaginary parts", axis);
  const Dim parts = dims.back();
  dims = *input;
  dims.back() = parts;
  Dim& length = dims[static_cast<size_t>(axis)];
  if (call.has_input(1)) {
    length = number(call, 1);
  } else if (onesided && inverse) {
    length = call.math.multiply(call.math.add(length, -1), 2);
  }
  if (onesided && !inverse) length = call.math.add(call.math.floor_divide(length, 2), 1);
  return call.give(0, call.dtype(0), std::move(dims));
}

// Infers STFT: a signal [batch, length, 1 or 2] produces [batch, frames, frequencies, 2].
Result<void> infer_stft(InferCall& call) {
  for (const size_t i : {1, 3}) SLUICE_TRY(call.expect_dtype(i, kIndexSet));
  SLUICE_TRY(call.expect_dtype(2, kFloatSet));
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 2, 3));  // 2, as PyTorch exports it: of real numbers
  SLUICE_TRY(call.expect_one_element(1));
  SLUICE_TRY(call.expect_rank(2, 1));
  SLUICE_TRY(call.expect_one_element(3));
  const Dim step = number(call, 1);
  const Dim frame = call.has_input(3) ? number(call, 3) : call.dim(2, 0);
  if (step.is_fixed() && step.value < 1)
    return call.bad_shape("{} is {}", call.input_name(1), step.value);
  const bool onesided = call.node.get(attributes::STFT::onesided) != 0;
  const Dim frames =
      call.math.add(call.math.floor_divide(call.math.subtract(call.dim(0, 1), frame), step), 1);
  const Dim frequencies = onesided ? call.math.add(call.math.floor_divide(frame, 2), 1) : frame;
  return call.give(0, call.dtype(0), Dims{call.dim(0, 0), frames, frequencies, Dim::fixed(2)});
}

Result<void> infer_det(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 2, INT64_MAX));
  const Shape input = call.shape(0);
  if (!input) return call.give(0, call.dtype(0), std::nullopt);
  SLUICE_TRY(call.unify((*input)[input->size() - 2], input->back(), "rows and columns"));
  return call.give(0, call.dtype(0), Dims(input->begin(), input->end() - 2));
}

constexpr OpRow kSignalRows[] = {
    {Op::kBlackmanWindow, 1, 1, 1, 1, 0, attribute_rows::SignalWindow, infer_window},
    {Op::kDFT, 1, 3, 1, 1, 0, attribute_rows::DFT, infer_dft},
    {Op::kDet, 1, 1, 1, 1, 0, {}, infer_det},
    {Op::kHammingWindow, 1, 1, 1, 1, 0, attribute_rows::SignalWindow, infer_window},
    {Op::kHannWindow, 1, 1, 1, 1, 0, attribute_rows::SignalWindow, infer_window},
    {Op::kMelWeightMatrix, 5, 5, 1, 1, 0, attribute_rows::MelWeightMatrix, infer_mel},
    {Op::kSTFT, 2, 4, 1, 1, 0, attribute_rows::STFT, infer_stft},
};

}  // namespace

std::span<const OpRow> signal_rows() { return kSignalRows; }

}  // namespace sluice
