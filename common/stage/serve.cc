#include "common/stage/serve.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "common/base/files.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/parallel.h"
#include "common/base/program.h"
#include "common/base/store.h"
#include "common/sandbox/sandbox.h"
#include "common/sandbox/sandbox_options.h"
#include "common/stage/failure.h"
#include "common/stage/run_stage.h"
#include "common/stage/stats.h"
#include "common/store/build_id.h"
#include "common/store/handed_over.h"
#include "common/wire/client.h"
#include "common/wire/service.h"

namespace sluice {
namespace {

// Options that a job cannot set: those of the service, and those that the job's Result and frames
// replace.
constexpr std::string_view kNotOfJobs[] = {"serve",
                                           "allow-path",
                                           "max-frame",
                                           "jobs",
                                           "store",
                                           "stats",
                                           "split",
                                           "error-format",
                                           "propose-sizes",
                                           "kernel",
                                           "kernels",
                                           "key",
                                           "allow-keys",
                                           "insecure",
                                           "new-kernels",
                                           "no-sandbox",
                                           "sandbox-memory",
                                           "sandbox-seconds",
                                           "sandbox-file-bytes"};
constexpr std::string_view kBesideServe[] = {"serve",           "allow-path",
                                             "max-frame",       "jobs",
                                             "store",           "quiet",
                                             "error-format",    "key",
                                             "allow-keys",      "insecure",
                                             "no-sandbox",      "sandbox-memory",
                                             "sandbox-seconds", "sandbox-file-bytes"};

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

std::string folder_of(const std::string& file) {
  return std::filesystem::path(file).parent_path().string();
}

class JobRunner {
 public:
  // sandbox: limits of jobs; nothing: they run without one.
  JobRunner(const Stage& stage, std::string folder, std::string store,
            std::optional<Sandbox> sandbox)
      : stage_(stage),
        folder_(folder),
        allowed_(std::move(folder)),
        store_(std::move(store)),
        sandbox_(std::move(sandbox)) {}

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
    }
    if (sandbox_) SLUICE_TRY(enter(args));
    if (args.output != "-") return run_stage(stage_, args, run);
    if (job.store() && !store_.empty() && stage_.id == StageId::kBuild) {
      return run_into_store(args, run, result);
    }
    return run_stage(stage_, args, run);
  }

  // Puts this process, which belongs to the job alone, into a sandbox: it reads what the service
  // may read, and writes beside its output.
  Result<void> enter(StageArgs& args) const {
    Sandbox sandbox = *sandbox_;
    if (!folder_.empty()) sandbox.readable.push_back(folder_);
    if (!store_.empty()) {
      sandbox.readable.push_back(store_);
      SLUICE_TRY(allow_constants(store_, sandbox));
    }
    if (args.output != "-") sandbox.writable.push_back(folder_of(args.output));
    if (const std::string dumps = args.options.text("dump-dir"); !dumps.empty()) {
      SLUICE_TRY(make_directories(dumps));
      sandbox.writable.push_back(dumps);
    }
    if (const std::string model = args.options.text("weights-beside"); allowed_.holds(model))
      sandbox.writable.push_back(folder_of(model));
    if (stage_.id == StageId::kSubgraphOptimize && !store_.empty())
      SLUICE_TRY(
          args.options.set("new-kernels", fmt::format("/proc/self/fd/{}", wire::kHandedOver)));
    SLUICE_TRY(enter_sandbox(sandbox));
    return {};
  }

  // Runs a job whose output may be too large for a frame.
  Result<void> run_into_store(StageArgs& args, StageRun& run, pb::Result& result) const {
    // In a folder of artifacts, which a sandbox lets it write.
    const std::string folder = store_ + "/00";
    SLUICE_TRY(make_directories(folder));
    SLUICE_ASSIGN(TemporaryFile file, TemporaryFile::create(folder + "/job"));
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
  std::string folder_;  // empty: none
  AllowedFolder allowed_;
  std::string store_;  // empty: none
  std::optional<Sandbox> sandbox_;
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

Result<std::optional<Sandbox>> sandbox_of_jobs(const Options& options) {
  if (options.flag("no-sandbox")) return std::optional<Sandbox>();
  SLUICE_ASSIGN(Sandbox sandbox,
                sandbox_of_options([&](std::string_view name) { return options.text(name); }));
  return std::optional<Sandbox>(std::move(sandbox));
}

// Moves the kernels that a job has generated into the store, which it could not write itself.
void keep_kernels(std::span<const std::byte> entries, Store& store, const std::string& program) {
  const auto taken = within_memory([&]() -> Result<void> {
    SLUICE_ASSIGN(const std::string build, own_build_id());
    return take_handed_over(entries, {.kind = "kernel", .build = build, .artifact = "object"},
                            store);
  });
  if (!taken) log_warning(program, taken.error().message);
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
  const std::string program = stage_program(stage.id), store_folder = options.text("store");
  SLUICE_ASSIGN(const std::optional<Sandbox> sandbox, sandbox_of_jobs(options));
  std::string held, missing;  // by the sandbox
  if (sandbox) {
    SLUICE_ASSIGN(const Layers layers, offered_layers());
    held = fmt::format("jobs in a sandbox ({}) at ", layers_text(layers));
    missing = missing_text(layers);
  }
  service.ready = [&](const std::string& endpoint) {
    log_line(program, "serves", held + endpoint);
    if (!missing.empty()) log_warning(program, "the sandbox is not whole: " + missing);
  };
  service.refused = [&](const RefusedPeer& peer) { log_warning(program, refused_text(peer)); };
  if (sandbox) service.max_seconds = sandbox->cpu_seconds * kClockFactor;
  Store store(store_folder);
  service.keep = [&](std::span<const std::byte> entries) { keep_kernels(entries, store, program); };
  const JobRunner runner(stage, allowed, store_folder, sandbox);
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
