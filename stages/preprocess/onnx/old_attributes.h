// Attributes of older forms of ONNX's operators that today's forms do not have, or have with
// another kind or default. upgrade_node reads and removes them; no node keeps one.
#pragma once

#include "common/ir/attribute.h"

namespace sluice::old_attributes {

// Add, Div, Mul, Sub and the like before opset 7: the dims of B stand from `axis` of A on.
inline constexpr IntAttribute axis_of_b{{"axis"}, 0};
inline constexpr IntAttribute broadcast{{"broadcast"}, 0};
// BatchNormalization before opset 9, Dropout before 7.
inline constexpr IntAttribute is_test{{"is_test"}, 0};
inline constexpr IntAttribute spatial{{"spatial"}, 1};
inline constexpr FloatAttribute ratio{{"ratio"}, 0.5F};
// Cast before opset 6: the name of a dtype.
inline constexpr StringAttribute cast_to{{"to"}, ""};
// DFT before opset 20.
inline constexpr IntAttribute dft_axis{{"axis"}, 1};
// GridSample before opset 20.
inline constexpr StringAttribute grid_mode{{"mode"}, "bilinear"};
// Pad before opset 11: the number that fills; before 2 its pads.
inline constexpr FloatAttribute pad_value{{"value"}, 0};
inline constexpr IntsAttribute paddings{{"paddings"}, 0};
// Reshape before opset 5.
inline constexpr IntsAttribute shape{{"shape"}, 0};
// RNN, GRU and LSTM before opset 7.
inline constexpr IntAttribute output_sequence{{"output_sequence"}, 0};
// Scan before opset 9.
inline constexpr IntsAttribute directions{{"directions"}, 0};
// Softmax, LogSoftmax and Hardmax before opset 13, and QLinearSoftmax of these opsets.
inline constexpr IntAttribute softmax_axis{{"axis"}, 1};
// Upsample before opset 9.
inline constexpr FloatsAttribute scales{{"scales"}};
inline constexpr FloatAttribute height_scale{{"height_scale"}, 1};
inline constexpr FloatAttribute width_scale{{"width_scale"}, 1};
// Any operator before opset 6: a hint for working in place.
inline constexpr IntsAttribute consumed_inputs{{"consumed_inputs"}, 0};

}  // namespace sluice::old_attributes
