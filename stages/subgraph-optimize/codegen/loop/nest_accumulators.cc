// Accumulators: their values travel through the loops of their sweep, one or `unroll` vectors each.
// With vectors along the sweep's axis every lane starts with the neutral element, and at the end
// copies and lanes are combined in a fixed order, the initial value last. Of the largest or
// smallest real, NaN is kept apart from the value: whether there was one.
#include <algorithm>

#include "stages/subgraph-optimize/codegen/loop/nest_emitter.h"

namespace sluice {

using llvm::Value;
using loop::Accumulator;
using loop::Combine;

namespace {

bool has_position(const Accumulator& accumulator) {
  return accumulator.combine == Combine::kArgMax || accumulator.combine == Combine::kArgMin;
}
bool is_real(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

}  // namespace

// Whether a NaN is noted beside the value: of maxima and minima that nothing reads before the end.
bool NestEmitter::notes_nan(const Accumulator& accumulator) const {
  if (!is_real(accumulator.dtype)) return false;
  if (accumulator.combine != Combine::kMax && accumulator.combine != Combine::kMin) return false;
  const auto& instructions = flat_.nest.sweeps[static_cast<size_t>(accumulator.sweep)].instructions;
  return std::ranges::none_of(instructions, [&](loop::InstructionId id) {
    const loop::Instruction& own = instruction(id);
    return own.kind == loop::InstructionKind::kAccumulator &&
           &flat_.nest.accumulators[static_cast<size_t>(own.accumulator)] == &accumulator;
  });
}

// The note of `lanes` lanes, as far as anything was NaN: bools where the profile has masks.
llvm::Type* NestEmitter::note_type(const Accumulator& accumulator, int lanes) {
  if (lanes == 1) return b_.ir().getInt1Ty();
  llvm::Type* element =
      has_masks() ? b_.ir().getInt1Ty()
                  : b_.ir().getIntNTy(static_cast<unsigned>(dtype_bits(accumulator.dtype)));
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

// One note for each copy that is a point of its own.
size_t NestEmitter::note_count(const Accumulator& accumulator, int copies) const {
  if (!notes_nan(accumulator)) return 0;
  return plan_.vector == NestPlan::Vector::kInner ? 1 : static_cast<size_t>(copies);
}

// Adds to the notes which of the fresh values, of all copies, are NaN.
void NestEmitter::note_nan(Carried& own, const IrValues& fresh) {
  llvm::IRBuilder<>& ir = b_.ir();
  for (size_t n = 0; n < own.nan.size(); ++n) {
    Value* any = nullptr;
    const auto add = [&](Value* found) { any = any == nullptr ? found : ir.CreateOr(any, found); };
    const size_t last = own.nan.size() == 1 ? fresh.size() : n + 1;
    const auto mask = [&](size_t copy) {
      return fresh[copy]->getType()->isVectorTy() ? present(static_cast<int>(copy)) : nullptr;
    };
    for (size_t copy = n; copy < last; ++copy) {
      const bool is_pair = copy + 1 < last && mask(copy + 1) == nullptr;
      Value* is_nan = ir.CreateFCmpUNO(fresh[copy], fresh[is_pair ? copy + 1 : copy]);
      add(both(is_nan, mask(copy)));
      copy += is_pair;
    }
    if (any->getType() != own.nan[n]->getType()) any = ir.CreateSExt(any, own.nan[n]->getType());
    own.nan[n] = ir.CreateOr(own.nan[n], any);
  }
}

// The value, or NaN where the note says so.
Value* NestEmitter::with_nan(Value* value, Value* note) {
  llvm::IRBuilder<>& ir = b_.ir();
  if (!note->getType()->getScalarType()->isIntegerTy(1))
    note = ir.CreateICmpNE(note, llvm::Constant::getNullValue(note->getType()));
  if (note->getType()->isVectorTy() && !value->getType()->isVectorTy())
    note = ir.CreateOrReduce(note);
  return ir.CreateSelect(note, llvm::ConstantFP::getNaN(value->getType()), value);
}

// Whether its values are vectors inside its sweep.
bool NestEmitter::is_vector(const Accumulator& accumulator) const {
  if (plan_.vector == NestPlan::Vector::kInner)
    return !flat_.nest.sweeps[static_cast<size_t>(accumulator.sweep)].axes.empty();
  if (piece_.lanes == 1) return false;
  for (const loop::InstructionId id :
       {accumulator.initial, accumulator.value, accumulator.position}) {
    if (id >= 0 && by_lane_[static_cast<size_t>(id)]) return true;
  }
  return false;
}

Value* NestEmitter::widened(Value* value) {
  const int lanes = plan_.vector == NestPlan::Vector::kInner ? plan_.lanes : piece_.lanes;
  return value->getType()->isVectorTy() || lanes == 1 ? value : b_.broadcast(value, lanes);
}

Value* NestEmitter::neutral(const Accumulator& accumulator) {
  llvm::Type* type = register_type(b_, accumulator.dtype);
  const bool real = is_real(accumulator.dtype);
  const bool is_max =
      accumulator.combine == Combine::kMax || accumulator.combine == Combine::kArgMax;
  switch (accumulator.combine) {
    case Combine::kSum:
    case Combine::kCarry:
      return llvm::Constant::getNullValue(type);
    case Combine::kProduct:
      return real ? llvm::ConstantFP::get(type, 1.0) : llvm::ConstantInt::get(type, 1);
    default:
      break;
  }
  if (real) return llvm::ConstantFP::getInfinity(type, is_max);
  const unsigned bits = type->getIntegerBitWidth();
  const bool is_signed = dtype_is_signed(accumulator.dtype);
  const llvm::APInt lowest =
      is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
  const llvm::APInt largest =
      is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  return llvm::ConstantInt::get(type, is_max ? lowest : largest);
}

// A constant is of the sweep itself, which has not been emitted yet.
Value* NestEmitter::initial_value(const Accumulator& accumulator, int copy) {
  const loop::Instruction& initial = instruction(accumulator.initial);
  return initial.kind == loop::InstructionKind::kConstant
             ? scalar_constant(b_, initial.dtype, initial.bits)
             : value(accumulator.initial, copy);
}

IrValues NestEmitter::initial_values(size_t sweep) {
  const bool is_inner = plan_.vector == NestPlan::Vector::kInner;
  IrValues all;
  for (const loop::AccumulatorId id : flat_.nest.sweeps[sweep].accumulators) {
    const Accumulator& accumulator = flat_.nest.accumulators[static_cast<size_t>(id)];
    const bool in_lanes = is_vector(accumulator);
    const int copies = !in_lanes ? 1 : is_inner ? plan_.unroll : piece_.copies;
    for (int copy = 0; copy < copies; ++copy) {
      Value* start = is_inner && in_lanes ? neutral(accumulator) : initial_value(accumulator, copy);
      all.push_back(in_lanes ? widened(start) : start);
    }
    for (int copy = 0; copy < copies && has_position(accumulator); ++copy)
      all.push_back(in_lanes ? widened(b_.index(0)) : b_.index(0));
    const int lanes = !in_lanes ? 1 : is_inner ? plan_.lanes : piece_.lanes;
    for (size_t note = 0; note < note_count(accumulator, copies); ++note)
      all.push_back(llvm::Constant::getNullValue(note_type(accumulator, lanes)));
  }
  return all;
}

void NestEmitter::read_carried(size_t sweep, const IrValues& carried) {
  const bool is_inner = plan_.vector == NestPlan::Vector::kInner;
  auto next = carried.begin();
  for (const loop::AccumulatorId id : flat_.nest.sweeps[sweep].accumulators) {
    const Accumulator& accumulator = flat_.nest.accumulators[static_cast<size_t>(id)];
    const int copies = !is_vector(accumulator) ? 1 : is_inner ? plan_.unroll : piece_.copies;
    Carried& own = accumulators_[static_cast<size_t>(id)];
    own.value.assign(next, next + copies);
    next += copies;
    const int positions = has_position(accumulator) ? copies : 0;
    own.position.assign(next, next + positions);
    next += positions;
    const auto notes = static_cast<std::ptrdiff_t>(note_count(accumulator, copies));
    own.nan.assign(next, next + notes);
    next += notes;
  }
}

// The larger or smaller of the value so far and a fresh one. A NaN so far stays, since a comparison
// with it is false; a fresh NaN is found without waiting for the value so far.
Value* NestEmitter::extreme(const Accumulator& accumulator, Value* so_far, Value* fresh) {
  const bool is_max = accumulator.combine == Combine::kMax;
  if (!is_real(accumulator.dtype)) {
    const loop::ScalarOp op = is_max ? loop::ScalarOp::kMax : loop::ScalarOp::kMin;
    return scalar_.emit(op, accumulator.dtype, accumulator.dtype, {so_far, fresh});
  }
  llvm::IRBuilder<>& ir = b_.ir();
  Value* extreme = number_extreme(accumulator, so_far, fresh);
  return ir.CreateSelect(ir.CreateFCmpUNO(fresh, fresh), fresh, extreme);
}

// The same, where a fresh NaN does not count.
Value* NestEmitter::number_extreme(const Accumulator& accumulator, Value* so_far, Value* fresh) {
  llvm::IRBuilder<>& ir = b_.ir();
  Value* wins = accumulator.combine == Combine::kMax ? ir.CreateFCmpOGT(fresh, so_far)
                                                     : ir.CreateFCmpOLT(fresh, so_far);
  return ir.CreateSelect(wins, fresh, so_far);
}

Value* NestEmitter::combine(const Accumulator& accumulator, Value* a, Value* b) {
  const DType dtype = accumulator.dtype;
  switch (accumulator.combine) {
    case Combine::kSum:
      return scalar_.emit(loop::ScalarOp::kAdd, dtype, dtype, {a, b});
    case Combine::kProduct:
      return scalar_.emit(loop::ScalarOp::kMul, dtype, dtype, {a, b});
    case Combine::kMax:
    case Combine::kMin:
      return extreme(accumulator, a, b);
    default:
      return b;
  }
}

// Of equal keys the first or the last position is better.
Value* NestEmitter::is_better(const Accumulator& accumulator, Value* key, Value* position,
                              Value* best, Value* best_position) {
  const bool is_max = accumulator.combine == Combine::kArgMax;
  const DType dtype = accumulator.dtype;
  const IrValues order = is_max ? IrValues{best, key} : IrValues{key, best};
  Value* above = scalar_.emit(loop::ScalarOp::kLess, dtype, DType::kBool, order);
  Value* equal = scalar_.emit(loop::ScalarOp::kEqual, dtype, DType::kBool, {key, best});
  Value* wins = accumulator.is_last ? b_.ir().CreateICmpSGT(position, best_position)
                                    : b_.ir().CreateICmpSLT(position, best_position);
  return b_.ir().CreateOr(above, b_.ir().CreateAnd(equal, wins));
}

// The first iteration's number is taken even when it is NaN, which then stays: true in the lanes
// that are at the first iteration and have a NaN. Null: there are none.
Value* NestEmitter::is_first_nan(size_t sweep, const Accumulator& accumulator, Value* key,
                                 int copy) {
  const std::vector<loop::AxisId>& axes = flat_.nest.sweeps[sweep].axes;
  const bool is_inner = plan_.vector == NestPlan::Vector::kInner && !axes.empty();
  if (!is_real(accumulator.dtype) || (is_inner && copy > 0)) return nullptr;
  if (!ranges_[static_cast<size_t>(accumulator.value)].may_be_nan) return nullptr;
  Value* first = b_.ir().getInt1(true);
  for (const loop::AxisId id : axes) {
    Value* at = index_.axis(axis(id).symbol);
    first = b_.ir().CreateAnd(first, b_.ir().CreateICmpEQ(at, b_.index(0)));
  }
  Value* is_nan = b_.ir().CreateFCmpUNO(key, key);
  if (!key->getType()->isVectorTy()) return b_.ir().CreateAnd(first, is_nan);
  if (!is_inner) return b_.ir().CreateAnd(widened(first), is_nan);
  Value* none = llvm::Constant::getNullValue(is_nan->getType());
  return b_.ir().CreateAnd(b_.ir().CreateInsertElement(none, first, uint64_t{0}), is_nan);
}

// Returns the next values: those of copies that are not there stay.
IrValues NestEmitter::combined(size_t sweep) {
  IrValues all;
  for (const loop::AccumulatorId id : flat_.nest.sweeps[sweep].accumulators) {
    const Accumulator& accumulator = flat_.nest.accumulators[static_cast<size_t>(id)];
    Carried& own = accumulators_[static_cast<size_t>(id)];
    const bool in_lanes = is_vector(accumulator);
    const bool is_inner = plan_.vector == NestPlan::Vector::kInner && in_lanes;
    const int copies = in_lanes ? piece_.copies : 1;
    // One element, where the accumulator has lanes: it goes into the first.
    const auto placed = [&](Value* one, Value* otherwise) {
      if (!in_lanes || one->getType()->isVectorTy()) return one;
      if (is_inner && piece_.lanes == 1)
        return b_.ir().CreateInsertElement(widened(otherwise), one, uint64_t{0});
      return widened(one);
    };
    IrValues all_fresh;
    for (int copy = 0; copy < copies; ++copy) {
      const auto c = static_cast<size_t>(copy);
      Value* fresh = placed(value(accumulator.value, copy), neutral(accumulator));
      // A value that all lanes share is that of the lanes that are there.
      Value *next = nullptr, *keep = in_lanes ? present(copy) : nullptr;
      if (has_position(accumulator)) {
        Value* position = placed(value(accumulator.position, copy), b_.index(0));
        Value* better = is_better(accumulator, fresh, position, own.value[c], own.position[c]);
        if (Value* nan = is_first_nan(sweep, accumulator, fresh, copy))
          better = b_.ir().CreateOr(better, nan);
        keep = both(keep, better);
        own.position[c] = b_.ir().CreateSelect(keep, position, own.position[c]);
        next = fresh;
      } else if (!own.nan.empty()) {
        next = number_extreme(accumulator, own.value[c], fresh);
        all_fresh.push_back(fresh);
      } else {
        next = combine(accumulator, own.value[c], fresh);
      }
      const bool is_partial = keep != nullptr && (is_inner || has_position(accumulator));
      own.value[c] = is_partial ? b_.ir().CreateSelect(keep, next, own.value[c]) : next;
    }
    if (!own.nan.empty()) note_nan(own, all_fresh);
    all.insert(all.end(), own.value.begin(), own.value.end());
    all.insert(all.end(), own.position.begin(), own.position.end());
    all.insert(all.end(), own.nan.begin(), own.nan.end());
  }
  return all;
}

void NestEmitter::finish_accumulators(size_t sweep, const IrValues& carried) {
  read_carried(sweep, carried);
  for (const loop::AccumulatorId id : flat_.nest.sweeps[sweep].accumulators) {
    const Accumulator& accumulator = flat_.nest.accumulators[static_cast<size_t>(id)];
    Carried& own = accumulators_[static_cast<size_t>(id)];
    if (plan_.vector != NestPlan::Vector::kInner || !is_vector(accumulator)) {
      for (size_t copy = 0; copy < own.nan.size(); ++copy)
        own.value[copy] = with_nan(own.value[copy], own.nan[copy]);
      continue;
    }
    IrValues keys = own.value, positions = own.position;
    const auto merge = [&](Value*& key, Value*& position, Value* other, Value* other_position) {
      if (position == nullptr) {
        key = own.nan.empty() ? combine(accumulator, key, other)
                              : number_extreme(accumulator, key, other);
        return;
      }
      Value* better = is_better(accumulator, other, other_position, key, position);
      key = b_.ir().CreateSelect(better, other, key);
      position = b_.ir().CreateSelect(better, other_position, position);
    };
    Value *key = keys[0], *position = positions.empty() ? nullptr : positions[0];
    for (size_t copy = 1; copy < keys.size(); ++copy)
      merge(key, position, keys[copy], positions.empty() ? nullptr : positions[copy]);
    for (int width = plan_.lanes / 2; width > 0; width /= 2) {  // the upper half into the lower
      std::vector<int> low, high;
      for (int lane = 0; lane < width; ++lane) low.push_back(lane), high.push_back(lane + width);
      const auto half = [&](Value* whole, const std::vector<int>& lanes) {
        return whole == nullptr ? nullptr : b_.ir().CreateShuffleVector(whole, lanes);
      };
      Value *upper = half(key, high), *upper_position = half(position, high);
      key = half(key, low), position = half(position, low);
      merge(key, position, upper, upper_position);
    }
    key = b_.ir().CreateExtractElement(key, uint64_t{0});
    if (position != nullptr) {
      position = b_.ir().CreateExtractElement(position, uint64_t{0});
      own.position = {position};
    } else {
      if (!own.nan.empty()) key = with_nan(key, own.nan[0]);
      key = combine(accumulator, initial_value(accumulator, 0), key);
    }
    own.value = {key};
  }
}

}  // namespace sluice
