#include "orchestrator/farm/stage_runs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "common/base/files.h"
#include "common/base/store.h"
#include "orchestrator/process/process.h"

namespace sluice {
namespace {

constexpr size_t kMaxMessageBytes = 1u << 20;
// As long the other runs wait for what one has made to be kept; what takes longer is looked for.
constexpr std::chrono::milliseconds kUsualKeeping{50};

// Returns the line that the stage would have printed.
std::string line_of(const Record& record, const Error& error) {
  const std::string* const stage = record.fields.find("stage");
  const bool is_json = std::ranges::any_of(record.fields.rows(), [](const auto& row) {
    return row.first == "option" && row.second == "--error-format=json";
  });
  if (is_json) return error_json(error) + "\n";
  return fmt::format("sluice-{}: error {}\n", stage == nullptr ? "worker" : *stage,
                     error_text(error));
}

// Returns messages with the names that files had at the client, in place of those in our folder.
std::string as_at_client(const std::string& messages, const std::string& folder) {
  std::string text;
  const std::string ours = folder + "/";
  size_t begin = 0;
  for (size_t at = messages.find(ours); at != std::string::npos; at = messages.find(ours, begin)) {
    text += messages.substr(begin, at - begin);
    begin = at + ours.size();
    for (int level = 0; level < 2; ++level)  // "in/0/", "out/--dump-dir/"
      begin = std::min(messages.find('/', begin), messages.size() - 1) + 1;
  }
  return text + messages.substr(begin);
}

Result<Descriptor> open_file(const std::string& path, int flags) {
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!file) return file_error("open", path);
  return file;
}

}  // namespace

StageRuns::~StageRuns() {
  for (Run& run : runs_) kill(run);
}

void StageRuns::kill(Run& run) {
  if (!run.process) return;
  kill_process(run.handle);
  wait_for(run.process->child());
  run.process.reset();
}

SentPlaces StageRuns::places_of(const Run& run) const {
  SentPlaces places = places_;
  if (run.folder) places.folder = run.folder->path();
  return places;
}

void StageRuns::add(const std::string& client, const std::string& peer, const std::string& text) {
  const auto record = parse_record(text);
  if (!record) return;  // no job of a client of ours: it asks in vain
  const Digest key = record->key();
  const auto is_same = [&](const Run& run) { return run.key == key && run.client == client; };
  if (std::ranges::any_of(runs_, is_same)) return;
  Run& run = runs_.emplace_back();
  run.client = client;
  run.peer = peer;
  run.key = key;
  run.record = *record;
  if (places_.names_files) return;  // what it reads is here, or it is refused when it starts
  for (const Digest& digest : artifacts_read(*record)) {
    if (artifacts_.has(digest)) continue;
    run.missing.insert(digest);
    artifacts_.want(digest, peer);
  }
}

// Returns whether all can be read. What somebody has deleted since it came is asked for again.
bool StageRuns::has_inputs(Run& run) {
  if (!run.missing.empty()) return false;
  if (places_.names_files) return true;
  for (const Digest& digest : artifacts_read(run.record)) {
    const bool is_here = ::access(store_path(store_.path(), digest).c_str(), R_OK) == 0;
    if (run.lost == kMaxDamagedArrivals || is_here) continue;
    artifacts_.forget(digest);
    run.missing.insert(digest);
    artifacts_.want(digest, run.peer);
  }
  if (run.missing.empty()) return true;
  ++run.lost;
  return false;
}

void StageRuns::take_arrival(const Artifacts::Arrival& arrival) {
  if (!arrival.fault.empty())
    return refuse_input(arrival.digest, make_error(ErrorCode::kIo, "{}", arrival.fault));
  for (Run& run : runs_) run.missing.erase(arrival.digest);
}

void StageRuns::refuse_input(const Digest& digest, const Error& error) {
  for (Run& run : runs_) {
    if (!run.missing.contains(digest) || run.is_over) continue;
    fail(run, make_error(error.code, "an input of the job, sha256:{}, did not come: {}",
                         digest_hex(digest).substr(0, 16), error.message));
  }
}

void StageRuns::drop(const std::string& client) {
  for (Run& run : runs_)
    if (run.client == client) kill(run);
  std::erase_if(runs_, [&](const Run& run) { return run.client == client; });
}

void StageRuns::turn() {
  size_t running = 0;
  for (Run& run : runs_) {
    const bool is_kept = run.keeping.valid() &&
                         run.keeping.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    if (is_kept) end_keeping(run);
    if (!run.process) continue;
    const auto limit = StageProcess::max_seconds(run.sent->run);
    const std::chrono::duration<double> time = FarmClock::now() - run.begun;
    const bool is_late = limit && time.count() > *limit;
    if (is_late || has_ended(run.handle)) {
      end_process(run, is_late);
    } else {
      ++running;
    }
  }
  for (Run& run : runs_) {
    if (running >= slots_) break;
    if (run.is_over || run.process || run.keeping.valid() || !has_inputs(run)) continue;
    if (const auto started = start(run); started) {
      ++running;
    } else {
      fail(run, started.error());
    }
  }
  std::erase_if(runs_, [](const Run& run) { return run.is_over; });
}

Result<void> StageRuns::start(Run& run) const {
  if (!places_.names_files) {
    SLUICE_ASSIGN(ScratchFolder folder, ScratchFolder::create());
    run.folder.emplace(std::move(folder));
  }
  SLUICE_ASSIGN(run.sent, sent_stage_of(run.record, places_of(run), store_));
  Descriptor input;
  if (!run.sent->input.empty()) {
    SLUICE_ASSIGN(input, open_file(run.sent->input, O_RDONLY));
  }
  SLUICE_ASSIGN(const Descriptor output, open_file(run.sent->output, O_RDWR | O_CREAT | O_TRUNC));
  SLUICE_ASSIGN(run.messages, make_memory_file());
  SLUICE_ASSIGN(
      StageProcess process,
      StageProcess::start(run.sent->run, {}, {input.get(), output.get(), run.messages.get()}));
  run.begun = FarmClock::now();
  SLUICE_ASSIGN(run.handle, process_handle(process.child()));
  run.process.emplace(std::move(process));
  return {};
}

void StageRuns::end_process(Run& run, bool is_late) {
  if (is_late) kill_process(run.handle);
  StageReport report;
  report.ending = wait_for(run.process->child());
  report.ending.timed_out = is_late;
  report.messages = memory_file_text(run.messages);
  run.process->finish(run.sent->run, report);
  run.process.reset();
  if (run.folder) report.messages = as_at_client(report.messages, run.folder->path());
  report.messages.resize(std::min(report.messages.size(), kMaxMessageBytes));
  pb::JobEnd end;
  if (!report.ending.clean()) {
    end.set_exit_code(static_cast<uint32_t>(
        report.ending.code != 0 ? report.ending.code : static_cast<int>(ExitClass::kResource)));
    end.set_signal(static_cast<uint32_t>(report.ending.signal));
    end.set_error(report.messages);
    return this->end(run, std::move(end));
  }
  run.warnings = report.messages;
  const auto keep = [this, places = places_of(run), record = run.record]() -> Result<Fields> {
    Fields results;
    SLUICE_TRY(keep_made(record, places, store_, results));
    return results;
  };
  run.keeping = std::async(std::launch::async, keep);
  if (run.keeping.wait_for(kUsualKeeping) == std::future_status::ready) end_keeping(run);
}

void StageRuns::end_keeping(Run& run) {
  Result<Fields> results = run.keeping.get();
  if (!results) return fail(run, results.error());
  Record made = run.record;
  made.results = std::move(results).value();
  if (!run.warnings.empty()) made.results.add("messages", run.warnings);
  pb::JobEnd end;
  end.set_record(record_text(made));
  this->end(run, std::move(end));
}

void StageRuns::fail(Run& run, const Error& error) {
  pb::JobEnd end;
  end.set_exit_code(static_cast<uint32_t>(exit_class(error.code)));
  end.set_error(line_of(run.record, error));
  this->end(run, std::move(end));
}

void StageRuns::end(Run& run, pb::JobEnd end) {
  run.is_over = true;
  run.folder.reset();
  end.set_key(digest_field(run.key));
  ended_(run.client, std::move(end));
}

void StageRuns::add_descriptors(std::vector<int>& descriptors) const {
  for (const Run& run : runs_)
    if (run.process) descriptors.push_back(run.handle.get());
}

size_t StageRuns::waiting() const {
  return static_cast<size_t>(std::ranges::count_if(
      runs_, [](const Run& run) { return !run.process && !run.keeping.valid() && !run.is_over; }));
}

}  // namespace sluice
