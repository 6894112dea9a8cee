// Takes control frames: a message of the farm as its programs read it, the record of a run of a
// stage as worker and client read it, and a failure header as the next program of a pipe reads it.
// The first byte of the input selects one; each frame has its length before it, in two bytes.
#include <algorithm>
#include <vector>

#include "common/base/failure_header.h"
#include "common/base/memory.h"
#include "common/graphfile/header.h"
#include "common/wire/failure.h"
#include "common/wire/farm_frames.h"
#include "orchestrator/compile/sent_stage.h"
#include "orchestrator/farm/farm_job.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace sluice;

std::vector<Payload> frames_of(std::span<const std::byte> bytes) {
  std::vector<Payload> frames;
  while (bytes.size() >= 2 && frames.size() < 5) {
    const size_t length = static_cast<size_t>(bytes[0]) | static_cast<size_t>(bytes[1]) << 8;
    bytes = bytes.subspan(2);
    frames.push_back({bytes.first(std::min(length, bytes.size())), nullptr});
    bytes = bytes.subspan(frames.back().bytes.size());
  }
  return frames;
}

// The record of a run of a stage, as a worker and a client read it: what it names must be inside of
// what was asked for.
void read_stage(std::string fields) {
  const std::string text = "sluice record 1\nstage\nstage optimize\nrelease " + version_text() +
                           "\n" + std::move(fields);
  const auto record = parse_record(text + "sum " + digest_hex(sha256(text)) + "\n");
  if (!record) return;
  static_cast<void>(artifacts_read(*record));
  Store store("");
  const SentStage asked{.run = {.name = "optimize",
                                .program = "",
                                .options = {"--dump-dir=/nowhere/d", "--opt-level=O3"},
                                .input = "-"},
                        .input = "",
                        .output = "/nowhere/output"};
  const auto made = within_memory([&] { return take_made(asked, *record, store); });
  if (!made) fuzz::expect_unsupported_reason(made.error());
  const auto sent = within_memory([&]() -> Result<void> {
    SLUICE_TRY(sent_stage_of(*record, {.names_files = true}, store));
    return {};
  });
  if (!sent) fuzz::expect_unsupported_reason(sent.error());
}

void read_job(const std::string& record) {
  pb::FarmJob message;
  message.set_record(record);
  const auto job = farm_job_of(message);
  if (!job) return fuzz::expect_unsupported_reason(job.error());
  if (job->inputs.empty()) fuzz::finding("a job without inputs is taken", record);
  pb::WorkerBeat worker;
  static_cast<void>(can_run(worker, job->needs, 0));
}

// As they come, and with the checksum that they should have.
void read_farm_message(std::vector<Payload> frames) {
  static_cast<void>(wire::parse_farm_frames(frames));
  if (frames.size() < 2) return;
  const std::string sum = wire::checksum_of(
      wire::text_of(frames[1]), frames.size() > 2 ? frames[2].bytes : std::span<const std::byte>());
  frames[0].bytes = std::as_bytes(std::span(sum));
  const auto parsed = wire::parse_farm_frames(std::move(frames));
  if (!parsed) return;
  const pb::FarmMessage& message = parsed->message;
  for (const pb::FarmJob& job : message.submit().jobs()) read_job(job.record());
  for (const pb::Lease& lease : message.assign().leases()) read_job(lease.record());
  for (const pb::JobEnd& end : message.ended().jobs())
    static_cast<void>(parse_record(end.record()));
  static_cast<void>(parse_record(message.done().end().record()));
  const Error refused = failure_error(message.refused());  // printed, whatever it contains
  if (error_text(refused).find('\x1b') != std::string::npos)
    fuzz::finding("a peer writes to the terminal", error_text(refused));
  static_cast<void>(listed_digests(std::as_bytes(std::span(message.status().json()))));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = fuzz::bytes_of(data, size).subspan(1);
  if (data[0] == 0) {
    read_farm_message(frames_of(bytes));
  } else if (data[0] == 1) {
    read_stage({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } else {
    static_cast<void>(error_text(failure_read(bytes)));
  }
  return 0;
}
