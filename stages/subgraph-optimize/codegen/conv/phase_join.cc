#include "stages/subgraph-optimize/codegen/conv/phase_join.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/emit/epilogue_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

// Emits:
//
//   for row < rows, place k < phases.h:
//     for ow by lanes:
//       y[row * phases.h + k][ow * phases.w...] =
//           epilogue(the elements sums[k][l][row][ow...], l < phases.w, in turn)
class JoinEmitter {
 public:
  JoinEmitter(KernelBuilder& builder, const ConvSpec& spec, int64_t columns, int64_t phase_stride)
      : b_(builder),
        s_(spec),
        columns_(columns),
        phase_stride_(phase_stride),
        stored_(builder, spec.epilogue.stored(DType::kF32)),
        lanes_(builder.profile().vector_bits / 32) {
    while (lanes_ > 4 && lanes_ / 2 >= s_.ow.factor) lanes_ /= 2;
  }

  llvm::Function* emit() {
    const size_t operands = s_.epilogue.operands.size();
    std::vector<llvm::Type*> parameters(2 + operands, b_.pointer_type());
    parameters.push_back(b_.index_type());
    llvm::Function* function = b_.begin_function("join", parameters);
    for (size_t n = 0; n < operands; ++n) {
      Elements elements(b_, s_.epilogue.operand_dtype(n));
      operands_.push_back(elements.load(function->getArg(2 + static_cast<unsigned>(n))));
    }
    const int64_t wide = s_.ow.factor * s_.phases.w;
    b_.loop(b_.index(0), function->getArg(2 + static_cast<unsigned>(operands)), 1, [&](Value* row) {
      b_.loop(b_.index(0), b_.index(s_.phases.h), 1, [&](Value* k) {
        Value* place = b_.add(b_.mul(row, s_.phases.h), k);
        Value* from = b_.add(b_.mul(k, s_.phases.w * phase_stride_), b_.mul(row, columns_));
        emit_row(b_.at(function->getArg(0), from),
                 stored_.at(function->getArg(1), b_.mul(place, wide)));
      });
    });
    b_.ret_void();
    return function;
  }

 private:
  void emit_row(Value* from, Value* to) {
    const int64_t whole = s_.ow.factor / lanes_ * lanes_, left = s_.ow.factor - whole;
    b_.loop(b_.index(0), b_.index(whole), lanes_,
            [&](Value* ow) { emit_vectors(from, to, ow, lanes_); });
    if (left > 0) emit_vectors(from, to, b_.index(whole), left);
  }

  // Emits the elements of `count` positions of each phase.
  void emit_vectors(Value* from, Value* to, Value* ow, int64_t count) {
    IrValues phases;
    for (int64_t l = 0; l < s_.phases.w; ++l) {
      phases.push_back(b_.load_vector(b_.at(b_.at(from, ow), l * phase_stride_), lanes_, lanes_));
    }
    Value* start = stored_.at(to, b_.mul(ow, s_.phases.w));
    for (int64_t first = 0; first < count * s_.phases.w; first += lanes_) {
      Value* result = emit_epilogue(b_, s_.epilogue, in_turn(phases, first), [&](int n) {
        return b_.broadcast(operands_[static_cast<size_t>(n)], lanes_);
      });
      const int64_t active = std::min<int64_t>(lanes_, count * s_.phases.w - first);
      stored_.store_vector(result, stored_.at(start, first), static_cast<int>(active));
    }
  }

  // Returns elements [first, first + lanes) of those of all phases in turn.
  Value* in_turn(const IrValues& phases, int64_t first) {
    const auto count = static_cast<int64_t>(phases.size());
    Value* result = phases[0];
    for (int64_t next = 1; next < count; ++next) {
      std::vector<int> lanes;
      for (int lane = 0; lane < lanes_; ++lane) {
        const int64_t phase = (first + lane) % count;
        const int source = static_cast<int>((first + lane) / count);
        if (phase == next) {
          lanes.push_back(lanes_ + source);
        } else {
          lanes.push_back(next == 1 ? source : lane);
        }
      }
      result = b_.ir().CreateShuffleVector(result, phases[static_cast<size_t>(next)], lanes);
    }
    return result;
  }

  KernelBuilder& b_;
  const ConvSpec& s_;
  int64_t columns_, phase_stride_;
  Elements stored_;
  int lanes_;
  IrValues operands_;  // of the channel
};

}  // namespace

llvm::Function* emit_phase_join(KernelBuilder& builder, const ConvSpec& spec, int64_t columns,
                                int64_t phase_stride) {
  return JoinEmitter(builder, spec, columns, phase_stride).emit();
}

}  // namespace sluice
