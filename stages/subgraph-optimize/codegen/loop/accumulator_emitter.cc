#include "stages/subgraph-optimize/codegen/loop/accumulator_emitter.h"

#include <numeric>

namespace sluice {

using llvm::Value;
using loop::Accumulator;
using loop::AccumulatorId;

namespace {

Value* of_copy(const IrValues& list, int copy) {
  return list.size() == 1 ? list[0] : list[static_cast<size_t>(copy)];
}

void append(IrValues& all, const IrValues& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Value* AccumulatorEmitter::value(AccumulatorId id, int copy) const {
  return of_copy(carried_[static_cast<size_t>(id)].value, copy);
}

Value* AccumulatorEmitter::position(AccumulatorId id, int copy) const {
  return of_copy(carried_[static_cast<size_t>(id)].position, copy);
}

// Whether its values are vectors inside its sweep.
bool AccumulatorEmitter::is_vector(const Accumulator& accumulator) const {
  if (nest_.is_inner()) return !nest_.sweep(static_cast<size_t>(accumulator.sweep)).axes.empty();
  if (values_.piece().lanes == 1) return false;
  for (const loop::InstructionId id :
       {accumulator.initial, accumulator.value, accumulator.position}) {
    if (id >= 0 && values_.is_by_lane(id)) return true;
  }
  return false;
}

int AccumulatorEmitter::copies_of(const Accumulator& accumulator) const {
  if (!is_vector(accumulator)) return 1;
  return nest_.is_inner() ? nest_.plan.unroll : values_.piece().copies;
}

int AccumulatorEmitter::lanes_of(const Accumulator& accumulator) const {
  if (!is_vector(accumulator)) return 1;
  return nest_.is_inner() ? nest_.plan.lanes : values_.piece().lanes;
}

// One note for each copy that is a point of its own.
size_t AccumulatorEmitter::note_count(const Accumulator& accumulator) const {
  if (!notes_.are_taken(accumulator)) return 0;
  return nest_.is_inner() ? 1 : static_cast<size_t>(copies_of(accumulator));
}

// A constant is of the sweep itself, which has not been emitted yet.
Value* AccumulatorEmitter::initial_value(const Accumulator& accumulator, int copy) {
  const loop::Instruction& initial = nest_.instruction(accumulator.initial);
  return initial.kind == loop::InstructionKind::kConstant
             ? scalar_constant(nest_.builder, initial.dtype, initial.bits)
             : values_.value(accumulator.initial, copy);
}

// The value of a copy before the first iteration.
Value* AccumulatorEmitter::start(const Accumulator& accumulator, int copy) {
  if (!is_vector(accumulator)) return initial_value(accumulator, copy);
  return values_.widened(nest_.is_inner() ? combine_.neutral(accumulator)
                                          : initial_value(accumulator, copy));
}

IrValues AccumulatorEmitter::initial_values(size_t sweep) {
  IrValues all;
  for (const AccumulatorId id : nest_.sweep(sweep).accumulators) {
    const Accumulator& accumulator = nest_.accumulator(id);
    const int copies = copies_of(accumulator);
    for (int copy = 0; copy < copies; ++copy) all.push_back(start(accumulator, copy));
    Value* zero = nest_.builder.index(0);
    for (int copy = 0; copy < copies && has_position(accumulator); ++copy)
      all.push_back(is_vector(accumulator) ? values_.widened(zero) : zero);
    for (size_t note = 0; note < note_count(accumulator); ++note)
      all.push_back(notes_.none(accumulator.dtype, lanes_of(accumulator)));
  }
  return all;
}

void AccumulatorEmitter::read(size_t sweep, const IrValues& carried) {
  auto next = carried.begin();
  const auto take = [&](IrValues& list, size_t count) {
    const auto end = next + static_cast<std::ptrdiff_t>(count);
    list.assign(next, end);
    next = end;
  };
  for (const AccumulatorId id : nest_.sweep(sweep).accumulators) {
    const Accumulator& accumulator = nest_.accumulator(id);
    const auto copies = static_cast<size_t>(copies_of(accumulator));
    Carried& own = carried_[static_cast<size_t>(id)];
    take(own.value, copies);
    take(own.position, has_position(accumulator) ? copies : 0);
    take(own.nan, note_count(accumulator));
  }
}

IrValues AccumulatorEmitter::next_values(size_t sweep) {
  IrValues all;
  for (const AccumulatorId id : nest_.sweep(sweep).accumulators) {
    Carried& own = carried_[static_cast<size_t>(id)];
    add_iteration(nest_.accumulator(id), own);
    append(all, own.value);
    append(all, own.position);
    append(all, own.nan);
  }
  return all;
}

// ---- one iteration

// Values of copies, and lanes, that are not there stay.
void AccumulatorEmitter::add_iteration(const Accumulator& accumulator, Carried& own) {
  const auto copies = static_cast<size_t>(is_vector(accumulator) ? values_.piece().copies : 1);
  IrValues fresh;
  for (size_t copy = 0; copy < copies; ++copy) {
    if (has_position(accumulator)) {
      add_position(accumulator, own, copy);
    } else {
      fresh.push_back(add_number(accumulator, own, copy));
    }
  }
  if (!own.nan.empty()) notes_.add(own.nan, fresh);
}

// Returns the fresh value. One that all lanes share is that of the lanes that are there.
Value* AccumulatorEmitter::add_number(const Accumulator& accumulator, Carried& own, size_t copy) {
  const int number = static_cast<int>(copy);
  Value*& so_far = own.value[copy];
  Value* fresh =
      placed(accumulator, values_.value(accumulator.value, number), combine_.neutral(accumulator));
  Value* next = own.nan.empty() ? combine_.combine(accumulator, so_far, fresh)
                                : combine_.number_extreme(accumulator, so_far, fresh);
  Value* keep = nest_.is_inner() && is_vector(accumulator) ? values_.present(number) : nullptr;
  so_far = keep == nullptr ? next : nest_.builder.ir().CreateSelect(keep, next, so_far);
  return fresh;
}

void AccumulatorEmitter::add_position(const Accumulator& accumulator, Carried& own, size_t copy) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  const int number = static_cast<int>(copy);
  Value *&best = own.value[copy], *&best_position = own.position[copy];
  Value* key =
      placed(accumulator, values_.value(accumulator.value, number), combine_.neutral(accumulator));
  Value* position =
      placed(accumulator, values_.value(accumulator.position, number), nest_.builder.index(0));
  Value* better = combine_.is_better(accumulator, {key, position}, {best, best_position});
  if (Value* nan = is_first_nan(accumulator, key, copy)) better = ir.CreateOr(better, nan);
  Value* there = is_vector(accumulator) ? values_.present(number) : nullptr;
  Value* keep = values_.both(there, better);
  best_position = ir.CreateSelect(keep, position, best_position);
  best = ir.CreateSelect(keep, key, best);
}

// One element goes into the first lane, where lanes are along the sweep, else into all.
Value* AccumulatorEmitter::placed(const Accumulator& accumulator, Value* one, Value* otherwise) {
  if (!is_vector(accumulator) || one->getType()->isVectorTy()) return one;
  if (nest_.is_inner() && values_.piece().lanes == 1)
    return nest_.builder.ir().CreateInsertElement(values_.widened(otherwise), one, uint64_t{0});
  return values_.widened(one);
}

// The first iteration's number is taken even when it is NaN, which then stays: true in the lanes
// that are at the first iteration and have a NaN. Null: there are none.
Value* AccumulatorEmitter::is_first_nan(const Accumulator& accumulator, Value* key, size_t copy) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  const std::vector<loop::AxisId>& axes = nest_.sweep(static_cast<size_t>(accumulator.sweep)).axes;
  const bool is_inner = nest_.is_inner() && !axes.empty();
  if (!loop::is_real(accumulator.dtype) || (is_inner && copy > 0)) return nullptr;
  if (!nest_.ranges[static_cast<size_t>(accumulator.value)].may_be_nan) return nullptr;
  Value* first = ir.getInt1(true);
  for (const loop::AxisId id : axes) {
    Value* at = values_.axis(nest_.axis(id).symbol);
    first = ir.CreateAnd(first, ir.CreateICmpEQ(at, nest_.builder.index(0)));
  }
  Value* is_nan = ir.CreateFCmpUNO(key, key);
  if (!key->getType()->isVectorTy()) return ir.CreateAnd(first, is_nan);
  if (!is_inner) return ir.CreateAnd(values_.widened(first), is_nan);
  Value* none = llvm::Constant::getNullValue(is_nan->getType());
  return ir.CreateAnd(ir.CreateInsertElement(none, first, uint64_t{0}), is_nan);
}

// ---- the end of a sweep

void AccumulatorEmitter::finish(size_t sweep, const IrValues& carried) {
  read(sweep, carried);
  for (const AccumulatorId id : nest_.sweep(sweep).accumulators) {
    const Accumulator& accumulator = nest_.accumulator(id);
    Carried& own = carried_[static_cast<size_t>(id)];
    if (nest_.is_inner() && is_vector(accumulator)) {
      finish_lanes(accumulator, own);
      continue;
    }
    for (size_t copy = 0; copy < own.nan.size(); ++copy)
      own.value[copy] = notes_.with_nan(own.value[copy], own.nan[copy]);
  }
}

// Combines the copies, then the upper half of the lanes with the lower, and so on.
void AccumulatorEmitter::finish_lanes(const Accumulator& accumulator, Carried& own) {
  const auto copy_of = [&](size_t copy) -> Best {
    return {own.value[copy], own.position.empty() ? nullptr : own.position[copy]};
  };
  Best best = copy_of(0);
  for (size_t copy = 1; copy < own.value.size(); ++copy) merge(accumulator, best, copy_of(copy));
  for (int width = nest_.plan.lanes / 2; width > 0; width /= 2) {
    const Best upper = shuffled(best, width, width);
    best = shuffled(best, 0, width);
    merge(accumulator, best, upper);
  }
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  Value* key = ir.CreateExtractElement(best.key, uint64_t{0});
  if (best.position != nullptr) {
    own.position = {ir.CreateExtractElement(best.position, uint64_t{0})};
  } else {
    if (!own.nan.empty()) key = notes_.with_nan(key, own.nan[0]);
    key = combine_.combine(accumulator, initial_value(accumulator, 0), key);
  }
  own.value = {key};
}

void AccumulatorEmitter::merge(const Accumulator& accumulator, Best& best, const Best& other) {
  if (best.position == nullptr) {
    best.key = notes_.are_taken(accumulator)
                   ? combine_.number_extreme(accumulator, best.key, other.key)
                   : combine_.combine(accumulator, best.key, other.key);
    return;
  }
  Value* better = combine_.is_better(accumulator, other, best);
  best.key = nest_.builder.ir().CreateSelect(better, other.key, best.key);
  best.position = nest_.builder.ir().CreateSelect(better, other.position, best.position);
}

// The lanes [first, first + count).
CombineEmitter::Best AccumulatorEmitter::shuffled(const Best& best, int first, int count) {
  std::vector<int> lanes(static_cast<size_t>(count));
  std::iota(lanes.begin(), lanes.end(), first);
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  Value* key = ir.CreateShuffleVector(best.key, lanes);
  Value* position =
      best.position == nullptr ? nullptr : ir.CreateShuffleVector(best.position, lanes);
  return {key, position};
}

}  // namespace sluice
