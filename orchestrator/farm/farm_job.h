// A job of the farm as the dispatcher has it.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "common/store/record.h"
#include "common/wire/payload.h"
#include "farm.pb.h"

namespace sluice {

using FarmClock = std::chrono::steady_clock;
using FarmNow = std::function<FarmClock::time_point()>;

inline constexpr std::chrono::milliseconds kFarmHeartbeat{kHeartbeatMs};
inline constexpr std::chrono::seconds kFarmCollectPause{60};  // between collections of a store

// How a line of FarmJob::needs for a profile begins, and a native profile in a record.
inline constexpr std::string_view kProfileNeed = "profile ", kNativeProfile = "native ";
// The line of a job with passes of users.
inline constexpr std::string_view kPassesNeed = "passes of users";

// A digest is its own hash.
struct DigestHash {
  size_t operator()(const Digest& digest) const {
    size_t hash = 0;
    std::memcpy(&hash, digest.bytes.data(), sizeof(hash));
    return hash;
  }
};

struct FarmJob {
  enum class State : uint8_t {
    kWaiting,    // for its inputs
    kReady,      // for a worker
    kRunning,    // at one worker or more
    kAccepting,  // its product is on the way, or being verified
    kEnded,
    kQuarantined,  // it took three workers with it
  };

  Digest key;
  std::string record;  // text
  std::string kind;    // "compile", "kernel"
  // What its worker must have, in lines: the builds of programs, a native profile, more memory.
  std::string needs;
  std::vector<Digest> inputs;  // artifacts
  std::vector<Digest> lists;   // artifacts that list further ones, a hex digest in a line
  int32_t priority = 0;
  State state = State::kWaiting;
  int losses = 0;                      // workers that were lost with it and others
  int losses_alone = 0;                // workers that were lost while they ran nothing else
  int losses_excused = 0;              // workers without it were lost at about the same time
  int failures = 0;                    // transient ones
  FarmClock::time_point not_before{};  // it waits until then, after a failure
  FarmClock::time_point since{};       // when it became ready, or began
  std::set<Digest> missing;            // artifacts that it waits for
  std::set<uint64_t> leases;
  std::set<std::string> clients;  // those who want its end
  std::optional<pb::JobEnd> end;
};

using FarmJobs = std::unordered_map<Digest, FarmJob, DigestHash>;

// Returns a job that is to be run. Errors: kBadRequest, when the record is of no job.
Result<FarmJob> farm_job_of(const pb::FarmJob& message);

// The same of each job of a message.
Result<std::vector<FarmJob>> farm_jobs_of(const pb::Submit& submit);

// Returns the digests of such a list; lines that are no digest are left out.
std::vector<Digest> listed_digests(std::span<const std::byte> list);

// The job ran out of memory where it could have so many bytes: it needs a worker with more.
void need_more_memory(FarmJob& job, uint64_t bytes);

// Returns whether a worker that says this of itself satisfies FarmJob::needs. Of workers that have
// `largest` bytes of memory a job can need no more.
bool can_run(const pb::WorkerBeat& worker, const std::string& needs, uint64_t largest);

}  // namespace sluice
