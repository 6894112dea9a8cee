// Work counters: the amount of work of a process, for --stats and for the tests of scaling. The
// code that does the work counts it and never reads the counters.
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

// The counters, indexed by Work.
using WorkCounts = std::array<uint64_t, kWorkCount>;

std::string_view work_name(Work work);

// Adds to a counter; any thread may call it. A sum does not depend on the order of additions, so
// not on the number of threads.
void add_work(Work work, uint64_t count = 1);

// Returns the counts of this process so far.
WorkCounts work_done();

// Returns the counts added since `before`.
WorkCounts work_since(const WorkCounts& before);

}  // namespace sluice
