// --stats: what each pass did, as a PassStats message, or as JSON when the file is called *.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/files.h"
#include "common/base/result.h"
#include "common/pass/pass.h"
#include "control.pb.h"

namespace sluice {

pb::PassStats stats_message(std::string_view stage, const std::vector<PassReport>& reports, double seconds);

// Made before the stage begins, so that a file that cannot be written is an error before there is any output.
class StatsFile {
 public:
  static Result<StatsFile> create(const std::string& path);  // empty: none
  // seconds: of the whole stage, reading and writing included.
  Result<void> write(std::string_view stage, const std::vector<PassReport>& reports, double seconds);

 private:
  StatsFile(std::optional<FileWriter> writer, bool is_json) : writer_(std::move(writer)), is_json_(is_json) {}
  std::optional<FileWriter> writer_;
  bool is_json_ = false;
};

}  // namespace sluice
