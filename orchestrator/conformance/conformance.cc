#include "orchestrator/conformance/conformance.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <mutex>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/parallel.h"
#include "common/base/scratch_folder.h"
#include "orchestrator/conformance/run_case.h"
#include "orchestrator/process/process.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

using Counts = std::array<int, kVerdictCount>;

// Prints each result as soon as all results before it exist, so that the lines come in the order of
// the cases.
class Printer {
 public:
  Printer(const std::vector<Case>& cases, const std::vector<CaseResult>& results, bool quiet)
      : cases_(cases), results_(results), quiet_(quiet), ended_(cases.size()) {}

  void ended(size_t i) {
    const std::lock_guard lock(mutex_);
    ended_[i] = true;
    for (; next_ < ended_.size() && ended_[next_]; ++next_) {
      if (!quiet_) print(next_);
    }
  }

 private:
  void print(size_t i) {
    const CaseResult& result = results_[i];
    std::printf("%-11s  %s", verdict_name(result.verdict), cases_[i].name.c_str());
    std::printf(result.reason.empty() ? "\n" : ": %s\n", result.reason.c_str());
    std::fflush(stdout);
  }
  const std::vector<Case>& cases_;
  const std::vector<CaseResult>& results_;
  const bool quiet_;
  std::mutex mutex_;
  std::vector<bool> ended_;
  size_t next_ = 0;
};

// Runs all cases. An interrupt kills the children; the cases not yet begun are then left out.
Result<std::vector<CaseResult>> run_all(const std::vector<Case>& cases, const Toolbox& tools,
                                        int jobs, const ConformanceRequest& request,
                                        const std::string& scratch) {
  std::vector<CaseResult> results(cases.size());
  Printer printer(cases, results, request.quiet);
  SLUICE_TRY(parallel_for(cases.size(), jobs, [&](size_t i) -> Result<void> {
    if (interrupted()) return {};
    const std::string folder = fmt::format("{}/{}", scratch, i);
    std::error_code ignored;
    std::filesystem::create_directory(folder, ignored);
    results[i] = run_case(cases[i], tools, folder);
    std::filesystem::remove_all(folder, ignored);
    if (!interrupted()) printer.ended(i);
    return {};
  }));
  return results;
}

Json json_of(const std::map<std::string, std::string>& map) {
  Json::Object object;
  for (const auto& [name, text] : map) object.emplace_back(name, text);
  return object;
}

Json json_of(const Case& test, const CaseResult& result) {
  Json json;
  json.set("name", test.name);
  json.set("verdict", verdict_name(result.verdict));
  json.set("reason", result.reason);
  json.set("max_error", result.max_error ? Json(*result.max_error) : Json());
  json.set("max_ulp", result.max_ulp ? Json(*result.max_ulp) : Json());
  json.set("engines", json_of(result.engines));
  json.set("ops", json_of(result.ops));
  json.set("ms", result.ms);
  return json;
}

Counts counts_of(const std::vector<CaseResult>& results) {
  Counts counts{};
  for (const CaseResult& result : results) ++counts[static_cast<size_t>(result.verdict)];
  return counts;
}

// Whether a node of the case ran on one of the engines.
bool ran_on(const CaseResult& result, std::initializer_list<std::string_view> engines) {
  for (const auto& [node, text] : result.engines) {
    for (const std::string_view engine : engines)
      if (("+" + text + "+").find(fmt::format("+{}+", engine)) != std::string::npos) return true;
  }
  return false;
}

struct Coverage {
  int64_t floats = 0;     // cases of floats that pass and compute something
  int64_t generated = 0;  // those of them in which generated code does all the work
};

Coverage coverage_of(const std::vector<CaseResult>& results) {
  Coverage coverage;
  for (const CaseResult& result : results) {
    if (result.verdict != Verdict::kPass || !result.is_float ||
        !ran_on(result, {"aicore", "vector", "host_cpu"}))
      continue;
    ++coverage.floats;
    coverage.generated += ran_on(result, {"host_cpu"}) ? 0 : 1;
  }
  return coverage;
}

Result<void> write_report(const std::string& path, const std::vector<Case>& cases,
                          const std::vector<CaseResult>& results) {
  const Counts counts = counts_of(results);
  Json summary;
  for (int v = 0; v < kVerdictCount; ++v)
    summary.set(verdict_name(static_cast<Verdict>(v)), counts[static_cast<size_t>(v)]);
  summary.set("total", static_cast<int64_t>(cases.size()));
  const Coverage coverage = coverage_of(results);
  summary.set("float", coverage.floats);
  summary.set("generated", coverage.generated);
  Json list{Json::Array{}};
  for (size_t i = 0; i < cases.size(); ++i) list.push(json_of(cases[i], results[i]));
  Json report;
  report.set("summary", std::move(summary));
  report.set("cases", std::move(list));
  return write_text(path, json_dump(report, 1) + "\n");
}

Result<Toolbox> find_tools(const ConformanceRequest& request) {
  Toolbox tools;
  for (const char* stage : {"sluice-preprocess", "sluice-optimize", "sluice-partition",
                            "sluice-subgraph-optimize", "sluice-build"}) {
    SLUICE_TRY(find_program(stage));
  }
  SLUICE_ASSIGN(tools.compile, find_program("sluice-compile"));
  SLUICE_ASSIGN(tools.verify, find_program("sluice-verify"));
  SLUICE_ASSIGN(tools.loader, find_program("sluice-loader"));
  tools.profile = request.profile;
  tools.opt_level = request.opt_level;
  tools.timeout = request.timeout;
  return tools;
}

}  // namespace

Result<int> run_conformance(const ConformanceRequest& request) {
  SLUICE_ASSIGN(Toolbox tools, find_tools(request));
  SLUICE_ASSIGN(const std::vector<Case> cases, find_cases(request.folder));
  if (cases.empty())
    return make_error(ErrorCode::kNoCases, "no folder below '{}' holds a model.onnx",
                      request.folder);
  SLUICE_ASSIGN(const ScratchFolder scratch, ScratchFolder::create());
  const int cores = static_cast<int>(thread_count(0));
  const int jobs =
      std::min<int>(request.jobs > 0 ? request.jobs : cores, static_cast<int>(cases.size()));
  tools.threads = std::max(1, cores / jobs);
  SLUICE_ASSIGN(const std::vector<CaseResult> results,
                run_all(cases, tools, jobs, request, scratch.path()));
  if (interrupted()) return static_cast<int>(ExitClass::kResource);
  const Counts counts = counts_of(results);
  std::printf("%zu cases: %d pass, %d fail, %d unsupported, %d crash\n", cases.size(), counts[0],
              counts[1], counts[2], counts[3]);
  if (const Coverage coverage = coverage_of(results); coverage.floats > 0)
    std::printf(
        "of %lld cases of floats %lld (%.1f %%) run nothing but generated code\n",
        static_cast<long long>(coverage.floats), static_cast<long long>(coverage.generated),
        100.0 * static_cast<double>(coverage.generated) / static_cast<double>(coverage.floats));
  if (!request.report.empty()) SLUICE_TRY(write_report(request.report, cases, results));
  return counts[0] == static_cast<int>(cases.size()) ? 0 : static_cast<int>(ExitClass::kFailed);
}

}  // namespace sluice
