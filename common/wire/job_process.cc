#include "common/wire/job_process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "common/base/files.h"
#include "common/base/memory.h"
#include "common/base/program.h"
#include "common/wire/client.h"

namespace sluice::wire {
namespace {

constexpr int kFirstFree = 10;   // descriptors are moved above the standard ones
constexpr char kReported = 'R';  // precedes the Result, which may have no bytes
constexpr int kReport = 3;
constexpr size_t kMaxMessageBytes = 1u << 20;

Result<Descriptor> memory_file() {
  Descriptor file(::memfd_create("sluice-job", MFD_CLOEXEC));
  Descriptor moved(file ? ::fcntl(file.get(), F_DUPFD_CLOEXEC, kFirstFree) : -1);
  if (!moved)
    return make_error(ErrorCode::kIo, "cannot make a file in memory: {}", std::strerror(errno));
  return moved;
}

Result<Descriptor> input_file(const Payload& graph) {
  SLUICE_ASSIGN(Descriptor file, memory_file());
  SLUICE_TRY(write_descriptor(file.get(), graph.bytes));
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// The other threads of the service belong to ZeroMQ, and only this thread exists in the child. That
// is sound: they hold locks of the allocator, which fork resets, and of the library itself, which
// is not used again in this process.
[[noreturn]] void become_job(const pb::Job& job, int input, const JobProcess& files,
                             const JobBody& body, pid_t service) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != service) ::_exit(0);
  ::dup2(input, STDIN_FILENO);
  ::dup2(files.output.get(), STDOUT_FILENO);
  ::dup2(files.messages.get(), STDERR_FILENO);
  ::dup2(files.report.get(), kReport);
  ::dup2(files.handed_over.get(), kHandedOver);
  // Closes sockets of the service and files of other jobs.
  ::syscall(SYS_close_range, kHandedOver + 1, ~0u, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const std::string report = kReported + body(job).SerializeAsString();
  const bool written = write_descriptor(kReport, std::as_bytes(std::span(report))).ok();
  ::_exit(written ? 0 : static_cast<int>(ExitClass::kResource));
}

size_t size_of(const Descriptor& file) {
  struct stat status{};
  return ::fstat(file.get(), &status) == 0 ? static_cast<size_t>(status.st_size) : 0;
}

std::string text_of_file(const Descriptor& file, size_t maximum) {
  std::string text(std::min(size_of(file), maximum), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return text;
}

int wait_for_end(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Returns the error of a job that died without a report.
Error error_of_death(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(ExitClass::kResource)) {
    return make_error(ErrorCode::kLimit, "the job's memory ran out")
        .with_hint(
            "give the service more memory, or its jobs (--sandbox-memory), or let it run fewer "
            "--jobs");
  }
  if (!WIFSIGNALED(status))
    return make_error(ErrorCode::kStageFailed, "the job ended without a result");
  const int signal = WTERMSIG(status);
  if (signal == SIGXCPU) {
    return make_error(ErrorCode::kLimit, "the job used all the processor time that it may have")
        .with_hint("start the service with a larger --sandbox-seconds");
  }
  const bool killed = is_signal_from_outside(signal);
  Error error = make_error(killed ? ErrorCode::kStageKilled : ErrorCode::kStageFailed,
                           "the job ended with signal {} ({})", signal, ::strsignal(signal));
  if (killed)
    error.hint =
        "somebody killed it, the machine ran out of memory, or a file that it read was cut short";
  return error;
}

Result<Payload> map_output(const Descriptor& file, uint64_t max_frame) {
  const size_t size = size_of(file);
  if (size > max_frame) {
    return make_error(ErrorCode::kLimit, "the output has {} bytes, a frame at most {}", size,
                      max_frame)
        .with_hint(
            "start the service with --allow-path FOLDER and have it written there, or with a "
            "larger --max-frame");
  }
  if (size == 0) return Payload{};
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) return memory_error(size, "the output of a job");
  std::shared_ptr<const void> owner(
      address, [size](const void* map) { ::munmap(const_cast<void*>(map), size); });
  return Payload{{static_cast<const std::byte*>(address), size}, std::move(owner)};
}

}  // namespace

pb::Result failed_result(const Error& error) {
  pb::Result result;
  result.set_exit_code(static_cast<uint32_t>(exit_class(error.code)));
  *result.mutable_error() = failure_message(error);
  return result;
}

bool is_kept(const pb::Result& result) {
  return !result.output().empty() || !result.stored().empty();
}

Result<JobProcess> start_job(const pb::Job& job, const Payload& graph, const JobBody& body) {
  JobProcess process;
  SLUICE_ASSIGN(const Descriptor input, input_file(graph));
  for (Descriptor* file :
       {&process.output, &process.messages, &process.report, &process.handed_over}) {
    SLUICE_ASSIGN(*file, memory_file());
  }
  const pid_t service = ::getpid();
  process.pid = ::fork();
  if (process.pid < 0)
    return make_error(ErrorCode::kIo, "cannot start a process for the job: {}",
                      std::strerror(errno));
  if (process.pid == 0) become_job(job, input.get(), process, body, service);
  process.handle = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!process.handle) {
    Error error =
        make_error(ErrorCode::kIo, "cannot watch the process of the job: {}", std::strerror(errno));
    kill_job(process);
    return error;
  }
  return process;
}

JobEnd end_job(JobProcess process, uint64_t max_frame) {
  const int status = wait_for_end(process.pid);
  JobEnd end;
  const std::string report = text_of_file(process.report, size_of(process.report));
  const bool reported = WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
                        report.starts_with(kReported) &&
                        end.result.ParseFromString(report.substr(1));
  if (!reported) end.result = failed_result(error_of_death(status));
  if (end.result.exit_code() == 0 && !is_kept(end.result)) {
    auto output = map_output(process.output, max_frame);
    if (output) {
      end.output = std::move(output).value();
    } else {
      end.result = failed_result(output.error());
    }
  }
  if (reported && end.result.exit_code() == 0) {
    auto handed_over = map_output(process.handed_over, max_frame);
    if (handed_over) end.handed_over = std::move(handed_over).value();
  }
  // The line about exhausted memory is the error itself.
  if (reported) end.result.set_messages(text_of_file(process.messages, kMaxMessageBytes));
  return end;
}

void kill_job(const JobProcess& process) {
  ::kill(process.pid, SIGKILL);  // not waited for yet, so the number has not been reused
  wait_for_end(process.pid);
}

}  // namespace sluice::wire
