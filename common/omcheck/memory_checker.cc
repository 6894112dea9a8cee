#include "common/omcheck/memory_checker.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "common/base/dtype.h"
#include "common/omfile/in_place_append.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/om_names.h"
#include "fmt/format.h"

namespace sluice {
namespace {

constexpr uint32_t kNone = 0xffffffff;
constexpr uint64_t kAlignment = 64;

uint64_t rounded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

uint64_t bytes_of(const pb::TypeDef& type) {
  uint64_t count = 1;
  for (const int64_t dim : type.dims()) count *= static_cast<uint64_t>(std::max<int64_t>(dim, 0));
  return dtype_bytes(static_cast<DType>(type.dtype()), count);
}

struct Task {
  int number;  // in the part
  pb::TaskKind kind;
  std::vector<uint32_t> results;
  std::vector<uint32_t> operands;  // absent ones left out
};

Task read_task(const pb::FixedPart& part, int number) {
  Task task{number, part.task_kind(number), {}, {}};
  const uint32_t begin = number == 0 ? 0 : part.task_operand_end(number - 1);
  for (uint32_t i = begin; i < part.task_operand_end(number); ++i) {
    const uint32_t value = part.operand(static_cast<int>(i));
    if (value != kNone)
      (i - begin < part.task_outputs(number) ? task.results : task.operands).push_back(value);
  }
  return task;
}

// Returns the tasks that touch memory, in an order that streams and events allow; with one stream,
// in the order of the stream.
std::vector<Task> play(const pb::FixedPart& part) {
  std::vector<Task> order;
  std::vector<bool> recorded(static_cast<size_t>(part.events_size()), false),
      done(static_cast<size_t>(part.task_kind_size()), false);
  for (bool moved = true; moved;) {
    moved = false;
    std::vector<bool> blocked(static_cast<size_t>(part.streams_size()), false);
    for (int t = 0; t < part.task_kind_size(); ++t) {
      if (done[static_cast<size_t>(t)] || blocked[part.task_stream(t)]) continue;
      if (part.task_kind(t) == pb::TASK_WAIT && !recorded[part.task_target(t)]) {
        blocked[part.task_stream(t)] = true;
        continue;
      }
      done[static_cast<size_t>(t)] = moved = true;
      if (part.task_kind(t) == pb::TASK_RECORD) recorded[part.task_target(t)] = true;
      if (part.task_kind(t) != pb::TASK_RECORD && part.task_kind(t) != pb::TASK_WAIT)
        order.push_back(read_task(part, t));
    }
  }
  return order;
}

// Records which value was the last to write each byte of a region.
class Bytes {
 public:
  void write(uint64_t begin, uint64_t end, uint32_t value) {
    if (begin == end) return;
    cut(begin);
    cut(end);
    ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
    ranges_[begin] = {end, value};
  }

  // Returns the value that wrote all of [begin, end); kNone when several values did, or when nobody
  // wrote one of the bytes.
  uint32_t writer(uint64_t begin, uint64_t end) const {
    auto range = ranges_.upper_bound(begin);
    if (range == ranges_.begin()) return kNone;
    const uint32_t value = (--range)->second.value;
    uint64_t covered = range->second.end;
    for (++range; covered < end && range != ranges_.end() && range->first == covered &&
                  range->second.value == value;
         ++range)
      covered = range->second.end;
    return covered >= end ? value : kNone;
  }

 private:
  struct Range {
    uint64_t end;
    uint32_t value;
  };

  void cut(uint64_t at) {
    auto range = ranges_.upper_bound(at);
    if (range == ranges_.begin()) return;
    --range;
    if (range->first == at || range->second.end <= at) return;
    ranges_[at] = range->second;
    range->second.end = at;
  }

  std::map<uint64_t, Range> ranges_;  // by first byte
};

class Replay {
 public:
  Replay(const pb::ModelDef& model, const pb::FixedPart& part, uint64_t weights_bytes, size_t limit)
      : model_(model),
        part_(part),
        node_names_(model),
        value_names_(part),
        limit_(limit),
        shows_(static_cast<size_t>(part.value_type_size()), kNone) {
    region_bytes_ = {part.memory().arena_bytes(), weights_bytes};
    for (const Bindings* bindings : {&part_inputs(model, part), &part_outputs(model, part)}) {
      for (const pb::BindingDef& binding : *bindings)
        region_bytes_.push_back(
            bytes_of(model.types(static_cast<int>(memory_type(model, binding)))));
    }
    regions_.resize(region_bytes_.size());
    for (int i = 0; i < part.alias_value_size(); ++i)
      views_[part.alias_after_task(i)].push_back(part.alias_value(i));
  }

  std::vector<std::string> run() {
    for (uint32_t v = 0; v < shows_.size(); ++v) check_place(v);
    if (!faults_.empty()) return faults_;
    for (const Task& task : play(part_)) {
      for (const uint32_t operand : task.operands) check_read(task, operand);
      check_overlaps(task);
      for (const uint32_t result : task.results) write(task, result);
      for (const uint32_t view : views_[static_cast<uint32_t>(task.number)]) show(task, view);
    }
    for (int k = 0; k < part_outputs(model_, part_).size(); ++k) check_output(k);
    return faults_;
  }

 private:
  template <typename... Args>
  void fault(fmt::format_string<Args...> format, Args&&... args) {
    if (faults_.size() < limit_)
      faults_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  uint32_t inputs() const { return static_cast<uint32_t>(part_inputs(model_, part_).size()); }
  uint32_t region(uint32_t v) const { return part_.value_region(static_cast<int>(v)); }
  uint64_t begin(uint32_t v) const { return part_.value_offset(static_cast<int>(v)); }
  uint64_t end(uint32_t v) const { return begin(v) + part_.value_bytes(static_cast<int>(v)); }
  bool is_empty(uint32_t v) const { return begin(v) == end(v); }
  bool is_read_only(uint32_t v) const {
    return region(v) == pb::REGION_WEIGHTS || (region(v) >= pb::REGION_FIRST_BINDING &&
                                               region(v) < pb::REGION_FIRST_BINDING + inputs());
  }

  std::string name(uint32_t v) const { return fmt::format("value {} ('{}')", v, value_names_[v]); }
  std::string name(const Task& task) const {
    return fmt::format("task {} ('{}')", task.number, node_names_[part_.task_node(task.number)]);
  }

  void check_place(uint32_t v) {
    const uint64_t bytes = part_.value_bytes(static_cast<int>(v)), whole = region_bytes_[region(v)];
    const uint64_t dense =
        bytes_of(model_.types(static_cast<int>(part_.value_type(static_cast<int>(v)))));
    if (begin(v) % kAlignment != 0)
      fault("{} begins at byte {}, no multiple of 64", name(v), begin(v));
    if (begin(v) > whole || bytes > whole - begin(v))
      fault("{} at bytes {} + {} leaves its region of {}", name(v), begin(v), bytes, whole);
    if (bytes < dense) fault("{} has {} bytes, its type needs {}", name(v), bytes, dense);
  }

  void check_read(const Task& task, uint32_t v) {
    if (is_read_only(v) || is_empty(v)) return;
    const uint32_t expected = shows_[v];
    const uint32_t found = regions_[region(v)].writer(begin(v), end(v));
    if (expected == kNone) {
      fault("{} reads {} before any task made it", name(task), name(v));
    } else if (found != expected) {
      fault("{} reads {}, whose bytes [{}, {}) were last written by {}", name(task), name(v),
            begin(v), end(v), found == kNone ? "several values or nobody" : name(found));
    }
  }

  bool overlap(uint32_t a, uint32_t b) const {
    return region(a) == region(b) && begin(a) < end(b) && begin(b) < end(a);
  }

  void check_overlaps(const Task& task) {
    const bool may_overwrite = task.kind == pb::TASK_LAUNCH || task.kind == pb::TASK_TEST;
    for (size_t i = 0; i < task.results.size(); ++i) {
      const uint32_t result = task.results[i];
      for (size_t j = i + 1; j < task.results.size(); ++j) {
        if (overlap(result, task.results[j]))
          fault("{} writes {} and {} to common bytes", name(task), name(result),
                name(task.results[j]));
      }
      for (const uint32_t operand : task.operands) {
        const bool covers = begin(result) == begin(operand) && end(result) == end(operand);
        if (overlap(result, operand) && !(covers && may_overwrite))
          fault("{} writes {} over {}, which it reads", name(task), name(result), name(operand));
      }
    }
  }

  void write(const Task& task, uint32_t v) {
    if (is_read_only(v))
      fault("{} writes {}, which is an input or a constant", name(task), name(v));
    if (shows_[v] != kNone) fault("{} makes {} again", name(task), name(v));
    shows_[v] = v;
    regions_[region(v)].write(begin(v), end(v), v);
  }

  // Checks that a view has the same bytes as a result of its task, from the first byte on.
  void show(const Task& task, uint32_t view) {
    const auto same = std::find_if(task.results.begin(), task.results.end(), [&](uint32_t result) {
      return region(result) == region(view) && begin(result) == begin(view) &&
             end(result) >= end(view);
    });
    if (same == task.results.end())
      return fault("{} shows no result of {}", name(view), name(task));
    shows_[view] = *same;
  }

  void check_output(int k) {
    const size_t binding = pb::REGION_FIRST_BINDING + inputs() + static_cast<uint32_t>(k);
    if (region_bytes_[binding] > 0 && regions_[binding].writer(0, region_bytes_[binding]) == kNone)
      fault("output '{}' is not written in full by one value",
            part_outputs(model_, part_)[k].name());
  }

  const pb::ModelDef& model_;
  const pb::FixedPart& part_;
  const NodeNames node_names_;
  const ValueNames value_names_;
  size_t limit_;
  std::vector<uint64_t> region_bytes_;
  std::vector<Bytes> regions_;
  std::vector<uint32_t> shows_;  // by value: the result that it shows; kNone before it is made
  std::map<uint32_t, std::vector<uint32_t>> views_;  // by task
  std::vector<std::string> faults_;
};

// Values of the arena that share bytes: views of a result, and results written exactly over an
// operand.
class SharedBytes {
 public:
  explicit SharedBytes(const pb::FixedPart& part)
      : part_(part), first_(static_cast<size_t>(part.value_type_size())) {
    std::iota(first_.begin(), first_.end(), 0);
  }

  uint32_t find(uint32_t v) const {
    while (first_[v] != v) v = first_[v];
    return v;
  }

  void join_if_same(uint32_t a, uint32_t b) {
    const int x = static_cast<int>(a), y = static_cast<int>(b);
    const bool same = part_.value_region(x) == part_.value_region(y) &&
                      part_.value_offset(x) == part_.value_offset(y) && part_.value_bytes(x) > 0;
    if (same && part_.value_bytes(y) > 0) first_[find(a)] = find(b);
  }

 private:
  const pb::FixedPart& part_;
  std::vector<uint32_t> first_;
};

struct Life {
  size_t begin = SIZE_MAX, end = 0;  // positions in the replay, both included
  uint64_t bytes = 0;
  uint64_t dense = 0;
};

uint64_t max_alive(const std::vector<Life>& lives, size_t tasks, uint64_t Life::* bytes) {
  std::vector<int64_t> change(tasks + 1, 0);
  for (const Life& life : lives) {
    if (life.begin == SIZE_MAX) continue;
    change[life.begin] += static_cast<int64_t>(life.*bytes);
    change[life.end + 1] -= static_cast<int64_t>(life.*bytes);
  }
  int64_t alive = 0, maximum = 0;
  for (const int64_t step : change) maximum = std::max(maximum, alive += step);
  return static_cast<uint64_t>(maximum);
}

}  // namespace

std::vector<std::string> find_memory_faults(const pb::ModelDef& model, const pb::FixedPart& part,
                                            uint64_t weights_bytes, size_t limit) {
  return Replay(model, part, weights_bytes, limit).run();
}

MemoryFigures measure_memory(const pb::ModelDef& model, const pb::FixedPart& part) {
  MemoryFigures figures{.arena = part.memory().arena_bytes(),
                        .scratch_per_worker = part.memory().scratch_bytes()};
  const std::vector<Task> tasks = play(part);
  SharedBytes shared(part);
  std::map<uint32_t, std::vector<uint32_t>> views;  // by task
  for (int i = 0; i < part.alias_value_size(); ++i)
    views[part.alias_after_task(i)].push_back(part.alias_value(i));
  for (const Task& task : tasks) {
    for (const uint32_t result : task.results) {
      for (const uint32_t operand : task.operands) shared.join_if_same(result, operand);
      for (const uint32_t view : views[static_cast<uint32_t>(task.number)])
        shared.join_if_same(view, result);
    }
    if (task.kind == pb::TASK_LAUNCH) {
      const auto& kernel = model.kernels(static_cast<int>(part.task_target(task.number)));
      figures.kernel_scratch = std::max(figures.kernel_scratch, kernel.scratch_bytes());
    }
  }
  std::vector<Life> lives(static_cast<size_t>(part.value_type_size()));
  for (size_t position = 0; position < tasks.size(); ++position) {
    for (const auto* values : {&tasks[position].results, &tasks[position].operands}) {
      for (const uint32_t v : *values) {
        const int index = static_cast<int>(v);
        if (part.value_region(index) != pb::REGION_ARENA) continue;
        Life& life = lives[shared.find(v)];
        life.begin = std::min(life.begin, position);
        life.end = std::max(life.end, position);
        life.bytes = std::max(life.bytes, rounded(part.value_bytes(index)));
        life.dense = std::max(
            life.dense, rounded(bytes_of(model.types(static_cast<int>(part.value_type(index))))));
      }
    }
  }
  figures.live = max_alive(lives, tasks.size(), &Life::bytes);
  figures.dense_live = max_alive(lives, tasks.size(), &Life::dense);
  return figures;
}

}  // namespace sluice
