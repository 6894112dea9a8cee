// The options that set the limits of a sandbox.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/sandbox/sandbox.h"

namespace sluice {

// Returns a sandbox of these limits, without files. text: returns the value of --sandbox-memory and
// its like, empty when it is not given. Errors: kBadOption.
Result<Sandbox> sandbox_of_options(const std::function<std::string(std::string_view name)>& text);

// Lets a stage put constants into the store, unless that cannot be written: their names are their
// digests, so whoever reads them finds what is damaged.
void allow_constants(const std::string& store, Sandbox& sandbox);

// Returns the error of a job that went beyond a limit: "more than the 60 s of processor time that
// --sandbox-seconds allows".
Error limit_error(std::string_view who, uint64_t limit, std::string_view unit,
                  std::string_view option);
Error memory_limit_error(std::string_view who, const Sandbox& sandbox);
Error time_limit_error(std::string_view who, const Sandbox& sandbox);
Error clock_limit_error(std::string_view who, const Sandbox& sandbox);
Error file_limit_error(std::string_view who, const Sandbox& sandbox);

// A job may wait for others, and for a processor: this many times its processor time.
inline constexpr uint64_t kClockFactor = 5;

}  // namespace sluice
