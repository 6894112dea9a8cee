#include "orchestrator/compile/stage_passes.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "common/base/options.h"
#include "common/passes_host/inherited_hosts.h"
#include "common/passes_host/pass_file.h"
#include "orchestrator/process/process.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

constexpr std::string_view kPassStart = "--pass=", kMemory = "--pass-memory=";
constexpr double kEndSeconds = 5;
constexpr int kFirstFree = 10;  // descriptors that a stage inherits are above its streams

uint64_t memory_of(const StageRun& stage) {
  std::string_view text = find_option("pass-memory")->fallback;
  for (const std::string& option : stage.options)
    if (option.starts_with(kMemory)) text = std::string_view(option).substr(kMemory.size());
  uint64_t bytes = 0;
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  const uint64_t limit = stage.sandbox->memory_bytes;
  return limit == 0 ? bytes : std::min(bytes, limit);
}

Result<Pipe> make_high_pipe() {
  SLUICE_ASSIGN(Pipe pipe, make_pipe());
  for (Descriptor* end : {&pipe.read, &pipe.write}) {
    end->reset(::fcntl(end->get(), F_DUPFD_CLOEXEC, kFirstFree));
    if (!*end) return make_error(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  }
  return pipe;
}

}  // namespace

Result<StagePasses> StagePasses::start(const StageRun& stage, int errors) {
  StagePasses passes;
  InheritedHosts hosts;
  std::vector<std::string> programs, code;
  for (const std::string& option : stage.options) {
    if (!option.starts_with(kPassStart)) continue;
    SLUICE_ASSIGN(const PassFile file,
                  read_pass_file(std::string_view(option).substr(kPassStart.size())));
    if (file.option.point->stage != stage.name) continue;
    hosts.digests[file.option.name] = file.digest;
    (file.kind == PassKind::kProgram ? programs : code).push_back(file.option.path);
  }
  if (programs.empty() && code.empty()) return passes;
  SLUICE_TRY(passes.start_host(stage, programs, errors, hosts.programs_to, hosts.programs_from));
  SLUICE_TRY(passes.start_host(stage, code, errors, hosts.code_to, hosts.code_from));
  passes.option_ = "--pass-host=" + print_inherited(hosts);
  return passes;
}

Result<void> StagePasses::start_host(const StageRun& stage, const std::vector<std::string>& files,
                                     int errors, int& to, int& from) {
  if (files.empty()) return {};
  SLUICE_ASSIGN(const std::string program, find_program("sluice-pass-host"));
  SLUICE_ASSIGN(Pipe requests, make_high_pipe());
  SLUICE_ASSIGN(Pipe answers, make_high_pipe());
  std::vector<std::string> command = {program, fmt::format("--memory={}", memory_of(stage)),
                                      "--confine"};
  for (const std::string& path : stage.sandbox->readable) command.push_back("--readable=" + path);
  command.insert(command.end(),
                 {"--", std::to_string(requests.read.get()), std::to_string(answers.write.get())});
  command.insert(command.end(), files.begin(), files.end());
  const Streams streams{
      .out = errors, .error = errors, .kept = {requests.read.get(), answers.write.get()}};
  SLUICE_ASSIGN(const pid_t host, start_process(command, streams));
  hosts_.push_back(host);
  to = requests.write.get();
  from = answers.read.get();
  ends_.push_back(std::move(requests.write));
  ends_.push_back(std::move(answers.read));
  return {};
}

std::vector<int> StagePasses::descriptors() const {
  std::vector<int> numbers;
  for (const Descriptor& end : ends_) numbers.push_back(end.get());
  return numbers;
}

StagePasses& StagePasses::operator=(StagePasses&& other) noexcept {
  end();
  option_ = std::move(other.option_);
  ends_ = std::move(other.ends_);
  hosts_ = std::exchange(other.hosts_, {});
  return *this;
}

StagePasses::~StagePasses() { end(); }

void StagePasses::end() {
  ends_.clear();
  for (const pid_t host : hosts_) wait_for(host, kEndSeconds);
  hosts_.clear();
}

}  // namespace sluice
