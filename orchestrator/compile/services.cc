#include "orchestrator/compile/services.h"

#include <poll.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "common/base/files.h"
#include "common/base/options.h"
#include "common/base/store.h"
#include "common/wire/client.h"

namespace sluice {
namespace {

void add_limits(const Sandbox& sandbox, std::vector<std::string>& arguments) {
  arguments.push_back(fmt::format("--sandbox-memory={}", sandbox.memory_bytes));
  arguments.push_back(fmt::format("--sandbox-seconds={}", sandbox.cpu_seconds));
  arguments.push_back(fmt::format("--sandbox-file-bytes={}", sandbox.file_bytes));
}

// A job may use what its service may: the files of the stage, the folder for the socket and the
// model, and the store.
Sandbox files_of(const StageRun& stage, const std::string& folder, const std::string& store) {
  Sandbox files = *stage.sandbox;
  files.program = stage.program;
  files.writable.push_back(folder);
  if (!store.empty()) files.writable.push_back(store);
  return files;
}

// A service that this program started. Ends with its scope.
class OwnService {
 public:
  static Result<OwnService> start(const StageRun& stage, const std::string& folder,
                                  const ServiceChoice& choice) {
    OwnService service;
    service.endpoint_ = fmt::format("ipc://{}/{}.socket", folder, stage.name);
    SLUICE_ASSIGN(service.messages_, make_memory_file());
    // The folder belongs to this program alone, so a client of the service is the user, who may
    // read and write the same files.
    std::vector<std::string> arguments = {stage.program, "--serve=" + service.endpoint_,
                                          "--allow-path=/"};
    if (!choice.store.empty()) arguments.push_back("--store=" + choice.store);
    if (!stage.sandbox) arguments.emplace_back("--no-sandbox");
    std::optional<PreparedSandbox> sandbox;
    if (stage.sandbox) {
      add_limits(*stage.sandbox, arguments);
      SLUICE_ASSIGN(
          PreparedSandbox prepared,
          PreparedSandbox::prepare(files_of(stage, folder, choice.store), Confined::kFileUser));
      sandbox.emplace(std::move(prepared));
    }
    SLUICE_ASSIGN(service.child_, start_process(arguments, {-1, -1, service.messages_.get()},
                                                sandbox ? &*sandbox : nullptr));
    SLUICE_ASSIGN(service.handle_, process_handle(service.child_));
    return service;
  }
  OwnService(OwnService&& other) noexcept
      : endpoint_(std::move(other.endpoint_)),
        child_(std::exchange(other.child_, 0)),
        handle_(std::move(other.handle_)),
        messages_(std::move(other.messages_)) {}
  OwnService& operator=(OwnService&&) = delete;
  ~OwnService() {
    if (child_ == 0) return;
    kill_process(handle_);
    wait_for(child_);
  }
  const std::string& endpoint() const { return endpoint_; }
  bool has_ended() const {
    pollfd entry{handle_.get(), POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0;
  }
  // Returns the service's messages after the line that says that it serves.
  std::string last_words() const {
    std::string text = memory_file_text(messages_);
    const size_t line = text.find('\n');
    text.erase(0, line == std::string::npos ? text.size() : line + 1);
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

 private:
  OwnService() = default;
  std::string endpoint_;
  pid_t child_ = 0;
  Descriptor handle_, messages_;
};

std::string absolute(const std::string& path) {
  if (path == "-") return path;
  std::error_code code;
  const std::filesystem::path whole = std::filesystem::absolute(path, code);
  return code ? path : whole.lexically_normal().string();
}

class Services {
 public:
  Services(const std::vector<StageRun>& stages, const std::string& product,
           const ServiceChoice& choice)
      : stages_(stages), product_(product), choice_(choice) {}

  // Starts all services at once, because the start of each takes a moment.
  Result<void> start(const std::string& folder) {
    for (const StageRun& stage : stages_) {
      std::optional<OwnService> own;
      if (!choice_.endpoints.contains(stage.name)) {
        SLUICE_ASSIGN(OwnService started, OwnService::start(stage, folder, choice_));
        own.emplace(std::move(started));
      }
      own_.push_back(std::move(own));
    }
    return {};
  }

  Result<bool> run(const StageDone& done) {
    Payload graph;
    for (size_t i = 0; i < stages_.size(); ++i) {
      const auto start = StageClock::now();
      SLUICE_ASSIGN(JobReply reply, run_stage(i, std::move(graph)));
      StageReport report;
      report.seconds = std::chrono::duration<double>(StageClock::now() - start).count();
      report.ending.code = static_cast<int>(reply.result.exit_code());
      report.messages = messages_of(stages_[i], reply.result);
      report.bytes = reply.output.bytes.size();
      if (report.ending.clean()) SLUICE_TRY(keep(i, reply));
      done(i, report);
      if (!report.ending.clean()) return false;
      graph = std::move(reply.output);
    }
    return true;
  }

 private:
  Result<JobReply> run_stage(size_t i, Payload graph) const {
    SLUICE_ASSIGN(const pb::Job job, job_of(i));
    if (i == 0 && job.input().empty()) {
      SLUICE_ASSIGN(const MappedFile file, MappedFile::open(stages_[0].input));
      graph = {file.bytes(), std::make_shared<const MappedFile>(file)};
    }
    const std::optional<OwnService>& own = own_[i];
    ClientOptions options;
    if (!own) options.keys = choice_.keys;
    options.interrupted = [&] { return interrupted() || (own && own->has_ended()); };
    auto reply = run_job(own ? own->endpoint() : choice_.endpoints.at(stages_[i].name), job,
                         std::move(graph), options);
    if (!reply && own && own->has_ended() && !interrupted()) {
      return make_error(ErrorCode::kPeerLost,
                        "the service of sluice-{} ended in the middle of its job", stages_[i].name)
          .with_hint(own->last_words());
    }
    return reply;
  }

  Result<pb::Job> job_of(size_t i) const {
    const StageRun& stage = stages_[i];
    pb::Job job;
    job.set_stage(stage.name);
    job.set_heartbeat_ms(choice_.heartbeat_ms);
    for (const std::string& option : stage.options) {
      const size_t equals = option.find('=');
      const std::string name = option.substr(2, equals - 2),
                        value = equals == std::string::npos ? "on" : option.substr(equals + 1);
      if (name == "stats" || name == "error-format") continue;  // the result contains both
      if (name == "store") continue;                            // its service has it
      pb::Setting& setting = *job.add_options();
      setting.set_name(name);
      setting.set_value(names_file(name) ? absolute(value) : value);
    }
    if (stage.name == "preprocess") job.set_input(absolute(stage.input));
    if (i + 1 == stages_.size()) job.set_output(absolute(product_));
    job.set_store(!choice_.store.empty());
    return job;
  }

  // Returns the messages that the program would have printed.
  std::string messages_of(const StageRun& stage, const pb::Result& result) const {
    if (!result.has_error()) return result.messages();
    const Error error = failure_error(result.error());
    const std::string line =
        choice_.error_json ? error_json(error)
                           : fmt::format("sluice-{}: error {}", stage.name, error_text(error));
    return result.messages() + line + "\n";
  }

  Result<void> keep(size_t i, const JobReply& reply) const {
    for (const std::string& option : stages_[i].options) {
      if (option.starts_with("--stats="))
        SLUICE_TRY(write_text(option.substr(8), reply.result.stats().SerializeAsString()));
    }
    if (!stages_[i].dump.empty()) SLUICE_TRY(write_file(stages_[i].dump, reply.output.bytes));
    const bool last = i + 1 == stages_.size();
    if (last && !reply.result.stored().empty()) return take_from_store(i, reply.result.stored());
    if (last && reply.result.output().empty()) return write_file(product_, reply.output.bytes);
    const bool where_asked = reply.result.output() == (last ? absolute(product_) : "");
    if (where_asked) return {};
    return make_error(ErrorCode::kBadReply,
                      "sluice-{} says that it wrote '{}', which nobody asked for", stages_[i].name,
                      reply.result.output());
  }

  Result<void> take_from_store(size_t i, const std::string& name) const {
    Digest digest;
    if (name.size() != digest.bytes.size() || choice_.store.empty()) {
      return make_error(ErrorCode::kBadReply, "sluice-{} names nothing that can be in a store",
                        stages_[i].name);
    }
    std::memcpy(digest.bytes.data(), name.data(), name.size());
    auto file = MappedFile::open(store_path(choice_.store, digest));
    if (file && sha256(file->bytes()) == digest) return write_file(product_, file->bytes());
    return make_error(ErrorCode::kBadReply,
                      "sluice-{} says that the store holds sha256:{}, and '{}' does not",
                      stages_[i].name, digest_hex(digest).substr(0, 16), choice_.store)
        .with_hint("give both sides the same --store");
  }

  const std::vector<StageRun>& stages_;
  const std::string& product_;
  const ServiceChoice& choice_;
  std::vector<std::optional<OwnService>> own_;
};

}  // namespace

Result<bool> run_over_services(const std::vector<StageRun>& stages, const std::string& product,
                               const std::string& folder, const ServiceChoice& choice,
                               const StageDone& done) {
  Services services(stages, product, choice);
  SLUICE_TRY(services.start(folder));
  return services.run(done);
}

}  // namespace sluice
