// GatherBlockQuantized gathers rows of a quantized table, and of its scales and zero points, which
// stand for blocks along another axis. Bytes of 4 bits each hold two elements of the last axis.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/packed.h"

namespace sluice {
namespace {

using GatherAttributes = microsoft_attributes::GatherBlockQuantized;

struct Axes {
  int64_t gathered = 0, quantized = 0;
};

Result<Axes> read_axes(const ExpandCall& call) {
  SLUICE_ASSIGN(const int64_t rank, call.rank(0));
  Axes axes{call.get(GatherAttributes::gather_axis), call.get(GatherAttributes::quantize_axis)};
  for (int64_t* axis : {&axes.gathered, &axes.quantized}) {
    if (*axis < -rank || *axis >= rank)
      return call.bad("an axis is {}, input 'data' has rank {}", *axis, rank);
    *axis += *axis < 0 ? rank : 0;
  }
  if (axes.gathered == axes.quantized)
    return call.bad("attributes 'gather_axis' and 'quantize_axis' are both {}", axes.gathered);
  return axes;
}

// Returns an input of packed bytes as what it holds: two elements of 4 bits each.
Result<Value*> elements_of(ExpandCall& call, size_t index) {
  Value* given = call.input(index);
  const Type& type = given->type();
  if (type.dtype != DType::kU8 || call.get(GatherAttributes::bits) != 4) return given;
  std::vector<int64_t> dims;
  int64_t rows = 1;
  for (const Dim& dim : type.dims) dims.push_back(dim.is_fixed() ? dim.value : 0);
  for (size_t i = 0; i + 1 < dims.size(); ++i) rows *= dims[i];
  if (!dims.empty()) dims.back() *= 2;
  Value* elements = dims.empty() ? nullptr : retyped(call, *given, DType::kU4, rows, dims.back());
  if (elements == nullptr)
    return call.unsupported("bytes of two elements that are no constant, input {}", index);
  return call.reshape(elements, dims);
}

}  // namespace

Result<void> expand_gather_block_quantized(ExpandCall& call) {
  SLUICE_ASSIGN(const Axes axes, read_axes(call));
  SLUICE_ASSIGN(const int64_t indices, call.rank(1));
  SLUICE_ASSIGN(Value * data, elements_of(call, 0));
  SLUICE_ASSIGN(const DType dtype, call.dtype(0));
  const auto gather = [&](Value* from) {
    return call.add(Op::kGather, {from, call.input(1)}, {{"axis", axes.gathered}});
  };
  Value* rows = gather(data);
  Value* scales = gather(call.input(2));
  Value* zeros = nullptr;
  if (call.input(3) != nullptr) {
    SLUICE_ASSIGN(Value * given, elements_of(call, 3));
    zeros = gather(given);
  } else if (dtype == DType::kU8) {
    Value* middle = call.int_scalar(int64_t{1} << (call.get(GatherAttributes::bits) - 1));
    zeros = call.add(Op::kExpand,
                     {call.add(Op::kCastLike, {middle, rows}), call.add(Op::kShape, {scales})});
  }
  const int64_t axis = axes.quantized + (axes.quantized > axes.gathered ? indices - 1 : 0);
  call.results[0] =
      call.add(Op::kDequantizeLinear, {rows, scales, zeros},
               {{"axis", axis}, {"block_size", call.get(GatherAttributes::block_size)}});
  return {};
}

}  // namespace sluice
