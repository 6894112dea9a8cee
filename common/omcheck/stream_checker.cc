#include "common/omcheck/stream_checker.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "common/omcheck/footprint.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/om_events.h"
#include "common/omfile/om_names.h"
#include "fmt/format.h"

namespace sluice {
namespace {

struct Access {
  Footprint bytes;
  bool write;
};

// Positions in streams, from 1, up to which tasks have completed; null: none. Tasks share it from
// one wait of their stream to the next.
using Past = std::shared_ptr<const std::vector<uint32_t>>;

uint32_t completed(const Past& past, uint32_t stream) {
  return past == nullptr ? 0 : (*past)[stream];
}

struct Work {
  uint32_t task;
  uint32_t stream;
  uint32_t position;  // within its stream, from 1
  Past past;          // of the other streams, before this one begins
  std::vector<Access> accesses;
};

// A record of an event or a wait for one.
struct EventTask {
  uint32_t task;
  uint32_t stream;
  uint32_t position;
  Past past;  // before it
};

// Those of one event: its records in the order of the replay, and the waits for each.
struct EventTasks {
  std::vector<EventTask> records;
  std::vector<std::vector<EventTask>> waits;
};

std::vector<Access> accesses_of(const pb::ModelDef& model, const pb::FixedPart& part, int t) {
  std::vector<Access> accesses;
  const uint32_t begin = t == 0 ? 0 : part.task_operand_end(t - 1);
  for (uint32_t i = begin; i < part.task_operand_end(t); ++i) {
    const uint32_t value = part.operand(static_cast<int>(i));
    if (value == 0xffffffff) continue;
    // a value of rows at unequal distances counts as empty: it is a fault of its place
    accesses.push_back(
        {footprint_of(model, part, value).value_or(Footprint()), i - begin < part.task_outputs(t)});
  }
  return accesses;
}

Past join(const Past& a, const Past& b, size_t streams) {
  std::vector<uint32_t> past(streams, 0);
  for (uint32_t s = 0; s < streams; ++s) past[s] = std::max(completed(a, s), completed(b, s));
  return std::make_shared<const std::vector<uint32_t>>(std::move(past));
}

// Returns what is completed when a stream has come so far.
Past past_with(const Past& past, uint32_t stream, uint32_t position, size_t streams) {
  std::vector<uint32_t> own(streams, 0);
  own[stream] = position;
  return join(past, std::make_shared<const std::vector<uint32_t>>(std::move(own)), streams);
}

// Replays the streams until none can advance: what is completed before a task is that of its
// stream, joined at a wait with that of the record (Mattern 1989). A stream that waits for a record
// that is never made continues unordered, after all others have stopped.
class StreamReplay {
 public:
  StreamReplay(const pb::ModelDef& model, const pb::FixedPart& part)
      : model_(model),
        part_(part),
        streams_(static_cast<size_t>(part.streams_size())),
        order_(streams_),
        head_(streams_, 0),
        past_(streams_),
        events_(static_cast<size_t>(part.events_size())) {
    for (int t = 0; t < part.task_kind_size(); ++t) order_[part.task_stream(t)].push_back(t);
  }

  void run() {
    for (bool moved = true, force = false; moved || !force;) {
      force = !moved;
      moved = false;
      for (uint32_t s = 0; s < streams_; ++s) moved = advance(s, force) || moved;
    }
  }

  std::vector<Work>& works() { return works_; }  // in the order of the replay
  const std::vector<EventTasks>& events() const { return events_; }

 private:
  // Returns whether the stream moved. force: it passes one wait for what is not recorded.
  bool advance(uint32_t s, bool& force) {
    const size_t before = head_[s];
    for (; head_[s] < order_[s].size(); ++head_[s]) {
      const int t = order_[s][head_[s]];
      const EventTask task{static_cast<uint32_t>(t), s, static_cast<uint32_t>(head_[s]) + 1,
                           past_[s]};
      if (part_.task_kind(t) == pb::TASK_WAIT) {
        if (!wait(task) && !std::exchange(force, false)) break;
      } else if (part_.task_kind(t) == pb::TASK_RECORD) {
        events_[part_.task_target(t)].records.push_back(task);
      } else {
        works_.push_back({task.task, s, task.position, task.past, accesses_of(model_, part_, t)});
      }
    }
    return head_[s] != before;
  }

  // Returns whether the record that the task waits for was made.
  bool wait(const EventTask& task) {
    const int t = static_cast<int>(task.task);
    EventTasks& event = events_[part_.task_target(t)];
    const size_t number = awaited_record(part_, t);
    if (number == 0 || number > event.records.size()) return false;
    const EventTask& record = event.records[number - 1];
    past_[task.stream] =
        join(past_[task.stream], past_with(record.past, record.stream, record.position, streams_),
             streams_);
    event.waits.resize(event.records.size());
    event.waits[number - 1].push_back(task);
    return true;
  }

  const pb::ModelDef& model_;
  const pb::FixedPart& part_;
  size_t streams_;
  std::vector<std::vector<int>> order_;
  std::vector<size_t> head_;
  std::vector<Past> past_;
  std::vector<EventTasks> events_;
  std::vector<Work> works_;
};

bool is_done_before(const EventTask& a, const EventTask& b) {
  return a.stream == b.stream ? a.position < b.position : completed(b.past, a.stream) >= a.position;
}

// The tasks that access the same bytes, by stream, in the order of each.
struct Place {
  using ByStream = std::map<uint32_t, std::vector<const Work*>>;
  Footprint bytes;
  ByStream writers, readers;
};

std::vector<Place> places_of(const std::vector<Work>& works) {
  const auto key = [](const Footprint& each) {
    return std::tuple(each.region, each.begin, each.rows, each.row_bytes, each.pitch);
  };
  std::map<std::tuple<uint32_t, uint64_t, uint64_t, uint64_t, uint64_t>, size_t> numbers;
  std::vector<Place> places;
  for (const Work& work : works) {
    for (const Access& access : work.accesses) {
      if (access.bytes.is_empty()) continue;
      const auto [number, is_new] = numbers.try_emplace(key(access.bytes), places.size());
      if (is_new) places.push_back({.bytes = access.bytes, .writers = {}, .readers = {}});
      Place& place = places[number->second];
      std::vector<const Work*>& list = (access.write ? place.writers : place.readers)[work.stream];
      if (list.empty() || list.back() != &work) list.push_back(&work);
    }
  }
  return places;
}

// Finds the pairs of tasks of which neither is done before the other begins, among those that
// access common bytes. The tasks of a stream that may overlap with one of another stream follow one
// on the other: after those that are done before it, and before those that it is done before.
class PairFinder {
 public:
  // Returns pairs of numbers of tasks, in order; when there are very many, some of them.
  static std::set<std::pair<uint32_t, uint32_t>> find(const std::vector<Work>& works) {
    PairFinder finder;
    std::vector<Place> places = places_of(works);
    std::ranges::sort(places, {}, [](const Place& place) {
      return std::pair(place.bytes.region, place.bytes.begin);
    });
    std::vector<const Place*> open;  // places that may reach the next one
    for (const Place& place : places) {
      std::erase_if(open, [&](const Place* other) {
        return other->bytes.region != place.bytes.region || other->bytes.end() <= place.bytes.begin;
      });
      open.push_back(&place);
      for (const Place* other : open)
        if (overlap(other->bytes, place.bytes)) finder.compare(*other, place);
    }
    return std::move(finder.found_);
  }

 private:
  static constexpr size_t kMaxPairs = 100'000;

  void compare(const Place& a, const Place& b) {
    compare(a.writers, b.writers);
    compare(a.writers, b.readers);
    if (&a != &b) compare(a.readers, b.writers);
  }

  void compare(const Place::ByStream& a, const Place::ByStream& b) {
    for (const auto& [stream, works] : a)
      for (const auto& [other, others] : b)
        if (other != stream)
          for (const Work* work : works) compare(*work, others);
  }

  void compare(const Work& work, const std::vector<const Work*>& others) {
    const uint32_t stream = others[0]->stream;
    const auto first = std::ranges::upper_bound(others, completed(work.past, stream), {},
                                                [](const Work* other) { return other->position; });
    for (auto at = first; at != others.end(); ++at) {
      const Work& other = **at;
      const bool is_after = completed(other.past, work.stream) >= work.position;
      if (is_after || found_.size() >= kMaxPairs) return;
      found_.emplace(std::min(work.task, other.task), std::max(work.task, other.task));
    }
  }

  std::set<std::pair<uint32_t, uint32_t>> found_;
};

struct Range {
  uint32_t region;
  uint64_t begin;
  uint64_t end;
};

// Returns the range from the first to the last byte that two tasks may share.
std::optional<Range> common_bytes(const Work& a, const Work& b) {
  for (const Access& x : a.accesses) {
    for (const Access& y : b.accesses) {
      if ((x.write || y.write) && overlap(x.bytes, y.bytes))
        return Range{x.bytes.region, std::max(x.bytes.begin, y.bytes.begin),
                     std::min(x.bytes.end(), y.bytes.end())};
    }
  }
  return std::nullopt;
}

std::string region_name(const pb::ModelDef& model, const pb::FixedPart& part, uint32_t region) {
  if (region == pb::REGION_ARENA) return "the arena";
  if (region == pb::REGION_WEIGHTS) return "the weights";
  const int binding = static_cast<int>(region - pb::REGION_FIRST_BINDING);
  const Bindings& inputs = part_inputs(model, part);
  if (binding < inputs.size()) return fmt::format("input '{}'", inputs[binding].name());
  return fmt::format("output '{}'", part_outputs(model, part)[binding - inputs.size()].name());
}

std::string task_name(const NodeNames& names, const pb::FixedPart& part, uint32_t task) {
  const int t = static_cast<int>(task);
  return fmt::format("'{}' (task {}, stream '{}')", names[part.task_node(t)], task,
                     part.streams(static_cast<int>(part.task_stream(t))).name());
}

// Finds records of one event that may come in either order: a wait for the first of two would be
// content with the other. A notify is also taken before it is given again.
void find_unordered_records(const pb::FixedPart& part, const NodeNames& names,
                            const std::vector<EventTasks>& events, size_t limit,
                            std::vector<StreamConflict>& conflicts) {
  const auto check = [&](const EventTask& before, const EventTask& after, size_t event) {
    if (is_done_before(before, after) || conflicts.size() == limit) return;
    const auto [first, second] = std::minmax(before.task, after.task);
    conflicts.push_back({first, second, 0, 0, 0,
                         fmt::format("{} and {} may come in either order, of event {}, which one "
                                     "after the other must use",
                                     task_name(names, part, before.task),
                                     task_name(names, part, after.task), event)});
  };
  for (size_t e = 0; e < events.size(); ++e) {
    const EventTasks& event = events[e];
    for (size_t i = 1; i < event.records.size(); ++i) {
      check(event.records[i - 1], event.records[i], e);
      if (!part.has_notifies() || i > event.waits.size()) continue;
      for (const EventTask& wait : event.waits[i - 1]) check(wait, event.records[i], e);
    }
  }
}

}  // namespace

std::vector<StreamConflict> find_stream_conflicts(const pb::ModelDef& model,
                                                  const pb::FixedPart& part, size_t limit) {
  std::vector<StreamConflict> conflicts;
  if (part.streams_size() < 2) return conflicts;
  const NodeNames names(model);
  StreamReplay replay(model, part);
  replay.run();
  find_unordered_records(part, names, replay.events(), limit, conflicts);
  std::vector<Work>& works = replay.works();
  const auto pairs = PairFinder::find(works);
  std::ranges::sort(works, {}, &Work::task);
  const auto work_of = [&](uint32_t task) -> const Work& {
    return *std::ranges::lower_bound(works, task, {}, &Work::task);
  };
  for (const auto& [first, second] : pairs) {
    if (conflicts.size() == limit) break;
    const Work &a = work_of(first), &b = work_of(second);
    const auto common = common_bytes(a, b);
    if (!common) continue;
    std::string text =
        fmt::format("launches {} and {} may overlap and share bytes [{}, {}) of {}",
                    task_name(names, part, first), task_name(names, part, second), common->begin,
                    common->end, region_name(model, part, common->region));
    conflicts.push_back(
        {first, second, common->region, common->begin, common->end, std::move(text)});
  }
  return conflicts;
}

}  // namespace sluice
