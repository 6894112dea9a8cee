// Pack kernels and the copy inside them.
#include <algorithm>

#include "stages/subgraph-optimize/codegen/object_emitter.h"
#include "stages/subgraph-optimize/codegen/pack_emitter.h"

namespace sluice {
namespace {

using llvm::Value;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t product(const std::vector<PackAxis>& axes) {
  int64_t result = 1;
  for (const PackAxis& axis : axes) result *= axis.size.nominal;
  return result;
}

// Loops over `axes` from number `axis` on; body gets the source address.
void emit_axes(KernelBuilder& b, const std::vector<PackAxis>& axes, size_t axis, Value* from, Value* index,
               const std::function<void(Value* from, Value* index)>& body) {
  if (axis == axes.size()) return body(from, index);
  b.loop(b.index(0), b.index(axes[axis].size.nominal), 1, [&](Value* i) {
    emit_axes(b, axes, axis + 1, b.at(from, b.mul(i, axes[axis].stride.nominal)), b.add(b.mul(index, axes[axis].size.nominal), i), body);
  });
}

Result<void> check(const PackSpec& spec) {
  const auto is_empty = [](const PackAxis& axis) { return axis.size.nominal < 1; };
  if (spec.nr < 1 || is_empty(spec.columns) || std::any_of(spec.batch.begin(), spec.batch.end(), is_empty) ||
      std::any_of(spec.reduction.begin(), spec.reduction.end(), is_empty)) {
    return make_error(ErrorCode::kCodegen, "pack: every size must be at least 1");
  }
  return {};
}

}  // namespace

void emit_pack_panel(KernelBuilder& b, const PanelSource& source, Value* panel, Value* to) {
  const int64_t whole = source.columns.size.nominal / source.nr;
  const int64_t rest = source.columns.size.nominal % source.nr;
  const auto copy = [&](int64_t active) {
    emit_axes(b, source.reduction, 0, source.first, b.index(0), [&](Value* from, Value* index) {
      Value* row = b.at(to, b.mul(index, source.nr));
      b.loop(b.index(0), b.index(active), 1, [&](Value* j) {
        b.ir().CreateAlignedStore(b.load_float(b.at(from, b.mul(j, source.columns.stride.nominal))), b.at(row, j), llvm::Align(4));
      });
      b.loop(b.index(active), b.index(source.nr), 1,
             [&](Value* j) { b.ir().CreateAlignedStore(llvm::ConstantFP::get(b.float_type(), 0.0), b.at(row, j), llvm::Align(4)); });
    });
  };
  if (rest == 0) return copy(source.nr);
  if (whole == 0) return copy(rest);
  b.if_else(b.ir().CreateICmpSLT(panel, b.index(whole)), [&] { copy(source.nr); }, [&] { copy(rest); });
}

int64_t packed_elements(const PackSpec& spec) {
  return product(spec.batch) * ceil_div(spec.columns.size.nominal, spec.nr) * product(spec.reduction) * spec.nr;
}

Result<GeneratedKernel> generate_pack(const PackSpec& spec, const DeviceProfile& profile) {
  SLUICE_TRY(check(spec));
  if (!is_fixed(spec)) return make_error(ErrorCode::kNotLowerable, "pack of symbolic sizes");
  const std::string entry = kernel_entry(canonical_text(spec), profile);
  const int64_t panels = ceil_div(spec.columns.size.nominal, spec.nr);
  const int64_t panel_elements = product(spec.reduction) * spec.nr;
  const int64_t items = product(spec.batch) * panels;
  constexpr int64_t kBlockElements = 16384;
  const int64_t blocks = std::clamp<int64_t>(items * panel_elements / kBlockElements, 1, std::min<int64_t>(items, 32));

  KernelBuilder b(profile);
  b.begin_kernel(entry);
  Value* to = b.pointer_argument(0);
  Value* from = b.pointer_argument(1);
  const auto range = b.partition(items, b.block(), blocks);
  b.loop(range.first, range.second, 1, [&](Value* item) {
    Value* panel = b.mod(item, panels);
    Value* rest = b.div(item, panels);
    Value* first = b.at(from, b.mul(panel, spec.nr * spec.columns.stride.nominal));
    for (size_t axis = spec.batch.size(); axis-- > 0;) {
      first = b.at(first, b.mul(b.mod(rest, spec.batch[axis].size.nominal), spec.batch[axis].stride.nominal));
      rest = b.div(rest, spec.batch[axis].size.nominal);
    }
    emit_pack_panel(b, {first, spec.reduction, spec.columns, spec.nr}, panel, b.at(to, b.mul(item, panel_elements)));
  });
  b.ret_void();
  SLUICE_ASSIGN(GeneratedKernel kernel, b.finish(entry));
  kernel.blocks = static_cast<uint32_t>(blocks);
  return kernel;
}

}  // namespace sluice
