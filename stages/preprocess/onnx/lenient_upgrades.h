// Adapters of forms that ONNX does not allow and ONNX Runtime takes, each with a warning: rows of
// the table in upgrade.cc (docs/operators.md, "What breaks the standard and is accepted").
#pragma once

#include "stages/preprocess/onnx/upgrade.h"

namespace sluice {

// RNN, GRU, LSTM: names of activations in any case.
Result<void> name_activations(UpgradeCall& call);
// Split: the last outputs are absent.
Result<void> add_last_pieces(UpgradeCall& call);
// Squeeze: an empty list of axes, for which ONNX's reference squeezes no dim and ONNX Runtime all
// of extent 1; files with such a list were made for it.
Result<void> squeeze_all(UpgradeCall& call);

}  // namespace sluice
