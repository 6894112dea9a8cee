// Lets records that come one after the other share an event, and numbers events from 0 in the order
// of their first record.
//
//   before:  %a = Neg(%x) placement {stream = "s", records = [0]}
//            %b = Abs(%a) placement {stream = "t", waits = [0], records = [1]}
//            %c = Sin(%b) placement {stream = "s", waits = [1]}
//   after:   %a = Neg(%x) placement {stream = "s", records = [0]}
//            %b = Abs(%a) placement {stream = "t", waits = [0], records = [0]}
//            %c = Sin(%b) placement {stream = "s", waits = [0:2]}
//
// Legal because an event counts its records: where each is made after the one before it, the number
// says which ones were. A notify is recorded again only after the task that waits for it has begun.
//
// An event's records are a chain in the order of tasks, so the fewest events are the fewest chains
// that contain all records: as many as there are records less the pairs of a largest matching of
// records with ones that can follow them (D. R. Fulkerson, "Note on Dilworth's decomposition
// theorem for partially ordered sets", 1956). Up to kMaxMatched records are matched so; of
// more, those of a stream share an event, which another stream takes over after the last one
// (record_chains.h).
//
// Must run after all records are there.
#include <algorithm>
#include <unordered_map>

#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"
#include "stages/build/streams/happens_before.h"
#include "stages/build/streams/record_chains.h"
#include "stages/build/streams/stream_options.h"

namespace sluice {
namespace {

class EventReuser {
 public:
  explicit EventReuser(Graph& graph) : graph_(graph), tasks_(tasks_of(graph)), order_(graph) {
    find_records();
  }

  bool run() {
    std::vector<uint32_t> streams;
    for (const Record& record : records_) streams.push_back(order_.stream_of(record.position));
    const std::vector<uint32_t> chains = record_chains(
        streams, [this](uint32_t before, uint32_t after) { return can_follow(before, after); });
    std::vector<uint32_t> last(chains.size(), 0);  // by event: its records so far
    bool changed = false;
    for (Node* task : tasks_) task->placement.records.clear();
    for (uint32_t id = 0; id < records_.size(); ++id) {
      Record& record = records_[id];
      record.now = {chains[id], ++last[chains[id]]};
      changed = changed || record.now != record.before;
      events_ = std::max(events_, size_t{chains[id]} + 1);
      tasks_[record.position]->placement.records.push_back(chains[id]);
    }
    for (Node* task : tasks_) {
      for (EventWait& wait : task->placement.waits) wait = awaited(wait).now;
      std::ranges::sort(task->placement.waits);
    }
    return changed;
  }

  size_t events() const { return events_; }

 private:
  struct Record {
    EventWait before;  // as waits name it before
    uint32_t position;
    uint32_t last_wait = 0;  // of a notify: the position of the task that waits for it
    EventWait now = {};
  };

  // Every wait is for a record before it: the verifier sees to that.
  Record& awaited(const EventWait& wait) {
    return records_[records_of_[wait.event][wait.record - 1]];
  }

  void find_records() {
    for (uint32_t position = 0; position < tasks_.size(); ++position) {
      for (const EventWait& wait : tasks_[position]->placement.waits)
        awaited(wait).last_wait = position;
      for (const uint32_t event : tasks_[position]->placement.records) {
        std::vector<uint32_t>& of_event = records_of_[event];
        of_event.push_back(static_cast<uint32_t>(records_.size()));
        records_.push_back({{event, static_cast<uint32_t>(of_event.size())}, position});
      }
    }
  }

  bool can_follow(uint32_t before, uint32_t after) const {
    const uint32_t next = records_[after].position;
    if (!graph_.has_notifies) return order_.is_before(records_[before].position, next);
    const uint32_t taken = records_[before].last_wait;
    return taken == next || order_.is_before(taken, next);
  }

  Graph& graph_;
  std::vector<Node*> tasks_;
  HappensBefore order_;
  std::vector<Record> records_;                                     // in the order of tasks
  std::unordered_map<uint32_t, std::vector<uint32_t>> records_of_;  // by event
  size_t events_ = 0;
};

}  // namespace

Result<bool> reuse_events(Graph& root, const Options& options) {
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(options.text("profile")));
  bool changed = false;
  for (Graph* graph : scheduled_graphs(root)) {
    if (graph->streams.size() < 2) continue;
    SLUICE_TRY(check_streams(*graph));
    EventReuser reuser(*graph);
    changed = reuser.run() || changed;
    const bool notifies = graph->has_notifies;
    SLUICE_TRY(check_limit(*graph, profile, notifies ? "notifies" : "events", reuser.events(),
                           notifies ? profile.streams.max_notifies : profile.streams.max_events,
                           notifies ? "use fewer streams, or --sync=event" : "use fewer streams"));
  }
  return changed;
}

}  // namespace sluice
