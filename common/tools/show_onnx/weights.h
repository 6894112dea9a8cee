// Which constants of a model that runs are initializers, and which are computed by nodes.
#pragma once

#include <vector>

#include "common/ir/module.h"

namespace sluice {

// Constants with more bytes than this are written behind the model, not within its message.
inline constexpr uint64_t kStreamedBytes = kSmallSegmentBytes;

// A constant expression is evaluated unless the file grew by that: W^T takes the place of W, but
// the floats of integers that are dequantized are four times their bytes, and a weight that
// something else reads too would be there twice. In all a file may grow by a twentieth.
class Weights {
 public:
  explicit Weights(const Module& module);

  // Returns true for a constant whose elements are written. Others are computed: expressions, and
  // splats, which are a ConstantOfShape.
  bool is_written(SegmentId id) const { return written_[static_cast<size_t>(id)]; }

 private:
  void count_uses(const Module& module);
  void count_constants(const Module& module, const Graph& graph);
  void count_use(const Module& module, SegmentId id);
  uint64_t bytes_instead_of(const Module& module, SegmentId id) const;
  void choose(const Module& module, SegmentId id);

  std::vector<uint32_t> uses_;    // by segment, from graphs and from expressions that are used
  std::vector<bool> written_;     // by segment
  std::vector<uint64_t> stored_;  // by segment, the bytes in the file that only it needs
  std::vector<bool> is_chosen_;   // by segment
  uint64_t budget_ = 0;           // by which the file may still grow
};

// Returns true for the dtypes of ConstantOfShape.
bool has_constant_of_shape(DType dtype);

}  // namespace sluice
