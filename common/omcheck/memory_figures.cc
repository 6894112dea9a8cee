// Measures a memory plan: how many bytes are live at the same time.
#include <algorithm>
#include <map>
#include <numeric>

#include "common/omcheck/memory_checker.h"
#include "common/omcheck/place_checker.h"
#include "common/omcheck/task_order.h"

namespace sluice {
namespace {

uint64_t rounded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// Values of the arena that share bytes on purpose, while any task uses one of them.
struct SharedBytes {
  uint64_t begin = 0, end = 0;                // from the first to the last byte
  uint64_t dense = 0;                         // bytes of the largest logical type
  size_t first_use = SIZE_MAX, last_use = 0;  // positions in the replay, both included

  void add(const SharedBytes& other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
    dense = std::max(dense, other.dense);
    first_use = std::min(first_use, other.first_use);
    last_use = std::max(last_use, other.last_use);
  }
};

class Measure {
 public:
  Measure(const pb::ModelDef& model, const pb::FixedPart& part)
      : model_(model),
        part_(part),
        tasks_(order_tasks(part)),
        parent_(static_cast<size_t>(part.value_type_size())) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (int v = 0; v < part.value_type_size(); ++v) {
      const uint64_t begin = part.value_offset(v);
      shared_.push_back({begin, begin + part.value_bytes(v),
                         dense_bytes_of(model.types(static_cast<int>(part.value_type(v))))});
    }
  }

  MemoryFigures run() {
    find_uses();
    join_pieces();
    join_overwritten();
    join_views();  // after the others: what they join shows which values a task completes
    MemoryFigures figures{.arena = part_.memory().arena_bytes(),
                          .scratch_per_worker = part_.memory().scratch_bytes()};
    for (const Task& task : tasks_) {
      if (task.kind != pb::TASK_LAUNCH) continue;
      const auto& kernel = model_.kernels(static_cast<int>(part_.task_target(task.number)));
      figures.kernel_scratch = std::max(figures.kernel_scratch, kernel.scratch_bytes());
    }
    figures.live = max_live([](const SharedBytes& set) { return set.end - set.begin; });
    figures.dense_live = max_live([](const SharedBytes& set) { return set.dense; });
    return figures;
  }

 private:
  bool has_bytes(uint32_t v) const {
    return part_.value_region(static_cast<int>(v)) == pb::REGION_ARENA &&
           part_.value_bytes(static_cast<int>(v)) > 0;
  }
  uint64_t offset(uint32_t v) const { return part_.value_offset(static_cast<int>(v)); }

  // Returns the value that stands for all that share bytes with a value (Tarjan 1975).
  uint32_t find(uint32_t v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }

  void join(uint32_t a, uint32_t b) {
    if (!has_bytes(a) || !has_bytes(b) || find(a) == find(b)) return;
    shared_[find(b)].add(shared_[find(a)]);
    parent_[find(a)] = find(b);
  }

  void find_uses() {
    for (size_t position = 0; position < tasks_.size(); ++position) {
      for (const auto* values : {&tasks_[position].results, &tasks_[position].operands}) {
        for (const uint32_t v : *values) {
          shared_[v].first_use = std::min(shared_[v].first_use, position);
          shared_[v].last_use = std::max(shared_[v].last_use, position);
        }
      }
    }
  }

  void join_pieces() {
    for (int i = 0; i < part_.piece_value_size(); ++i)
      join(part_.piece_value(i), part_.piece_of(i));
  }

  void join_overwritten() {
    for (const Task& task : tasks_) {
      for (const uint32_t result : task.results) {
        for (const uint32_t operand : task.operands) {
          if (offset(result) == offset(operand)) join(result, operand);
        }
      }
    }
  }

  // Joins views with what their tasks made or completed.
  void join_views() {
    std::map<int, std::vector<uint32_t>> views;  // by task
    for (int i = 0; i < part_.alias_value_size(); ++i)
      views[static_cast<int>(part_.alias_after_task(i))].push_back(part_.alias_value(i));
    for (const Task& task : tasks_) {
      const auto own = views.find(task.number);
      if (own == views.end()) continue;
      for (const uint32_t view : own->second) {
        for (const uint32_t result : task.results) {
          const SharedBytes& set = shared_[find(result)];
          if (set.begin <= offset(view) && offset(view) < set.end) join(view, result);
        }
      }
    }
  }

  template <typename Bytes>
  uint64_t max_live(const Bytes& bytes) {
    std::vector<int64_t> change(tasks_.size() + 1, 0);
    for (uint32_t v = 0; v < shared_.size(); ++v) {
      const SharedBytes& set = shared_[v];
      if (find(v) != v || !has_bytes(v) || set.first_use == SIZE_MAX) continue;
      change[set.first_use] += static_cast<int64_t>(rounded(bytes(set)));
      change[set.last_use + 1] -= static_cast<int64_t>(rounded(bytes(set)));
    }
    int64_t live = 0, maximum = 0;
    for (const int64_t step : change) maximum = std::max(maximum, live += step);
    return static_cast<uint64_t>(maximum);
  }

  const pb::ModelDef& model_;
  const pb::FixedPart& part_;
  const std::vector<Task> tasks_;
  std::vector<uint32_t> parent_;     // by value
  std::vector<SharedBytes> shared_;  // by value that stands for others
};

}  // namespace

MemoryFigures measure_memory(const pb::ModelDef& model, const pb::FixedPart& part) {
  return Measure(model, part).run();
}

}  // namespace sluice
