#include "common/pass/choose_passes.h"

#include <algorithm>
#include <optional>

#include "common/base/pass_switches.h"

namespace sluice {
namespace {

PassLevel highest_level(const Options& options) {
  const std::string level = options.text("opt-level");
  return level == "O0" ? PassLevel::kO0 : level == "O1" ? PassLevel::kO1 : PassLevel::kO3;
}

const Pass* find_pass(std::span<const Pass> passes, std::string_view name) {
  const auto found = std::find_if(passes.begin(), passes.end(),
                                  [&](const Pass& pass) { return pass.name == name; });
  return found == passes.end() ? nullptr : &*found;
}

Error unknown_pass(std::span<const Pass> passes, std::string_view option, std::string_view name) {
  std::string names;
  for (const Pass& pass : passes) names += (names.empty() ? "" : ", ") + std::string(pass.name);
  return make_error(ErrorCode::kBadOption,
                    "--{} names the pass '{}', which this stage does not have", option, name)
      .with_hint("its passes are " + names);
}

// What switches say of a pass: nothing when `is_on` is empty.
struct Verdict {
  std::optional<bool> is_on;
  std::string_view option;  // that has the switch; empty for ALL
};

// One option that switches passes.
struct SwitchSource {
  std::string_view option;
  PassSwitches switches;

  Verdict of(const Pass& pass) const {
    if (const auto own = switches.find(pass.name); own != switches.end())
      return {own->second, option};
    const auto all = switches.find(kAllPasses);
    if (all == switches.end() || (!all->second && pass.level != PassLevel::kO3)) return {};
    return {all->second, {}};
  }
};

// All of them, the one that wins first.
using SwitchSources = std::vector<SwitchSource>;

Result<SwitchSources> switch_sources(const Options& options) {
  SwitchSources sources;
  SLUICE_ASSIGN(PassSwitches own, parse_switch_list(options.text("optimization-switch")));
  sources.emplace_back("optimization-switch", std::move(own));
  auto file = parse_switch_lines(options.text("fusion-switch-file"));
  if (!file) {
    return make_error(ErrorCode::kBadFile, "the graph carries --fusion-switch-file: {}",
                      file.error().message);
  }
  sources.emplace_back("fusion-switch-file", *std::move(file));
  return sources;
}

Verdict verdict_of(const SwitchSources& sources, const Pass& pass) {
  for (const SwitchSource& source : sources)
    if (const Verdict verdict = source.of(pass); verdict.is_on) return verdict;
  return {};
}

bool is_listed(const std::vector<std::string>& names, const Pass& pass) {
  return std::ranges::find(names, pass.name) != names.end();
}

Error contrary_to_skip(const Verdict& verdict, const Pass& pass) {
  return make_error(ErrorCode::kBadOption, "--{} turns '{}' on and --skip leaves it out",
                    verdict.option, pass.name)
      .with_hint("leave out one of the two");
}

Result<std::vector<const Pass*>> passes_by_level(std::span<const Pass> passes,
                                                 const std::vector<std::string>& skip,
                                                 const Options& options) {
  const PassLevel highest = highest_level(options);
  SLUICE_ASSIGN(const SwitchSources sources, switch_sources(options));
  std::vector<const Pass*> chosen;
  for (const Pass& pass : passes) {
    const Verdict verdict = verdict_of(sources, pass);
    const bool is_skipped = is_listed(skip, pass);
    if (is_skipped && verdict.is_on.value_or(false) && !verdict.option.empty())
      return contrary_to_skip(verdict, pass);
    if (!is_skipped && verdict.is_on.value_or(pass.level <= highest)) chosen.push_back(&pass);
  }
  return chosen;
}

// Checks that no other option names a pass: --passes says exactly what runs.
Result<void> check_alone(std::span<const Pass> passes, const Options& options) {
  const std::string hint = "leave it out of --passes: " + options.text("passes");
  if (const std::string skip = options.text("skip"); !skip.empty()) {
    return make_error(ErrorCode::kBadOption,
                      "--skip leaves out '{}' beside --passes, which says exactly what runs", skip)
        .with_hint(hint);
  }
  SLUICE_ASSIGN(const SwitchSources sources, switch_sources(options));
  for (const Pass& pass : passes) {
    const std::string_view option = verdict_of(sources, pass).option;
    if (option.empty()) continue;
    return make_error(ErrorCode::kBadOption,
                      "--{} has '{}' beside --passes, which says exactly what runs", option,
                      pass.name)
        .with_hint(hint);
  }
  return {};
}

Result<std::vector<const Pass*>> exact_passes(std::span<const Pass> passes,
                                              const std::vector<std::string>& names) {
  std::vector<const Pass*> chosen;
  for (const std::string& name : names) {
    const Pass* pass = find_pass(passes, name);
    if (pass == nullptr) return unknown_pass(passes, "passes", name);
    chosen.push_back(pass);
  }
  return chosen;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

}  // namespace

Result<std::vector<const Pass*>> choose_passes(std::span<const Pass> passes,
                                               const Options& options) {
  const std::vector<std::string> skip = options.list("skip");
  for (const std::string& name : skip) {
    if (find_pass(passes, name) == nullptr) return unknown_pass(passes, "skip", name);
  }
  const std::vector<std::string> exact = options.list("passes");
  if (exact.empty()) return passes_by_level(passes, skip, options);
  SLUICE_TRY(check_alone(passes, options));
  return exact_passes(passes, exact);
}

Result<size_t> stop_index(std::span<const Pass> passes, const std::vector<const Pass*>& chosen,
                          const Options& options) {
  const std::string step = options.text("stop-after");
  if (step.empty()) return chosen.size();
  if (std::all_of(step.begin(), step.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    SLUICE_ASSIGN(const int64_t number,
                  options.integer("stop-after", 1, static_cast<int64_t>(chosen.size())));
    return static_cast<size_t>(number);
  }
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]->name == step) return i + 1;
  }
  if (find_pass(passes, step) == nullptr) return unknown_pass(passes, "stop-after", step);
  return make_error(ErrorCode::kBadOption,
                    "--stop-after names the pass '{}', which these options leave out", step)
      .with_hint("--opt-level, --passes, --skip and switches choose what runs");
}

Result<size_t> resume_index(const Module& module, std::span<const Pass> passes,
                            const std::vector<std::string>& chosen, size_t stop) {
  if (!module.is_mid_stage()) return size_t{0};
  const bool is_ours =
      std::all_of(module.passes.begin(), module.passes.end(), [&](const std::string& name) {
        return find_pass(passes, name) != nullptr || name.find('@') != name.npos;
      });
  if (module.passes != chosen) {
    return make_error(
               ErrorCode::kBadOption,
               "the graph stopped {}after {} of these passes:\n  {}\n  here the passes are: {}",
               is_ours ? "" : "in another stage, ", module.passes_done, listed(module.passes),
               listed(chosen))
        .with_hint(is_ours ? "give the options that it was written with, and the same files of "
                             "--rules and --pass, or begin with the graph that the stage read"
                           : "give it to the stage that wrote it");
  }
  if (stop >= module.passes_done) return module.passes_done;
  return make_error(ErrorCode::kBadOption,
                    "--stop-after is {}, and the graph has been through {} passes", stop,
                    module.passes_done);
}

}  // namespace sluice
