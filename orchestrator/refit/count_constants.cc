#include "orchestrator/refit/count_constants.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace sluice {
namespace {

constexpr uint32_t kNoOperand = UINT32_MAX;

// The constants of both models that tasks read in the same place.
struct Pair {
  uint64_t made, base;  // offsets in the weights
  auto operator<=>(const Pair&) const = default;
};
using Bytes = std::map<Pair, uint64_t>;

void collect(const pb::FixedPart& base, const pb::FixedPart& made, Bytes& pairs) {
  for (int i = 0; i < made.operand_size(); ++i) {
    const auto value = static_cast<int>(made.operand(i));
    if (made.operand(i) == kNoOperand || made.value_region(value) != pb::REGION_WEIGHTS) continue;
    const uint64_t before = base.value_offset(static_cast<int>(base.operand(i)));
    uint64_t& bytes = pairs[{made.value_offset(value), before}];
    bytes = std::max(bytes, made.value_bytes(value));
  }
}

}  // namespace

ConstantCounts count_constants(const OmFile& base, const OmFile& made) {
  const auto base_weights = base.segment(pb::SEGMENT_WEIGHTS),
             made_weights = made.segment(pb::SEGMENT_WEIGHTS);
  Bytes pairs;
  for (int i = 0; i < made.model->parts_size(); ++i)
    collect(base.model->parts(i).fixed(), made.model->parts(i).fixed(), pairs);
  std::map<uint64_t, bool> is_changed;  // by offset in the weights of the new model
  uint64_t end = 0;
  for (const auto& [pair, bytes] : pairs) {
    bool& changed = is_changed[pair.made];
    changed = changed || std::memcmp(base_weights.data() + pair.base,
                                     made_weights.data() + pair.made, bytes) != 0;
    end = std::max(
        end, (pair.made + bytes + kOmValueAlignment - 1) / kOmValueAlignment * kOmValueAlignment);
  }
  ConstantCounts counts;
  for (const auto& [offset, changed] : is_changed) ++(changed ? counts.changed : counts.kept);
  counts.are_all = end == made_weights.size();
  return counts;
}

}  // namespace sluice
