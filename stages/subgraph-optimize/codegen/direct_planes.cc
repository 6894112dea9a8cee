#include "stages/subgraph-optimize/codegen/direct_planes.h"

namespace sluice {
namespace {

using llvm::Value;

class PlaneCopy {
 public:
  PlaneCopy(KernelBuilder& builder, const ConvSpec& spec, const DirectGeometry& geometry) : b_(builder), s_(spec), geometry_(geometry) {
    lanes_ = b_.profile().vector_bits / 32;
    while (lanes_ > 4 && lanes_ / 2 >= s_.ow.nominal) lanes_ /= 2;
  }

  llvm::Function* emit() {
    llvm::Function* function = b_.begin_function("planes", {b_.pointer_type(), b_.pointer_type(), b_.index_type(), b_.index_type()});
    for (int64_t kw = 0; kw < s_.kw; ++kw) {
      for (size_t slot = 0; slot < geometry_.phases.size(); ++slot) {
        Value* to = b_.at(function->getArg(1),
                          kw * geometry_.plane_stride(s_) + static_cast<int64_t>(slot) * geometry_.plane_rows() * s_.ow.nominal);
        Value* first = b_.add(function->getArg(2), b_.index(geometry_.phases[slot]));
        b_.loop(b_.index(0), function->getArg(3), 1, [&](Value* row) {
          Value* ih = b_.add(first, b_.mul(row, s_.stride_h));
          Value* target = b_.at(to, b_.mul(row, s_.ow.nominal));
          b_.if_else(
              b_.ir().CreateICmpULT(ih, b_.index(s_.h.nominal)),
              [&] { emit_row(b_.at(function->getArg(0), b_.mul(ih, s_.w.nominal)), target, kw); }, [&] { emit_zeros(target); });
        });
      }
    }
    b_.ret_void();
    return function;
  }

 private:
  void emit_zeros(Value* to) {
    b_.loop(b_.index(0), b_.index(s_.ow.nominal), lanes_,
            [&](Value* ow) { b_.store_vector(b_.splat(0.0f, lanes_), b_.at(to, ow), lanes_); });
  }

  int64_t input_column(int64_t ow, int64_t kw) const { return ow * s_.stride_w + kw * s_.dilation_w - s_.pad_left; }
  // All input columns of the vectors that produce [ow, ow + lanes) are inside the image.
  bool is_inner(int64_t ow, int64_t kw) const {
    return input_column(ow, kw) >= 0 && input_column(ow, kw) + lanes_ * s_.stride_w <= s_.w.nominal && ow + lanes_ <= s_.ow.nominal;
  }

  void emit_row(Value* from, Value* to, int64_t kw) {
    int64_t ow = 0;
    while (ow < s_.ow.nominal) {
      int64_t end = ow;
      while (is_inner(end, kw)) end += lanes_;
      if (end - ow > 2 * lanes_) {
        b_.loop(b_.index(ow), b_.index(end), lanes_, [&](Value* i) {
          Value* x = b_.at(from, b_.add(b_.mul(i, s_.stride_w), b_.index(kw * s_.dilation_w - s_.pad_left)));
          IrValues pieces;
          for (int64_t piece = 0; piece < s_.stride_w; ++piece) pieces.push_back(b_.load_vector(b_.at(x, piece * lanes_), lanes_, lanes_));
          b_.store_vector(every(pieces), b_.at(to, i), lanes_);
        });
        ow = end;
        continue;
      }
      emit_vector(from, to, ow, kw);
      ow += lanes_;
    }
  }

  // [ow, ow + lanes), known when the code is written.
  void emit_vector(Value* from, Value* to, int64_t ow, int64_t kw) {
    const int64_t first = input_column(ow, kw);
    IrValues pieces;
    for (int64_t piece = 0; piece < s_.stride_w; ++piece) {
      const int64_t begin = first + piece * lanes_;
      std::vector<llvm::Constant*> mask;
      int count = 0;
      for (int lane = 0; lane < lanes_; ++lane) {
        const int64_t iw = begin + lane;
        const bool is_read = iw >= 0 && iw < s_.w.nominal && (iw - first) % s_.stride_w == 0;
        mask.push_back(b_.ir().getInt1(is_read));
        count += is_read;
      }
      pieces.push_back(load(from, begin, mask, count));
    }
    b_.store_vector(every(pieces), b_.at(to, ow), lanes_);
  }

  Value* load(Value* from, int64_t begin, const std::vector<llvm::Constant*>& mask, int count) {
    if (count == 0) return b_.splat(0.0f, lanes_);
    Value* address = b_.ir().CreateGEP(b_.float_type(), from, b_.index(begin));
    if (count == lanes_) return b_.load_vector(address, lanes_, lanes_);
    return b_.ir().CreateMaskedLoad(b_.vector_type(lanes_), address, llvm::Align(4), llvm::ConstantVector::get(mask),
                                    b_.splat(0.0f, lanes_));
  }

  // Elements 0, stride, 2 * stride, … of the pieces one after the other.
  Value* every(const IrValues& pieces) {
    Value* result = pieces[0];
    if (pieces.size() == 1) return result;
    for (size_t piece = 0; piece < pieces.size(); ++piece) {
      std::vector<int> indices;
      for (int lane = 0; lane < lanes_; ++lane) {
        const int64_t source = lane * s_.stride_w;
        const bool is_here = source / lanes_ == static_cast<int64_t>(piece);
        if (piece == 0) {
          indices.push_back(is_here ? static_cast<int>(source) : 0);
        } else {
          indices.push_back(is_here ? lanes_ + static_cast<int>(source % lanes_) : lane);
        }
      }
      result = b_.ir().CreateShuffleVector(result, pieces[piece], indices);
    }
    return result;
  }

  KernelBuilder& b_;
  const ConvSpec& s_;
  const DirectGeometry& geometry_;
  int lanes_ = 4;
};

}  // namespace

llvm::Function* emit_plane_copy(KernelBuilder& builder, const ConvSpec& spec, const DirectGeometry& geometry) {
  return PlaneCopy(builder, spec, geometry).emit();
}

}  // namespace sluice
