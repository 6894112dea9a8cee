#include "common/ir/value_storage.h"
#include "common/ops/attributes.h"
#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"
#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"
#include "stages/subgraph-optimize/engines/aicore/packing.h"

namespace sluice {
namespace {

int64_t number_or(const std::vector<int64_t>& numbers, size_t index, int64_t fallback) {
  return index < numbers.size() ? numbers[index] : fallback;
}

// The demands of a kind of kernel: the packing of its weight, the layout of its tensors, and its
// generator.
struct ConvStrategy {
  StorageMap map;            // of x, the result and full epilogue operands
  Rows rows = Rows::kWhole;  // of these
  BuildChain pack, unpack;
  loop::Packing packing;
  std::function<KernelId(Lowering&, const ConvSpec&)> kernel;
};

void set_packing(ConvStrategy& strategy, const ConvPacking& packing) {
  strategy.pack = [packing](Chain& chain) { packing.pack(chain); };
  strategy.unpack = [packing](Chain& chain) { packing.unpack(chain); };
  strategy.packing = packing.loops();
}

ConvStrategy nhwc_strategy(const ConvSpec& spec, size_t rank, const DeviceProfile& profile) {
  ConvStrategy strategy;
  strategy.map = nhwc_map(rank);
  strategy.rows = Rows::kMayBeParts;
  ConvPacking packing{spec.co, spec.ci / spec.groups, spec.kh, spec.kw,
                      spec.groups * spec.phases.count()};
  packing.nr = choose_conv_plan(spec, profile).nr;
  packing.kd = rank == 5 ? spec.depth.kernel : 0;
  packing.dtype = spec.dtype;
  packing.in_pairs = has_pairs(spec);
  set_packing(strategy, packing);
  strategy.kernel = [](Lowering& lowering, const ConvSpec& conv) {
    return lowering.kernel(conv, generate_conv);
  };
  return strategy;
}

ConvStrategy depthwise_strategy(const ConvSpec& spec, const DeviceProfile& profile) {
  const DepthwisePacking packing{spec.co, spec.kh, spec.kw, choose_depthwise_plan(spec, profile).nr,
                                 spec.dtype};
  ConvStrategy strategy;
  strategy.map = nhwc_map(4);
  strategy.pack = [packing](Chain& chain) { packing.pack(chain); };
  strategy.unpack = [packing](Chain& chain) { packing.unpack(chain); };
  strategy.packing = packing.loops();
  strategy.kernel = [](Lowering& lowering, const ConvSpec& conv) {
    return lowering.kernel(DepthwiseSpec{conv}, generate_depthwise);
  };
  return strategy;
}

ConvStrategy direct_strategy(const ConvSpec& spec, size_t rank, const DeviceProfile& profile) {
  ConvStrategy strategy;
  strategy.map = dense_map(rank);
  set_packing(strategy, {spec.co, spec.ci / spec.groups, spec.kh, spec.kw,
                         spec.groups * spec.phases.count(), choose_direct_plan(spec, profile).rows,
                         true, rank == 5 ? spec.depth.kernel : 0, spec.dtype});
  strategy.kernel = [](Lowering& lowering, const ConvSpec& conv) {
    return lowering.kernel(DirectConvSpec{conv}, generate_direct_conv);
  };
  return strategy;
}

ConvStrategy choose_strategy(const ConvSpec& spec, const Contraction& contraction, const Value& x,
                             const Lowering& lowering) {
  const DeviceProfile& profile = lowering.profile();
  const size_t rank = x.type().dims.size();
  const StorageMap nhwc = nhwc_map(rank);
  const StorageMap x_map = lowering.is_there(x, nhwc) ? nhwc : storage_map_of(x);
  switch (choose_conv_kind(spec, profile, {x_map, storage_map_of(contraction.node->output())})) {
    case ConvKind::kDepthwise:
      return depthwise_strategy(spec, profile);
    case ConvKind::kDirect:
      return direct_strategy(spec, rank, profile);
    default:
      return nhwc_strategy(spec, rank, profile);
  }
}

std::vector<Extent> without_channels(std::vector<Extent> extents) {
  extents.erase(extents.begin() + 1);
  return extents;
}

// Finds an operand of the epilogue by its strides along the result's axes N, C and the spatial
// ones. Rows of a channels-last kernel are pixels, those of a direct one channels.
Result<EpilogueOperand> address(const std::vector<Extent>& dims, const std::vector<Extent>& strides,
                                const StorageMap& map, const Node& node) {
  const auto pixels = joined_stride(dims, strides, 2, dims.size());
  if (!pixels)
    return make_error(ErrorCode::kNotLowerable,
                      "{}: an operand of its epilogue is broadcast along one axis of an image",
                      node.label());
  const bool has_images = !dims[0].is_fixed_at(1);
  if (map == dense_map(dims.size()))
    return EpilogueOperand{has_images ? std::vector{strides[0]} : std::vector<Extent>(), strides[1],
                           *pixels};
  const auto rows =
      joined_stride(without_channels(dims), without_channels(strides), 0, dims.size() - 1);
  if (rows) return EpilogueOperand{{}, *rows, strides[1]};
  return EpilogueOperand{{strides[0]}, *pixels, strides[1]};
}

}  // namespace

Result<void> add_conv_epilogue(Lowering& lowering, const Contraction& contraction,
                               const loop::LoweredEpilogue& lowered, const StorageMap& map,
                               Rows rows, ConvSpec& spec,
                               std::vector<Lowering::Operand>& operands) {
  const Type& result = contraction.result();
  const OperandSizes sizes(lowering.graph().module(), {&result});
  SLUICE_ASSIGN(const std::vector<Extent> dims, sizes.of(result));
  spec.epilogue.loops = lowered.loops;
  spec.epilogue.math = lowering.math();
  for (const loop::EpilogueRead& read : lowered.reads) {
    Value& value = lowering.operand_value(contraction, *read.value);
    SLUICE_ASSIGN(Value * stored, lowering.stored(value, map, contraction.node, rows));
    operands.push_back({read.value, stored});
    SLUICE_ASSIGN(const std::vector<Extent> strides, sizes.walked_strides(read, *stored));
    SLUICE_ASSIGN(EpilogueOperand operand, address(dims, strides, map, *contraction.node));
    spec.epilogue.operands.push_back(std::move(operand));
  }
  return {};
}

namespace {

// Where the kernel covers one row of one slice, in the place of its own, the rows of all slices are
// those of one image.
void join_slices(ConvSpec& spec) {
  ConvDepth& depth = spec.depth;
  if (!is_pointwise(spec) || depth.in != depth.out || spec.h != spec.oh) return;
  spec.h *= depth.in, spec.oh *= depth.out;
  depth = {};
}

// Makes the sizes of a result of phases those of one phase.
void split_phases(const Node& interleave, ConvSpec& spec) {
  const std::vector<int64_t> strides = interleave.get(attributes::Strided::strides, 2);
  const std::vector<int64_t> cuts = interleave.get(attributes::Strided::pads, 4);
  spec.phases = {strides[0], strides[1], cuts[0], cuts[1]};
  spec.oh = spec.oh.is_fixed() ? spec.oh.factor / strides[0] : spec.h;
  spec.ow = spec.ow.is_fixed() ? spec.ow.factor / strides[1] : spec.w;
}

}  // namespace

Result<ConvSpec> make_conv_spec(const Node& conv, const Value& x_value, const Value& w_value) {
  const Type &input = x_value.type(), &result = value_of_sums(conv).type();
  const OperandSizes sizes(conv.graph().module(), {&result, &input});
  SLUICE_ASSIGN(const std::vector<Extent> x, sizes.of(input));
  SLUICE_ASSIGN(const std::vector<Extent> y, sizes.of(result));
  const std::vector<int64_t> w = *w_value.type().extents();
  const std::vector<int64_t> strides = conv.get(attributes::Strided::strides);
  const std::vector<int64_t> dilations = conv.get(attributes::Dilated::dilations);
  const std::vector<int64_t> pads = conv.get(attributes::Strided::pads);
  ConvSpec spec;
  const size_t row = x.size() - 4;  // the spatial axis of rows: 1 after the depth of a 3-d one
  spec.n = x[0], spec.ci = x[1].factor, spec.h = x[row + 2], spec.w = x[row + 3];
  spec.co = w[0], spec.oh = y[row + 2], spec.ow = y[row + 3];
  spec.kh = w[row + 2], spec.kw = w[row + 3];
  spec.stride_h = number_or(strides, row, 1), spec.stride_w = number_or(strides, row + 1, 1);
  spec.dilation_h = number_or(dilations, row, 1);
  spec.dilation_w = number_or(dilations, row + 1, 1);
  spec.pad_top = number_or(pads, row, 0), spec.pad_left = number_or(pads, row + 1, 0);
  if (row == 1)
    spec.depth = {x[2],
                  y[2],
                  w[2],
                  number_or(strides, 0, 1),
                  number_or(dilations, 0, 1),
                  number_or(pads, 0, 0)};
  join_slices(spec);
  spec.groups = conv.get(attributes::Conv::group);
  if (const Node* interleave = find_interleave(conv)) split_phases(*interleave, spec);
  return spec;
}

namespace {

// Returns the elements from one pixel of a channels-last value to the next; 0: its channels, as in
// any other order.
int64_t pixel_stride(const Value& value) {
  const auto axis = row_axis(value);
  const StorageMap map = storage_map_of(value);
  return axis && map == nhwc_map(map.size()) && *axis + 1 == map.size()
             ? value.storage()->dims[*axis].value
             : 0;
}

}  // namespace

Result<void> lower_conv(Lowering& lowering, const Contraction& contraction) {
  Node* before = contraction.node;
  const Value& x_inside = *contraction.anchor->input(0);
  const Value& w_inside = *contraction.anchor->input(1);
  SLUICE_ASSIGN(ConvSpec spec, make_conv_spec(*contraction.anchor, x_inside, w_inside));
  spec.dtype = x_inside.type().dtype;
  Value& x_outside = lowering.operand_value(contraction, x_inside);
  spec.x_pixel_stride = pixel_stride(x_outside);
  spec.y_pixel_stride = pixel_stride(before->output());
  const ConvStrategy strategy = choose_strategy(spec, contraction, x_outside, lowering);
  SLUICE_ASSIGN(Value * x, lowering.stored(x_outside, strategy.map, before,
                                           spec.x_pixel_stride > 0 ? strategy.rows : Rows::kWhole));
  SLUICE_ASSIGN(Value * w, lowering.packed(lowering.operand_value(contraction, w_inside),
                                           strategy.pack, strategy.packing, before));
  std::vector<Lowering::Operand> operands = {{&x_inside, x}, {&w_inside, w, strategy.unpack}};
  SLUICE_ASSIGN(const loop::LoweredEpilogue epilogue, lower_epilogue(contraction));
  SLUICE_TRY(add_conv_epilogue(lowering, contraction, epilogue, strategy.map, strategy.rows, spec,
                               operands));
  const KernelId kernel = strategy.kernel(lowering, spec);
  return lowering.replace(contraction, std::move(operands), kernel, strategy.map,
                          spec.y_pixel_stride > 0 ? strategy.rows : Rows::kWhole);
}

}  // namespace sluice
