#include "common/base/work.h"

#include <atomic>

namespace sluice {
namespace {

constexpr std::array<std::string_view, kWorkCount> kNames = {
#define SLUICE_WORK(enumerator, name, sentence) name,
#include "common/base/work.def"
#undef SLUICE_WORK
};

std::array<std::atomic<uint64_t>, kWorkCount> counters;  // zero at start

}  // namespace

std::string_view work_name(Work work) { return kNames[static_cast<size_t>(work)]; }

void add_work(Work work, uint64_t count) {
  counters[static_cast<size_t>(work)].fetch_add(count, std::memory_order_relaxed);
}

WorkCounts work_done() {
  WorkCounts counts{};
  for (size_t i = 0; i < kWorkCount; ++i) counts[i] = counters[i].load(std::memory_order_relaxed);
  return counts;
}

WorkCounts work_since(const WorkCounts& before) {
  WorkCounts counts = work_done();
  for (size_t i = 0; i < kWorkCount; ++i) counts[i] -= before[i];
  return counts;
}

}  // namespace sluice
