// A hand-written model of three streams, four events and 200 launches of C++ test kernels, in which
// every event is needed:
//
//   a: ·····19─e0·····39─e1·········e2→60 ············ e3→69 → y
//   b:        └→0 ····29─e2 ············64 → z
//   c:                  └→0 ················64─e3
//
// b and c begin with values that a made; a reads b's value and overwrites the value that b began
// with (e2), and joins c (e3).
#pragma once

#include <cstdint>
#include <vector>

#include "common/omfile/testing/model_builder.h"

namespace sluice::testing {

inline constexpr int64_t kThreeStreamsElements = 256;  // u32, of every value

// Computes one element of a task's result.
inline uint32_t mix_elements(uint32_t a, uint32_t b) {
  return a * 1664525u + (b ^ (b >> 7)) + 1013904223u;
}

// Makes the model: input x, outputs y and z. Its tasks call the test kernel "mix".
pb::ModelDef make_three_streams();

// Returns y, then z, computed by running the tasks one after the other in the order they are
// listed.
std::vector<std::vector<uint32_t>> three_streams_expected(const pb::ModelDef& model,
                                                          const std::vector<uint32_t>& x);

}  // namespace sluice::testing
