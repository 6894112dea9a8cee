#include "orchestrator/compile/pipeline.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "common/base/files.h"
#include "common/base/memory.h"
#include "common/base/parallel.h"
#include "orchestrator/compile/stage_process.h"
#include "orchestrator/process/output_file.h"

namespace sluice {
namespace {

constexpr size_t kBufferBytes = 1 << 20;
constexpr int kHeadStartMs = 5;

struct Running {
  std::optional<StageProcess> process;
  Descriptor handle;
  Descriptor output;    // read end of what it writes; not of the last stage
  Descriptor messages;  // its stderr
  Descriptor input;     // write end of what it reads; not of the first stage
  StageClock::time_point input_complete = StageClock::now();
  StageReport report;
  bool ended = false;
  bool succeeded = false;  // and all before it
  bool over = false;       // its link does nothing more
  bool was_too_slow = false;
};

class Pipeline {
 public:
  Pipeline(const std::vector<StageRun>& stages, const StageDone& done)
      : stages_(stages), done_(done), running_(stages.size()) {}

  Result<bool> run(int output) {
    if (Result<void> started = start(output); !started) {
      for (Running& stage : running_) {
        if (!stage.process) continue;
        kill_process(stage.handle);
        wait_for(stage.process->child());
      }
      return std::move(started).error();
    }
    // One thread serves each link, so that a stage that writes before it has read everything cannot
    // stop the pipe.
    serve_all();
    if (own_error_) return *own_error_;
    return !failed_;
  }

 private:
  Result<void> start(int output) {
    Descriptor input;
    for (size_t i = 0; i < stages_.size(); ++i) {
      const bool last = i + 1 == stages_.size();
      Running& stage = running_[i];
      SLUICE_ASSIGN(stage.messages, make_memory_file());
      Pipe pipe;
      if (!last) {
        SLUICE_ASSIGN(pipe, make_pipe());
        fcntl(pipe.write.get(), F_SETPIPE_SZ, kBufferBytes);  // optional: a smaller pipe works too
      }
      SLUICE_ASSIGN(StageProcess process,
                    StageProcess::start(
                        stages_[i], {},
                        {input.get(), last ? output : pipe.write.get(), stage.messages.get()}));
      stage.process.emplace(std::move(process));
      SLUICE_ASSIGN(stage.handle, process_handle(stage.process->child()));
      if (last) break;
      stage.output = std::move(pipe.read);
      SLUICE_ASSIGN(pipe, make_pipe());
      fcntl(pipe.write.get(), F_SETPIPE_SZ, kBufferBytes);
      input = std::move(pipe.read);
      running_[i + 1].input = std::move(pipe.write);
      if (i == 0) give_head_start(stage);
    }
    return {};
  }

  // Lets the first stage run before the others start: it has work to do, the others wait for it,
  // and their start must not take the cores from it.
  static void give_head_start(const Running& first) {
    pollfd output{first.output.get(), POLLIN, 0};
    ::poll(&output, 1, kHeadStartMs);
  }

  void serve_all() {
    Threads threads;
    if (const auto seconds = StageProcess::max_seconds(stages_[0])) {
      Result<void> started = threads.start([this, seconds] { watch(*seconds); });
      if (!started) stop(std::move(started).error());
    }
    for (size_t i = 0; i + 1 < running_.size(); ++i) {
      Result<void> started = threads.start([this, i] { serve(i); });
      if (started) continue;
      stop(std::move(started).error());
      serve(i);  // the stage is killed: this waits for its end
    }
    serve(running_.size() - 1);
  }

  // Kills the first stage that has not ended when the time is over.
  void watch(double seconds) {
    std::unique_lock lock(mutex_);
    const auto over = [](const Running& stage) { return stage.over; };
    if (link_over_.wait_for(lock, std::chrono::duration<double>(seconds),
                            [&] { return std::ranges::all_of(running_, over); }))
      return;
    const auto stage = std::ranges::find_if_not(running_, &Running::ended);
    if (stage == running_.end()) return;
    stage->was_too_slow = true;
    kill_process(stage->handle);
  }

  // Copies a stage's output to the next stage until the stage closes it, and waits for its end. If
  // the stage fails, the results of later stages do not count.
  void serve(size_t i) {
    Running& stage = running_[i];
    Result<std::optional<OutputFile>> dump =
        within_memory([&] { return open_dump(stages_[i].dump); });
    if (!dump) stop(std::move(dump).error());
    OutputFile* file = dump.ok() && *dump ? &**dump : nullptr;
    if (stage.output) {
      Result<void> copied = within_memory([&] {
        return copy(stage, running_[i + 1].input.get(), file != nullptr ? file->descriptor() : -1);
      });
      if (!copied) stop(std::move(copied).error());
      end_input(running_[i + 1]);
    }
    const Ending ending = wait_for_end(stage);
    const bool follows_success = earlier_succeeded(i);
    if (ending.clean() && follows_success && file != nullptr) {
      if (Result<void> committed = within_memory([&] { return file->commit(); }); !committed)
        stop(std::move(committed).error());
    }
    if (Result<void> finished = within_memory([&] { return finish(i, ending); }); !finished)
      stop(std::move(finished).error());
    const std::lock_guard lock(mutex_);
    stage.over = true;
    link_over_.notify_all();
  }

  Ending wait_for_end(Running& stage) {
    Ending ending = wait_for(stage.process->child());
    const std::lock_guard lock(mutex_);
    ending.timed_out = stage.was_too_slow && ending.signal == SIGKILL;
    return ending;
  }

  // Returns whether all earlier stages succeeded: a stage may end before the one whose output it
  // has read.
  bool earlier_succeeded(size_t i) {
    if (i == 0) return true;
    std::unique_lock lock(mutex_);
    link_over_.wait(lock, [&] { return running_[i - 1].over; });
    return running_[i - 1].succeeded;
  }

  static Result<std::optional<OutputFile>> open_dump(const std::string& path) {
    if (path.empty()) return std::optional<OutputFile>();
    SLUICE_ASSIGN(OutputFile file, OutputFile::create(path));
    return std::optional<OutputFile>(std::move(file));
  }

  // Copies until the stage closes its end. A next stage that has ended early is no reason to stop:
  // this stage's output may still be kept.
  static Result<void> copy(Running& stage, int next, int dump) {
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kBufferBytes);
    bool next_reads = true;
    while (true) {
      const ssize_t count = read(stage.output.get(), buffer.get(), kBufferBytes);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0)
        return make_error(ErrorCode::kIo, "cannot read from a stage: {}", std::strerror(errno));
      if (count == 0) return {};
      const std::span<const std::byte> bytes(buffer.get(), static_cast<size_t>(count));
      stage.report.bytes += bytes.size();
      if (dump >= 0) SLUICE_TRY(write_descriptor(dump, bytes));
      if (next_reads) next_reads = write_descriptor(next, bytes).ok();
    }
  }

  void end_input(Running& stage) {
    const std::lock_guard lock(mutex_);
    stage.input_complete = StageClock::now();
    stage.input.reset();
  }

  Result<void> finish(size_t i, const Ending& ending) {
    const std::lock_guard lock(mutex_);
    Running& stage = running_[i];
    stage.report.ending = ending;
    stage.report.seconds =
        std::chrono::duration<double>(StageClock::now() - stage.input_complete).count();
    stage.report.messages = memory_file_text(stage.messages);
    stage.process->finish(stages_[i], stage.report);
    stage.ended = true;
    stage.succeeded = ending.clean() && (i == 0 || running_[i - 1].succeeded);
    if (!ending.clean() || own_error_) {
      for (size_t later = i + 1; later < running_.size(); ++later)
        kill_process(running_[later].handle);
    }
    report_in_order();
    return {};
  }

  // Reports the stages in order: a stage that fails before it has read anything ends earlier than
  // those before it.
  void report_in_order() {
    while (!failed_ && !own_error_ && reported_ < running_.size() && running_[reported_].ended) {
      const StageReport& report = running_[reported_].report;
      failed_ = !report.ending.clean();
      done_(reported_, report);
      ++reported_;
    }
  }

  void stop(Error error) {
    const std::lock_guard lock(mutex_);
    if (!own_error_) own_error_ = std::move(error);
    for (const Running& stage : running_) kill_process(stage.handle);
  }

  const std::vector<StageRun>& stages_;
  const StageDone& done_;
  std::vector<Running> running_;  // link i belongs to thread i but for what `mutex_` guards
  std::mutex mutex_;              // guards endings, reports and the fields below
  std::condition_variable link_over_;
  std::optional<Error> own_error_;
  size_t reported_ = 0;
  bool failed_ = false;
};

}  // namespace

Result<bool> run_pipeline(const std::vector<StageRun>& stages, int output, const StageDone& done) {
  return Pipeline(stages, done).run(output);
}

}  // namespace sluice
