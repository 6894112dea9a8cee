// MatMulNBits multiplies A by weights of 2, 4 or 8 bits, whose scales and zero points stand for
// blocks along K.
//
// B is bytes [N, blocks, block_size * bits / 8] with the first element in the low bits, as ONNX
// packs 2- and 4-bit elements. A constant B is therefore the same bytes under another type. Any
// other B is unpacked by shifts.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/packed.h"

namespace sluice {
namespace {

using MatMulNBitsAttributes = microsoft_attributes::MatMulNBits;

struct Weights {
  int64_t k;
  int64_t n;
  int64_t bits;
  int64_t block;
  int64_t blocks() const { return (k - 1) / block + 1; }
  int64_t zero_bytes() const {
    return (blocks() * bits + 7) / 8;
  }  // of one row of packed zero points
};

Result<Weights> read_attributes(const ExpandCall& call) {
  constexpr int64_t kMax = int64_t{1} << 40;
  const Weights w{call.get(MatMulNBitsAttributes::K), call.get(MatMulNBitsAttributes::N),
                  call.get(MatMulNBitsAttributes::bits),
                  call.get(MatMulNBitsAttributes::block_size)};
  for (const auto& [attribute, number] :
       {std::pair{MatMulNBitsAttributes::K, w.k}, std::pair{MatMulNBitsAttributes::N, w.n}}) {
    if (number < 1 || number > kMax)
      return call.bad("attribute '{}' is {}, expected 1 to {}", attribute.name, number, kMax);
  }
  if (w.bits != 2 && w.bits != 4 && w.bits != 8)
    return call.unsupported("attribute 'bits' is {}, supported are 2, 4 and 8", w.bits);
  if (w.block < 16 || w.block > kMax || (w.block & (w.block - 1)) != 0) {
    return call.bad("attribute 'block_size' is {}, expected a power of two from 16 on", w.block);
  }
  if (w.n > kMax / w.blocks() / w.block)
    return call.bad("attributes 'K' = {} and 'N' = {} mean too many weights", w.k, w.n);
  if (call.get(MatMulNBitsAttributes::weight_prepacked) != 0) {
    return call.unsupported(
        "attribute 'weight_prepacked' is {}: the packing of one device is not supported",
        call.get(MatMulNBitsAttributes::weight_prepacked));
  }
  return w;
}

// Unpacks bytes [rows, bytes] to u8 elements [rows, bytes * 8 / bits].
Value* unpacked(ExpandCall& call, Value* bytes, int64_t rows, int64_t bits) {
  Value* lines = call.reshape(bytes, {rows, -1});
  if (bits == 8) return lines;
  const auto byte = [&](int64_t number) { return call.cast(call.int_scalar(number), DType::kU8); };
  std::vector<Value*> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    Value* moved = shift == 0 ? lines
                              : call.add(Op::kBitShift, {lines, byte(shift)},
                                         {{"direction", std::string("RIGHT")}});
    parts.push_back(
        call.unsqueeze(call.add(Op::kBitwiseAnd, {moved, byte((1 << bits) - 1)}), {-1}));
  }
  return call.reshape(call.concat(std::move(parts), -1), {rows, -1});
}

DType element_type(int64_t bits) {
  return bits == 2 ? DType::kU2 : bits == 4 ? DType::kU4 : DType::kU8;
}

bool is_float_type(const Value& value) { return dtype_is_float(value.type().dtype); }

// Returns 2^(bits - 1) for each block, as a constant: weights with it are computed once.
Value* middle(ExpandCall& call, const Weights& w, DType dtype) {
  const int bits = dtype_bits(dtype);
  int byte = 0;
  for (int at = 0; at < 8; at += bits) byte |= 1 << (at + static_cast<int>(w.bits) - 1);
  const uint64_t bytes = dtype_bytes(dtype, static_cast<uint64_t>(w.n * w.blocks()));
  return call.constant(dtype, {w.n, w.blocks()},
                       std::vector<std::byte>(bytes, static_cast<std::byte>(byte)));
}

// Returns the zero points as [N, blocks] of the elements' type.
Value* zero_points(ExpandCall& call, const Weights& w, bool packed) {
  const DType dtype = packed ? element_type(w.bits) : DType::kU8;
  Value* given = call.input(3);
  if (given == nullptr) return middle(call, w, dtype);
  const bool is_full = w.blocks() * w.bits % 8 == 0;
  Value* constant = packed && is_full ? retyped(call, *given, dtype, w.n, w.blocks()) : nullptr;
  if (constant != nullptr) return constant;
  Value* bytes = unpacked(call, given, w.n, w.bits);
  if (!is_full) bytes = call.slice(bytes, call.ints({0}), call.ints({w.blocks()}), 1);
  return packed && w.bits != 8 ? call.cast(bytes, dtype) : bytes;
}

// Computes (B - zero point) * scale with the block of each column named by g_idx, or by its
// position.
Value* dequantized_by_hand(ExpandCall& call, const Weights& w, Value* quantized, Value* scales,
                           Value* zeros) {
  Value* numbers = call.add(Op::kCastLike, {quantized, call.input(2)});
  Value* offsets = call.add(Op::kCastLike, {zeros, call.input(2)});
  if (call.input(4) != nullptr) {
    numbers = call.slice(numbers, call.ints({0}), call.ints({w.k}), 1);
    offsets = call.add(Op::kGather, {offsets, call.input(4)}, {{"axis", int64_t{1}}});
    scales = call.add(Op::kGather, {scales, call.input(4)}, {{"axis", int64_t{1}}});
    return call.add(Op::kMul, {call.add(Op::kSub, {numbers, offsets}), scales});
  }
  Value* blocks = call.reshape(numbers, {w.n, w.blocks(), w.block});
  Value* product = call.add(Op::kMul, {call.add(Op::kSub, {blocks, call.unsqueeze(offsets, {-1})}),
                                       call.unsqueeze(scales, {-1})});
  return call.reshape(product, {w.n, w.blocks() * w.block});
}

}  // namespace

Value* retyped(ExpandCall& call, const Value& packed, DType dtype, int64_t rows, int64_t columns) {
  if (!packed.is_constant()) return nullptr;
  Module& module = call.graph.module();
  Segment segment = module.segment(packed.segment());
  const Type type = Type::fixed_tensor(dtype, {rows, columns});
  if (module.type(segment.type).dtype != DType::kU8 ||
      segment.size != dtype_bytes(dtype, static_cast<uint64_t>(rows * columns)))
    return nullptr;
  if (segment.kind == SegmentKind::kSplat) {
    return &call.graph.add_constant(module.make_constant(
        module.intern(type), std::vector<std::byte>(segment.size, segment.data.at(0))));
  }
  if (segment.kind != SegmentKind::kSmall && segment.kind != SegmentKind::kBytes) return nullptr;
  segment.type = module.intern(type);
  return &call.graph.add_constant(module.add_segment(std::move(segment)));
}

Result<void> expand_matmul_n_bits(ExpandCall& call) {
  SLUICE_ASSIGN(const Weights w, read_attributes(call));
  const int64_t columns = w.blocks() * w.block;
  Value* scales = call.reshape(call.input(2), {w.n, w.blocks()});
  const bool float_zeros = call.input(3) != nullptr && is_float_type(*call.input(3));
  Value* quantized = retyped(call, *call.input(1), element_type(w.bits), w.n, columns);
  const bool packed = quantized != nullptr;
  if (!packed) quantized = call.reshape(unpacked(call, call.input(1), w.n, w.bits), {w.n, columns});
  Value* weights = nullptr;
  if (float_zeros || call.input(4) != nullptr) {
    Value* zeros =
        float_zeros ? call.reshape(call.input(3), {w.n, w.blocks()}) : zero_points(call, w, packed);
    weights = dequantized_by_hand(call, w, quantized, scales, zeros);
  } else {
    weights = call.add(Op::kDequantizeLinear, {quantized, scales, zero_points(call, w, packed)},
                       {{"axis", int64_t{1}}, {"block_size", w.block}});
  }
  if (columns != w.k && call.input(4) == nullptr)
    weights = call.slice(weights, call.ints({0}), call.ints({w.k}), 1);
  Value* result = call.add(Op::kMatMul, {call.input(0), call.transpose(weights, {1, 0})});
  if (call.input(5) != nullptr) result = call.add(Op::kAdd, {result, call.input(5)});
  call.results[0] = result;
  return {};
}

}  // namespace sluice
