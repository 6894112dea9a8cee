#include <chrono>

#include "common/base/files.h"
#include "common/pass/choose_passes.h"
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

std::string_view digest_of(const Pass& pass) {
  return pass.own.run != nullptr ? pass.own.digest : pass.rules.digest;
}

// Returns the name of a pass in a graph that stops half-way: a file of a user is named with the
// beginning of its digest, so that another one of the same name does not go on.
std::string row_name(const Pass& pass) {
  constexpr size_t kDigits = 12;
  if (digest_of(pass).empty()) return std::string(pass.name);
  return fmt::format("{}@{}", pass.name, digest_of(pass).substr(0, kDigits));
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
  broken.code = pass.own.run != nullptr ? ErrorCode::kPassFailed : ErrorCode::kInternal;
  return broken;
}

// Checks after every pass, also one that reports no change, since the report may be the error.
Result<void> check_module_after(Module& module, const Pass& pass, const Options& options) {
  if (options.text("verify") != "each") return {};
  module.compact();
  auto verified = verify(module, module.level);
  return verified ? Result<void>() : broken_by(pass, std::move(verified).error());
}

Result<bool> call(Module& module, const Pass& pass, const Options& options,
                  std::vector<RuleCount>& counts) {
  if (pass.own.run != nullptr) return (*pass.own.run)(module, counts);
  if (pass.run != nullptr) return pass.run(module.root(), options);
  return pass.rules.apply(module.root(), pass.name, pass.rules.text, counts);
}

Result<PassReport> run_pass(Module& module, const Pass& pass, const Options& options) {
#ifndef NDEBUG
  // A user's own pass is proven by the bytes that it wrote.
  const bool proven = pass.own.run == nullptr && count_nodes(module) <= kProvenNodes;
  const std::string before = proven ? print_module(module) : std::string();
#endif
  WorkReport work(pass.name, count_nodes(module));
  std::vector<RuleCount> rules;
  auto result = call(module, pass, options, rules);
  if (!result) return std::move(result).error().within(std::string(pass.name));
  bool changed = *result;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    if (auto restored = module.graph(id).restore_order(); !restored)
      return broken_by(pass, std::move(restored).error());
  }
  if (changed) module.erase_unowned();
  if (changed && !digest_of(pass).empty()) {
    const char* const kind = pass.own.run != nullptr ? "pass" : "rules";
    module.options[fmt::format("{}.{}", kind, pass.name)] = digest_of(pass);
  }
#ifdef SLUICE_FAULTS
  SLUICE_ASSIGN(const bool is_planted, plant_fault(module, pass.name));
  changed = changed || is_planted;
#endif
  PassReport report = work.done(module, changed);
  report.rules = std::move(rules);
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
    : report_{.name = std::string(name), .nodes_before = nodes_before},
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
  for (const Pass* pass : chosen) names.push_back(row_name(*pass));
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
