// Splits streams of more tasks than the device takes. The next part of a stream waits for the last
// task of the one before it, so the order of the stream stays.
//
//   before:  %a = Neg(%x) placement {stream = "main"}    (the device takes one task)
//            %b = Abs(%a) placement {stream = "main"}
//   after:   %a = Neg(%x) placement {stream = "main", records = [0]}
//            %b = Abs(%a) placement {stream = "main.1", waits = [0]}
//
// Legal because every task still begins after those before it in its stream, through one wait more.
// A node is given to the device as several tasks (the profile's or its engine's number), and so is
// each wait and record. A stream is full when kReservedTasks more would not fit: the device's own
// at its start and end. Control flow begins no stream. A profile may let the only stream of a part
// have any number of tasks (huge_stream).
//
// Must run after insert-events, and before events are reused.
#include <algorithm>
#include <set>

#include "common/ir/module.h"
#include "common/target/engine_table.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"
#include "stages/build/streams/happens_before.h"
#include "stages/build/streams/stream_options.h"

namespace sluice {
namespace {

class StreamSplitter {
 public:
  // notifies: each record is for one wait.
  StreamSplitter(Graph& graph, const DeviceProfile& profile, const EngineTable& table,
                 bool notifies)
      : graph_(graph),
        profile_(profile),
        table_(table),
        notifies_(notifies),
        tasks_(tasks_of(graph)) {}

  // Returns whether a stream was split. Error: kLimit, for one node of more tasks than a stream
  // has.
  Result<bool> run() {
    SLUICE_TRY(find_pieces());
    if (pieces_.size() == graph_.streams.size()) return false;
    name_pieces();
    link_pieces();
    graph_.has_notifies = notifies_;
    return true;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Piece {
    uint32_t stream;        // that it is of
    uint32_t number = 0;    // in the stream, from 0
    uint32_t last = kNone;  // the position of its last task
    uint32_t before = kNone;
    int64_t tasks = 0;
  };

  // Control flow begins no stream.
  static bool may_begin_stream(const Node& task) {
    return task.op() == Op::kFused || task.bodies().empty();
  }

  Result<void> check_tasks(int64_t tasks, const Node& last) const {
    const int64_t needed = tasks + kReservedTasks, limit = profile_.streams.max_tasks;
    if (needed <= limit) return {};
    return make_error(ErrorCode::kLimit,
                      "{}: its stream needs {} tasks up to here, of which the device keeps {}, and "
                      "cannot be split before; device profile '{}' has {}",
                      last.label(), needed, kReservedTasks, profile_.name, limit)
        .with_hint("choose a device profile with more max_tasks_per_stream");
  }

  // Gives each task a piece of its stream.
  Result<void> find_pieces() {
    for (uint32_t stream = 0; stream < graph_.streams.size(); ++stream)
      pieces_.push_back({.stream = stream});
    std::vector<uint32_t> open(graph_.streams.size());  // by stream: its last piece
    for (uint32_t stream = 0; stream < open.size(); ++stream) open[stream] = stream;
    for (uint32_t position = 0; position < tasks_.size(); ++position) {
      const Node& task = *tasks_[position];
      uint32_t& piece = open[static_cast<size_t>(task.placement.stream)];
      const auto events =
          static_cast<int64_t>(task.placement.waits.size() + task.placement.records.size());
      const int64_t tasks = tasks_of_node(task, profile_, table_) + events;
      // One task is for a record that the next piece waits for.
      const bool is_full =
          pieces_[piece].tasks + tasks + 1 + kReservedTasks > profile_.streams.max_tasks;
      if (is_full && pieces_[piece].last != kNone && may_begin_stream(task)) {
        pieces_.push_back({.stream = pieces_[piece].stream,
                           .number = pieces_[piece].number + 1,
                           .before = piece,
                           .tasks = 1});  // the wait for the piece before
        piece = static_cast<uint32_t>(pieces_.size() - 1);
      }
      pieces_[piece].tasks += tasks;
      pieces_[piece].last = position;
      piece_of_.push_back(piece);
      SLUICE_TRY(check_tasks(pieces_[piece].tasks, task));
    }
    return {};
  }

  // Numbers the pieces as streams, in the order of their first task.
  void name_pieces() {
    std::set<std::string> names(graph_.streams.begin(), graph_.streams.end());
    std::vector<std::string> streams;
    std::vector<int32_t> number(pieces_.size(), -1);
    for (uint32_t position = 0; position < tasks_.size(); ++position) {
      const uint32_t id = piece_of_[position];
      if (number[id] < 0) {
        number[id] = static_cast<int32_t>(streams.size());
        const Piece& piece = pieces_[id];
        std::string name = graph_.streams[piece.stream];
        if (piece.number > 0) {
          name += fmt::format(".{}", piece.number);
          while (!names.insert(name).second) name += "_";
        }
        streams.push_back(std::move(name));
      }
      tasks_[position]->placement.stream = number[id];
    }
    graph_.streams = std::move(streams);
  }

  // Lets the first task of each piece wait for the last one of the piece before it, where nothing
  // else that it waits for comes after that.
  void link_pieces() {
    uint32_t events = 0;
    for (const Node* task : tasks_)
      for (const uint32_t event : task->placement.records) events = std::max(events, event + 1);
    std::vector<std::vector<uint32_t>> recorded(events);  // by event, the positions
    TaskClocks clocks(graph_.streams.size());
    std::vector<bool> is_begun(pieces_.size(), false);
    for (uint32_t position = 0; position < tasks_.size(); ++position) {
      Placement& own = tasks_[position]->placement;
      clocks.add(static_cast<uint32_t>(own.stream));
      for (const EventWait& wait : own.waits)
        clocks.wait_for(recorded[wait.event][wait.record - 1]);
      const uint32_t piece = piece_of_[position];
      if (!is_begun[piece] && pieces_[piece].before != kNone) {
        const uint32_t last = pieces_[pieces_[piece].before].last;
        if (clocks.last_done(clocks.stream_of(last), position) < last) {
          std::vector<uint32_t>& records = tasks_[last]->placement.records;
          if (records.empty() || notifies_) {
            records.push_back(events++);
            recorded.push_back({last});
          }
          const auto number = std::ranges::find(recorded[records.back()], last);
          own.waits.push_back(
              {records.back(),
               static_cast<uint32_t>(number - recorded[records.back()].begin()) + 1});
          clocks.wait_for(last);
        }
      }
      is_begun[piece] = true;
      for (const uint32_t event : own.records) recorded[event].push_back(position);
    }
  }

  Graph& graph_;
  const DeviceProfile& profile_;
  const EngineTable& table_;
  const bool notifies_;
  std::vector<Node*> tasks_;
  std::vector<Piece> pieces_;       // those of the streams themselves come first
  std::vector<uint32_t> piece_of_;  // by position
};

}  // namespace

Result<bool> split_streams(Graph& root, const Options& options) {
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(options.text("profile")));
  const StreamLimits& limits = profile.streams;
  if (limits.max_tasks == 0) return false;
  SLUICE_ASSIGN(const EngineTable table, make_engine_table(profile));
  const bool notifies = options.text("sync") == "notify";
  bool changed = false;
  for (Graph* graph : scheduled_graphs(root)) {
    if (limits.has_huge_stream && graph->streams.size() == 1) continue;
    SLUICE_TRY(check_streams(*graph));
    SLUICE_ASSIGN(const bool is_split, StreamSplitter(*graph, profile, table, notifies).run());
    changed = changed || is_split;
    SLUICE_TRY(check_limit(*graph, profile, "streams", graph->streams.size(), limits.max_streams,
                           "each has only so many tasks: choose another device profile"));
  }
  return changed;
}

}  // namespace sluice
