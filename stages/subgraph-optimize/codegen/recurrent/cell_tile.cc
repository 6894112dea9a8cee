#include "stages/subgraph-optimize/codegen/recurrent/cell_tile.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/recurrent/activation_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

constexpr int64_t kUnroll = 4;  // steps of the sums in one iteration

// Emits, for the rows and units of the tile:
//
//   acc[gate][vector][row] = 0
//   for k < hidden: acc[gate][vector][row] += R[gate][k][vector] * h[row][k]
//   for row, vector: s[gate] = acc + products + bias; new state from s, old h and c
class CellTileEmitter {
 public:
  CellTileEmitter(KernelBuilder& builder, const RecurrentSpec& spec, const RecurrentPlan& plan,
                  const CellTileShape& shape)
      : b_(builder),
        spec_(spec),
        cell_(spec.cell),
        plan_(plan),
        shape_(shape),
        elements_(builder, spec.dtype),
        math_(builder.ir(), builder.profile(), spec.math) {}

  llvm::Function* emit() {
    std::vector<llvm::Type*> types(8, b_.pointer_type());
    types[2] = b_.index_type();
    llvm::Function* function = b_.begin_function("tile", types);
    Value** members[] = {&in_.sequence,  &in_.weights, &in_.unit, &in_.old_state,
                         &in_.new_state, &in_.areas,   &in_.bias, &in_.peepholes};
    for (unsigned i = 0; i < types.size(); ++i) *members[i] = function->getArg(i);
    sums_ = emit_sums();
    for (row_ = 0; row_ < shape_.rows; ++row_) {
      enter_row();
      for (vector_ = 0; vector_ < shape_.vectors; ++vector_) emit_units();
    }
    b_.ret_void();
    return function;
  }

 private:
  // ---- sums

  int64_t sum_index(int64_t gate, int vector, int row) const {
    return (gate * shape_.vectors + vector) * shape_.rows + row;
  }

  IrValues emit_sums() {
    const auto count = static_cast<size_t>(shape_.phase.gates * shape_.vectors * shape_.rows);
    const int64_t unrolled = cell_.hidden / kUnroll * kUnroll;
    Value* state = shape_.phase.first_gate == 0 ? in_.old_state : area(kScaledArea, 0);
    IrValues sums(count, b_.splat(0.0f, plan_.lanes));
    sums = b_.loop(b_.index(0), b_.index(unrolled), kUnroll, sums,
                   [&](Value* k, const IrValues& carried) {
                     IrValues next = carried;
                     for (int64_t i = 0; i < kUnroll; ++i)
                       next = add_products(next, state, b_.add(k, b_.index(i)));
                     return next;
                   });
    for (int64_t k = unrolled; k < cell_.hidden; ++k) sums = add_products(sums, state, b_.index(k));
    return sums;
  }

  IrValues add_products(IrValues sums, Value* state, Value* k) {
    IrValues h;
    for (int row = 0; row < shape_.rows; ++row) {
      Value* element = b_.at(b_.at(state, row * plan_.scratch.stride), k);
      h.push_back(b_.broadcast(b_.load_float(element), plan_.lanes));
    }
    Value* weights = elements_.at(in_.weights, b_.mul(k, plan_.nr));
    for (int64_t gate = 0; gate < shape_.phase.gates; ++gate) {
      for (int vector = 0; vector < shape_.vectors; ++vector) {
        Value* r = elements_.load_vector(elements_.at(weights, weight_offset(gate, vector)),
                                         plan_.lanes, plan_.lanes);
        for (int row = 0; row < shape_.rows; ++row) {
          Value*& sum = sums[static_cast<size_t>(sum_index(gate, vector, row))];
          sum = b_.multiply_add(r, h[static_cast<size_t>(row)], sum);
        }
      }
    }
    return sums;
  }

  int64_t weight_offset(int64_t gate, int vector) const {
    const int64_t panel = cell_.hidden * plan_.nr;
    return (gate * plan_.panels + vector / plan_.panel_vectors) * panel +
           vector % plan_.panel_vectors * plan_.lanes;
  }

  // ---- units: one vector of one row

  static constexpr int64_t kMemoryArea = 2,
                           kScaledArea = 3;  // c or the update gate; see recurrent.h

  Value* area(int64_t number, int row) {
    return b_.at(in_.areas, number * plan_.scratch.area + row * plan_.scratch.stride);
  }

  void enter_row() {
    Value* sequence = b_.at(in_.sequence, row_ * kSequenceFloats);
    const auto load = [&](SequenceMember member, llvm::Type* type) {
      return b_.ir().CreateAlignedLoad(type, sequence_member_at(b_, sequence, member),
                                       llvm::Align(8));
    };
    products_ = load(SequenceMember::kProducts, b_.pointer_type());
    if (spec_.has_y) result_ = load(SequenceMember::kResult, b_.pointer_type());
    if (spec_.has_lengths)
      is_active_ = b_.ir().CreateIsNotNull(load(SequenceMember::kIsActive, b_.index_type()));
  }

  void emit_units() {
    active_ = vector_ + 1 == shape_.vectors ? shape_.active : plan_.lanes;
    unit_ = b_.add(in_.unit, b_.index(int64_t{vector_} * plan_.lanes));
    switch (cell_.kind) {
      case CellKind::kRnn:
        return give(activate(0, clipped(total(0))));
      case CellKind::kGru:
        if (!shape_.phase.is_last) return emit_scaled_state();
        return emit_gru();
      case CellKind::kLstm:
        return emit_lstm();
    }
  }

  // The first pass of a GRU: the update gate, and h times the reset gate.
  void emit_scaled_state() {
    store_state(kMemoryArea, activate(0, clipped(total(0))));
    Value* reset = activate(0, clipped(total(1)));
    store_state(kScaledArea, b_.ir().CreateFMul(reset, old_h()));
  }

  void emit_gru() {
    Value* update = nullptr;
    Value* candidate = nullptr;
    if (cell_.has_two_phases()) {
      update = load_state(kMemoryArea);
      candidate = total(2);
    } else {
      update = activate(0, clipped(total(0)));
      Value* reset = activate(0, clipped(total(1)));
      Value* recurrent = spec_.has_bias ? b_.ir().CreateFAdd(sum(2), bias(3 + 2)) : sum(2);
      Value* input = products(2);
      if (spec_.has_bias) input = b_.ir().CreateFAdd(input, bias(2));
      candidate = b_.multiply_add(reset, recurrent, input);
    }
    candidate = activate(1, clipped(candidate));
    // (1 - z) * candidate + z * h
    Value* replaced = b_.ir().CreateFMul(b_.ir().CreateFSub(one(), update), candidate);
    give(b_.multiply_add(update, old_h(), replaced));
  }

  void emit_lstm() {
    Value* old_c = load_state(kMemoryArea);
    Value* in = activate(0, clipped(with_peephole(total(0), 0, old_c)));
    Value* forget = cell_.input_forget ? b_.ir().CreateFSub(one(), in)
                                       : activate(0, clipped(with_peephole(total(2), 2, old_c)));
    Value* cell = b_.ir().CreateFMul(in, activate(1, clipped(total(3))));
    Value* c = b_.multiply_add(forget, old_c, cell);
    Value* out = activate(0, clipped(with_peephole(total(1), 1, c)));
    Value* h = b_.ir().CreateFMul(out, activate(2, c));
    store_state(kMemoryArea, where_active(c, old_c));
    give(h);
  }

  // ---- parts of the formulas

  Value* one() { return b_.splat(1.0f, plan_.lanes); }

  Value* activate(size_t index, Value* x) {
    return emit_activation(b_.ir(), math_, cell_.activations[shape_.direction][index], x);
  }

  Value* clipped(Value* x) {
    if (cell_.clip == 0) return x;
    Value* limited = math_.minimum(b_.splat(cell_.clip, plan_.lanes), x);
    return math_.maximum(b_.splat(-cell_.clip, plan_.lanes), limited);
  }

  Value* sum(int64_t gate) {
    return sums_[static_cast<size_t>(sum_index(gate - shape_.phase.first_gate, vector_, row_))];
  }

  Value* products(int64_t gate) {
    Value* line = b_.at(products_, gate * cell_.hidden);
    return b_.load_vector(b_.at(line, unit_), plan_.lanes, active_);
  }
  // Reads the units from a line of an operand, which has all hidden units.
  Value* load_units(Value* operand, int64_t line) {
    Value* first = elements_.at(operand, line * cell_.hidden);
    return elements_.load_vector(elements_.at(first, unit_), plan_.lanes, active_);
  }
  Value* bias(int64_t line) { return load_units(in_.bias, line); }

  // Returns the sum over input, state and biases.
  Value* total(int64_t gate) {
    Value* input = products(gate);
    if (spec_.has_bias) {
      Value* both = b_.ir().CreateFAdd(bias(gate), bias(cell_.gates() + gate));
      input = b_.ir().CreateFAdd(input, both);
    }
    return b_.ir().CreateFAdd(input, sum(gate));
  }

  Value* with_peephole(Value* x, int64_t gate, Value* c) {
    if (!spec_.has_peepholes) return x;
    return b_.multiply_add(load_units(in_.peepholes, gate), c, x);
  }

  Value* old_h() { return load_row(in_.old_state); }

  Value* load_row(Value* first) {
    Value* row = b_.at(first, row_ * plan_.scratch.stride);
    return b_.load_vector(b_.at(row, unit_), plan_.lanes, plan_.lanes);
  }
  Value* load_state(int64_t number) { return load_row(area(number, 0)); }
  void store_state(int64_t number, Value* value) {
    b_.store_vector(value, b_.at(area(number, row_), unit_), plan_.lanes);
  }

  Value* where_active(Value* changed, Value* old) {
    return is_active_ == nullptr ? changed : b_.ir().CreateSelect(is_active_, changed, old);
  }

  // Stores the new h.
  void give(Value* h) {
    Value* kept = is_active_ == nullptr ? h : where_active(h, old_h());
    Value* row = b_.at(in_.new_state, row_ * plan_.scratch.stride);
    b_.store_vector(kept, b_.at(row, unit_), plan_.lanes);
    if (result_ != nullptr) elements_.store_vector(h, elements_.at(result_, unit_), active_);
  }

  KernelBuilder& b_;
  const RecurrentSpec& spec_;
  const RecurrentCell& cell_;
  const RecurrentPlan& plan_;
  const CellTileShape& shape_;
  Elements elements_;  // of operands and results
  MathEmitter math_;
  CellTileArguments in_;
  IrValues sums_;
  // Of the row and vector whose units are being emitted.
  int row_ = 0, vector_ = 0, active_ = 0;
  Value *products_ = nullptr, *result_ = nullptr, *is_active_ = nullptr, *unit_ = nullptr;
};

}  // namespace

std::vector<CellPhase> cell_phases(const RecurrentCell& cell) {
  if (cell.has_two_phases()) return {{0, 2, false}, {2, 1, true}};
  return {{0, cell.gates(), true}};
}

int cell_tile_vectors(const RecurrentSpec& spec, const RecurrentPlan& plan, const CellPhase& phase,
                      int sums) {
  const int panels = std::max(1, sums / static_cast<int>(phase.gates) / plan.panel_vectors);
  return static_cast<int>(std::min<int64_t>(panels, ceil_div(spec.cell.hidden, plan.nr))) *
         plan.panel_vectors;
}

Value* sequence_member_at(KernelBuilder& b, Value* sequence, SequenceMember member) {
  return b.at(sequence, 2 * static_cast<int64_t>(member));
}

IrValues CellTileArguments::values() const {
  return {sequence, weights, unit, old_state, new_state, areas, bias, peepholes};
}

llvm::Function* emit_cell_tile(KernelBuilder& builder, const RecurrentSpec& spec,
                               const RecurrentPlan& plan, const CellTileShape& shape) {
  return CellTileEmitter(builder, spec, plan, shape).emit();
}

}  // namespace sluice
