#include "common/stage/serve.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "common/base/files.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/parallel.h"
#include "common/base/program.h"
#include "common/base/store.h"
#include "common/stage/failure.h"
#include "common/stage/run_stage.h"
#include "common/stage/stats.h"
#include "common/wire/client.h"
#include "common/wire/service.h"

namespace sluice {
namespace {

// Options that a job cannot set: those of the service, and those that the job's Result and frames
// replace.
constexpr std::string_view kNotOfJobs[] = {
    "serve",        "allow-path",    "max-frame", "jobs",    "store", "stats",      "split",
    "error-format", "propose-sizes", "kernel",    "kernels", "key",   "allow-keys", "insecure"};
constexpr std::string_view kBesideServe[] = {"serve",      "allow-path", "max-frame",    "jobs",
                                             "store",      "quiet",      "error-format", "key",
                                             "allow-keys", "insecure"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The files that a job may name: those in one folder, after following links.
class AllowedFolder {
 public:
  explicit AllowedFolder(std::string folder) : folder_(std::move(folder)) {}

  // hint: an alternative to the folder, may be empty.
  Result<void> check(const std::string& path, const std::string& hint = "") const {
    if (holds(path)) return {};
    const std::string where = folder_.empty()
                                  ? "this service reads and writes no files"
                                  : fmt::format("this service keeps below '{}'", folder_);
    return make_error(ErrorCode::kBadOption, "a job names '{}', and {}", path, where)
        .with_hint("start the service with --allow-path FOLDER" + hint);
  }

  bool holds(const std::string& path) const {
    // The system reads a path up to its first zero byte, and a dangling link leads to where a file
    // would be created.
    if (folder_.empty() || path.empty() || path[0] != '/' || path.find('\0') != std::string::npos)
      return false;
    std::error_code code;
    const std::filesystem::path root = std::filesystem::weakly_canonical(folder_, code);
    const std::filesystem::path file =
        code ? std::filesystem::path()
             : std::filesystem::weakly_canonical(behind_links(path), code);
    return !code &&
           std::mismatch(root.begin(), root.end(), file.begin(), file.end()).first == root.end();
  }

 private:
  std::string folder_;
};

class JobRunner {
 public:
  JobRunner(const Stage& stage, std::string folder, std::string store)
      : stage_(stage), allowed_(std::move(folder)), store_(std::move(store)) {}

  pb::Result run(const pb::Job& job) const {
    pb::Result result;
    StageRun run;
    const Result<void> done = within_memory([&] { return run_job(job, run, result); });
    if (!done) result = wire::failed_result(done.error());
    *result.mutable_stats() = stats_message(stage_name(stage_.id), run.passes, run.times);
    return result;
  }

 private:
  Result<void> run_job(const pb::Job& job, StageRun& run, pb::Result& result) const {
    SLUICE_TRY(grow_stack());
    if (job.stage() != stage_name(stage_.id)) {
      return make_error(ErrorCode::kBadRequest, "the job is for '{}' and this is a service of '{}'",
                        job.stage(), stage_name(stage_.id));
    }
    const std::string hint = stage_.id == StageId::kPreprocess
                                 ? ""  // it reads the model itself
                                 : "; or --segments=inline sends constants along with the graph";
    const auto may_read = [this, hint](const std::string& path) {
      return allowed_.check(path, hint);
    };
    StageArgs args{.input = "-", .output = "-", .may_read = may_read};
    SLUICE_TRY(take_options(job, args.options));
    SLUICE_TRY(args.options.set("store", store_));
    if (args.options.flag("quiet")) silence_log();  // this process belongs to the job alone
    if (!job.input().empty()) {
      SLUICE_TRY(allowed_.check(job.input()));
      args.input = job.input();
    }
    if (!job.output().empty() && allowed_.holds(job.output())) {
      args.output = job.output();
      result.set_output(job.output());
    } else if (job.store() && !store_.empty() && stage_.id == StageId::kBuild) {
      return run_into_store(args, run, result);
    }
    return run_stage(stage_, args, run);
  }

  // Runs a job whose output may be too large for a frame.
  Result<void> run_into_store(StageArgs& args, StageRun& run, pb::Result& result) const {
    SLUICE_TRY(make_directories(store_));
    SLUICE_ASSIGN(TemporaryFile file, TemporaryFile::create(store_ + "/job"));
    args.output = file.path_of_descriptor();
    SLUICE_TRY(run_stage(stage_, args, run));
    SLUICE_ASSIGN(const Digest digest, move_into_store(store_, std::move(file)));
    result.set_stored(digest.bytes.data(), digest.bytes.size());
    return {};
  }

  Result<void> take_options(const pb::Job& job, Options& options) const {
    std::map<std::string, std::vector<std::string>> values;
    for (const pb::Setting& setting : job.options())
      values[setting.name()].push_back(setting.value());
    for (auto& [name, list] : values) {
      if (is_one_of(kNotOfJobs, name))
        return make_error(ErrorCode::kBadOption, "--{} cannot be asked of a service", name);
      SLUICE_TRY(options.set(name, joined_values(std::move(list))));
    }
    for (const OptionRow& row : option_table()) {
      // Files of weights are checked when there are some: most models have none.
      const bool is_used = names_file(row.name) && row.name != "weights-beside";
      const std::string path = is_used ? options.text(row.name) : std::string();
      if (!path.empty()) SLUICE_TRY(allowed_.check(path));
    }
    return {};
  }

  const Stage& stage_;
  AllowedFolder allowed_;
  std::string store_;  // empty: none
};

Result<void> check_alone(const ParsedArguments& parsed) {
  const StageArgs& args = parsed.args;
  if (args.input != "-" || !args.more_inputs.empty() || args.output != "-") {
    return make_error(ErrorCode::kUsage,
                      "a service has no input and no output of its own: jobs bring them");
  }
  for (const OptionRow& row : option_table()) {
    if (is_one_of(kBesideServe, row.name) || args.options.text(row.name) == row.fallback) continue;
    return make_error(ErrorCode::kUsage,
                      "--{} has no place beside --serve: each job brings its own options",
                      row.name);
  }
  return {};
}

std::string refused_text(const RefusedPeer& peer) {
  std::string text = "peer refused: " + peer.why;
  if (!peer.key.empty()) text += " key=" + peer.key;
  if (!peer.address.empty()) text += " address=" + peer.address;
  return text;
}

Result<void> serve_jobs(const Stage& stage, const Options& options) {
  ServiceOptions service{.endpoint = options.text("serve"),
                         .keys = {.key = options.text("key"),
                                  .allowed = options.text("allow-keys"),
                                  .is_insecure = options.flag("insecure")}};
  const std::string allowed = options.text("allow-path");
  if (std::error_code code; !allowed.empty() && !std::filesystem::exists(allowed, code)) {
    return make_error(ErrorCode::kBadOption, "--allow-path '{}' does not exist", allowed);
  }
  SLUICE_ASSIGN(const int64_t max_frame,
                options.integer("max-frame", 1, find_option("max-frame")->maximum));
  SLUICE_ASSIGN(const int64_t jobs, options.integer("jobs", 0, find_option("jobs")->maximum));
  service.max_frame = static_cast<uint64_t>(max_frame);
  service.jobs = static_cast<size_t>(thread_count(jobs));
  service.ready = [&](const std::string& endpoint) {
    log_line(stage_program(stage.id), "serves", endpoint);
  };
  service.refused = [&](const RefusedPeer& peer) {
    log_warning(stage_program(stage.id), refused_text(peer));
  };
  const JobRunner runner(stage, allowed, options.text("store"));
  return serve(service, [&runner](const pb::Job& job) { return runner.run(job); });
}

}  // namespace

int serve_stage(const Stage& stage, const ParsedArguments& parsed) {
  const auto served = within_memory([&]() -> Result<void> {
    if (parsed.wrong) return *parsed.wrong;
    SLUICE_TRY(check_alone(parsed));
    return serve_jobs(stage, parsed.args.options);
  });
  if (served) return 0;
  return end_failed(stage_program(stage.id), served.error(),
                    parsed.args.options.text("error-format") == "json", false);
}

}  // namespace sluice
