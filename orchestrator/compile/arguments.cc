#include "orchestrator/compile/arguments.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "common/base/options.h"
#include "fmt/format.h"

namespace sluice {
namespace {

// The other options go to all stages, or by their kind to the first.
constexpr std::string_view kHandled[] = {"dump-dir", "stats", "passes", "skip", "segments", "model"};

}  // namespace

Result<CompileRequest> request_from(const CommandLine& line) {
  CompileRequest request{.input = line.text("<in>"),
                         .output = line.text("-o"),
                         .passes = line.list("--passes"),
                         .skip = line.list("--skip"),
                         .segments = line.text("--segments"),
                         .model = line.text("--model"),
                         .dump_dir = line.text("--dump-dir"),
                         .stats = line.text("--stats"),
                         .quiet = line.flag("--quiet"),
                         .error_json = line.text("--error-format") == "json"};
  for (const OptionRow& row : option_table()) {
    for (const std::string& value : line.list(fmt::format("--{}", row.name))) SLUICE_TRY(check_option_value(row, value));
    if (std::find(std::begin(kHandled), std::end(kHandled), row.name) != std::end(kHandled)) continue;
    const std::string name = "--" + std::string(row.name);
    auto& arguments = row.kind == OptionKind::kManner ? request.manner : request.meaning;
    const std::vector<std::string>& values = line.list(name);
    if (row.name == "dim") {
      for (const std::string& value : values) arguments.push_back(name + "=" + value);
    } else if (!values.empty()) {
      arguments.push_back(fmt::format("{}={}", name, fmt::join(values, ";")));
    }
  }
  return request;
}

}  // namespace sluice
