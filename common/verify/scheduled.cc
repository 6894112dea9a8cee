// Level scheduled: every task has a stream, every event is recorded before it is waited for, and
// every value lies in a buffer that is large enough, of the right memory class and live
// while tasks touch it. A stage that stopped half-way has some of these facts, which are checked as
// far as they are there. Whether buffers that are live together overlap is found by the independent
// checkers of the compiled model (common/omcheck).
#include <algorithm>
#include <map>
#include <set>

#include "common/base/work.h"
#include "common/ir/module.h"
#include "common/ir/value_storage.h"
#include "common/ops/attributes.h"
#include "common/verify/findings.h"

namespace sluice::verifying {
namespace {

constexpr int64_t kBufferAlignment = 64, kPlaceAlignment = 4;

bool is_multiple(const Dim& dim, int64_t divisor) {
  return !dim.is_fixed() || dim.value % divisor == 0;
}

class ScheduleChecker {
 public:
  ScheduleChecker(const Graph& graph, bool is_complete, Findings& findings)
      : graph_(graph), is_complete_(is_complete), findings_(findings) {}

  void run() {
    for (const Node& node : graph_.nodes()) tasks_ += node.placement.no_task ? 0 : 1;
    for (const Value* input : graph_.inputs()) inputs_ += input->is_constant() ? 0 : 1;
    for (const Node& node : graph_.nodes()) records_ += node.placement.records.size();
    for (size_t id = 0; id < graph_.buffers.size(); ++id) check_buffer(id);
    uint32_t position = 0;
    for (const Node& node : graph_.nodes()) {
      check_node(node);
      if (node.placement.no_task) {
        if (!graph_.buffers.empty()) check_no_task(node);
        continue;
      }
      if (!graph_.buffers.empty()) check_operands(node, position);
      ++position;
    }
    check_events();
    for (const Value& value : graph_.values()) check_value(value);
    if (!graph_.buffers.empty()) check_inputs();
    if (is_complete_) check_outputs();
  }

 private:
  // ---- nodes

  void check_node(const Node& node) {
    check_copy(node);
    const Placement& placement = node.placement;
    if (placement.stream >= static_cast<int64_t>(graph_.streams.size()))
      findings_.add("{}: its stream {} does not exist", node.label(), placement.stream);
    if (placement.no_task && placement.stream >= 0)
      findings_.add("{}: is no task, and has a stream", node.label());
    if (is_complete_ && !placement.no_task && placement.stream < 0)
      findings_.add("{}: has no stream", node.label());
    for (const EventWait& wait : placement.waits) check_wait(node, wait);
    for (const uint32_t event : placement.records) {
      if (event >= records_)
        findings_.add("{}: records event {}, and there are {} records: events are numbered from 0",
                      node.label(), event, records_);
      recorded_[event].push_back({placement.stream, &node});
    }
  }

  // Checks that no number of an event is left out, and that one task waits for each notify.
  void check_events() {
    uint32_t next = 0;
    for (const auto& [event, records] : recorded_) {
      if (event != next && event < records_)
        findings_.add("{}: event {} is recorded, and {} is not", graph_label(graph_), event, next);
      next = event + 1;
      for (const Record& record : records) {
        if (graph_.has_notifies && record.waits != 1)
          findings_.add("{}: {} tasks wait for its record of notify {}, expected 1",
                        record.node->label(), record.waits, event);
      }
    }
  }

  // Checks that the output that a copy fills exists.
  void check_copy(const Node& node) {
    if (node.op() != Op::kMemCopy || !node.has(attributes::MemCopy::output)) return;
    const int64_t output = node.get(attributes::MemCopy::output);
    const auto outputs = static_cast<int64_t>(graph_.outputs().size());
    if (output < 0 || output >= outputs)
      findings_.add("{}: fills output {}, its graph has {}", node.label(), output, outputs);
  }

  void check_wait(const Node& node, const EventWait& wait) {
    const auto found = recorded_.find(wait.event);
    const size_t records = found == recorded_.end() ? 0 : found->second.size();
    if (records == 0) {
      findings_.add("{}: waits for event {}, which no task before it records", node.label(),
                    wait.event);
    } else if (wait.record == 0 || wait.record > records) {
      findings_.add("{}: waits for record {} of event {}, of which tasks before it make {}",
                    node.label(), wait.record, wait.event, records);
    } else if (Record& record = found->second[wait.record - 1];
               record.stream == node.placement.stream) {
      findings_.add("{}: waits for event {} of its own stream", node.label(), wait.event);
    } else {
      ++record.waits;
    }
  }

  // ---- memory

  void check_buffer(size_t id) {
    const MemoryBuffer& buffer = graph_.buffers[id];
    if (!is_multiple(buffer.offset, kBufferAlignment))
      findings_.add("{}: buffer b{} is at {}, no multiple of {}", graph_label(graph_), id,
                    buffer.offset.value, kBufferAlignment);
    check_class(buffer, id);
    for (size_t i = 0; i < buffer.live.size(); ++i) {
      const LiveRange& range = buffer.live[i];
      const bool is_sorted = i == 0 || buffer.live[i - 1].stream < range.stream;
      if (range.stream >= graph_.streams.size() || range.first > range.last ||
          range.last >= tasks_ || !is_sorted)
        findings_.add(
            "{}: a live range of buffer b{} makes no sense: expected streams in the order "
            "of their lines, and tasks that there are",
            graph_label(graph_), id);
    }
  }

  void check_class(const MemoryBuffer& buffer, size_t id) {
    const size_t bindings =
        buffer.memory == MemoryClass::kInput ? inputs_ : graph_.outputs().size();
    const bool is_bound =
        buffer.memory == MemoryClass::kInput || buffer.memory == MemoryClass::kOutput;
    if (is_bound && buffer.binding >= bindings)
      findings_.add("{}: buffer b{} is {} {}, of {}", graph_label(graph_), id,
                    memory_class_name(buffer.memory), buffer.binding, bindings);
    if (buffer.memory == MemoryClass::kArena) check_sub_memory(buffer, id);
    const bool needs_offset =
        buffer.memory == MemoryClass::kWeights ||
        (buffer.memory == MemoryClass::kArena && graph_.shapes == ShapeClass::kFixed);
    if (is_complete_ && needs_offset && !buffer.offset.is_fixed())
      findings_.add("{}: buffer b{} has no offset", graph_label(graph_), id);
  }

  // Checks that a buffer lies in one of the allocations of its class.
  void check_sub_memory(const MemoryBuffer& buffer, size_t id) {
    if (buffer.binding >= std::max<size_t>(1, graph_.memories.size())) {
      findings_.add("{}: buffer b{} is of memory class {}, of {}", graph_label(graph_), id,
                    buffer.binding, graph_.memories.size());
      return;
    }
    if (graph_.memories.empty() || !buffer.offset.is_fixed() || !buffer.bytes.is_fixed()) return;
    const DeviceMemory& memory = graph_.memories[buffer.binding];
    const auto begin = static_cast<uint64_t>(buffer.offset.value),
               bytes = static_cast<uint64_t>(buffer.bytes.value);
    const uint64_t first = begin_of(graph_.memories, buffer.binding);
    uint64_t end = first;
    for (const uint64_t sub_memory : memory.sub_memories) {
      end += std::min(sub_memory, UINT64_MAX - end);
      if (begin >= first && begin < end) {
        if (bytes > end - begin) break;
        return;
      }
    }
    if (bytes == 0 && begin >= first && begin <= end) return;
    findings_.add("{}: the {} bytes at {} of buffer b{} are in no sub-memory of '{}'",
                  graph_label(graph_), bytes, begin, id, memory.name);
  }

  // Checks that a task writes to the class of memory that it names.
  void check_memory(const Node& task, const Value& result) {
    if (graph_.memories.empty() || result.place().buffer < 0) return;
    const MemoryBuffer& buffer = graph_.buffers[static_cast<size_t>(result.place().buffer)];
    if (buffer.memory != MemoryClass::kArena || buffer.binding >= graph_.memories.size()) return;
    const std::string& wanted =
        task.placement.memory_class.empty() ? graph_.memories[0].name : task.placement.memory_class;
    if (graph_.memories[buffer.binding].name != wanted)
      findings_.add("{}: writes {} to memory '{}', its own is '{}'", task.label(),
                    value_label(result), graph_.memories[buffer.binding].name, wanted);
  }

  void check_value(const Value& value) {
    if (value.is_erased() || value.place().buffer < 0) return;
    const MemoryBuffer& buffer = graph_.buffers[static_cast<size_t>(value.place().buffer)];
    if (value.is_constant() != (buffer.memory == MemoryClass::kWeights) && !is_view(value))
      findings_.add("{}: lies in {} buffer b{}", value_label(value),
                    memory_class_name(buffer.memory), value.place().buffer);
    if (!is_multiple(value.place().offset, kPlaceAlignment))
      findings_.add("{}: is at {} of its buffer, no multiple of {}", value_label(value),
                    value.place().offset.value, kPlaceAlignment);
    const Dim& offset = value.place().offset;
    if (is_complete_ &&
        (graph_.shapes == ShapeClass::kFixed ? !offset.is_fixed() : offset.is_unknown()))
      findings_.add("{}: its offset in buffer b{} is not known", value_label(value),
                    value.place().buffer);
    if (value.is_constant() && value.place().offset != Dim::fixed(0))
      findings_.add("{}: does not begin where its buffer b{} does", value_label(value),
                    value.place().buffer);
    check_size(value, buffer);
  }

  // ---- inputs and outputs

  bool begins(const Value& value, MemoryClass memory, size_t binding) const {
    if (value.place().buffer < 0 || value.place().offset != Dim::fixed(0)) return false;
    const MemoryBuffer& buffer = graph_.buffers[static_cast<size_t>(value.place().buffer)];
    return buffer.memory == memory && buffer.binding == binding;
  }

  void check_inputs() {
    size_t binding = 0;
    for (const Value* input : graph_.inputs()) {
      if (input->is_constant()) continue;
      if (input->place().buffer >= 0 && !begins(*input, MemoryClass::kInput, binding))
        findings_.add("{}: does not begin where input {} does", value_label(*input), binding);
      ++binding;
    }
  }

  // Every output of the graph is written where it is bound, or copied there.
  void check_outputs() {
    std::set<std::pair<const Value*, int64_t>> copies;
    for (const Node& node : graph_.nodes()) {
      if (node.op() != Op::kMemCopy || node.placement.no_task) continue;
      const int64_t output = node.get(attributes::MemCopy::output);
      if (output >= 0 && begins(node.output(), MemoryClass::kOutput, static_cast<size_t>(output)))
        copies.emplace(node.input(0), output);
    }
    for (size_t k = 0; k < graph_.outputs().size(); ++k) {
      const Value& output = *graph_.outputs()[k];
      const bool is_written =
          output.producer() != nullptr && begins(output, MemoryClass::kOutput, k);
      if (!is_written && !copies.contains({&output, static_cast<int64_t>(k)}))
        findings_.add("{}: no task writes output {}", graph_label(graph_), k);
    }
  }

  static bool is_view(const Value& value) {
    return value.producer() != nullptr && value.producer()->placement.no_task;
  }

  // ---- nodes without task

  ExpressionTable& table() const { return graph_.module().expressions; }

  std::optional<ExpressionId> expression(const Dim& dim) const {
    return graph_.module().dim_expression(dim);
  }

  // A stored axis of a logical dim, and the bytes from one index along it to the next.
  struct Step {
    StoredAxis axis;
    ExpressionId bytes;
    bool operator==(const Step&) const = default;
  };

  // Returns the stored axes of a logical dim, innermost first, from the extents that the value is
  // stored in; nothing where it has no known size.
  std::optional<std::vector<Step>> steps(const Value& value, size_t dim) const {
    const Type& type = value.type();
    const StorageMap map = storage_map_of(value);
    ExpressionId bytes = table().constant(dtype_bits(type.dtype) / 8);
    std::vector<Step> found;
    for (size_t i = map.size(); i-- > 0;) {
      const auto stored = static_cast<size_t>(map[i].dim);
      if (stored == dim) found.push_back({map[i], bytes});
      if (stored == dim && map[i].modulus == 0) return found;  // the outermost one of the dim
      const auto extent =
          expression(value.storage() != nullptr ? value.storage()->dims[i] : type.dims[stored]);
      if (!extent) return std::nullopt;
      bytes = table().multiply(bytes, *extent);
    }
    return std::nullopt;
  }

  // Returns the bytes from the start of a value to an index along a dim; nothing where they follow
  // from no expression: a dim in blocks and an index that is no number.
  std::optional<ExpressionId> distance(const std::vector<Step>& steps, ExpressionId index) const {
    ExpressionId bytes = table().constant(0);
    for (const auto& [axis, step] : steps) {
      ExpressionId along = index;
      if (axis.divisor != 1 || axis.modulus != 0) {
        const Dim number = graph_.module().make_dim(index);
        if (!number.is_fixed()) return std::nullopt;
        const int64_t block = number.value / axis.divisor;
        along = table().constant(axis.modulus == 0 ? block : block % axis.modulus);
      }
      bytes = table().add(bytes, table().multiply(along, step));
    }
    return bytes;
  }

  // Checks that what a node shows without a task lies where its operands do.
  void check_no_task(const Node& node) {
    if (node.op() == Op::kConcat || node.op() == Op::kSplit) return check_pieces(node);
    check_shown(node, *node.input(0), node.output(), table().constant(0));
  }

  void check_pieces(const Node& node) {
    const bool joins = node.op() == Op::kConcat;
    const Value& whole = joins ? node.output() : *node.input(0);
    const int64_t given =
        joins ? node.get(attributes::Concat::axis) : node.get(attributes::Split::axis);
    const auto axis = static_cast<size_t>(given < 0 ? given + whole.type().rank() : given);
    const auto along = steps(whole, axis);
    ExpressionId index = table().constant(0);
    for (size_t i = 0; i < (joins ? node.input_count() : node.output_count()); ++i) {
      const Value& piece = joins ? *node.input(i) : node.output(i);
      const auto bytes = along ? distance(*along, index) : std::nullopt;
      if (!bytes) {
        findings_.add("{}: has no task, and where {} lies in {} is not known", node.label(),
                      value_label(piece), value_label(whole));
        return;
      }
      check_shown(node, whole, piece, *bytes);
      check_strides(node, whole, piece);
      const auto extent = expression(piece.type().dims[axis]);
      if (!extent) return;
      index = table().add(index, *extent);
    }
  }

  // Checks that a value begins so many bytes after another one.
  void check_shown(const Node& node, const Value& whole, const Value& piece,
                   ExpressionId distance) const {
    if (whole.place().buffer < 0 && piece.place().buffer < 0) return;
    const auto from = expression(whole.place().offset), to = expression(piece.place().offset);
    const bool is_there = whole.place().buffer == piece.place().buffer && from && to &&
                          table().subtract(*to, *from) == distance;
    if (!is_there)
      findings_.add("{}: has no task, so {} must lie {} bytes after {} begins, in its buffer",
                    node.label(), value_label(piece), table().text(distance), value_label(whole));
  }

  void check_strides(const Node& node, const Value& whole, const Value& piece) const {
    for (size_t dim = 0; dim < piece.type().dims.size(); ++dim) {
      if (piece.type().dims[dim] == Dim::fixed(1) || steps(whole, dim) == steps(piece, dim))
        continue;
      findings_.add("{}: has no task, but {} is not stored as it lies in {}", node.label(),
                    value_label(piece), value_label(whole));
      return;
    }
  }

  void check_size(const Value& value, const MemoryBuffer& buffer) {
    const Storage* storage = value.storage();
    std::optional<uint64_t> bytes =
        value.type().is_tensor() && value.type().ranked ? value.type().dense_bytes() : std::nullopt;
    if (storage != nullptr && storage->bytes.is_fixed())
      bytes = static_cast<uint64_t>(storage->bytes.value);
    if (!bytes || !buffer.bytes.is_fixed() || !value.place().offset.is_fixed()) return;
    const auto offset = static_cast<uint64_t>(value.place().offset.value);
    const auto size = static_cast<uint64_t>(buffer.bytes.value);
    if (offset > size || *bytes > size - offset)
      findings_.add("{}: its {} bytes at {} end outside of buffer b{}, which has {}",
                    value_label(value), *bytes, offset, value.place().buffer, size);
  }

  void check_operands(const Node& node, uint32_t position) {
    for (size_t i = 0; i < node.input_count(); ++i) {
      if (node.input(i) != nullptr) check_operand(node, *node.input(i), position);
    }
    for (size_t k = 0; k < node.output_count(); ++k) {
      check_operand(node, node.output(k), position);
      check_memory(node, node.output(k));
    }
  }

  void check_operand(const Node& node, const Value& value, uint32_t position) {
    const int32_t id = value.place().buffer;
    if (id < 0) {
      if (is_complete_)
        findings_.add("{}: {} has no place in memory", node.label(), value_label(value));
      return;
    }
    const MemoryBuffer& buffer = graph_.buffers[static_cast<size_t>(id)];
    if (buffer.memory == MemoryClass::kWeights) return;
    const bool is_live = std::ranges::any_of(buffer.live, [&](const LiveRange& range) {
      return static_cast<int64_t>(range.stream) == node.placement.stream &&
             range.first <= position && position <= range.last;
    });
    if (!is_live)
      findings_.add("{}, task {}: buffer b{} of {} is not live there", node.label(), position, id,
                    value_label(value));
  }

  const Graph& graph_;
  const bool is_complete_;
  Findings& findings_;
  size_t tasks_ = 0, records_ = 0;
  size_t inputs_ = 0;  // without constants
  struct Record {
    int32_t stream;
    const Node* node;
    uint32_t waits = 0;  // number of tasks
  };
  std::map<uint32_t, std::vector<Record>> recorded_;  // by event, in the order of tasks
};

}  // namespace

void check_schedule(const Module& module, Level level, Findings& findings) {
  const bool is_complete = level >= Level::kScheduled;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    const Graph& graph = module.graph(id);
    if (is_complete && graph.role == GraphRole::kPart && graph.streams.empty())
      findings.add("{}: has no stream", graph_label(graph));
    if (graph.streams.empty() && graph.buffers.empty()) continue;
    if (level < Level::kLowered)
      findings.add("{}: has streams or buffers before it is lowered", graph_label(graph));
    add_work(Work::kNodeVisits, graph.node_count());
    ScheduleChecker(graph, is_complete, findings).run();
    check_plan(graph, is_complete, findings);
    check_in_place(graph, findings);
  }
}

}  // namespace sluice::verifying
