// Pack kernels and the copy of one panel that they and MatMul share.
#include <algorithm>

#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/object_emitter.h"
#include "stages/subgraph-optimize/codegen/pack_emitter.h"
#include "stages/subgraph-optimize/codegen/register_transpose.h"

namespace sluice {
namespace {

using llvm::Value;

Extent product(const std::vector<PackAxis>& axes) {
  Extent result = 1;
  for (const PackAxis& axis : axes) result *= axis.size;
  return result;
}

// Emits loops over `axes` from number `axis` on; body receives the source address and the reduction
// index.
void emit_axes(KernelBuilder& b, const std::vector<PackAxis>& axes, size_t axis, Value* from,
               Value* index, const std::function<void(Value* from, Value* index)>& body) {
  if (axis == axes.size()) return body(from, index);
  b.loop(b.index(0), b.value(axes[axis].size), 1, [&](Value* i) {
    emit_axes(b, axes, axis + 1, b.at(from, b.mul(i, axes[axis].stride)),
              b.add(b.mul(index, axes[axis].size), i), body);
  });
}

Result<void> check(const PackSpec& spec) {
  const auto is_empty = [](const PackAxis& axis) { return axis.size.factor < 1; };
  if (spec.nr < 1 || is_empty(spec.columns) ||
      std::any_of(spec.batch.begin(), spec.batch.end(), is_empty) ||
      std::any_of(spec.reduction.begin(), spec.reduction.end(), is_empty)) {
    return make_error(ErrorCode::kCodegen, "pack: every size must be at least 1");
  }
  return {};
}

}  // namespace

namespace {

// Emits panels whose columns are contiguous along the reduction; squares are transposed in
// registers:
//
//   for column by lanes:
//     for k by lanes: v[i] = source[column + i][k...] (written out); transpose v
//                     panel[k + i][column...] = v[i] (written out)
//     for k of the remainder: panel[k][column + i] = source[column + i][k] (written out)
//
// Columns past the end are copies of the last one.
void emit_turned_panel(KernelBuilder& b, const TileSource& source, Value* active, Value* to) {
  int lanes = b.profile().vector_bits / 32;
  while (source.nr % lanes != 0) lanes /= 2;
  Value* last = b.sub(active, b.index(1));
  Value* length = b.value(source.reduction[0].size);
  Value* whole = b.mul(b.div(length, lanes), lanes);
  b.loop(b.index(0), active, lanes, [&](Value* column) {
    IrValues columns;
    for (int i = 0; i < lanes; ++i) {
      columns.push_back(
          b.at(source.first, b.mul(b.min(b.add(column, b.index(i)), last), source.columns.stride)));
    }
    b.loop(b.index(0), whole, lanes, [&](Value* k) {
      IrValues square;
      for (Value* from : columns) square.push_back(b.load_vector(b.at(from, k), lanes, lanes));
      transpose_in_registers(b, square);
      Value* row = b.at(b.at(to, b.mul(k, source.nr)), column);
      for (int i = 0; i < lanes; ++i) b.store_vector(square[i], b.at(row, i * source.nr), lanes);
    });
    b.loop(whole, length, 1, [&](Value* k) {
      Value* row = b.at(b.at(to, b.mul(k, source.nr)), column);
      for (int i = 0; i < lanes; ++i)
        b.ir().CreateAlignedStore(b.load_float(b.at(columns[i], k)), b.at(row, i), llvm::Align(4));
    });
  });
}

// Emits whole panels whose columns are neighbours in memory:
//
//   for reduction axes: for column by lanes (written out): panel[k][column...] =
//   source[k][column...]
void emit_straight_panel(KernelBuilder& b, const TileSource& source, Value* to) {
  int lanes = b.profile().vector_bits / 32;
  while (source.nr % lanes != 0) lanes /= 2;
  emit_axes(b, source.reduction, 0, source.first, b.index(0), [&](Value* from, Value* index) {
    Value* row = b.at(to, b.mul(index, source.nr));
    for (int64_t column = 0; column < source.nr; column += lanes) {
      b.store_vector(b.load_vector(b.at(from, column), lanes, lanes), b.at(row, column), lanes);
    }
  });
}

}  // namespace

void emit_pack_panel(KernelBuilder& b, const TileSource& source, Value* panel, Value* to) {
  const bool is_turned = source.reduction.size() == 1 &&
                         source.reduction[0].stride.is_fixed_at(1) && source.nr % 4 == 0;
  if (!source.fill && is_turned) {
    Value* remainder = b.sub(b.value(source.columns.size), b.mul(panel, source.nr));
    return emit_turned_panel(b, source, b.min(remainder, b.index(source.nr)), to);
  }
  const auto copy = [&](Value* active) {
    emit_axes(b, source.reduction, 0, source.first, b.index(0), [&](Value* from, Value* index) {
      Value* row = b.at(to, b.mul(index, source.nr));
      b.loop(b.index(0), active, 1, [&](Value* j) {
        b.ir().CreateAlignedStore(b.load_float(b.at(from, b.mul(j, source.columns.stride))),
                                  b.at(row, j), llvm::Align(4));
      });
      if (!source.fill) return;
      b.loop(active, b.index(source.nr), 1, [&](Value* j) {
        b.ir().CreateAlignedStore(llvm::ConstantFP::get(b.float_type(), 0.0), b.at(row, j),
                                  llvm::Align(4));
      });
    });
  };
  const bool is_straight =
      !source.fill && source.columns.stride.is_fixed_at(1) && source.nr % 4 == 0;
  const auto copy_whole = [&] {
    if (is_straight) return emit_straight_panel(b, source, to);
    copy(b.index(source.nr));
  };
  const Extent& columns = source.columns.size;
  if (columns.is_fixed() && columns.factor % source.nr == 0) return copy_whole();
  if (columns.is_fixed() && columns.factor < source.nr) return copy(b.index(columns.factor));
  Value* whole = b.div(b.value(columns), source.nr);
  b.if_else(b.ir().CreateICmpSLT(panel, whole), copy_whole,
            [&] { copy(b.sub(b.value(columns), b.mul(whole, source.nr))); });
}

// Emits the loop
//
//   for item in the block's (batch entry, panel), panel fastest:
//     packed[item][reduction...][nr] = emit_pack_panel(source at the entry, panel)
Result<GeneratedKernel> generate_pack(const PackSpec& spec, const DeviceProfile& profile) {
  SLUICE_TRY(check(spec));
  const std::string entry = kernel_entry(canonical_text(spec), profile);
  const Extent batch = product(spec.batch), panel_elements = product(spec.reduction) * spec.nr;
  const int64_t nominal_items = batch.nominal * ceil_div(spec.columns.size.nominal, spec.nr);
  constexpr int64_t kBlockElements = 16384;
  constexpr int64_t kMaxBlocks = 32;
  const int64_t blocks =
      !is_fixed(spec) ? kMaxBlocks
                      : std::clamp<int64_t>(nominal_items * panel_elements.nominal / kBlockElements,
                                            1, std::min(nominal_items, kMaxBlocks));

  KernelBuilder b(profile);
  b.begin_kernel(entry);
  if (!is_fixed(spec)) b.set_symbols(b.symbols_argument());
  Value* to = b.pointer_argument(0);
  Value* from = b.pointer_argument(1);
  Value* panels = b.ceil_div(b.value(spec.columns.size), b.index(spec.nr));
  const auto range =
      b.partition(b.mul(panels, batch), b.block(), is_fixed(spec) ? b.index(blocks) : b.blocks());
  b.loop(range.first, range.second, 1, [&](Value* item) {
    Value* panel = b.mod(item, panels);
    Value* remainder = b.div(item, panels);
    Value* first = b.at(from, b.mul(panel, spec.columns.stride * spec.nr));
    for (size_t axis = spec.batch.size(); axis-- > 0;) {
      Value* size = b.value(spec.batch[axis].size);
      first = b.at(first, b.mul(b.mod(remainder, size), spec.batch[axis].stride));
      remainder = b.div(remainder, size);
    }
    emit_pack_panel(b, {first, spec.reduction, spec.columns, spec.nr}, panel,
                    b.at(to, b.mul(item, panel_elements)));
  });
  b.ret_void();
  SLUICE_ASSIGN(GeneratedKernel kernel, b.finish(entry));
  kernel.blocks = static_cast<uint32_t>(blocks);
  if (is_fixed(spec)) return kernel;
  kernel.multiply_adds_per_block = kBlockElements;
  kernel.multiply_adds = batch * spec.columns.size * product(spec.reduction);
  return kernel;
}

}  // namespace sluice
