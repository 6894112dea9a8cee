// --stats: a report of each pass, as JSON (docs/statistics.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/files.h"
#include "common/base/result.h"
#include "common/pass/pass.h"

namespace sluice {

// Wall-clock seconds of one run of a stage.
struct StageTimes {
  double total = 0;
  double waiting = 0;  // for the first byte on standard input
  double reading = 0;
  double work = 0;
  double writing = 0;
  uint64_t reading_visits = 0;
  uint64_t writing_visits = 0;
};

// Created before the stage begins, so that a file that cannot be written is an error before there
// is any output.
class StatsFile {
 public:
  static Result<StatsFile> create(const std::string& path);  // empty: none
  Result<void> write(std::string_view stage, const std::vector<PassReport>& reports,
                     const StageTimes& times);

 private:
  explicit StatsFile(std::optional<FileWriter> writer) : writer_(std::move(writer)) {}
  std::optional<FileWriter> writer_;
};

}  // namespace sluice
