#include <algorithm>
#include <chrono>

#include "common/base/files.h"
#include "common/pass/pass.h"
#include "common/text/text.h"
#include "common/verify/verify.h"
#ifdef SLUICE_FAULTS
#include "common/pass/plant_fault.h"
#endif

namespace sluice {
namespace {

// Above this many nodes the debug proof of the changed bit costs too much.
[[maybe_unused]] constexpr uint64_t kProvenNodes = 20'000;

uint64_t count_nodes(const Module& module) {
  uint64_t count = 0;
  for (GraphId id = 0; id < module.graph_limit(); ++id)
    count += module.has_graph(id) ? module.graph(id).node_count() : 0;
  return count;
}

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

// Returns the passes to run by the options opt-level, passes and skip.
Result<std::vector<const Pass*>> choose_passes(std::span<const Pass> passes,
                                               const Options& options) {
  const PassLevel highest = highest_level(options);
  const std::vector<std::string> skip = options.list("skip");
  for (const std::string& name : skip) {
    if (find_pass(passes, name) == nullptr) return unknown_pass(passes, "skip", name);
  }
  std::vector<const Pass*> chosen;
  if (const std::vector<std::string> exact = options.list("passes"); !exact.empty()) {
    if (!skip.empty()) {
      return make_error(ErrorCode::kBadOption,
                        "--skip leaves out '{}' beside --passes, which says exactly what runs",
                        options.text("skip"))
          .with_hint("leave it out of --passes: " + options.text("passes"));
    }
    for (const std::string& name : exact) {
      const Pass* pass = find_pass(passes, name);
      if (pass == nullptr) return unknown_pass(passes, "passes", name);
      chosen.push_back(pass);
    }
    return chosen;
  }
  for (const Pass& pass : passes) {
    if (pass.level <= highest && std::find(skip.begin(), skip.end(), pass.name) == skip.end())
      chosen.push_back(&pass);
  }
  return chosen;
}

// Returns the index after the pass to stop after, or that of the end when the option is empty.
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
      .with_hint("--opt-level, --passes and --skip choose what runs");
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

// A file written by --stop-after is resumed at that point in its own list of passes.
Result<size_t> resume_index(const Module& module, std::span<const Pass> passes,
                            const std::vector<std::string>& chosen, size_t stop) {
  if (!module.is_mid_stage()) return size_t{0};
  const bool is_ours =
      std::all_of(module.passes.begin(), module.passes.end(),
                  [&](const std::string& name) { return find_pass(passes, name) != nullptr; });
  if (module.passes != chosen) {
    return make_error(
               ErrorCode::kBadOption,
               "the graph stopped {}after {} of these passes:\n  {}\n  here the passes are: {}",
               is_ours ? "" : "in another stage, ", module.passes_done, listed(module.passes),
               listed(chosen))
        .with_hint(is_ours ? "give the options that it was written with, or begin with the graph "
                             "that the stage read"
                           : "give it to the stage that wrote it");
  }
  if (stop >= module.passes_done) return module.passes_done;
  return make_error(ErrorCode::kBadOption,
                    "--stop-after is {}, and the graph has been through {} passes", stop,
                    module.passes_done);
}

Result<void> dump(const Module& module, const Options& options, size_t number,
                  std::string_view name) {
  const std::string folder = options.text("dump-dir");
  if (folder.empty()) return {};
  SLUICE_TRY(make_directories(folder));
  return write_text(fmt::format("{}/{}.{}.txt", folder, number, name), print_module(module));
}

Error broken_by(const Pass& pass, Error error) {
  Error broken = std::move(error).within(fmt::format("after pass {}", pass.name));
  broken.code = ErrorCode::kInternal;
  return broken;
}

// Checks after every pass, also one that reports no change, since the report may be the error.
Result<void> check_module_after(Module& module, const Pass& pass, const Options& options) {
  if (options.text("verify") != "each") return {};
  module.compact();
  auto verified = verify(module, module.level);
  return verified ? Result<void>() : broken_by(pass, std::move(verified).error());
}

Result<PassReport> run_pass(Module& module, const Pass& pass, const Options& options) {
#ifndef NDEBUG
  const bool proven = count_nodes(module) <= kProvenNodes;
  const std::string before = proven ? print_module(module) : std::string();
#endif
  WorkReport work(pass.name, count_nodes(module));
  auto result = pass.run(module.root(), options);
  if (!result) return std::move(result).error().within(std::string(pass.name));
  bool changed = *result;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    if (auto restored = module.graph(id).restore_order(); !restored)
      return broken_by(pass, std::move(restored).error());
  }
  if (changed) module.erase_unowned();
#ifdef SLUICE_FAULTS
  SLUICE_ASSIGN(const bool is_planted, plant_fault(module, pass.name));
  changed = changed || is_planted;
#endif
  PassReport report = work.done(module, changed);
#ifndef NDEBUG
  if (proven && !changed && print_module(module) != before) {
    return make_error(ErrorCode::kInternal, "pass {} changed the graph and did not say so",
                      pass.name);
  }
#endif
  return report;
}

}  // namespace

WorkReport::WorkReport(std::string_view name, uint64_t nodes_before)
    : report_{.name = name, .nodes_before = nodes_before},
      before_(work_done()),
      start_(std::chrono::steady_clock::now()) {}

PassReport WorkReport::done(const Module& module, bool changed) {
  report_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  report_.nodes_after = count_nodes(module);
  report_.changed = changed;
  report_.work = work_since(before_);
  return report_;
}

Result<std::vector<PassReport>> run_passes(Module& module, std::span<const Pass> passes,
                                           const Options& options) {
  SLUICE_ASSIGN(const std::vector<const Pass*> chosen, choose_passes(passes, options));
  SLUICE_ASSIGN(const size_t stop, stop_index(passes, chosen, options));
  std::vector<std::string> names;
  names.reserve(chosen.size());
  for (const Pass* pass : chosen) names.emplace_back(pass->name);
  SLUICE_ASSIGN(const size_t first, resume_index(module, passes, names, stop));
  std::vector<PassReport> reports;
  for (size_t i = first; i < stop; ++i) {
    SLUICE_ASSIGN(PassReport report, run_pass(module, *chosen[i], options));
    const bool is_last = i + 1 == chosen.size();  // a half-finished stage promises less
    module.passes = is_last ? std::vector<std::string>() : names;
    module.passes_done = is_last ? 0 : i + 1;
    SLUICE_TRY(check_module_after(module, *chosen[i], options));
    if (report.changed) SLUICE_TRY(dump(module, options, i + 1, report.name));
    reports.push_back(report);
  }
  return reports;
}

}  // namespace sluice
