// A recurrent cell as generated kernels compute it: an RNN, GRU or LSTM node without its graph.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice {

enum class ActivationKind : uint8_t {
  kAffine,
  kElu,
  kHardSigmoid,
  kLeakyRelu,
  kRelu,
  kScaledTanh,
  kSigmoid,
  kSoftplus,
  kSoftsign,
  kTanh,
  kThresholdedRelu,
};

struct CellActivation {
  ActivationKind kind = ActivationKind::kTanh;
  float alpha = 0, beta = 0;  // 0 where the kind has none
  bool operator==(const CellActivation&) const = default;
};

enum class CellKind : uint8_t { kRnn, kGru, kLstm };

// Gates are in ONNX's order: RNN has one, GRU update, reset and hidden, LSTM input, output, forget
// and cell.
struct RecurrentCell {
  CellKind kind = CellKind::kRnn;
  int64_t directions = 1;
  bool is_reverse = false;           // the first direction, where it is the only one
  bool is_batch_first = false;       // in X and in all results and states (layout 1)
  bool linear_before_reset = false;  // GRU
  bool input_forget = false;         // LSTM
  int64_t input = 1, hidden = 1;
  float clip = 0;                                        // 0: none
  std::vector<std::vector<CellActivation>> activations;  // by direction: f, g, h

  int64_t gates() const { return kind == CellKind::kRnn ? 1 : kind == CellKind::kGru ? 3 : 4; }
  // Returns the columns of the product of an input with the weights of all directions.
  int64_t columns() const { return directions * gates() * hidden; }
  // Returns whether the last gate multiplies what another gate has scaled: two products a step.
  bool has_two_phases() const { return kind == CellKind::kGru && !linear_before_reset; }
};

}  // namespace sluice
