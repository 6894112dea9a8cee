// The attributes by which the catalogue says, beside `_no_task`, that a Concat has no task. They
// follow from that field: a text shows them, and its reader skips them.
#pragma once

#include <string_view>

namespace sluice::text {

inline constexpr std::string_view kConcatFlags[] = {"_nopadding_continuous_input",
                                                    "_output_reuse_input"};
inline constexpr std::string_view kConcatAxis = "_reuse_input_on_dim_index";  // of dense pieces: 0
// Of what makes a piece: false, since it writes where the Concat wants it.
inline constexpr std::string_view kConcatProducer = "can_reused_for_concat_optimize";

}  // namespace sluice::text
