// Level scheduled: facts that follow from others, and that a compiled model contains as they stand:
// what runs a copy, when the results of a node without task are complete, the bytes of values, how
// long buffers are held, the bytes of arena and scratch. Each is found here once more, in a simple
// way, so that an edit that forgot one is refused.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "common/ir/module.h"
#include "common/ir/value_storage.h"
#include "common/ops/value_bytes.h"
#include "common/text/text.h"
#include "common/verify/findings.h"

namespace sluice::verifying {
namespace {

constexpr uint64_t kLine = 64;  // buffers of the arena take whole lines

std::string task_text(int64_t position) {
  return position < 0 ? "no task" : fmt::format("task {}", position);
}

// Returns whether the storage, which is checked elsewhere, is one of the value's type.
bool is_stored_right(const Value& value) {
  const Storage* storage = value.storage();
  return storage == nullptr || (value.type().is_tensor() && value.type().ranked &&
                                storage->map.size() == storage->dims.size() &&
                                storage_fault(storage->map, value.type().dims.size()).empty());
}

class PlanChecker {
 public:
  PlanChecker(const Graph& graph, bool is_complete, Findings& findings)
      : graph_(graph),
        module_(graph.module()),
        is_complete_(is_complete),
        findings_(findings),
        made_(graph.value_limit(), -1) {}

  void run() {
    for (const Node& node : graph_.nodes()) {
      if (!node.placement.no_task) tasks_.push_back(&node);
      events_ += node.placement.records.size();
    }
    check_engines();
    if (!graph_.buffers.empty()) {
      check_completion();
      for (const Value& value : graph_.values()) check_value(value);
      check_buffers();
    }
    if (is_complete_) check_memory();
  }

 private:
  void check_engines() {
    for (const Node* task : tasks_) {
      const Placement& placement = task->placement;
      if (placement.kernel < 0 && placement.stream >= 0 && is_copied(*task) &&
          placement.engine != EngineId::kRts)
        findings_.add("{}: copies, and runs on {}, not on {}", task->label(),
                      engine_name(placement.engine), engine_name(EngineId::kRts));
    }
  }

  // ---- nodes without task

  void check_completion() {
    int64_t position = 0;
    for (const Node& node : graph_.nodes()) {
      const bool is_task = !node.placement.no_task;
      const int64_t last = is_task ? position++ : last_maker(node);
      for (size_t k = 0; k < node.output_count(); ++k) made_[index_of(node.output(k))] = last;
      const int64_t expected = is_task ? -1 : last;
      if (node.placement.complete_after != expected)
        findings_.add("{}: is complete after {}, not after {}", node.label(),
                      task_text(node.placement.complete_after), task_text(expected));
    }
  }

  // Returns the last task that makes some of the bytes which a node shows.
  int64_t last_maker(const Node& node) const {
    const size_t shown = node.op() == Op::kConcat ? node.input_count() : 1;
    int64_t last = -1;
    for (size_t i = 0; i < shown; ++i) {
      if (node.input(i) != nullptr) last = std::max(last, made_[index_of(*node.input(i))]);
    }
    return last;
  }

  static size_t index_of(const Value& value) { return static_cast<size_t>(value.id()); }

  // ---- values

  void check_value(const Value& value) {
    const MemoryPlace& place = value.place();
    if (value.is_erased() || place.buffer < 0 || !is_stored_right(value)) return;
    if (const Dim bytes = bytes_of(value); place.bytes != bytes)
      findings_.add("{}: has {} bytes at its place, not {}", value_label(value),
                    print_dim(module_, place.bytes), print_dim(module_, bytes));
    if (const TypeId capacity = capacity_of(value); place.capacity != capacity)
      findings_.add("{}: its rows lie in {}, not in {}", value_label(value),
                    rows_text(place.capacity), rows_text(capacity));
  }

  Dim bytes_of(const Value& value) const {
    const Type& type = value.type();
    if (value.storage() != nullptr && (type.is_fixed() || row_axis(value)))
      return value.storage()->bytes;
    if (value.is_constant())
      return Dim::fixed(static_cast<int64_t>(module_.segment(value.segment()).size));
    if (const auto bytes = type.dense_bytes()) return Dim::fixed(static_cast<int64_t>(*bytes));
    return type.is_fixed() ? Dim::unknown() : open_bytes(type);
  }

  // Returns the bytes of a dense tensor whose size is an expression.
  Dim open_bytes(const Type& type) const {
    const int bits = type.is_tensor() && type.ranked ? dtype_bits(type.dtype) : 0;
    if (bits == 0) return Dim::unknown();
    ExpressionTable& table = module_.expressions;
    ExpressionId count = table.constant(bits < 8 ? 1 : bits / 8);
    for (const Dim& dim : type.dims) {
      const auto extent = module_.dim_expression(dim);
      if (!extent) return Dim::unknown();
      count = table.multiply(count, *extent);
    }
    return module_.make_dim(bits < 8 ? table.ceil_divide(count, table.constant(8 / bits)) : count);
  }

  // Returns the value's type with the extents that it is stored in, where that has rows of others
  // between its own.
  TypeId capacity_of(const Value& value) const {
    if (!row_axis(value)) return -1;
    const Storage& storage = *value.storage();
    Type type = value.type();
    for (size_t dim = 0; dim < type.dims.size(); ++dim) {
      for (size_t i = 0; i < storage.map.size(); ++i) {
        if (storage.map[i] == StoredAxis{static_cast<int32_t>(dim)})
          type.dims[dim] = storage.dims[i];
      }
    }
    return module_.intern(type);
  }

  std::string rows_text(TypeId capacity) const {
    return capacity < 0 ? "rows of its own" : "rows of " + print_type(module_, capacity);
  }

  // ---- buffers

  void check_buffers() {
    if (!have_streams()) return;
    find_known();
    find_held_until();
    for (size_t id = 0; id < graph_.buffers.size(); ++id) {
      const MemoryBuffer& buffer = graph_.buffers[id];
      if (!has_real_tasks(buffer)) continue;
      const TaskRange &found = buffer.held, expected = held_tasks(buffer);
      if (found != expected)
        findings_.add("{}: buffer b{} is held by the tasks [{}, {}], not [{}, {}]",
                      graph_label(graph_), id, found.first, found.last, expected.first,
                      expected.last);
    }
  }

  bool have_streams() const {
    return std::ranges::all_of(tasks_, [&](const Node* task) {
      return task->placement.stream >= 0 &&
             static_cast<size_t>(task->placement.stream) < graph_.streams.size();
    });
  }

  size_t stream_of(size_t position) const {
    return static_cast<size_t>(tasks_[position]->placement.stream);
  }

  bool has_real_tasks(const MemoryBuffer& buffer) const {
    return std::ranges::all_of(buffer.live, [&](const LiveRange& range) {
      return range.stream < graph_.streams.size() && range.last < tasks_.size();
    });
  }

  // What streams know of each other: by stream, up to which position its tasks are done.
  using Known = std::shared_ptr<const std::vector<uint32_t>>;  // null: of nothing

  static uint32_t end_known(const Known& known, size_t stream) {
    return known == nullptr ? 0 : (*known)[stream];
  }

  struct Point {
    size_t stream;
    uint32_t end;  // 1 + the position of a task
  };
  struct Record {
    Point at;
    Known known;  // before it
    std::vector<Point> waits;
  };

  // Checks that an event is recorded again only after the record before it, and a notify only
  // after it was taken.
  void check_reuse(const Record& before, uint32_t event, size_t stream, uint32_t position) {
    const auto is_done = [&](const Point& point) {
      return point.stream == stream ? point.end <= position + 1
                                    : end_known(known_.back(), point.stream) >= point.end;
    };
    const bool is_taken = !graph_.has_notifies || std::ranges::all_of(before.waits, is_done);
    if (is_done(before.at) && is_taken) return;
    findings_.add("{}: records event {} again, maybe before the record of {}{}",
                  tasks_[position]->label(), event, tasks_[before.at.end - 1]->label(),
                  graph_.has_notifies ? " is taken" : "");
  }

  // Finds what each task knows before it begins, which changes where it waits: what those knew that
  // recorded, and that they are done.
  void find_known() {
    std::vector<std::vector<Record>> records(events_);
    std::vector<Known> now(graph_.streams.size());
    positions_.assign(graph_.streams.size(), {});
    for (uint32_t position = 0; position < tasks_.size(); ++position) {
      const Placement& placement = tasks_[position]->placement;
      const size_t stream = stream_of(position);
      for (const EventWait& wait : placement.waits) {
        if (wait.event >= events_ || wait.record - 1 >= records[wait.event].size()) continue;
        Record& record = records[wait.event][wait.record - 1];
        record.waits.push_back({stream, position + 1});
        std::vector<uint32_t> more(graph_.streams.size(), 0);
        for (size_t other = 0; other < more.size(); ++other)
          more[other] = std::max(end_known(now[stream], other), end_known(record.known, other));
        uint32_t& end = more[record.at.stream];
        end = std::max(end, record.at.end);
        now[stream] = std::make_shared<const std::vector<uint32_t>>(std::move(more));
      }
      known_.push_back(now[stream]);
      positions_[stream].push_back(position);
      for (const uint32_t event : placement.records) {
        if (event >= events_) continue;
        if (!records[event].empty()) check_reuse(records[event].back(), event, stream, position);
        records[event].push_back({{stream, position + 1}, now[stream], {}});
      }
    }
  }

  // Finds for each task the last one before which some stream does not know that it is done: of a
  // stream that never knows, its last one.
  void find_held_until() {
    held_until_.assign(tasks_.size(), 0);
    for (size_t stream = 0; stream < positions_.size(); ++stream) {
      if (!positions_[stream].empty()) tell(stream);
    }
  }

  // Tells a stream of the tasks of all, each where it first knows of it.
  void tell(size_t stream) {
    std::vector<size_t> told(positions_.size(), 0);  // by stream: how many of its tasks
    const auto tell_of = [&](size_t other, uint32_t end, uint32_t before) {
      for (; told[other] < positions_[other].size(); ++told[other]) {
        const uint32_t done = positions_[other][told[other]];
        if (done >= end) return;
        held_until_[done] = std::max(held_until_[done], before - 1);
      }
    };
    const std::vector<uint32_t>* known = nullptr;
    for (const uint32_t position : positions_[stream]) {
      tell_of(stream, position, position);
      if (known_[position].get() == known) continue;
      known = known_[position].get();
      for (size_t other = 0; other < told.size(); ++other)
        if (other != stream) tell_of(other, (*known)[other], position);
    }
    for (size_t other = 0; other < told.size(); ++other)
      tell_of(other, UINT32_MAX, positions_[stream].back() + 1);
  }

  TaskRange held_tasks(const MemoryBuffer& buffer) const {
    if (buffer.memory != MemoryClass::kArena) return {};
    TaskRange held = hull_of(buffer.live);
    if (graph_.streams.size() < 2) return held;
    for (const LiveRange& range : buffer.live)
      held.last = std::max(held.last, held_until_[range.last]);
    return held;
  }

  // ---- the memory of a part

  void check_memory() {
    const uint64_t arena = arena_bytes(), scratch = scratch_bytes();
    if (graph_.arena_bytes != arena)
      findings_.add("{}: its arena has {} bytes, not {}", graph_label(graph_), graph_.arena_bytes,
                    arena);
    if (graph_.scratch_bytes != scratch)
      findings_.add("{}: its scratch has {} bytes, not {}", graph_label(graph_),
                    graph_.scratch_bytes, scratch);
  }

  // Returns the end of the last buffer, or of the last sub-memory.
  uint64_t arena_bytes() const {
    uint64_t end = begin_of(graph_.memories, static_cast<uint32_t>(graph_.memories.size()));
    for (const MemoryBuffer& buffer : graph_.buffers) {
      if (buffer.memory != MemoryClass::kArena || !buffer.offset.is_fixed()) continue;
      const uint64_t bytes = max_bytes(module_, buffer.bytes).value_or(0);
      end = std::max(
          end, static_cast<uint64_t>(buffer.offset.value) + (bytes + kLine - 1) / kLine * kLine);
    }
    return end;
  }

  uint64_t scratch_bytes() const {
    uint64_t bytes = 0;
    for (const Node* task : tasks_) {
      const KernelId kernel = task->placement.kernel;
      if (kernel >= 0 && static_cast<size_t>(kernel) < module_.kernel_count())
        bytes = std::max(bytes, module_.kernel(kernel).scratch_bytes);
    }
    return bytes;
  }

  const Graph& graph_;
  Module& module_;
  const bool is_complete_;
  Findings& findings_;
  std::vector<const Node*> tasks_;  // by position
  size_t events_ = 0;
  std::vector<int64_t> made_;                     // by value: its last task; -1: none makes it
  std::vector<std::vector<uint32_t>> positions_;  // by stream, ascending
  std::vector<Known> known_;                      // by position
  std::vector<uint32_t> held_until_;              // by position
};

}  // namespace

void check_plan(const Graph& graph, bool is_complete, Findings& findings) {
  PlanChecker(graph, is_complete, findings).run();
}

}  // namespace sluice::verifying
