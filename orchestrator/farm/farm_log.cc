#include "orchestrator/farm/farm_log.h"

#include <chrono>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/readable_text.h"
#include "fmt/chrono.h"

namespace sluice {

void FarmLog::write(std::string_view kind, std::string_view event,
                    std::initializer_list<Field> fields) const {
  const auto now = std::chrono::system_clock::now();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - seconds).count();
  const std::string time = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), ms);
  if (is_json_) {
    Json line;
    line.set("time", time);
    line.set("program", program_);
    line.set("level", kind);
    line.set("event", event);
    for (const auto& [name, value] : fields) line.set(std::string(name), value);
    return log_text(json_dump(line) + "\n");
  }
  std::string text =
      fmt::format("{} {}: {}{}", time, program_, kind == "warning" ? "warning " : "", event);
  for (const auto& [name, value] : fields)
    text += fmt::format(" {}={}", name, readable_text(value));
  log_text(text + "\n");
}

}  // namespace sluice
