#include "stages/subgraph-optimize/codegen/int8/int8_rows.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/int8/int8_plan.h"

namespace sluice {
namespace {

using llvm::Value;

constexpr int64_t kWrittenOut = 8;

// Emits the copy of a tile's rows into scratch, each of them kh * kw * ci elements and zeros:
//
//   for i < rows:
//     1x1 kernel:  copies[i][0, ci) = x[first + i]
//     if every kernel position is inside the image and a kernel row is one run:
//       for kh (few: written out): copies[i][kh][...] = x[ih + kh * dh][iw...], kw * ci bytes
//     else:
//       for kh: if the row is inside, whole when its columns are, otherwise
//         for kw: copies[i][kh][kw][0, ci) = is inside ? x[ih + kh * dh][iw + kw * dw] : x zero
class Int8RowEmitter {
 public:
  Int8RowEmitter(KernelBuilder& builder, const Int8ConvSpec& spec, const Int8RowCopies& copies,
                 Value* x, Value* x_zero)
      : b_(builder),
        ints_(builder),
        s_(spec.conv),
        is_signed_(spec.numbers.x_signed),
        copies_(copies),
        x_(x) {
    zero_ = b_.ir().CreateTrunc(x_zero, element());
  }

  void emit(Value* first, Value* rows) {
    b_.loop(b_.index(0), rows, 1, [&](Value* i) {
      Value* to = ints_.bytes_at(b_.scratch(), b_.mul(i, copies_.stride));
      if (is_pointwise(s_)) {
        copy(ints_.bytes_at(x_, b_.mul(b_.add(first, i), s_.ci)), to, channels());
      } else {
        copy_pixel(locate(b_.add(first, i)), to);
      }
      clear_remainder(to);
    });
  }

 private:
  struct Pixel {
    Value *image, *ih, *iw;  // start of the image; input row and column of kernel position (0, 0)
  };

  int64_t channels() const { return s_.ci / s_.groups; }
  int64_t bytes() const { return copies_.element_bytes(); }
  llvm::Type* element() { return b_.ir().getIntNTy(static_cast<unsigned>(8 * bytes())); }

  Pixel locate(Value* row) {
    Value* image = b_.value(s_.oh * s_.ow);
    Value* wide = b_.value(s_.ow);
    Value* remainder = b_.mod(row, image);
    Value* ih = b_.add(b_.mul(b_.div(remainder, wide), s_.stride_h), b_.index(-s_.pad_top));
    Value* iw = b_.add(b_.mul(b_.mod(remainder, wide), s_.stride_w), b_.index(-s_.pad_left));
    return {ints_.bytes_at(x_, b_.mul(b_.div(row, image), s_.h * s_.w * s_.ci)), ih, iw};
  }

  Value* inside(Value* i, Value* size) { return b_.ir().CreateICmpULT(i, size); }
  Value* address(const Pixel& pixel, Value* ih, Value* iw) {
    return ints_.bytes_at(pixel.image, b_.mul(b_.add(b_.mul(ih, s_.w), iw), s_.ci));
  }

  // Returns whether the runs of one kernel row follow each other in x too.
  bool is_one_run() const { return s_.dilation_w == 1 && s_.groups == 1; }

  void copy_pixel(const Pixel& pixel, Value* to) {
    const int64_t row = s_.kw * channels();
    // Null means that the kernel's columns are not one run.
    Value* wide = is_one_run() ? both_inside(pixel.iw, s_.kw - 1, s_.w) : nullptr;
    const auto each_kernel_row = [&](const std::function<void(Value * ih, Value * row_to)>& body) {
      b_.loop(b_.index(0), b_.index(s_.kh), 1, [&](Value* kh) {
        body(b_.add(pixel.ih, b_.mul(kh, s_.dilation_h)),
             ints_.bytes_at(to, b_.mul(kh, row * bytes())));
      });
    };
    const auto at_border = [&] {
      each_kernel_row([&](Value* ih, Value* row_to) {
        b_.if_else(
            inside(ih, b_.value(s_.h)), [&] { copy_kernel_row(pixel, ih, row_to, wide); },
            [&] { fill(row_to, row); });
      });
    };
    if (wide == nullptr) return at_border();
    b_.if_else(
        b_.ir().CreateAnd(both_inside(pixel.ih, (s_.kh - 1) * s_.dilation_h, s_.h), wide),
        [&] { copy_inner_pixel(address(pixel, pixel.ih, pixel.iw), to, row); }, at_border);
  }

  // Copies a pixel none of whose kernel positions is outside the image. A small number of kernel
  // rows is written out.
  void copy_inner_pixel(Value* from, Value* to, int64_t row) {
    Value* line = b_.value(s_.w * (s_.dilation_h * s_.ci));
    const auto copy_row = [&](Value* kh) {
      copy(ints_.bytes_at(from, b_.mul(kh, line)), ints_.bytes_at(to, b_.mul(kh, row * bytes())),
           row);
    };
    if (s_.kh > kWrittenOut) return b_.loop(b_.index(0), b_.index(s_.kh), 1, copy_row);
    for (int64_t kh = 0; kh < s_.kh; ++kh) copy_row(b_.index(kh));
  }

  // Tests the first position and the last one, which is `more` after it.
  Value* both_inside(Value* first, int64_t more, const Extent& size) {
    return b_.ir().CreateAnd(inside(first, b_.value(size)),
                             inside(b_.add(first, b_.index(more)), b_.value(size)));
  }

  void copy_kernel_row(const Pixel& pixel, Value* ih, Value* to, Value* wide) {
    const auto by_column = [&] {
      b_.loop(b_.index(0), b_.index(s_.kw), 1, [&](Value* kw) {
        Value* iw = b_.add(pixel.iw, b_.mul(kw, s_.dilation_w));
        Value* run = ints_.bytes_at(to, b_.mul(kw, channels() * bytes()));
        b_.if_else(
            inside(iw, b_.value(s_.w)), [&] { copy(address(pixel, ih, iw), run, channels()); },
            [&] { fill(run, channels()); });
      });
    };
    if (wide == nullptr) return by_column();
    b_.if_else(
        wide, [&] { copy(address(pixel, ih, pixel.iw), to, s_.kw * channels()); }, by_column);
  }

  // Emits pieces of falling length: body(offset in elements, length).
  void each_piece(int64_t count, const std::function<void(Value*, int)>& body) {
    const int widest = b_.profile().vector_bits / 8 / static_cast<int>(bytes());
    const int64_t whole = count / widest * widest;
    if (whole > 4 * widest) {
      b_.loop(b_.index(0), b_.index(whole), widest, [&](Value* at) { body(at, widest); });
    } else {
      for (int64_t at = 0; at < whole; at += widest) body(b_.index(at), widest);
    }
    int64_t at = whole;
    for (int length = widest / 2; length >= 1; length /= 2) {
      if ((count - at) < length) continue;
      body(b_.index(at), length);
      at += length;
    }
  }

  void copy(Value* from, Value* to, int64_t count) {
    each_piece(count, [&](Value* at, int length) {
      Value* piece = ints_.load_bytes(ints_.bytes_at(from, at), length, length);
      if (copies_.is_centered) {
        piece =
            b_.ir().CreateSub(ints_.widened(piece, 16, is_signed_), b_.broadcast(zero_, length));
      } else if (is_signed_) {
        piece = b_.ir().CreateXor(piece, b_.broadcast(b_.ir().getInt8(0x80), length));
      }
      b_.ir().CreateAlignedStore(piece, ints_.bytes_at(to, b_.mul(at, bytes())), llvm::Align(1));
    });
  }

  void fill(Value* to, int64_t count) {
    Value* outside = copies_.is_centered ? llvm::Constant::getNullValue(element()) : zero_;
    each_piece(count, [&](Value* at, int length) {
      b_.ir().CreateAlignedStore(b_.broadcast(outside, length),
                                 ints_.bytes_at(to, b_.mul(at, bytes())), llvm::Align(1));
    });
  }

  // Clears the elements after the reduction: their weights are zero, but the sum of x counts what
  // is copied.
  void clear_remainder(Value* to) {
    for (int64_t k = int8_reduction(s_); k < copies_.elements; ++k)
      b_.ir().CreateAlignedStore(llvm::Constant::getNullValue(element()),
                                 ints_.bytes_at(to, k * bytes()), llvm::Align(1));
  }

  KernelBuilder& b_;
  Int8Emitter ints_;
  const ConvSpec& s_;
  bool is_signed_;
  const Int8RowCopies& copies_;
  Value* x_;
  Value* zero_;  // of x
};

}  // namespace

void emit_int8_rows(KernelBuilder& builder, const Int8ConvSpec& spec, const Int8RowCopies& copies,
                    Value* x, Value* x_zero, Value* first, Value* rows) {
  Int8RowEmitter(builder, spec, copies, x, x_zero).emit(first, rows);
}

void emit_int8_row_sums(KernelBuilder& b, const Int8Rows& rows, Value* sums) {
  Int8Emitter ints(b);
  const int lanes = b.profile().vector_bits / 32;
  Value* whole = b.mul(b.div(rows.steps, lanes), lanes);
  Value* remainder = b.mask(b.sub(rows.steps, whole), lanes);
  b.loop(b.index(0), rows.count, 1, [&](Value* i) {
    Value* row = ints.bytes_at(rows.first, b.mul(i, rows.stride));
    IrValues sum = {ints.ints(0, lanes)};
    sum = b.loop(b.index(0), whole, lanes, sum, [&](Value* at, const IrValues& before) {
      return IrValues{
          ints.add_elements(before[0], b.load_vector(b.at(row, at), lanes, lanes), rows.unit)};
    });
    Value* all =
        ints.add_elements(sum[0], b.load_masked(b.at(row, whole), lanes, remainder), rows.unit);
    b.ir().CreateAlignedStore(b.ir().CreateAddReduce(all), b.at(sums, i), llvm::Align(4));
  });
}

}  // namespace sluice
