// What the tests of planners share: random buffers, public instances, and a check of plans that
// shares no code with the planners.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "stages/build/memory/planners/planners.h"

namespace sluice {

inline bool overlap(const Buffer& a, uint64_t a_offset, const Buffer& b, uint64_t b_offset) {
  const bool together = a.first <= b.last && b.first <= a.last;
  return together && a_offset < b_offset + b.bytes && b_offset < a_offset + a.bytes;
}

// Returns the maximum of live bytes over all tasks, counted task by task.
inline uint64_t count_live(const std::vector<Buffer>& buffers) {
  uint64_t maximum = 0;
  for (const Buffer& at : buffers) {  // the maximum begins with some buffer
    uint64_t live = 0;
    for (const Buffer& buffer : buffers)
      live += buffer.first <= at.first && at.first <= buffer.last ? buffer.bytes : 0;
    maximum = std::max(maximum, live);
  }
  return maximum;
}

inline void expect_valid(const std::vector<Buffer>& buffers, const OffsetPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    ASSERT_LE(plan.offsets[i] + buffers[i].bytes, plan.arena_bytes) << "buffer " << i;
    for (size_t j = i + 1; j < buffers.size(); ++j) {
      ASSERT_FALSE(overlap(buffers[i], plan.offsets[i], buffers[j], plan.offsets[j]))
          << "buffers " << i << " and " << j;
    }
  }
}

inline std::vector<Buffer> random_buffers(std::mt19937& random, size_t count, int64_t tasks,
                                          int64_t longest) {
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < count; ++i) {
    const auto first = static_cast<int64_t>(random() % static_cast<uint32_t>(tasks));
    const auto last = std::min<int64_t>(
        tasks - 1, first + static_cast<int64_t>(random() % static_cast<uint32_t>(longest)));
    buffers.push_back({first, last, 64 * (random() % 5 == 0 ? 0 : 1 + random() % 100)});
  }
  return buffers;
}

// Reads rows `id,lower,upper,size`; upper is exclusive.
inline std::vector<Buffer> read_instance(const std::filesystem::path& path) {
  std::vector<Buffer> buffers;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream row(line);
    std::string id;
    char comma = 0;
    Buffer buffer;
    std::getline(row, id, ',');
    row >> buffer.first >> comma >> buffer.last >> comma >> buffer.bytes;
    --buffer.last;
    buffers.push_back(buffer);
  }
  return buffers;
}

// Returns the public instances that are here, by name.
inline std::vector<std::pair<std::string, std::vector<Buffer>>> public_instances() {
  std::vector<std::pair<std::string, std::vector<Buffer>>> found;
  for (const char* name : {"A", "B", "C", "D"}) {
    const std::filesystem::path path = std::filesystem::path(SLUICE_SOURCE_DIR) / ".." / "shared" /
                                       "minimalloc" / (std::string(name) + ".1048576.csv");
    if (std::filesystem::exists(path)) found.emplace_back(name, read_instance(path));
  }
  return found;
}

}  // namespace sluice
