#include "stages/build/memory/plan_memory.h"

#include <algorithm>
#include <numeric>

#include "common/base/disjoint_sets.h"
#include "common/ir/limits.h"
#include "common/ir/module.h"
#include "common/omfile/om_format.h"
#include "common/ops/attributes.h"
#include "common/target/aicore.h"
#include "stages/build/memory/plan_offsets.h"

namespace sluice {
namespace {

uint64_t aligned(uint64_t bytes) {
  return (bytes + kValueAlignment - 1) / kValueAlignment * kValueAlignment;
}

constexpr uint64_t kUnbounded = UINT64_MAX;  // bytes of a value that has no maximum size

// Returns the maximum of bytes that a value may have.
uint64_t max_bytes(const Value& value) {
  const Type& type = value.type();
  if (type.is_fixed() || !type.is_tensor()) return storage_bytes(value);
  const ExpressionTable& expressions = value.graph().module().expressions;
  uint64_t elements = 1;
  for (const Dim& dim : type.dims) {
    const int64_t maximum =
        dim.is_fixed() ? dim.value : expressions.bounds(static_cast<ExpressionId>(dim.value)).high;
    if (__builtin_mul_overflow(elements, static_cast<uint64_t>(std::max<int64_t>(maximum, 0)),
                               &elements))
      return kUnbounded;
  }
  return elements > kMaxValueBytes ? kUnbounded : dtype_bytes(type.dtype, elements);
}

// Values that share bytes, with the facts that they have in common.
struct Shared {
  int64_t first = INT64_MAX;  // task that writes it first
  int64_t last = -1;          // last task that touches it
  uint64_t bytes = 0;
  const Value* input = nullptr;  // a model input among them
  bool constant = false;
  int64_t output = -1;  // index of the model output among them that is written in place
};

class Planner {
 public:
  Planner(const Graph& root, const TaskList& list)
      : root_(root), list_(list), sets_(root.value_limit()), shared_(root.value_limit()) {}

  Result<MemoryPlan> plan(const std::vector<uint64_t>& constant_offsets) {
    describe_values();
    for (const Alias& alias : list_.aliases) unite(*alias.value, *alias.of);
    bind_outputs();
    find_lives();
    for (size_t task = 0; task < list_.tasks.size(); ++task)
      write_in_place(static_cast<int64_t>(task));
    return place(constant_offsets);
  }

 private:
  int32_t find(const Value& value) { return sets_.find(value.id()); }
  Shared& shared(const Value& value) { return shared_[static_cast<size_t>(find(value))]; }

  void unite(const Value& a, const Value& b) {
    const int32_t from = find(a), to = find(b);
    if (from == to) return;
    const int32_t kept = sets_.unite(from, to);
    Shared& whole = shared_[static_cast<size_t>(kept)];
    const Shared& part = shared_[static_cast<size_t>(kept == to ? from : to)];
    whole.first = std::min(whole.first, part.first);
    whole.last = std::max(whole.last, part.last);
    whole.bytes = std::max(whole.bytes, part.bytes);
    whole.input = whole.input != nullptr ? whole.input : part.input;
    whole.constant = whole.constant || part.constant;
    whole.output = whole.output >= 0 ? whole.output : part.output;
  }

  void describe_values() {
    for (const Value& value : root_.values()) {
      if (value.is_erased()) continue;
      Shared& mine = shared_[static_cast<size_t>(value.id())];
      mine.bytes = max_bytes(value);
      mine.constant = value.is_constant();
      mine.input = value.is_input() && !value.is_constant() ? &value : nullptr;
    }
  }

  // Binds outputs that no copy task fills, which are written in place.
  void bind_outputs() {
    std::vector<bool> copied(root_.outputs().size(), false);
    for (const Task& task : list_.tasks) {
      if (task.node == nullptr) copied[task.copied_output] = true;
    }
    for (size_t k = 0; k < copied.size(); ++k) {
      if (!copied[k]) shared(*root_.outputs()[k]).output = static_cast<int64_t>(k);
    }
  }

  void find_lives() {
    for (size_t task = 0; task < list_.tasks.size(); ++task) {
      const auto touch = [&](const Value* value) {
        if (value == nullptr) return;
        Shared& mine = shared(*value);
        mine.first = std::min(mine.first, static_cast<int64_t>(task));
        mine.last = std::max(mine.last, static_cast<int64_t>(task));
      };
      std::for_each(list_.tasks[task].outputs.begin(), list_.tasks[task].outputs.end(), touch);
      std::for_each(list_.tasks[task].inputs.begin(), list_.tasks[task].inputs.end(), touch);
    }
  }

  // Returns whether input `index` of a Fused node is read only by elementwise nodes of its body,
  // each element where it is written.
  static bool is_read_elementwise(const Node& node, size_t index) {
    const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
    const Node* anchor = body == nullptr ? nullptr : find_anchor(*body);
    if (anchor == nullptr || index >= body->inputs().size()) return false;
    const Value& inside = *body->inputs()[index];
    return std::all_of(inside.uses().begin(), inside.uses().end(), [&](const Use& use) {
      return is_epilogue_op(*use.node) && use.node != anchor;
    });
  }

  bool can_overwrite(const Task& task, size_t index, int64_t number) {
    const Value* operand = task.inputs[index];
    const Value& result = *task.outputs[0];
    if (operand == nullptr || std::count(task.inputs.begin(), task.inputs.end(), operand) != 1)
      return false;
    Shared& from = shared(*operand);
    const Shared& to = shared(result);
    const bool free = !from.constant && from.input == nullptr && from.last == number &&
                      (from.output < 0 || to.output < 0) && !to.constant;
    if (!free || find(*operand) == find(result)) return false;
    const bool alone =
        std::none_of(task.inputs.begin(), task.inputs.end(), [&](const Value* other) {
          return other != nullptr && other != operand && find(*other) == find(*operand);
        });
    return alone && from.output < 0 && operand->type_id() == result.type_id() &&
           operand->storage_id() == result.storage_id() && is_read_elementwise(*task.node, index);
  }

  void write_in_place(int64_t number) {
    const Task& task = list_.tasks[static_cast<size_t>(number)];
    if (task.kind != TaskKind::kLaunch || task.outputs.size() != 1) return;
    for (size_t index = 0; index < task.inputs.size(); ++index) {
      if (!can_overwrite(task, index, number)) continue;
      unite(*task.outputs[0], *task.inputs[index]);
      return;
    }
  }

  Result<MemoryPlan> place(const std::vector<uint64_t>& constant_offsets) {
    std::vector<Buffer> buffers;
    std::vector<int32_t> buffer_of(root_.value_limit(), -1);
    for (const Value& value : root_.values()) {
      if (value.is_erased() || find(value) != value.id()) continue;
      const Shared& mine = shared_[static_cast<size_t>(value.id())];
      if (mine.constant || mine.input != nullptr || mine.output >= 0 || mine.last < 0) continue;
      buffer_of[static_cast<size_t>(value.id())] = static_cast<int32_t>(buffers.size());
      buffers.push_back(
          {mine.first, mine.last, mine.bytes == kUnbounded ? kUnbounded : aligned(mine.bytes)});
    }
    MemoryPlan plan;
    SLUICE_TRY(place_in_arena(std::move(buffers), plan));
    plan.places.resize(root_.value_limit());
    for (const Value& value : root_.values()) {
      if (value.is_erased()) continue;
      const Shared& mine = shared(value);
      ValuePlace& at = plan.places[static_cast<size_t>(value.id())];
      at.bytes = storage_bytes(value);
      at.buffer = buffer_of[static_cast<size_t>(find(value))];
      if (mine.constant) {
        at.place = Place::kWeights;
        at.offset = constant_offsets[static_cast<size_t>(constant_of(value).segment())];
      } else if (mine.input != nullptr) {
        at.place = Place::kInput;
        at.binding = input_index(*mine.input);
      } else if (mine.output >= 0) {
        at.place = Place::kOutput;
        at.binding = static_cast<uint32_t>(mine.output);
      } else if (at.buffer >= 0) {
        at.offset = plan.arena_buffers[static_cast<size_t>(at.buffer)].offset;
      }
    }
    return plan;
  }

  Result<void> place_in_arena(std::vector<Buffer> buffers, MemoryPlan& plan) const {
    plan.is_placed = std::none_of(buffers.begin(), buffers.end(),
                                  [](const Buffer& buffer) { return buffer.bytes == kUnbounded; });
    plan.arena_buffers = std::move(buffers);
    if (plan.arena_buffers.empty() || !plan.is_placed) return {};
    const LivePeak live = live_peak(plan.arena_buffers);
    const OffsetPlan offsets = live.bytes > kOmArenaLimit ? OffsetPlan{{}, live.bytes, 0}
                                                          : plan_offsets(plan.arena_buffers);
    if (offsets.arena_bytes > kOmArenaLimit) {
      plan.is_placed = false;
      return root_.shapes == ShapeClass::kSymbolic ? Result<void>()
                                                   : too_large(offsets.arena_bytes, live.task);
    }
    plan.arena_bytes = offsets.arena_bytes;
    plan.live_bytes = live.bytes;
    plan.buffer_pairs = offsets.pairs;
    for (size_t i = 0; i < offsets.offsets.size(); ++i)
      plan.arena_buffers[i].offset = offsets.offsets[i];
    return {};
  }

  Error too_large(uint64_t bytes, int64_t at) const {
    const Node* node = list_.tasks[static_cast<size_t>(at)].node;
    return make_error(ErrorCode::kLimit,
                      "{}: the values that are needed while it runs take {} bytes of memory, a "
                      "model may have {}",
                      node == nullptr ? "an output's copy" : node->label(), bytes, kOmArenaLimit)
        .with_hint(
            "make the inputs smaller (--input-shape, --dim), or leave dims open: --dim "
            "NAME=LOW..HIGH");
  }

  // Returns the constant that a view of a constant shows.
  const Value& constant_of(const Value& value) const {
    const Value* constant = &value;
    while (!constant->is_constant()) constant = constant->producer()->input(0);
    return *constant;
  }

  uint32_t input_index(const Value& input) const {
    uint32_t index = 0;
    for (const Value* value : root_.inputs()) {
      if (value == &input) break;
      index += value->is_constant() ? 0 : 1;
    }
    return index;
  }

  const Graph& root_;
  const TaskList& list_;
  DisjointSets sets_;  // of values that share a buffer
  std::vector<Shared> shared_;
};

}  // namespace

uint64_t storage_bytes(const Value& value) {
  if (!value.type().is_fixed()) return 0;
  if (value.storage() != nullptr && value.storage()->bytes.is_fixed())
    return static_cast<uint64_t>(value.storage()->bytes.value);
  if (value.is_constant()) return value.graph().module().segment(value.segment()).size;
  return value.type().dense_bytes().value_or(0);
}

Result<MemoryPlan> plan_memory(const Graph& root, const TaskList& list,
                               const std::vector<uint64_t>& constant_offsets) {
  return Planner(root, list).plan(constant_offsets);
}

}  // namespace sluice
