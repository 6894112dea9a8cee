#include "stages/subgraph-optimize/codegen/conv/conv_rows.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/contraction/row_copies.h"
#include "stages/subgraph-optimize/codegen/cost.h"

namespace sluice {
namespace {

using llvm::Value;

constexpr int64_t kFewChannels = 16;
constexpr int64_t kMaxCopied = 2048;  // floats of a row; a tile of them stays in the second cache

int64_t group_input_channels(const ConvSpec& s) { return s.ci / s.groups; }
int64_t reduction_length(const ConvSpec& s) {
  return kernel_positions(s) * group_input_channels(s);
}

// Returns a distance of rows, in floats, that is no multiple of 2 KiB, which would put all rows
// into few cache sets.
int64_t spread_stride(int64_t floats) {
  const int64_t stride = (floats + 15) / 16 * 16;
  return stride % 512 == 0 ? stride + 16 : stride;
}

// Returns the floats from one copied row to the next: enough for a last store of a whole vector.
int64_t copied_row_stride(const ConvSpec& s) { return spread_stride(reduction_length(s) + 15); }

// Returns the floats from one pixel of widened lines to the next.
int64_t widened_pixel_stride(const ConvSpec& s) { return spread_stride(group_input_channels(s)); }

// Returns whether rows are f32 in scratch and shorter in x.
bool widens_rows(const ConvSpec& s, const DeviceProfile& profile) {
  return s.dtype != DType::kF32 && !(has_pairs(s) && profile.bf16_dot_product);
}

DType row_dtype(const ConvSpec& s, const DeviceProfile& profile) {
  return widens_rows(s, profile) ? DType::kF32 : s.dtype;
}

bool is_in_chunks(const ConvSpec& s, ConvRows strategy, const DeviceProfile& profile) {
  return strategy == ConvRows::kCopied || widens_rows(s, profile);
}

// Returns the elements from one row that tiles read to the next: rows of kDirect and kCopied.
int64_t row_stride(const ConvSpec& s, ConvRows strategy, const DeviceProfile& profile) {
  return is_in_chunks(s, strategy, profile) ? copied_row_stride(s) : conv_pixel_stride(s);
}

// Returns the lines of the input from the first one under a kernel to the last.
int64_t window_lines(const ConvSpec& s) { return (s.kh - 1) * s.dilation_h + 1; }

// Returns the most lines of the input that so many neighbouring output pixels read: their rows are
// stride_h lines apart, and from one image to the next as many as remain.
int64_t max_lines(const ConvSpec& s, int64_t pixels) {
  const int64_t rows = (pixels + s.ow.factor - 2) / s.ow.factor + 1;
  const int64_t apart = std::max(s.stride_h, s.h.factor - (s.oh.factor - 1) * s.stride_h);
  return std::min(s.n.factor * s.h.factor, (rows - 1) * apart + window_lines(s));
}

// Returns whether the lines under a chunk are fewer numbers than its rows, follow each other (no
// kernel lies below its image), and fit the scratch for any tile.
bool shares_lines(const ConvSpec& s, const DeviceProfile& profile) {
  if (!is_fixed(s) || is_3d(s) || group_input_channels(s) < kFewChannels ||
      s.kh * s.kw <= s.stride_h * s.stride_w ||
      (s.oh.factor - 1) * s.stride_h - s.pad_top >= s.h.factor)
    return false;
  const int64_t lines = max_lines(s, profile.vector_registers);
  return lines * s.w.factor * widened_pixel_stride(s) * 4 <= profile.scratch_limit / 2;
}

// Runs of more vectors than these are copied by loops; shorter ones are written out.
constexpr int64_t kLongRowRun = 32;

// Emits the loops that prepare rows for kPointers and kCopied. x has the pixels that are pointed to
// or copied: those of the input, or of its widened lines.
class RowEmitter {
 public:
  RowEmitter(KernelBuilder& builder, const ConvSpec& spec, const ConvRowRange& range,
             Elements elements, int64_t pixel_stride)
      : b_(builder),
        s_(spec),
        range_(range),
        in_memory_(elements),
        pixel_stride_(pixel_stride),
        copied_(builder, row_dtype(spec, builder.profile())) {}

  // Fills table[kd * kh * kw][tile_rows] of pointers in scratch:
  //
  //   for i < rows: (image, id, ih, iw) = the input position under pixel first + i
  //     for kd, kh:
  //       for kw (written out):
  //         table[(kd * KH + kh) * KW + kw][i] =
  //             is inside ? &x[image][id + kd * dd][ih + kh * dh][iw + kw * dw] : zeros
  Value* emit_pointers(int tile_rows) {
    Value* table = b_.scratch();
    Value* zeros = zero_page();
    for_each_pixel([&](Value* i, const Pixel& pixel) {
      for_each_kernel_row(pixel, [&](Value* kernel_row, const Row& row) {
        for (int64_t kw = 0; kw < s_.kw; ++kw) {
          Value* iw = b_.add(pixel.iw, b_.index(kw * s_.dilation_w));
          Value* ok = b_.ir().CreateAnd(row.is_inside, inside(iw, s_.w));
          Value* pointer = b_.ir().CreateSelect(ok, at_column(row.start, iw), zeros);
          Value* slot =
              b_.add(b_.mul(b_.add(b_.mul(kernel_row, s_.kw), b_.index(kw)), tile_rows), i);
          b_.ir().CreateStore(pointer, b_.ir().CreateInBoundsGEP(b_.pointer_type(), table, slot));
        }
      });
    });
    return table;
  }

  // Fills copies[rows][copied_row_stride]:
  //
  //   for i < rows: (image, id, ih, iw) = the input position under pixel first + i
  //     if every kernel position is inside the image and a kernel row is one run:
  //       for kd, kh, vectors of the kw * ci floats (kh and these written out):
  //         copies[i][kd][kh][...] = x[image][id + kd * dd][ih + kh * dh][iw...]
  //     else:
  //       for kd, kh, kw:
  //         copies[i][kd][kh][kw][0, ci) =
  //             is inside ? x[image][id + kd * dd][ih + kh * dh][iw + kw * dw] : 0
  void emit_copies(Value* buffer) {
    for_each_pixel([&](Value* i, const Pixel& pixel) {
      Value* to = copied_.at(buffer, b_.mul(i, copied_row_stride(s_)));
      const auto at_border = [&] {
        for_each_kernel_row(pixel, [&](Value* kernel_row, const Row& row) {
          copy_kernel_row(pixel, row,
                          copied_.at(to, b_.mul(kernel_row, s_.kw * group_input_channels(s_))));
        });
      };
      // A symbolic image may be smaller than the kernel.
      const int64_t deep = (s_.depth.kernel - 1) * s_.depth.dilation,
                    high = (s_.kh - 1) * s_.dilation_h, wide = s_.kw - 1;
      const auto may_exceed = [](const Extent& size, int64_t by) {
        return !size.is_fixed() || size.factor > by;
      };
      const bool has_inner =
          may_exceed(s_.depth.in, deep) && may_exceed(s_.h, high) && may_exceed(s_.w, wide);
      if (!is_one_run() || !has_inner) return at_border();
      const auto less = [&](const Extent& size, int64_t by) {
        return size.is_fixed() ? b_.index(size.factor - by)
                               : b_.max(b_.add(b_.value(size), b_.index(-by)), b_.index(0));
      };
      Value* is_inner = b_.ir().CreateAnd(inside(pixel.id, less(s_.depth.in, deep)),
                                          b_.ir().CreateAnd(inside(pixel.ih, less(s_.h, high)),
                                                            inside(pixel.iw, less(s_.w, wide))));
      b_.if_else(is_inner, [&] { copy_inner_pixel(pixel, to); }, at_border);
    });
  }

 private:
  struct Pixel {
    Value *image, *id, *ih, *iw;  // start of the image; input position of kernel position (0, 0, 0)
  };

  // An input row under a row of the kernel. The start is out of bounds outside the image; nothing
  // is read there then.
  struct Row {
    Value *start, *is_inside;
  };

  // Calls the body for all (kd, kh), with kd * KH + kh.
  void for_each_kernel_row(const Pixel& pixel,
                           const std::function<void(Value* kernel_row, const Row& row)>& body) {
    const auto in_plane = [&](Value* kd) {
      Value* id = b_.add(pixel.id, b_.mul(kd, s_.depth.dilation));
      Value* plane_inside = inside(id, s_.depth.in);
      b_.loop(b_.index(0), b_.index(s_.kh), 1, [&](Value* kh) {
        Value* ih = b_.add(pixel.ih, b_.mul(kh, s_.dilation_h));
        body(b_.add(b_.mul(kd, s_.kh), kh),
             {row_start(pixel, id, ih), b_.ir().CreateAnd(plane_inside, inside(ih, s_.h))});
      });
    };
    if (s_.depth.kernel == 1) return in_plane(b_.index(0));
    b_.loop(b_.index(0), b_.index(s_.depth.kernel), 1, in_plane);
  }

  void for_each_pixel(const std::function<void(Value* i, const Pixel& pixel)>& body) {
    Value *first = range_.first, *rows = range_.count;
    if (output_pixels(s_).is_fixed()) {
      return b_.loop(b_.index(0), rows, 1, [&](Value* i) { body(i, locate(b_.add(first, i))); });
    }
    // Divisions by numbers that are not constant are slow, so only the first pixel's position is
    // divided out, and the others follow from pixel to pixel.
    Value *deep = b_.value(s_.depth.out), *high = b_.value(s_.oh), *wide = b_.value(s_.ow);
    Value *plane = b_.mul(high, wide), *planes = b_.div(first, plane);
    Value* remainder = b_.mod(first, plane);
    const IrValues start = {b_.div(planes, deep), b_.mod(planes, deep), b_.div(remainder, wide),
                            b_.mod(remainder, wide)};
    b_.loop(b_.index(0), rows, 1, start, [&](Value* i, const IrValues& at) {
      body(i, pixel_at(at[0], at[1], at[2], at[3]));
      const auto advance = [&](Value* number, Value* limit) {
        Value* is_last = b_.ir().CreateICmpEQ(number, limit);
        return std::pair{b_.ir().CreateSelect(is_last, b_.index(0), number),
                         b_.ir().CreateZExt(is_last, b_.index_type())};
      };
      const auto [column, wraps] = advance(b_.add(at[3], b_.index(1)), wide);
      const auto [row, ends] = advance(b_.add(at[2], wraps), high);
      const auto [slice, leaves] = advance(b_.add(at[1], ends), deep);
      return IrValues{b_.add(at[0], leaves), slice, row, column};
    });
  }

  Pixel locate(Value* row) {
    const int64_t deep = s_.depth.out.factor, plane = s_.oh.factor * s_.ow.factor,
                  wide = s_.ow.factor;
    Value *planes = b_.div(row, plane), *remainder = b_.mod(row, plane);
    return pixel_at(b_.div(planes, deep), b_.mod(planes, deep), b_.div(remainder, wide),
                    b_.mod(remainder, wide));
  }

  Pixel pixel_at(Value* n, Value* od, Value* oh, Value* ow) {
    Value* id = b_.add(b_.mul(od, s_.depth.stride), b_.index(-s_.depth.pad));
    Value* ih = b_.add(b_.mul(oh, s_.stride_h), b_.index(-s_.pad_top));
    Value* iw = b_.add(b_.mul(ow, s_.stride_w), b_.index(-s_.pad_left));
    if (range_.shift.top) ih = b_.add(ih, range_.shift.top);
    if (range_.shift.left) iw = b_.add(iw, range_.shift.left);
    return {offset_by(range_.x, b_.mul(n, input_pixels(s_) * pixel_stride_)), id, ih, iw};
  }

  Value* inside(Value* i, Value* size) { return b_.ir().CreateICmpULT(i, size); }
  Value* inside(Value* i, const Extent& size) { return inside(i, b_.value(size)); }

  // Addresses are out of bounds outside the image, so they are no in-bounds ones.
  Value* row_start(const Pixel& pixel, Value* id, Value* ih) {
    Value* row = b_.add(b_.mul(id, s_.h), ih);
    return offset_by(pixel.image, b_.mul(row, s_.w * pixel_stride_));
  }
  Value* at_column(Value* row, Value* iw) { return offset_by(row, b_.mul(iw, pixel_stride_)); }
  Value* offset_by(Value* from, Value* elements) { return in_memory_.at_anywhere(from, elements); }

  Value* zero_page() {
    auto* type =
        llvm::ArrayType::get(b_.float_type(), static_cast<uint64_t>(group_input_channels(s_)));
    auto* page =
        new llvm::GlobalVariable(b_.module(), type, true, llvm::GlobalValue::PrivateLinkage,
                                 llvm::ConstantAggregateZero::get(type), "zeros");
    page->setAlignment(llvm::Align(64));
    return page;
  }

  // Returns whether the kw runs of one kernel row are one run: channels are dense and columns are
  // not dilated.
  bool is_one_run() const {
    return s_.dilation_w == 1 && group_input_channels(s_) == pixel_stride_;
  }

  // Copies a pixel none of whose kernel positions is outside the image. A short run is copied in
  // whole vectors; the next run overwrites the surplus of the last vector.
  void copy_inner_pixel(const Pixel& pixel, Value* to) {
    const auto copy_plane = [&](Value* kd) {
      Value* id = b_.add(pixel.id, b_.mul(kd, s_.depth.dilation));
      copy_inner_plane(at_column(row_start(pixel, id, pixel.ih), pixel.iw),
                       copied_.at(to, b_.mul(kd, s_.kh * s_.kw * group_input_channels(s_))));
    };
    if (s_.depth.kernel == 1) return copy_plane(b_.index(0));
    b_.loop(b_.index(0), b_.index(s_.depth.kernel), 1, copy_plane);
  }

  void copy_inner_plane(Value* from, Value* to) {
    const int lanes = b_.profile().vector_bits / 32;
    const int64_t run = s_.kw * group_input_channels(s_);
    for (int64_t kh = 0; kh < s_.kh; ++kh) {
      Value* row = in_memory_.at(from, b_.value(s_.w * (kh * s_.dilation_h * pixel_stride_)));
      if (run > kLongRowRun * lanes) {
        emit_run_copy(b_, in_memory_, row, run, copied_, copied_.at(to, kh * run));
        continue;
      }
      for (int64_t at = 0; at < run; at += lanes) {
        const int active = static_cast<int>(std::min<int64_t>(lanes, run - at));
        copied_.store_vector(in_memory_.load_vector(in_memory_.at(row, at), lanes, active),
                             copied_.at(to, kh * run + at), lanes);
      }
    }
  }

  // Copies one kernel row of one pixel near a border: kw runs of ci elements.
  void copy_kernel_row(const Pixel& pixel, const Row& row, Value* to) {
    const int64_t channels = group_input_channels(s_);
    b_.loop(b_.index(0), b_.index(s_.kw), 1, [&](Value* kw) {
      Value* iw = b_.add(pixel.iw, b_.mul(kw, s_.dilation_w));
      Value* run = copied_.at(to, b_.mul(kw, channels));
      Value* ok = b_.ir().CreateAnd(row.is_inside, inside(iw, s_.w));
      b_.if_else(
          ok, [&] { copy(at_column(row.start, iw), run, channels); },
          [&] { copy(nullptr, run, channels); });
    });
  }

  // Copies `count` elements; from null, stores zeros.
  void copy(Value* from, Value* to, int64_t count) {
    if (count > kLongRowRun * (b_.profile().vector_bits / 32))
      return emit_run_copy(b_, in_memory_, from, count, copied_, to);
    int64_t at = 0;
    for (int lanes = b_.profile().vector_bits / 32; lanes >= 4; lanes /= 2) {
      for (; at + lanes <= count; at += lanes) copy_vector(from, to, at, lanes);
    }
    for (; at < count; ++at) {
      Value* value = from ? in_memory_.load(in_memory_.at(from, at))
                          : llvm::ConstantFP::get(b_.float_type(), 0.0);
      copied_.store(value, copied_.at(to, at));
    }
  }

  void copy_vector(Value* from, Value* to, int64_t at, int lanes) {
    Value* vector = from ? in_memory_.load_vector(in_memory_.at(from, at), lanes, lanes)
                         : b_.splat(0.0f, lanes);
    copied_.store_vector(vector, copied_.at(to, at), lanes);
  }

  KernelBuilder& b_;
  const ConvSpec& s_;
  const ConvRowRange& range_;
  Elements in_memory_;
  int64_t pixel_stride_;
  Elements copied_;
};

// Returns the bytes of the pointers before the chunk's rows.
int64_t table_bytes(const ConvSpec& s, ConvRows strategy, int tile_rows) {
  return strategy == ConvRows::kPointers ? (kernel_positions(s) * tile_rows * 8 + 63) / 64 * 64 : 0;
}

// Widens the lines [begin, end) of the input under the rows into scratch, and returns where line 0
// of the first image would lie.
Value* emit_widened_lines(KernelBuilder& b, const ConvSpec& s, const ConvRowRange& range,
                          Value* lines) {
  const auto line_of = [&](Value* pixel, int64_t line) {
    Value* image = b.div(pixel, s.oh.factor * s.ow.factor);
    Value* row = b.div(b.mod(pixel, s.oh.factor * s.ow.factor), s.ow.factor);
    Value* in_image = b.add(b.mul(row, s.stride_h), b.index(line - s.pad_top));
    in_image = b.min(b.max(in_image, b.index(0)), b.index(s.h.factor));
    return b.add(b.mul(image, s.h.factor), in_image);
  };
  Value* begin = line_of(range.first, 0);
  Value* end = line_of(b.sub(b.add(range.first, range.count), b.index(1)), window_lines(s));
  Value* pixel = b.mul(begin, s.w.factor);
  const Elements from(b, s.dtype), to(b, DType::kF32);
  const int64_t stride = conv_pixel_stride(s);
  emit_row_copies(
      b, from,
      {Elements(from).at(range.x, b.mul(pixel, stride)), stride, 1, group_input_channels(s)},
      b.mul(b.sub(end, begin), s.w.factor), to, lines, widened_pixel_stride(s));
  return Elements(to).at_anywhere(lines, b.mul(pixel, -widened_pixel_stride(s)));
}

}  // namespace

int64_t conv_pixel_stride(const ConvSpec& s) {
  return s.x_pixel_stride != 0 ? s.x_pixel_stride : s.ci;
}

ConvRows choose_conv_rows(const ConvSpec& s, const DeviceProfile& profile) {
  if (is_pointwise(s)) return ConvRows::kDirect;
  if (widens_rows(s, profile))
    return shares_lines(s, profile) ? ConvRows::kPointers : ConvRows::kCopied;
  const bool fits = reduction_length(s) <= kMaxCopied;
  return group_input_channels(s) < kFewChannels && fits ? ConvRows::kCopied : ConvRows::kPointers;
}

TileReduction conv_reduction(const ConvSpec& s, ConvRows strategy, int tile_rows, int64_t nr,
                             const DeviceProfile& profile) {
  TileReduction reduction;
  reduction.a = row_dtype(s, profile);
  reduction.b = s.dtype;
  reduction.in_pairs = has_pairs(s);
  reduction.b_stride = nr;
  reduction.length = reduction_length(s);
  switch (strategy) {
    case ConvRows::kDirect:
    case ConvRows::kCopied:
      reduction.row_stride = row_stride(s, strategy, profile);
      break;
    case ConvRows::kPointers:
      reduction.by_pointers = true;
      reduction.table_rows = tile_rows;
      reduction.segments = kernel_positions(s);
      reduction.length = group_input_channels(s);
  }
  return reduction;
}

PreparedRows conv_prepared_rows(const ConvSpec& s, ConvRows strategy,
                                const DeviceProfile& profile) {
  constexpr double kCyclesPerRun = 6;
  if (!is_in_chunks(s, strategy, profile)) return {};
  const auto widening_cycles = [&](int64_t floats) {
    return repack_cycles(static_cast<double>(floats) * 32 / profile.vector_bits, profile);
  };
  if (strategy == ConvRows::kPointers) {
    const double pixels = static_cast<double>(s.stride_h * s.stride_w);
    return {s.stride_h * s.stride_w * widened_pixel_stride(s) * 4,
            pixels * widening_cycles(group_input_channels(s)),
            (window_lines(s) / s.stride_h + 1) * s.ow.factor};
  }
  const double runs =
      static_cast<double>(strategy == ConvRows::kCopied ? s.depth.kernel * s.kh : 0);
  return {copied_row_stride(s) * 4, runs * kCyclesPerRun + widening_cycles(reduction_length(s)), 0};
}

uint64_t conv_row_scratch(const ConvSpec& s, ConvRows strategy, int tile_rows, int64_t chunk_tiles,
                          const DeviceProfile& profile) {
  const int64_t table = table_bytes(s, strategy, tile_rows), rows = chunk_tiles * tile_rows;
  if (!is_in_chunks(s, strategy, profile)) return static_cast<uint64_t>(table);
  const int64_t floats = strategy == ConvRows::kPointers
                             ? max_lines(s, rows) * s.w.factor * widened_pixel_stride(s)
                             : rows * copied_row_stride(s);
  return static_cast<uint64_t>(table + floats * 4);
}

Value* emit_conv_chunk(KernelBuilder& b, const ConvSpec& s, ConvRows strategy,
                       const ConvRowRange& range, int tile_rows) {
  Value* prepared = b.at(b.scratch(), table_bytes(s, strategy, tile_rows) / 4);
  if (strategy == ConvRows::kPointers) return emit_widened_lines(b, s, range, prepared);
  Elements from(b, s.dtype), to(b, row_dtype(s, b.profile()));
  const int64_t stride = conv_pixel_stride(s);
  if (strategy == ConvRows::kDirect) {
    emit_row_copies(
        b, from, {from.at(range.x, b.mul(range.first, stride)), stride, 1, group_input_channels(s)},
        range.count, to, prepared, copied_row_stride(s));
  } else {
    RowEmitter(b, s, range, from, stride).emit_copies(prepared);
  }
  return to.at_anywhere(prepared, b.mul(range.first, -copied_row_stride(s)));
}

Value* emit_conv_rows(KernelBuilder& b, const ConvSpec& s, ConvRows strategy,
                      const ConvRowRange& range, int tile_rows) {
  Elements elements(b, row_dtype(s, b.profile()));
  if (strategy != ConvRows::kPointers)
    return elements.at_anywhere(range.x, b.mul(range.first, row_stride(s, strategy, b.profile())));
  const int64_t stride =
      widens_rows(s, b.profile()) ? widened_pixel_stride(s) : conv_pixel_stride(s);
  return RowEmitter(b, s, range, elements, stride).emit_pointers(tile_rows);
}

}  // namespace sluice
