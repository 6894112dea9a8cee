// --stats: what each pass did, as a PassStats message, or as JSON when the file is called *.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/pass/pass.h"

namespace sluice {

// path empty: nothing to do. seconds: of the whole stage, reading and writing included.
Result<void> write_stats(const std::string& path, std::string_view stage, const std::vector<PassReport>& reports, double seconds);

}  // namespace sluice
