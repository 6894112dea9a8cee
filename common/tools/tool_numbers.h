// Options of the inspection tools that are numbers. Error: kBadOption, which names the accepted
// values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "common/base/command_line.h"
#include "common/base/result.h"

namespace sluice {

// Parses "NAME=SIZE", where NAME may contain any text. Error: kBadOption of --dim.
Result<std::pair<std::string, int64_t>> named_size(const std::string& text);
Result<uint64_t> whole_number(const CommandLine& line, const char* option,
                              uint64_t maximum = UINT64_MAX);
Result<double> number_from_0(const CommandLine& line, const char* option);
Result<double> number_from_0_to(const CommandLine& line, const char* option, double maximum);

}  // namespace sluice
