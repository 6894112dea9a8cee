#include "stages/subgraph-optimize/codegen/conv/direct_planes.h"

#include "stages/subgraph-optimize/codegen/emit/elements.h"

namespace sluice {
namespace {

using llvm::Value;

// Returns elements 0, stride, 2 * stride, … of the concatenated pieces.
Value* every(KernelBuilder& b, const IrValues& pieces, int lanes, int64_t stride) {
  Value* result = pieces[0];
  if (pieces.size() == 1) return result;
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    std::vector<int> indices;
    for (int lane = 0; lane < lanes; ++lane) {
      const int64_t source = lane * stride;
      const bool is_here = source / lanes == static_cast<int64_t>(piece);
      if (piece == 0) {
        indices.push_back(is_here ? static_cast<int>(source) : 0);
      } else {
        indices.push_back(is_here ? lanes + static_cast<int>(source % lanes) : lane);
      }
    }
    result = b.ir().CreateShuffleVector(result, pieces[piece], indices);
  }
  return result;
}

// Runs of more vectors than these are copied by loops; shorter ones are written out.
constexpr int64_t kLongPlaneRun = 8;

// Emits the copy of one slice of an input channel into its kw planes:
//
//   for kw, phase (written out):
//     for row < rows:
//       ih = first row + phase + row * stride_h
//       if ih is inside the image:
//         for ow by lanes: plane[kw][phase][row][ow...] = x[ih][ow * stride_w + kw * dw - pad...]
//       else: plane[kw][phase][row][...] = 0
//
// A vector is made from stride_w loads. Of a known width, long runs of vectors that are wholly
// inside the image are a loop; the other vectors are written out, with constant masks. Otherwise a
// row is
//
//   for ow in [0, begin) by lanes:          plane[...][ow...] = 0
//   for ow in [begin, whole end) by lanes:  plane[...][ow...] = stride_w loads, shuffled
//   for ow in [whole end, end):             the same with masks; by single floats without masks
//   for ow in [end, width) by lanes:        plane[...][ow...] = 0
class PlaneCopy {
 public:
  PlaneCopy(KernelBuilder& builder, const ConvSpec& spec, const DirectGeometry& geometry,
            bool cuts_rows)
      : b_(builder),
        s_(spec),
        geometry_(geometry),
        x_(builder, spec.dtype),
        cuts_rows_(cuts_rows),
        lanes_(builder.profile().vector_bits / 32),
        known_columns_(geometry.columns(spec)) {
    while (has_known_rows() && lanes_ > 4 && lanes_ / 2 >= known_columns_) lanes_ /= 2;
  }

  llvm::Function* emit() {
    begin();
    for (int64_t kw = 0; kw < geometry_.slice_planes(s_); ++kw) {
      if (!has_known_rows()) find_inside(kw);
      for (size_t slot = 0; slot < geometry_.phases.size(); ++slot) emit_rows(kw, slot);
    }
    b_.ret_void();
    return function_;
  }

 private:
  bool has_known_rows() const { return s_.w.is_fixed() && s_.ow.is_fixed(); }

  void begin() {
    std::vector<llvm::Type*> parameters = {b_.pointer_type(), b_.pointer_type(), b_.index_type(),
                                           b_.index_type()};
    if (!is_fixed(s_)) {
      parameters.push_back(b_.pointer_type());
      parameters.insert(parameters.end(), 4, b_.index_type());
    }
    function_ = b_.begin_function("planes", parameters);
    if (is_fixed(s_)) {
      layout_ = fixed_layout(b_, s_, geometry_);
      return;
    }
    b_.set_symbols(function_->getArg(4));
    layout_ = {cuts_rows_ ? function_->getArg(5) : b_.value(s_.ow), function_->getArg(6),
               function_->getArg(7)};
    first_ = function_->getArg(8);
  }

  // Emits the rows of one phase of the plane of kernel column kw.
  void emit_rows(int64_t kw, size_t slot) {
    Value* to =
        b_.at(function_->getArg(1),
              b_.add(b_.mul(layout_.plane, kw), b_.mul(layout_.phase, static_cast<int64_t>(slot))));
    Value* first = b_.add(function_->getArg(2), b_.index(geometry_.phases[slot]));
    b_.loop(b_.index(0), function_->getArg(3), 1, [&](Value* row) {
      Value* ih = b_.add(first, b_.mul(row, s_.stride_h));
      Value* target = b_.at(to, b_.mul(row, layout_.columns));
      b_.if_else(
          b_.ir().CreateICmpULT(ih, b_.value(s_.h)),
          [&] {
            Value* from = x_.at(function_->getArg(0), b_.mul(ih, s_.w));
            has_known_rows() ? emit_known_row(from, target, kw) : emit_row(from, target);
          },
          [&] { emit_zeros(target, b_.index(0), layout_.columns); });
    });
  }

  void emit_zeros(Value* to, Value* begin, Value* end) {
    b_.loop(begin, end, lanes_,
            [&](Value* ow) { b_.store_vector(b_.splat(0.0f, lanes_), b_.at(to, ow), lanes_); });
  }

  // ---- rows of a known width

  int64_t input_column(int64_t ow, int64_t kw) const {
    return ow * s_.stride_w + kw * s_.dilation_w - s_.pad_left;
  }
  // Returns whether all input columns of the vectors that produce [ow, ow + lanes) are inside the
  // image.
  bool is_inner(int64_t ow, int64_t kw) const {
    return input_column(ow, kw) >= 0 &&
           input_column(ow, kw) + lanes_ * s_.stride_w <= s_.w.factor &&
           ow + lanes_ <= known_columns_;
  }

  void emit_known_row(Value* from, Value* to, int64_t kw) {
    int64_t ow = 0;
    while (ow < known_columns_) {
      int64_t end = ow;
      while (is_inner(end, kw)) end += lanes_;
      if (end - ow > kLongPlaneRun * lanes_) {
        b_.loop(b_.index(ow), b_.index(end), lanes_, [&](Value* i) {
          Value* x = x_.at(
              from, b_.add(b_.mul(i, s_.stride_w), b_.index(kw * s_.dilation_w - s_.pad_left)));
          IrValues pieces;
          for (int64_t piece = 0; piece < s_.stride_w; ++piece)
            pieces.push_back(x_.load_vector(x_.at(x, piece * lanes_), lanes_, lanes_));
          b_.store_vector(every(b_, pieces, lanes_, s_.stride_w), b_.at(to, i), lanes_);
        });
        ow = end;
        continue;
      }
      emit_known_vector(from, to, ow, kw);
      ow += lanes_;
    }
  }

  // Emits the vector [ow, ow + lanes), whose mask is known at code generation.
  void emit_known_vector(Value* from, Value* to, int64_t ow, int64_t kw) {
    const int64_t first = input_column(ow, kw);
    IrValues pieces;
    for (int64_t piece = 0; piece < s_.stride_w; ++piece) {
      const int64_t begin = first + piece * lanes_;
      std::vector<llvm::Constant*> mask;
      int count = 0;
      for (int lane = 0; lane < lanes_; ++lane) {
        const int64_t iw = begin + lane;
        const bool is_read = iw >= 0 && iw < s_.w.factor && (iw - first) % s_.stride_w == 0;
        mask.push_back(b_.ir().getInt1(is_read));
        count += is_read;
      }
      pieces.push_back(load(from, begin, mask, count));
    }
    b_.store_vector(every(b_, pieces, lanes_, s_.stride_w), b_.at(to, ow), lanes_);
  }

  Value* load(Value* from, int64_t begin, const std::vector<llvm::Constant*>& mask, int count) {
    if (count == 0) return b_.splat(0.0f, lanes_);
    Value* address = x_.at_anywhere(from, b_.index(begin));
    if (count == lanes_) return x_.load_vector(address, lanes_, lanes_);
    return x_.load_masked(address, lanes_, llvm::ConstantVector::get(mask));
  }

  // ---- rows of any width

  // Emits the bounds of the output columns whose input column of kernel column kw is inside the
  // image, and of those whose whole vectors of input are.
  void find_inside(int64_t kw) {
    shift_ = kw * s_.dilation_w - s_.pad_left;
    const int64_t before = shift_ >= 0 ? 0 : (-shift_ + s_.stride_w - 1) / s_.stride_w;
    begin_ = b_.min(in_piece(b_.index(before)), layout_.columns);
    Value* slack = b_.max(b_.add(b_.value(s_.w), b_.index(-shift_)), b_.index(0));
    end_ = b_.max(b_.min(in_piece(b_.div(b_.add(slack, b_.index(s_.stride_w - 1)), s_.stride_w)),
                         layout_.columns),
                  begin_);
    Value* vectors_end = b_.min(in_piece(b_.div(slack, s_.stride_w)), layout_.columns);
    Value* whole = b_.div(b_.max(b_.sub(vectors_end, begin_), b_.index(0)), lanes_);
    whole_end_ = b_.add(begin_, b_.mul(whole, lanes_));
  }

  // Converts an output column of the row to one of the piece.
  Value* in_piece(Value* ow) { return cuts_rows_ ? b_.max(b_.sub(ow, first_), b_.index(0)) : ow; }

  void emit_row(Value* from, Value* to) {
    emit_zeros(to, b_.index(0), begin_);
    b_.loop(begin_, whole_end_, lanes_, [&](Value* ow) {
      Value* x = input(from, ow);
      emit_vector(b_.at(to, ow), [&](int64_t piece) {
        return x_.load_vector(x_.at(x, piece * lanes_), lanes_, lanes_);
      });
    });
    if (b_.has_masks()) {
      b_.loop(whole_end_, end_, lanes_, [&](Value* ow) {
        Value* x = input(from, ow);
        Value* left = b_.sub(b_.value(s_.w), column(ow));
        emit_vector(b_.at(to, ow), [&](int64_t piece) {
          Value* active = b_.min(b_.add(left, b_.index(-piece * lanes_)), b_.index(lanes_));
          return x_.load_masked(x_.at(x, piece * lanes_), lanes_, b_.mask(active, lanes_));
        });
      });
    } else {
      b_.loop(whole_end_, end_, 1, [&](Value* ow) {
        b_.ir().CreateAlignedStore(x_.load(input(from, ow)), b_.at(to, ow), llvm::Align(4));
      });
    }
    emit_zeros(to, end_, layout_.columns);
  }

  // Returns the input column of output column ow.
  Value* column(Value* ow) {
    if (cuts_rows_) ow = b_.add(ow, first_);
    return b_.add(b_.mul(ow, s_.stride_w), b_.index(shift_));
  }
  Value* input(Value* from, Value* ow) { return x_.at_anywhere(from, column(ow)); }

  void emit_vector(Value* to, const std::function<Value*(int64_t piece)>& load) {
    IrValues pieces;
    for (int64_t piece = 0; piece < s_.stride_w; ++piece) pieces.push_back(load(piece));
    b_.store_vector(every(b_, pieces, lanes_, s_.stride_w), to, lanes_);
  }

  KernelBuilder& b_;
  const ConvSpec& s_;
  const DirectGeometry& geometry_;
  Elements x_;
  bool cuts_rows_;
  int lanes_;
  int64_t known_columns_;
  llvm::Function* function_ = nullptr;
  PlaneLayout layout_;
  int64_t shift_ = 0;       // from output column * stride to input column
  Value* first_ = nullptr;  // first output column of the piece; all others are counted from it
  Value *begin_ = nullptr, *end_ = nullptr, *whole_end_ = nullptr;
};

}  // namespace

llvm::Function* emit_plane_copy(KernelBuilder& builder, const ConvSpec& spec,
                                const DirectGeometry& geometry, bool cuts_rows) {
  return PlaneCopy(builder, spec, geometry, cuts_rows).emit();
}

}  // namespace sluice
