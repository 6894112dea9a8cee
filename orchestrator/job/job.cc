#include "orchestrator/job/job.h"

#include <algorithm>

#include "common/base/files.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "common/base/scratch_folder.h"
#include "common/store/store.h"
#include "orchestrator/compile/in_order.h"
#include "orchestrator/compile/sandbox.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/job/kernel_jobs.h"
#include "orchestrator/job/outcome.h"
#include "orchestrator/plan/compile_job.h"
#include "orchestrator/plan/kernel_job.h"
#include "orchestrator/process/output_file.h"
#include "orchestrator/process/programs.h"
#include "orchestrator/store/collect.h"
#include "orchestrator/store/remote.h"

namespace sluice {
namespace {

class Job {
 public:
  Job(const JobRequest& request, Store& store, const Record& record)
      : request_(request), store_(store), record_(record), key_(record.key()) {}

  // Returns the exit code; 0 when the product is in the store.
  Result<int> run() {
    if (is_done()) return report("found", 0);
    const StoreLock lock = store_.lock(key_, interrupted);
    if (is_done()) return report("found", 0);
    Result<bool> made = make();
    if (interrupted()) return static_cast<int>(ExitClass::kResource);
    if (!made) failure_ = failure_of(made.error());
    if (!made || !*made) return fail();
    store_.forget_failure(key_);
    return report("made", 0);
  }

 private:
  bool is_done() const {
    const auto record = store_.find(key_);
    const auto artifact = record ? record->results.find_digest("output") : std::nullopt;
    return artifact && store_.find_artifact(*artifact);
  }

  Result<void> check_passes() const {
    const bool has_passes = std::ranges::any_of(
        record_.fields.rows(), [](const auto& row) { return row.first.ends_with(".pass"); });
    if (!has_passes || request_.allows_passes) return {};
    return make_error(ErrorCode::kBadOption, "the job has passes of users, which are not run here")
        .with_hint("--allow-passes runs them");
  }

  Result<bool> make() {
    SLUICE_TRY(check_passes());
    SLUICE_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
    SLUICE_ASSIGN(const CompileJob job, job_of(record_, store_, folder.path()));
    SLUICE_TRY(check_same(job));
    SLUICE_ASSIGN(const OrderedStages work, work_of(job, folder.path()));
    SLUICE_ASSIGN(OutputFile output, OutputFile::create(folder.file("model.om")));
    const auto done = [&](size_t i, const StageReport& report) {
      take_report(work.stages[i].name, report);
    };
    if (!store_.find_artifact(job.artifact)) return lost_graph(job);
    const GraphProduct graph{.artifact = job.artifact, .graph = job.graph, .is_of_earlier = true};
    SLUICE_ASSIGN(const bool succeeded, run_in_order(work, graph, output, done));
    if (!succeeded) return false;
    const auto product = store_.find(last_key_);
    const auto artifact = product ? product->results.find_digest("output") : std::nullopt;
    if (!artifact)
      return make_error(ErrorCode::kIo, "{}", store_.fault().value_or("the store lost the model"));
    Record made = record_;
    made.results = {};
    made.results.add("output", *artifact);
    store_.keep(made);
    return true;
  }

  Error lost_graph(const CompileJob& job) const {
    return make_error(ErrorCode::kBadFile, "the store '{}' has lost the imported graph sha256:{}",
                      store_.path(), digest_hex(job.artifact))
        .with_hint("run sluice compile-all again");
  }

  // Another build, or a CPU for which "native" means another profile, would make another product.
  Result<void> check_same(const CompileJob& job) const {
    SLUICE_ASSIGN(const Record own, record_of(job, store_));
    for (const auto& [name, value] : record_.fields.rows()) {
      const std::string* here = own.fields.find(name);
      if (here != nullptr && *here == value) continue;
      return make_error(ErrorCode::kBadOption, "job {} needs {} '{}', here it is '{}'",
                        short_key(key_), name, value, here == nullptr ? "absent" : *here)
          .with_hint(
              "run jobs with the programs, and on a CPU, like those they were written for; "
              "--profile names one for all");
    }
    return {};
  }

  // All stages but the import.
  Result<OrderedStages> work_of(const CompileJob& job, const std::string& folder) const {
    OrderedStages work{
        .folder = folder, .store = &store_, .profile = job.profile, .model = job.model};
    for (size_t i = 1; i < kStageNames.size(); ++i) {
      StageRun stage{.name = std::string(kStageNames[i]),
                     .options = job.arguments[i],
                     .semantic = job.arguments[i],
                     .input = "-",
                     .store_use = StoreUse::kTake};
      SLUICE_ASSIGN(stage.program, find_program("sluice-" + stage.name));
      stage.options.push_back("--store=" + store_.path());
      if (!request_.threads.empty()) stage.options.push_back("--threads=" + request_.threads);
      stage.sandbox = request_.sandbox;
      if (stage.sandbox) allow_job(job.model, job.arguments, stage);
      work.stages.push_back(std::move(stage));
    }
    return work;
  }

  void take_report(const std::string& stage, const StageReport& report) {
    if (const auto key = digest_from_hex(report.key)) last_key_ = *key;
    if (!report.ending.clean()) failure_ = failure_of(report, stage);
  }

  int fail() const { return report_failure(request_, record_, failure_, start_, store_); }

  int report(const char* what, int code) const {
    return report_outcome(request_, key_, what, start_, code);
  }

  const JobRequest& request_;
  Store& store_;
  const Record& record_;
  const Digest key_;
  const JobClock::time_point start_ = JobClock::now();
  Digest last_key_;  // of the last stage's product
  Failure failure_;
};

// Returns the record of a job.
Result<Record> record_of_key(const Digest& key, Store& store) {
  if (std::optional<Record> record = store.find_job(key)) return *std::move(record);
  return make_error(ErrorCode::kNotFound, "the store '{}' has no job {}", store.path(),
                    digest_hex(key))
      .with_hint("sluice compile-all writes jobs");
}

// Returns the jobs from the first on that can share a process: one compile, or kernels.
Result<std::vector<Record>> next_batch(std::span<const Digest> keys, Store& store) {
  std::vector<Record> batch;
  for (const Digest& key : keys) {
    if (!batch.empty() && batch[0].kind != kKernelKind) break;
    SLUICE_ASSIGN(Record record, record_of_key(key, store));
    if (!batch.empty() && record.kind != kKernelKind) break;
    batch.push_back(std::move(record));
  }
  return batch;
}

Result<int> run_batch(const JobRequest& request, const std::vector<Record>& batch, Store& store) {
  return batch[0].kind == kKernelKind ? run_kernel_jobs(request, batch, store)
                                      : Job(request, store, batch[0]).run();
}

}  // namespace

Result<std::vector<Digest>> read_keys(std::vector<std::string> texts, const std::string& file) {
  if (!file.empty()) {
    SLUICE_ASSIGN(const std::string lines, read_text(file));
    for (size_t begin = 0, end = 0; begin < lines.size(); begin = end + 1) {
      end = std::min(lines.find('\n', begin), lines.size());
      texts.push_back(lines.substr(begin, end - begin));
    }
  }
  std::vector<Digest> keys;
  for (const std::string& text : texts) {
    const auto key = digest_from_hex(text);
    if (!key) return make_error(ErrorCode::kUsage, "'{}' is no key, expected 64 hex digits", text);
    keys.push_back(*key);
  }
  if (keys.empty()) return make_error(ErrorCode::kUsage, "there is no key of a job");
  return keys;
}

Result<int> run_jobs(const JobRequest& request) {
  if (request.quiet) silence_log();
  if (request.sandbox) SLUICE_TRY(report_layers(kJobProgram, request.quiet));
  Store store(request.store);
  RemoteStore remote(request.remote, store);
  int code = 0;
  for (size_t done = 0; done < request.keys.size();) {
    SLUICE_ASSIGN(const std::vector<Record> batch,
                  next_batch(std::span(request.keys).subspan(done), store));
    SLUICE_ASSIGN(const int ended, run_batch(request, batch, store));
    done += batch.size();
    if (interrupted()) return ended;
    remote.push();
    if (code == 0) code = ended;
  }
  if (const auto trouble = remote.trouble()) log_warning(kJobProgram, *trouble);
  if (const auto kept = collect_if_full(store); !kept)
    log_warning(kJobProgram, kept.error().message);
  return code;
}

}  // namespace sluice
