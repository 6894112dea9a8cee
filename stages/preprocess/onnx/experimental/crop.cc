// Crop cuts the borders (left, top, right, bottom) off an image [N, C, H, W]; with a scale (height,
// width) it takes that many rows and columns after the left and top border.
#include <algorithm>

#include "stages/preprocess/onnx/experimental/attributes.h"
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {
namespace {

using CropAttributes = experimental_attributes::Crop;

constexpr int64_t kMaxPixels = INT32_MAX;

Result<std::vector<int64_t>> pixels(const ExpandCall& call, const IntsAttribute& attribute,
                                    size_t count) {
  const std::vector<int64_t> numbers = call.get(attribute);
  const auto fits = [](int64_t n) { return n >= 0 && n <= kMaxPixels; };
  if (numbers.size() == count && std::ranges::all_of(numbers, fits)) return numbers;
  return call.bad("attribute '{}' must hold {} numbers from 0 to {}", attribute.name, count,
                  kMaxPixels);
}

// Checks that borders and scale are inside the image, where its size is known.
Result<void> check_size(const ExpandCall& call, std::string_view what, const Dim& size,
                        int64_t wanted) {
  if (!size.is_fixed() || size.value >= wanted) return {};
  return call.bad("the image's {} is {}, expected at least the {} that 'border' and 'scale' name",
                  what, size.value, wanted);
}

}  // namespace

Result<void> expand_crop(ExpandCall& call) {
  SLUICE_ASSIGN(const int64_t rank, call.rank(0));
  if (rank != 4) return call.bad("input 0 'input' has rank {}, expected 4", rank);
  SLUICE_ASSIGN(const std::vector<int64_t> border, pixels(call, CropAttributes::border, 4));
  const int64_t left = border[0];
  const int64_t top = border[1];
  const std::vector<Dim>& dims = call.input(0)->type().dims;
  SLUICE_TRY(check_size(call, "height", dims[2], top + border[3]));
  SLUICE_TRY(check_size(call, "width", dims[3], left + border[2]));
  // Without a scale this is padding by negative numbers, which cannot remove more than exists.
  if (call.get(CropAttributes::scale).empty()) {
    call.results[0] = call.add(
        Op::kPad, {call.input(0), call.ints({0, 0, -top, -left, 0, 0, -border[3], -border[2]})});
    return {};
  }
  SLUICE_ASSIGN(const std::vector<int64_t> scale, pixels(call, CropAttributes::scale, 2));
  SLUICE_TRY(check_size(call, "height", dims[2], top + scale[0]));
  SLUICE_TRY(check_size(call, "width", dims[3], left + scale[1]));
  Value* cut =
      call.add(Op::kSlice, {call.input(0), call.ints({top, left}),
                            call.ints({top + scale[0], left + scale[1]}), call.ints({2, 3})});
  // The reshape fails when the image is too small for the size.
  call.results[0] = call.reshape(cut, {0, 0, scale[0], scale[1]});
  return {};
}

}  // namespace sluice
