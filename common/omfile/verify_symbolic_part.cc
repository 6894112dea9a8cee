// Checks the fields that a symbolic part is bound from: buffers, distances and views.
#include <algorithm>

#include "common/omfile/verify_model.h"

namespace sluice {

Result<void> verify_symbolic_part(const pb::ModelDef& model, const pb::PartDef& def) {
  const pb::FixedPart& part = def.fixed();
  const pb::SymbolicPart& symbolic = def.symbolic();
  const int buffers = symbolic.buffer_first_size();
  const int offsets = symbolic.buffer_offset_size();
  const bool columns_agree = symbolic.value_buffer_size() == part.value_type_size() &&
                             symbolic.buffer_last_size() == buffers;
  if (!columns_agree || (offsets != 0 && offsets != buffers))
    return make_error(ErrorCode::kBadCompiledModel,
                      "the columns that describe buffers differ in length");
  for (int v = 0; v < part.value_type_size(); ++v) {
    const uint32_t buffer = symbolic.value_buffer(v);
    const bool is_in_arena = part.value_region(v) == pb::REGION_ARENA;
    if (buffer == kAbsentId ? is_in_arena
                            : !is_in_arena || buffer >= static_cast<uint32_t>(buffers))
      return make_error(ErrorCode::kBadCompiledModel, "value {} lies in buffer {} of {}", v, buffer,
                        buffers);
  }
  const auto is_value = [&](uint32_t value) {
    return value < static_cast<uint32_t>(part.value_type_size());
  };
  const int distances = symbolic.value_distance_size();
  const bool distances_exist =
      (distances == 0 || distances == part.value_type_size()) &&
      std::all_of(symbolic.value_distance().begin(), symbolic.value_distance().end(),
                  [&](uint32_t expression) {
                    return expression <= static_cast<uint32_t>(model.sizes().expression_op_size());
                  });
  if (!distances_exist)
    return make_error(ErrorCode::kBadCompiledModel,
                      "the column of distances differs in length or names no expressions");
  const bool views_exist =
      symbolic.view_value_size() == symbolic.view_of_size() &&
      std::all_of(symbolic.view_value().begin(), symbolic.view_value().end(), is_value) &&
      std::all_of(symbolic.view_of().begin(), symbolic.view_of().end(), is_value);
  if (!views_exist)
    return make_error(ErrorCode::kBadCompiledModel,
                      "the columns that describe views name no values");
  for (int i = 0; i < buffers; ++i) {
    if (symbolic.buffer_first(i) > symbolic.buffer_last(i))
      return make_error(ErrorCode::kBadCompiledModel, "buffer {} ends before it begins", i);
  }
  return {};
}

}  // namespace sluice
