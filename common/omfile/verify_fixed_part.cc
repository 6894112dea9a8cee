// Checks the rules of a part. After them the executor indexes without checks: every operand is a
// value, every value is inside its region, every target exists, and the streams cannot wait for
// each other forever. A size that is unknown before binding is checked after it.
#include <algorithm>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/limits.h"
#include "common/omfile/external_weights.h"
#include "common/omfile/in_place_append.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/om_events.h"
#include "common/omfile/om_format.h"
#include "common/omfile/om_names.h"
#include "common/omfile/om_types.h"
#include "common/omfile/pieces.h"
#include "common/omfile/sub_memories.h"
#include "common/omfile/verify_model.h"

namespace sluice {
namespace {

class FixedPartRules {
 public:
  FixedPartRules(const pb::ModelDef& model, const pb::FixedPart& part, const TypeSizes& sizes,
                 bool is_bound, bool test_tasks)
      : model_(model),
        part_(part),
        sizes_(sizes),
        is_bound_(is_bound),
        test_tasks_(test_tasks),
        tasks_(part.task_kind_size()),
        values_(part.value_type_size()) {}

  Result<void> check() {
    SLUICE_TRY(check_columns());
    SLUICE_TRY(check_memory());
    SLUICE_TRY(size_regions());
    for (int v = 0; v < values_; ++v) SLUICE_TRY(check_value(v));
    if (const std::string fault = pieces_fault(part_, is_bound_); !fault.empty())
      return bad("{}", fault);
    for (int t = 0; t < tasks_; ++t) SLUICE_TRY(check_task(t));
    SLUICE_TRY(check_events());
    SLUICE_TRY(check_aliases());
    return check_progress();
  }

 private:
  template <typename... Args>
  static Error bad(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::kBadCompiledModel, format, std::forward<Args>(args)...);
  }

  Error bad_task(int task, std::string_view what) const {
    return bad("task {} (node '{}'): {}", task, NodeNames(model_)[part_.task_node(task)], what);
  }

  std::string name(int value) const {
    return ValueNames(part_)[static_cast<uint32_t>(value)];
  }  // for the one error

  Result<void> check_columns() const {
    const bool values_agree =
        part_.value_region_size() == values_ && part_.value_offset_size() == values_ &&
        part_.value_bytes_size() == values_ && part_.value_storage_size() == values_ &&
        (part_.value_capacity_size() == values_ || part_.value_capacity_size() == 0);
    if (!values_agree) return bad("the columns that describe values differ in length");
    const bool tasks_agree =
        part_.task_stream_size() == tasks_ && part_.task_target_size() == tasks_ &&
        part_.task_node_size() == tasks_ && part_.task_outputs_size() == tasks_ &&
        part_.task_operand_end_size() == tasks_ &&
        (part_.task_record_size() == tasks_ || part_.task_record_size() == 0);
    if (!tasks_agree) return bad("the columns that describe tasks differ in length");
    if (part_.alias_value_size() != part_.alias_after_task_size())
      return bad("the columns that describe aliases differ in length");
    const uint32_t operands = tasks_ == 0 ? 0 : part_.task_operand_end(tasks_ - 1);
    if (operands != static_cast<uint32_t>(part_.operand_size()))
      return bad("the last task's operands do not end the list of operands");
    return {};
  }

  Result<void> check_memory() const {
    const pb::MemoryDef& memory = part_.memory();
    if (memory.arena_bytes() > kOmArenaLimit)
      return bad("an arena of {} bytes, at most {}", memory.arena_bytes(), kOmArenaLimit);
    uint64_t bytes = 0;
    for (const pb::SubMemoryDef& each : memory.sub_memories()) {
      if (each.bytes() % kOmValueAlignment != 0 || each.bytes() > memory.arena_bytes() - bytes)
        return bad("a sub-memory of {} bytes after {} of an arena of {}", each.bytes(), bytes,
                   memory.arena_bytes());
      bytes += each.bytes();
    }
    if (memory.sub_memories_size() > 0 && bytes < memory.arena_bytes())
      return bad("the sub-memories have {} bytes, their arena {}", bytes, memory.arena_bytes());
    if (memory.scratch_bytes() > kScratchLimit)
      return bad("{} bytes of scratch per worker, at most {}", memory.scratch_bytes(),
                 kScratchLimit);
    if (part_.has_host()) {
      const int graph = part_.host_graph();
      if (graph < 0 || graph >= model_.segments_size() ||
          model_.segments(graph).kind() != pb::SEGMENT_GRAPH) {
        return bad("segment {} of the host graph is no graph", graph);
      }
    }
    return {};
  }

  // Sizes the regions. Bindings of parts under a root were not checked with the model's.
  Result<void> size_regions() {
    arena_ends_ = arena_ends(part_.memory());
    region_bytes_ = {part_.memory().arena_bytes(), weights_bytes(model_)};
    for (const Bindings* bindings : {&part_inputs(model_, part_), &part_outputs(model_, part_)}) {
      for (const pb::BindingDef& binding : *bindings) {
        if (binding.type() >= static_cast<uint32_t>(model_.types_size()))
          return bad("'{}' has type {}", binding.name(), binding.type());
        SLUICE_TRY(check_state(binding));
        SLUICE_TRY(check_sized(binding, binding.type()));
        SLUICE_TRY(check_sized(binding, memory_type(model_, binding)));
        SLUICE_ASSIGN(const auto bytes, sizes_.bytes(memory_type(model_, binding)));
        region_bytes_.push_back(bytes.value_or(UINT64_MAX));
      }
    }
    return {};
  }

  // Checks that an input or output of a part has a size once the part is bound.
  Result<void> check_sized(const pb::BindingDef& binding, uint32_t type) const {
    SLUICE_ASSIGN(const auto bytes, sizes_.bytes(type));
    if (bytes || (!is_bound_ && sizes_.is_bindable(type))) return {};
    return bad("'{}' of a part is {}, which has no size before the part runs", binding.name(),
               type_text(model_, type));
  }

  Result<void> check_state(const pb::BindingDef& binding) const {
    if (binding.state() == 0) return {};
    const bool is_kept = binding.state() <= static_cast<uint32_t>(model_.states_size()) &&
                         model_.has_root() &&
                         model_.states(static_cast<int>(binding.state()) - 1).storage() != 0;
    return is_kept ? Result<void>()
                   : bad("'{}' is state {}, which is not written in place", binding.name(),
                         binding.state());
  }

  Result<void> check_value(int v) const {
    const uint64_t offset = part_.value_offset(v);
    const uint64_t bytes = part_.value_bytes(v);
    if (part_.value_type(v) >= static_cast<uint32_t>(model_.types_size()))
      return bad("value {} has type {}", v, part_.value_type(v));
    if (part_.value_region(v) >= region_bytes_.size())
      return bad("value {} lies in region {}", v, part_.value_region(v));
    const bool is_placed = is_bound_ || part_.value_region(v) != pb::REGION_ARENA;
    const uint64_t region = is_placed ? region_bytes_[part_.value_region(v)] : UINT64_MAX;
    const uint64_t alignment = part_.piece_value_size() > 0 ? kOmPieceAlignment : kOmValueAlignment;
    if (offset % alignment != 0)
      return bad("value {} ('{}') begins at byte {}, not a multiple of {}", v, name(v), offset,
                 alignment);
    if (offset > region || bytes > region - offset) {
      return bad("value {} ('{}') at bytes {} + {} leaves its region of {}", v, name(v), offset,
                 bytes, region);
    }
    if (is_placed && part_.value_region(v) == pb::REGION_ARENA &&
        bytes > arena_ends_[allocation_of(arena_ends_, offset)] - offset)
      return bad("value {} ('{}') at bytes {} + {} reaches from one sub-memory into the next", v,
                 name(v), offset, bytes);
    SLUICE_ASSIGN(const auto dense, sizes_.bytes(part_.value_type(v)));
    if (is_appended(static_cast<uint32_t>(v)) &&
        !has_capacity(model_, part_, sizes_, is_bound_, static_cast<uint32_t>(v)))
      return bad("value {} ('{}') does not fit the memory of its state", v, name(v));
    SLUICE_TRY(check_storage(v));
    if (!has_rows_apart(part_, static_cast<uint32_t>(v))) return check_bytes(v, dense.value_or(0));
    const std::string fault =
        rows_fault(model_, part_, sizes_, is_bound_, static_cast<uint32_t>(v));
    return fault.empty() ? Result<void>() : bad("value {} ('{}') {}", v, name(v), fault);
  }

  // Checks that the storage of a value that is not dense takes each of its elements once.
  Result<void> check_storage(int v) const {
    const uint32_t index = part_.value_storage(v);
    if (index == 0) return {};
    if (index > static_cast<uint32_t>(model_.storages_size()))
      return bad("value {} ('{}') has storage {} of {}", v, name(v), index - 1,
                 model_.storages_size());
    const pb::StorageDef& def = model_.storages(static_cast<int>(index) - 1);
    if (def.divisor_size() != def.dim_size() || def.modulus_size() != def.dim_size())
      return bad("the columns of storage {} differ in length", index - 1);
    const pb::TypeDef& type = model_.types(static_cast<int>(part_.value_type(v)));
    const std::string fault =
        storage_fault(storage_map_of(def), static_cast<size_t>(type.dims_size()));
    return fault.empty() ? Result<void>() : bad("value {} ('{}'): {}", v, name(v), fault);
  }

  // Checks that the elements of a value without rows apart lie within its bytes.
  Result<void> check_bytes(int v, uint64_t dense) const {
    const uint64_t bytes = part_.value_bytes(v);
    if (dense > bytes)
      return bad("value {} ('{}') has {} bytes of storage, its type needs {}", v, name(v), bytes,
                 dense);
    const uint32_t index = part_.value_storage(v);
    if (index == 0) return {};
    const auto extents = sizes_.extents(part_.value_type(v));
    if (!extents) return {};
    const StorageMap map = storage_map_of(model_.storages(static_cast<int>(index) - 1));
    const pb::TypeDef& type = model_.types(static_cast<int>(part_.value_type(v)));
    const uint64_t element = dtype_bits(static_cast<DType>(type.dtype())) / 8;
    const auto needed = stored_elements(map, *extents);
    if (needed && *needed <= bytes / std::max<uint64_t>(element, 1)) return {};
    return bad("value {} ('{}') has {} bytes of storage, too few for {}", v, name(v), bytes,
               print_storage_map(map));
  }

  bool may_be_written(uint32_t value) const {
    const uint32_t region = part_.value_region(static_cast<int>(value));
    return region == pb::REGION_ARENA ||
           region >=
               pb::REGION_FIRST_BINDING + static_cast<uint32_t>(part_inputs(model_, part_).size());
  }

  Result<void> check_operands(int t, uint32_t begin, uint32_t end) const {
    if (begin > end || end > static_cast<uint32_t>(part_.operand_size()))
      return bad_task(t, "its operands lie outside the list");
    const uint32_t outputs = part_.task_outputs(t);
    if (outputs > end - begin) return bad_task(t, "it writes more operands than it has");
    const pb::TaskKind kind = part_.task_kind(t);
    const bool may_be_missing = kind == pb::TASK_HOST;
    const bool is_dense = kind == pb::TASK_HOST || kind == pb::TASK_COPY || kind == pb::TASK_APPEND;
    for (uint32_t i = begin; i < end; ++i) {
      const uint32_t value = part_.operand(static_cast<int>(i));
      if (value == kAbsentId && may_be_missing) continue;
      if (value >= static_cast<uint32_t>(values_))
        return bad_task(t, fmt::format("operand {} is value {} of {}", i - begin, value, values_));
      if (i - begin < outputs && !may_be_written(value))
        return bad_task(
            t, fmt::format("operand {} is written but lies in constants or an input", i - begin));
      if (is_dense && has_rows_apart(part_, value))
        return bad_task(
            t, fmt::format("operand {} has rows apart, which only kernels can access", i - begin));
    }
    return {};
  }

  Result<void> check_task(int t) {
    if (part_.task_stream(t) >= static_cast<uint32_t>(part_.streams_size()))
      return bad_task(t, fmt::format("stream {}", part_.task_stream(t)));
    const uint32_t begin = t == 0 ? 0 : part_.task_operand_end(t - 1);
    const uint32_t end = part_.task_operand_end(t);
    SLUICE_TRY(check_operands(t, begin, end));
    if (part_.task_node(t) >= model_.nodes())
      return bad_task(t, fmt::format("node {}", part_.task_node(t)));
    const uint32_t target = part_.task_target(t);
    switch (part_.task_kind(t)) {
      case pb::TASK_LAUNCH:
        if (target >= static_cast<uint32_t>(model_.kernels_size()))
          return bad_task(t, fmt::format("kernel {}", target));
        if (model_.kernels(static_cast<int>(target)).object_bytes() == 0)
          return bad_task(t, "its kernel has no code");
        return {};
      case pb::TASK_TEST:
        if (!test_tasks_)
          return bad_task(t, "it names a kernel of a test, which this program does not have");
        if (target >= static_cast<uint32_t>(model_.kernels_size()))
          return bad_task(t, fmt::format("kernel {}", target));
        return {};
      case pb::TASK_HOST:
        if (!part_.has_host())
          return bad_task(t, "it runs on host_cpu, but the part has no host graph");
        return {};
      case pb::TASK_COPY:
        return check_copy(t, begin, end);
      case pb::TASK_APPEND:
        return check_append(t, begin, end);
      case pb::TASK_RECORD:
      case pb::TASK_WAIT:
        if (begin != end) return bad_task(t, "an event has operands");
        if (target >= static_cast<uint32_t>(part_.events_size()))
          return bad_task(t, fmt::format("event {}", target));
        return {};
      default:
        return bad_task(t, fmt::format("unknown kind {}", static_cast<int>(part_.task_kind(t))));
    }
  }

  // Checks that every event is recorded, that waits are for records that there are, and notifies
  // for one wait each.
  Result<void> check_events() const {
    std::vector<std::vector<uint32_t>> waits(static_cast<size_t>(part_.events_size()));
    for (int t = 0; t < tasks_; ++t)
      if (part_.task_kind(t) == pb::TASK_RECORD) waits[part_.task_target(t)].push_back(0);
    for (size_t e = 0; e < waits.size(); ++e)
      if (waits[e].empty()) return bad("event {} is recorded by no task", e);
    for (int t = 0; t < tasks_; ++t) {
      if (part_.task_kind(t) != pb::TASK_WAIT) continue;
      const uint32_t record = awaited_record(part_, t);
      std::vector<uint32_t>& of_event = waits[part_.task_target(t)];
      if (record == 0 || record > of_event.size())
        return bad_task(t, fmt::format("it waits for record {} of event {}, which has {}", record,
                                       part_.task_target(t), of_event.size()));
      ++of_event[record - 1];
    }
    for (size_t e = 0; e < waits.size() && part_.has_notifies(); ++e) {
      for (const uint32_t count : waits[e])
        if (count != 1) return bad("{} tasks wait for a record of notify {}, expected 1", count, e);
    }
    return {};
  }

  Result<void> check_copy(int t, uint32_t begin, uint32_t end) const {
    if (end - begin != 2 || part_.task_outputs(t) != 1)
      return bad_task(t, "a copy has one output and one input");
    const uint32_t to = part_.operand(static_cast<int>(begin)),
                   from = part_.operand(static_cast<int>(begin + 1));
    if (is_appended(to) || is_appended(from)) {
      const std::string fault = append_copy_fault(model_, part_, sizes_, is_bound_, to, from);
      return fault.empty() ? Result<void>() : Result<void>(bad_task(t, fault));
    }
    const uint64_t to_bytes = part_.value_bytes(static_cast<int>(to)),
                   from_bytes = part_.value_bytes(static_cast<int>(from));
    if (to_bytes != from_bytes)
      return bad_task(t, fmt::format("it copies {} bytes to {}", from_bytes, to_bytes));
    return {};
  }

  bool is_appended(uint32_t value) const {
    return state_of(model_, part_, part_.value_region(static_cast<int>(value))) != 0;
  }

  Result<void> check_append(int t, uint32_t begin, uint32_t end) const {
    const std::span<const uint32_t> operands(part_.operand().data() + begin, end - begin);
    const std::string fault =
        append_fault(model_, part_, sizes_, is_bound_, operands, part_.task_target(t));
    return fault.empty() && part_.task_outputs(t) == 1 ? Result<void>()
                                                       : Result<void>(bad_task(t, fault));
  }

  Result<void> check_aliases() const {
    for (int i = 0; i < part_.alias_value_size(); ++i) {
      if (part_.alias_value(i) >= static_cast<uint32_t>(values_))
        return bad("alias {} is value {}", i, part_.alias_value(i));
      if (part_.alias_after_task(i) >= static_cast<uint32_t>(tasks_))
        return bad("alias {} follows task {}", i, part_.alias_after_task(i));
    }
    return {};
  }

  // Replays the streams' waits and records alone: each stream must reach its end. Streams blocked
  // on an event look again when it is recorded.
  Result<void> check_progress() const {
    const size_t streams = static_cast<size_t>(part_.streams_size());
    std::vector<std::vector<int>> order(streams);
    for (int t = 0; t < tasks_; ++t) order[part_.task_stream(t)].push_back(t);
    std::vector<size_t> head(streams, 0);
    std::vector<uint32_t> records(static_cast<size_t>(part_.events_size()), 0);  // made so far
    std::vector<std::vector<uint32_t>> blocked(records.size());
    std::vector<uint32_t> ready;
    for (uint32_t s = 0; s < streams; ++s) ready.push_back(s);
    while (!ready.empty()) {
      const uint32_t s = ready.back();
      ready.pop_back();
      for (; head[s] < order[s].size(); ++head[s]) {
        const int t = order[s][head[s]];
        const uint32_t event = part_.task_target(t);
        if (part_.task_kind(t) == pb::TASK_RECORD) {
          ++records[event];
          ready.insert(ready.end(), blocked[event].begin(), blocked[event].end());
          blocked[event].clear();
        } else if (part_.task_kind(t) == pb::TASK_WAIT &&
                   records[event] < awaited_record(part_, t)) {
          blocked[event].push_back(s);
          break;
        }
      }
    }
    for (size_t s = 0; s < streams; ++s) {
      if (head[s] < order[s].size())
        return bad_task(order[s][head[s]],
                        "it waits for an event that is never recorded before it");
    }
    return {};
  }

  const pb::ModelDef& model_;
  const pb::FixedPart& part_;
  const TypeSizes& sizes_;
  const bool is_bound_;  // false: the arena has no size yet
  const bool test_tasks_;
  const int tasks_;
  const int values_;
  std::vector<uint64_t> region_bytes_;
  std::vector<uint64_t> arena_ends_;  // of its allocations
};

}  // namespace

Result<void> verify_fixed_part(const pb::ModelDef& model, const pb::FixedPart& part,
                               const TypeSizes& sizes, bool test_tasks) {
  return FixedPartRules(model, part, sizes, true, test_tasks).check();
}

Result<void> verify_part(const pb::ModelDef& model, const pb::PartDef& part, bool test_tasks) {
  if (!part.has_fixed()) return make_error(ErrorCode::kBadCompiledModel, "a part without tasks");
  const TypeSizes sizes(model);
  SLUICE_TRY(FixedPartRules(model, part.fixed(), sizes, !part.has_symbolic(), test_tasks).check());
  if (part.has_symbolic()) return verify_symbolic_part(model, part);
  for (int v = 0; v < part.fixed().value_type_size(); ++v) {
    if (!sizes.is_fixed(part.fixed().value_type(v)))
      return make_error(ErrorCode::kUnsupportedPart, "a type has a dim that is not fixed");
  }
  return {};
}

}  // namespace sluice
