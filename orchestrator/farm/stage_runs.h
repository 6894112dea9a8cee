// The runs of stages of a worker that listens, from the coming of a job to its end: inputs are
// brought, a process runs, its products go into the store.
#pragma once

#include <functional>
#include <future>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/scratch_folder.h"
#include "common/store/store.h"
#include "orchestrator/compile/sent_stage.h"
#include "orchestrator/compile/stage_process.h"
#include "orchestrator/farm/artifacts.h"
#include "orchestrator/farm/farm_job.h"

namespace sluice {

class StageRuns {
 public:
  // ended: gets the end of each run of a client that has not left.
  using Ended = std::function<void(const std::string& client, pb::JobEnd end)>;
  StageRuns(SentPlaces places, size_t slots, Store& store, Artifacts& artifacts, Ended ended)
      : places_(std::move(places)),
        slots_(slots),
        store_(store),
        artifacts_(artifacts),
        ended_(std::move(ended)) {}
  ~StageRuns();
  StageRuns(const StageRuns&) = delete;
  StageRuns& operator=(const StageRuns&) = delete;

  // Takes a job, unless it has it. peer: who is asked for its inputs.
  void add(const std::string& client, const std::string& peer, const std::string& record);
  void take_arrival(const Artifacts::Arrival& arrival);
  // Fails those that read an artifact.
  void refuse_input(const Digest& digest, const Error& error);
  // Nobody wants the runs of a client any more.
  void drop(const std::string& client);
  void turn();
  void add_descriptors(std::vector<int>& descriptors) const;
  size_t waiting() const;

 private:
  struct Run {
    std::string client, peer;
    Digest key;
    Record record;
    std::set<Digest> missing;
    int lost = 0;  // how often inputs that had come were gone
    std::optional<ScratchFolder> folder;
    std::optional<SentStage> sent;
    std::optional<StageProcess> process;
    Descriptor handle, messages;
    FarmClock::time_point begun{};
    std::string warnings;                 // of the process that has ended
    std::future<Result<Fields>> keeping;  // of what it made; hashing gigabytes takes seconds
    bool is_over = false;
  };

  SentPlaces places_of(const Run& run) const;
  bool has_inputs(Run& run);
  Result<void> start(Run& run) const;
  void end_process(Run& run, bool is_late);
  void end_keeping(Run& run);
  void end(Run& run, pb::JobEnd end);
  void fail(Run& run, const Error& error);
  static void kill(Run& run);

  const SentPlaces places_;
  const size_t slots_;
  Store& store_;
  Artifacts& artifacts_;
  const Ended ended_;
  std::list<Run> runs_;  // in the order in which they came
};

}  // namespace sluice
