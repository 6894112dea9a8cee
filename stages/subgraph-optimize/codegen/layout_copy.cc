// Copies between NCHW and NHWC: square tiles of one vector per row, transposed in registers.
#include <algorithm>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/kernel_builder.h"
#include "stages/subgraph-optimize/codegen/object_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Exchanges elements between vectors i and i + distance for distance = 1, 2, 4, …: after all stages vector i holds column i.
void transpose_in_registers(KernelBuilder& b, IrValues& v) {
  const int size = static_cast<int>(v.size());
  for (int distance = 1; distance < size; distance *= 2) {
    std::vector<int> low, high;
    for (int lane = 0; lane < size; ++lane) {
      const bool second = (lane / distance) % 2 == 1;
      low.push_back(second ? size + lane - distance : lane);
      high.push_back(second ? size + lane : lane + distance);
    }
    for (int i = 0; i < size; ++i) {
      if ((i / distance) % 2 == 1) continue;
      Value* first = b.ir().CreateShuffleVector(v[i], v[i + distance], low);
      v[i + distance] = b.ir().CreateShuffleVector(v[i], v[i + distance], high);
      v[i] = first;
    }
  }
}

// source[rows][columns] -> destination[columns][rows], `images` times.
class Transposition {
 public:
  Transposition(const LayoutCopySpec& spec, const DeviceProfile& profile)
      : b_(profile),
        images_(spec.n.nominal),
        rows_(spec.to_channels_last ? spec.channels : spec.pixels.nominal),
        columns_(spec.to_channels_last ? spec.pixels.nominal : spec.channels),
        tile_(profile.vector_bits / 32) {}

  Result<GeneratedKernel> emit(const std::string& entry) {
    const int64_t row_tiles = ceil_div(rows_, tile_), column_tiles = ceil_div(columns_, tile_);
    const int64_t items = images_ * row_tiles * column_tiles;
    constexpr int64_t kBlockElements = 16384;
    const int64_t blocks = std::clamp<int64_t>(images_ * rows_ * columns_ / kBlockElements, 1, std::min<int64_t>(items, 32));
    for (bool row_tail : {false, true}) {
      for (bool column_tail : {false, true}) emit_tile(row_tail, column_tail);
    }
    b_.begin_kernel(entry);
    Value* to = b_.pointer_argument(0);
    Value* from = b_.pointer_argument(1);
    const auto range = b_.partition(items, b_.block(), blocks);
    b_.loop(range.first, range.second, 1, [&](Value* item) {
      Value* column_tile = b_.mod(item, column_tiles);
      Value* rest = b_.div(item, column_tiles);
      Value* image = b_.mul(b_.div(rest, row_tiles), rows_ * columns_);
      Value* row_tile = b_.mod(rest, row_tiles);
      Value* row = b_.mul(row_tile, tile_);
      Value* column = b_.mul(column_tile, tile_);
      const IrValues arguments = {b_.at(to, b_.add(image, b_.add(b_.mul(column, rows_), row))),
                                  b_.at(from, b_.add(image, b_.add(b_.mul(row, columns_), column)))};
      choose(row_tile, rows_, [&](bool row_tail) {
        choose(column_tile, columns_, [&](bool column_tail) { b_.ir().CreateCall(tiles_[row_tail][column_tail], arguments); });
      });
    });
    b_.ret_void();
    SLUICE_ASSIGN(GeneratedKernel kernel, b_.finish(entry));
    kernel.blocks = static_cast<uint32_t>(blocks);
    return kernel;
  }

 private:
  // Runs body(is the last tile, and not whole?).
  void choose(Value* number, int64_t size, const std::function<void(bool)>& body) {
    const int64_t whole = size / tile_;
    if (size % tile_ == 0) return body(false);
    if (whole == 0) return body(true);
    b_.if_else(b_.ir().CreateICmpSLT(number, b_.index(whole)), [&] { body(false); }, [&] { body(true); });
  }

  void emit_tile(bool row_tail, bool column_tail) {
    const int rows = row_tail ? static_cast<int>(rows_ % tile_) : tile_;
    const int columns = column_tail ? static_cast<int>(columns_ % tile_) : tile_;
    if (rows == 0 || columns == 0 || rows > rows_ || columns > columns_) return;
    auto* function = b_.begin_function("tile", {b_.pointer_type(), b_.pointer_type()});
    IrValues vectors;
    for (int i = 0; i < tile_; ++i) {
      vectors.push_back(i < rows ? b_.load_vector(b_.at(function->getArg(1), i * columns_), tile_, columns) : b_.splat(0.0f, tile_));
    }
    transpose_in_registers(b_, vectors);
    for (int i = 0; i < columns; ++i) b_.store_vector(vectors[i], b_.at(function->getArg(0), i * rows_), rows);
    b_.ret_void();
    tiles_[row_tail][column_tail] = function;
  }

  KernelBuilder b_;
  int64_t images_, rows_, columns_;
  int tile_;
  llvm::Function* tiles_[2][2] = {};
};

}  // namespace

bool is_fixed(const LayoutCopySpec& s) { return s.n.is_fixed() && s.pixels.is_fixed(); }

std::string canonical_text(const LayoutCopySpec& s) {
  return fmt::format("layout copy {} {} {} {}", canonical_text(s.n), s.channels, canonical_text(s.pixels), s.to_channels_last);
}

Result<GeneratedKernel> generate_layout_copy(const LayoutCopySpec& spec, const DeviceProfile& profile) {
  if (spec.n.nominal < 1 || spec.channels < 1 || spec.pixels.nominal < 1)
    return make_error(ErrorCode::kCodegen, "layout copy: every size must be at least 1");
  if (!is_fixed(spec)) return make_error(ErrorCode::kNotLowerable, "layout copy of symbolic sizes");
  return Transposition(spec, profile).emit(kernel_entry(canonical_text(spec), profile));
}

}  // namespace sluice
