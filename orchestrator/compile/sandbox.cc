#include "orchestrator/compile/sandbox.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "common/base/files.h"
#include "common/base/log.h"
#include "common/base/options.h"
#include "common/sandbox/sandbox_options.h"

namespace sluice {
namespace {

constexpr std::string_view kOptions[] = {"sandbox-memory", "sandbox-seconds", "sandbox-file-bytes"};
constexpr std::string_view kWritten[] = {"dump-dir"};

std::string folder_of(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

Result<std::optional<Sandbox>> sandbox_asked_for(const CommandLine& line) {
  const auto name_of = [](std::string_view option) { return "--" + std::string(option); };
  bool is_asked_for = line.flag("--sandbox");
  for (const std::string_view option : kOptions)
    is_asked_for = is_asked_for || line.has(name_of(option));
  if (!is_asked_for) return std::optional<Sandbox>();
  SLUICE_ASSIGN(Sandbox sandbox, sandbox_of_options([&](std::string_view option) {
                  return line.has(name_of(option)) ? line.text(name_of(option)) : std::string();
                }));
  return std::optional<Sandbox>(std::move(sandbox));
}

void allow_model(const std::string& model, Sandbox& sandbox) {
  if (model.empty()) return;
  sandbox.readable.push_back(model);
  sandbox.readable.push_back(folder_of(model));
}

void allow_options(const std::vector<std::string>& options, Sandbox& sandbox) {
  for (const std::string& option : options) {
    const size_t equals = option.find('=');
    if (!option.starts_with("--") || equals == std::string::npos) continue;
    const std::string name = option.substr(2, equals - 2), value = option.substr(equals + 1);
    if (std::ranges::find(kWritten, name) != std::end(kWritten)) {
      sandbox.writable.push_back(value);
    } else if (name == "pass") {
      sandbox.readable.push_back(value.substr(value.find('=') + 1));
    } else if (name == "model") {
      allow_model(value, sandbox);
    } else if ((names_file(name) && name != "weights-beside" && name != "stats") ||
               name == "profile") {
      sandbox.readable.push_back(value);
    }
  }
}

void allow_job(const std::string& model, const std::vector<std::vector<std::string>>& arguments,
               StageRun& stage) {
  allow_model(model, *stage.sandbox);
  allow_options(stage.options, *stage.sandbox);
  for (const std::vector<std::string>& options : arguments) allow_options(options, *stage.sandbox);
}

Result<void> report_layers(std::string_view program, bool quiet) {
  SLUICE_ASSIGN(const Layers layers, offered_layers());
  if (quiet) return {};
  log_line(program, "sandbox", layers_text(layers));
  if (const std::string missing = missing_text(layers); !missing.empty())
    log_warning(program, "the sandbox is not whole: " + missing);
  return {};
}

}  // namespace sluice
