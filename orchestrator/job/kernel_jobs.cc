#include "orchestrator/job/kernel_jobs.h"

#include <set>

#include "common/base/files.h"
#include "common/base/scratch_folder.h"
#include "common/store/build_id.h"
#include "orchestrator/compile/sandbox.h"
#include "orchestrator/compile/stage_process.h"
#include "orchestrator/job/outcome.h"
#include "orchestrator/plan/kernel_job.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

constexpr std::string_view kStage = "subgraph-optimize";

class KernelJobs {
 public:
  KernelJobs(const JobRequest& request, Store& store, const ScratchFolder& folder,
             std::string program, std::string build)
      : request_(request),
        store_(store),
        list_(folder.file("kernels.list")),
        program_(std::move(program)),
        build_(std::move(build)) {}

  Result<int> run(const std::vector<Record>& records) {
    std::vector<const Record*> open;
    for (const Record& record : records) {
      if (has_kernel(record.key(), store_)) {
        report_outcome(request_, record.key(), "found", start_, 0);
      } else if (const auto job = ready_job(record); !job) {
        take(report_failure(request_, record, failure_of(job.error()), start_, store_));
      } else {
        open.push_back(&record);
      }
    }
    if (open.empty()) return code_;
    SLUICE_ASSIGN(const StageReport report, generate(open));
    for (const Record* record : open) {
      if (interrupted()) return static_cast<int>(ExitClass::kResource);
      SLUICE_TRY(finish(*record, report, open.size() == 1));
    }
    return code_;
  }

 private:
  // Returns the job when it can run here.
  Result<KernelJob> ready_job(const Record& record) {
    SLUICE_ASSIGN(KernelJob job, kernel_job_of(record));
    if (job.build != build_) {
      return make_error(ErrorCode::kBadOption, "job {} needs build '{}', here it is '{}'",
                        short_key(job.key), job.build, build_)
          .with_hint("run jobs with the programs that they were written for");
    }
    if (graphs_.contains(job.graph)) return job;
    if (store_.find_artifact(job.graph)) {
      graphs_.insert(job.graph);
      return job;
    }
    return make_error(ErrorCode::kBadFile, "the store '{}' has lost the graph sha256:{}",
                      store_.path(), digest_hex(job.graph))
        .with_hint("list the kernels of the model again");
  }

  Result<StageReport> generate(const std::vector<const Record*>& records) {
    std::string lines;
    for (const Record* record : records) {
      SLUICE_ASSIGN(const KernelJob job, kernel_job_of(*record));
      lines += kernel_line(job, store_);
    }
    SLUICE_TRY(write_text(list_, lines));
    StageRun stage{.name = std::string(kStage),
                   .program = program_,
                   .options = {"--store=" + store_.path(), "--kernels=" + list_, "--quiet"},
                   .input = "-"};
    if (!request_.threads.empty()) stage.options.push_back("--threads=" + request_.threads);
    stage.sandbox = request_.sandbox;
    if (stage.sandbox) allow_job({}, {stage.options}, stage);
    return run_over_file(stage, {}, {}, -1);
  }

  // Reports what became of a kernel. One that a batch with others did not make is tried alone.
  Result<void> finish(const Record& record, const StageReport& report, bool was_alone) {
    if (has_kernel(record.key(), store_)) {
      store_.forget_failure(record.key());
      report_outcome(request_, record.key(), "made", start_, 0);
      return {};
    }
    if (was_alone) {
      take(report_failure(request_, record, failure_of(report, kStage), start_, store_));
      return {};
    }
    SLUICE_ASSIGN(const StageReport alone, generate({&record}));
    if (interrupted()) return {};
    return finish(record, alone, true);
  }

  void take(int code) {
    if (code_ == 0) code_ = code;
  }

  const JobRequest& request_;
  Store& store_;
  const std::string list_;
  const std::string program_;
  const std::string build_;
  const JobClock::time_point start_ = JobClock::now();
  std::set<Digest> graphs_;  // that are in the store
  int code_ = 0;             // of the first that failed
};

}  // namespace

Result<int> run_kernel_jobs(const JobRequest& request, const std::vector<Record>& records,
                            Store& store) {
  SLUICE_ASSIGN(const std::string program, find_program(fmt::format("sluice-{}", kStage)));
  SLUICE_ASSIGN(const std::string build, build_id(program));
  SLUICE_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  return KernelJobs(request, store, folder, program, build).run(records);
}

}  // namespace sluice
