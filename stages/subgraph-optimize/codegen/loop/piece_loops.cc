#include "stages/subgraph-optimize/codegen/loop/piece_loops.h"

#include <algorithm>

namespace sluice {

using llvm::Value;

namespace {

// The elements of a body of so many instructions take long.
constexpr size_t kSlowBody = 24;

class PieceWalk {
 public:
  PieceWalk(const PlannedNest& nest, PieceValues& values, const PieceRange& range, IrValues carried,
            const PieceBody& body)
      : nest_(nest),
        b_(nest.builder),
        values_(values),
        range_(range),
        next_(range.begin),
        carried_(std::move(carried)),
        body_(body) {}

  IrValues emit() {
    if (lanes_ == 1) {
      finish_by_point();
      return carried_;
    }
    whole(range_.unroll);
    if (!range_.is_even) emit_remainder();
    return carried_;
  }

 private:
  void emit_remainder() {
    // A remainder of known length is one piece.
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(b_.sub(range_.end, next_));
    if (nest_.has_masks() && known != nullptr) return emit_known(known->getSExtValue());
    if (!nest_.has_masks() && range_.unroll > 1) whole(1);  // masked words cost more than these
    if (masks_remainders(nest_)) {
      run(range_.end, lanes_, piece(lanes_, 1), true);
    } else {
      finish_by_point();
    }
  }

  void emit_known(int64_t length) {
    const int copies = static_cast<int>((length + lanes_ - 1) / lanes_);
    if (length > 0)
      run(range_.end, int64_t{lanes_} * range_.unroll, piece(lanes_, copies), length % lanes_ != 0);
  }

  void finish_by_point() { run(range_.end, 1, piece(1, 1), false); }

  // All whole pieces of `copies` vectors.
  void whole(int copies) {
    const int64_t step = int64_t{lanes_} * copies;
    Value* end = b_.add(next_, b_.mul(b_.div(b_.sub(range_.end, next_), step), step));
    run(end, step, piece(lanes_, copies), false);
  }

  Piece piece(int lanes, int copies) const {
    return {.lane_symbol = range_.symbol,
            .copy_symbol = range_.symbol,
            .lanes = lanes,
            .copies = copies};
  }

  // The points up to `end`, which lies no further than the range's end.
  void run(Value* end, int64_t step, const Piece& piece, bool is_masked) {
    const auto body = [&](Value* i, const IrValues& now) {
      values_.set_axis(range_.symbol, i);
      Piece own = piece;
      Value* last = b_.index(int64_t{piece.lanes} * (piece.copies - 1));
      if (is_masked) own.mask = b_.mask(b_.sub(b_.sub(end, i), last), piece.lanes);
      values_.set_piece(std::move(own));
      return body_(now);
    };
    carried_ = b_.loop(next_, end, step, carried_, body);
    next_ = end;
  }

  const PlannedNest& nest_;
  KernelBuilder& b_;
  PieceValues& values_;
  const PieceRange& range_;
  Value* next_;  // the first point that is not covered
  IrValues carried_;
  const PieceBody& body_;
  const int lanes_ = nest_.plan.lanes;
};

}  // namespace

IrValues emit_pieces(const PlannedNest& nest, PieceValues& values, const PieceRange& range,
                     IrValues carried, const PieceBody& body) {
  return PieceWalk(nest, values, range, std::move(carried), body).emit();
}

void emit_pieces(const PlannedNest& nest, PieceValues& values, const PieceRange& range,
                 const std::function<void()>& body) {
  emit_pieces(nest, values, range, {}, [&](const IrValues&) {
    body();
    return IrValues{};
  });
}

// Without masks for all types, that is where it is worth the instructions for masked words: all are
// words, and a vector takes long or is a part of a row.
bool masks_remainders(const PlannedNest& planned) {
  if (planned.has_masks()) return true;
  if (planned.builder.profile().vector_bits < 256) return false;
  const loop::Nest& nest = planned.flat.nest;
  const auto is_word = [&](const loop::Access& access) {
    return dtype_bits(planned.buffer(access.buffer).dtype) >= 32;
  };
  bool is_long = nest.instructions.size() >= kSlowBody;
  for (const loop::Instruction& own : nest.instructions) {
    if (own.kind == loop::InstructionKind::kLoad && !is_word(own.access)) return false;
    is_long = is_long || (own.kind == loop::InstructionKind::kScalar &&
                          loop::scalar_row(own.op).cost == loop::CostClass::kTranscendental);
  }
  for (const loop::Sweep& sweep : nest.sweeps) {
    if (!std::ranges::all_of(sweep.stores, is_word, &loop::Store::access)) return false;
    is_long = is_long || !sweep.axes.empty();
  }
  return is_long;
}

}  // namespace sluice
