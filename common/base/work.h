// Work counters: how much a process did, for --stats and for the tests of growth. Counted where the
// work is done, never read by it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

enum class Work : uint8_t {
#define SLUICE_WORK(enumerator, name, sentence) enumerator,
#include "common/base/work.def"
#undef SLUICE_WORK
};

inline constexpr size_t kWorkCount = 0
#define SLUICE_WORK(enumerator, name, sentence) +1
#include "common/base/work.def"
#undef SLUICE_WORK
    ;

// By Work.
using WorkCounts = std::array<uint64_t, kWorkCount>;

std::string_view work_name(Work work);

// Any thread may add. A sum does not depend on the order, so not on the number of threads.
void add_work(Work work, uint64_t count = 1);

// Of this process so far.
WorkCounts work_done();

// What was added since `before`.
WorkCounts work_since(const WorkCounts& before);

}  // namespace sluice
