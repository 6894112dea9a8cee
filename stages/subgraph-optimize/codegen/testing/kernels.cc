#include "stages/subgraph-optimize/codegen/testing/kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>

#include "common/base/half.h"
#include "common/ir/module.h"
#include "common/ir/value_storage.h"
#include "common/loop/lowering.h"
#include "common/loop/scalar_value.h"
#include "common/target/kernel_specification.h"
#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/loop/loop_kernel.h"

namespace sluice {
namespace {

constexpr size_t kGuardBytes = 4096;
constexpr std::byte kGuard{0x5a};

}  // namespace

RunnableKernel::RunnableKernel(KernelImage image, KernelFunction function,
                               const GeneratedKernel& kernel)
    : image_(std::move(image)),
      function_(function),
      blocks_(kernel.blocks),
      multiply_adds_per_block_(kernel.multiply_adds_per_block),
      multiply_adds_(kernel.multiply_adds),
      scratch_bytes_(kernel.scratch_bytes),
      scratch_(scratch_bytes_ + 64 + kGuardBytes, kGuard) {}

Result<RunnableKernel> RunnableKernel::load(const GeneratedKernel& kernel) {
  const std::span<const std::byte> object = kernel.object;
  SLUICE_ASSIGN(KernelImage image, KernelImage::load({&object, 1}));
  KernelFunction function = image.find(kernel.entry);
  if (!function)
    return make_error(ErrorCode::kCodegen, "the object does not define '{}'", kernel.entry);
  return RunnableKernel(std::move(image), function, kernel);
}

void RunnableKernel::call(const std::vector<void*>& pointers, const int64_t* symbols,
                          uint32_t block, uint32_t blocks) {
  auto* scratch =
      reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(scratch_.data()) + 63) / 64 * 64);
  uint32_t fault = 0;
  const KernelArgs args{pointers.data(), symbols, scratch, &fault};
  function_(&args, block, blocks);
  if (fault != 0) throw std::logic_error("a kernel met an index out of range");
  const std::span<const std::byte> guard(scratch + scratch_bytes_, kGuardBytes);
  const bool is_whole =
      std::all_of(guard.begin(), guard.end(), [](std::byte b) { return b == kGuard; });
  if (!is_whole) throw std::logic_error("a kernel wrote behind its scratch");
}

void RunnableKernel::run_block(const std::vector<void*>& pointers, uint32_t block) {
  call(pointers, nullptr, block, blocks_);
}

void RunnableKernel::run(const std::vector<void*>& pointers) {
  for (uint32_t block = 0; block < blocks_; ++block) run_block(pointers, block);
}

void RunnableKernel::run(const std::vector<void*>& pointers, const std::vector<int64_t>& symbols,
                         uint32_t blocks) {
  if (blocks == 0) {
    const int64_t wanted =
        value_of(multiply_adds_, symbols) / std::max<int64_t>(multiply_adds_per_block_, 1);
    blocks = static_cast<uint32_t>(std::clamp<int64_t>(wanted, 1, blocks_));
  }
  for (uint32_t block = blocks; block-- > 0;) call(pointers, symbols.data(), block, blocks);
}

namespace {

void fix(std::initializer_list<Extent*> extents, const std::vector<int64_t>& symbols) {
  for (Extent* extent : extents) *extent = value_of(*extent, symbols);
}

void fix(Epilogue& epilogue, const std::vector<int64_t>& symbols) {
  for (EpilogueOperand& operand : epilogue.operands) {
    fix({&operand.row_stride}, symbols);
    for (Extent& stride : operand.batch_strides) fix({&stride}, symbols);
  }
}

}  // namespace

MatMulSpec fixed_at(MatMulSpec s, const std::vector<int64_t>& symbols) {
  fix({&s.m, &s.n, &s.k, &s.a_row_stride, &s.a_k_stride, &s.b_row_stride, &s.b_column_stride,
       &s.c_row_stride},
      symbols);
  for (BatchAxis& axis : s.batch)
    fix({&axis.size, &axis.a_stride, &axis.b_stride, &axis.c_stride}, symbols);
  fix(s.epilogue, symbols);
  return s;
}

ConvSpec fixed_at(ConvSpec s, const std::vector<int64_t>& symbols) {
  fix({&s.n, &s.depth.in, &s.h, &s.w, &s.depth.out, &s.oh, &s.ow}, symbols);
  fix(s.epilogue, symbols);
  return s;
}

std::vector<float> random_floats(size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

namespace {

uint16_t half_of(float number, DType dtype) {
  return dtype == DType::kF16 ? float_to_half(number) : float_to_bf16(number);
}

}  // namespace

std::vector<std::byte> elements_of(const std::vector<float>& numbers, DType dtype) {
  if (dtype == DType::kF32) {
    const auto bytes = std::as_bytes(std::span(numbers));
    return {bytes.begin(), bytes.end()};
  }
  std::vector<uint16_t> halves;
  for (const float number : numbers) halves.push_back(half_of(number, dtype));
  const auto bytes = std::as_bytes(std::span(halves));
  return {bytes.begin(), bytes.end()};
}

std::vector<float> numbers_of(const std::vector<std::byte>& elements, DType dtype) {
  std::vector<float> numbers(elements.size() / (dtype == DType::kF32 ? 4 : 2));
  if (dtype == DType::kF32) {
    std::memcpy(numbers.data(), elements.data(), elements.size());
    return numbers;
  }
  std::vector<uint16_t> halves(numbers.size());
  std::memcpy(halves.data(), elements.data(), elements.size());
  std::transform(halves.begin(), halves.end(), numbers.begin(), [&](uint16_t half) {
    return dtype == DType::kF16 ? half_to_float(half) : bf16_to_float(half);
  });
  return numbers;
}

std::vector<float> random_floats(size_t count, std::mt19937& random, DType dtype) {
  return numbers_of(elements_of(random_floats(count, random), dtype), dtype);
}

double rounding_error(DType dtype) {
  return dtype == DType::kF16 ? 0x1p-11 : dtype == DType::kBF16 ? 0x1p-8 : 0;
}

Result<GeneratedKernel> generate_copy(DType dtype, const std::vector<int64_t>& dims,
                                      const StorageMap& from, const StorageMap& to,
                                      const DeviceProfile& profile) {
  Module module;
  Graph& graph = module.add_graph("main", GraphRole::kRoot);
  const TypeId type = module.intern(Type::fixed_tensor(dtype, dims));
  Value& x = graph.add_input(type, "x");
  store(x, from);
  Node& node = graph.add_node(Op::kTransData, {&x}, 1);
  node.output().set_type(type);
  store(node.output(), to);
  SLUICE_ASSIGN(const loop::LoweredNode lowered, loop::lower_node(node));
  return generate_loops(specification_text(lowered.graph, profile, MathPrecision::kDefault),
                        "copy");
}

std::vector<float> transposed(const std::vector<float>& from, int64_t n, int64_t rows,
                              int64_t columns) {
  std::vector<float> to(from.size());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c)
        to[(i * columns + c) * rows + r] = from[(i * rows + r) * columns + c];
    }
  }
  return to;
}

namespace {

// Computes with f32 as f64.
DType widened(DType dtype) { return dtype == DType::kF32 ? DType::kF64 : dtype; }

uint64_t constant_bits(const loop::Instruction& own) {
  if (own.dtype != DType::kF32) return own.bits;
  return std::bit_cast<uint64_t>(double{std::bit_cast<float>(static_cast<uint32_t>(own.bits))});
}

uint64_t evaluate(const loop::Instruction& own, const std::vector<loop::Instruction>& code,
                  const std::vector<uint64_t>& values) {
  std::array<uint64_t, 3> operands{};
  for (int i = 0; i < loop::scalar_row(own.op).operands; ++i) operands[i] = values[own.operands[i]];
  const loop::Instruction& first = code[own.operands[own.op == loop::ScalarOp::kSelect ? 1 : 0]];
  bool fault = false;
  return loop::compute_scalar(own.op, widened(first.dtype), widened(own.dtype), operands, fault);
}

}  // namespace

double reference_epilogue(const Epilogue& epilogue, double sum,
                          const std::function<double(int)>& operand) {
  if (epilogue.is_empty()) return sum;
  std::vector<uint64_t> values;
  for (const loop::Instruction& own : epilogue.code()) {
    if (own.kind == loop::InstructionKind::kConstant) {
      values.push_back(constant_bits(own));
    } else if (own.kind == loop::InstructionKind::kLoad) {
      const int buffer = own.access.buffer;
      values.push_back(std::bit_cast<uint64_t>(
          buffer == kSum ? sum : operand(static_cast<int>(buffer - kFirstOperand))));
    } else {
      values.push_back(evaluate(own, epilogue.code(), values));
    }
  }
  return std::bit_cast<double>(values[epilogue.result()]);
}

std::vector<double> reference_matmul(const MatMulSpec& s, const float* a, const float* b,
                                     const std::vector<const float*>& operands, size_t c_elements) {
  std::vector<double> c(c_elements, 0);
  int64_t entries = 1;
  for (const BatchAxis& axis : s.batch) entries *= axis.size.nominal;
  for (int64_t entry = 0; entry < entries; ++entry) {
    int64_t a0 = 0, b0 = 0, c0 = 0, remainder = entry;
    std::vector<int64_t> o0(operands.size(), 0);
    for (size_t axis = s.batch.size(); axis-- > 0;) {
      const int64_t index = remainder % s.batch[axis].size.nominal;
      remainder /= s.batch[axis].size.nominal;
      a0 += index * s.batch[axis].a_stride.nominal;
      b0 += index * s.batch[axis].b_stride.nominal;
      c0 += index * s.batch[axis].c_stride.nominal;
      for (size_t n = 0; n < operands.size(); ++n) {
        const auto& strides = s.epilogue.operands[n].batch_strides;
        if (!strides.empty()) o0[n] += index * strides[axis].nominal;
      }
    }
    for (int64_t i = 0; i < s.m.nominal; ++i) {
      for (int64_t j = 0; j < s.n.nominal; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < s.k.nominal; ++k) {
          sum += double{a[a0 + i * s.a_row_stride.nominal + k * s.a_k_stride.nominal]} *
                 b[b0 + k * s.b_row_stride.nominal + j * s.b_column_stride.nominal];
        }
        c[c0 + i * s.c_row_stride.nominal + j] = reference_epilogue(s.epilogue, sum, [&](int n) {
          const EpilogueOperand& o = s.epilogue.operands[n];
          return operands[n][o0[n] + i * o.row_stride.nominal + j * o.column_stride.nominal];
        });
      }
    }
  }
  return c;
}

namespace {

// The sum of output pixel `row`, counted over all images.
double conv_sum(const ConvSpec& s, const float* x, const float* weights, int64_t row, int64_t co) {
  const int64_t group_in = s.ci / s.groups, group = co / (s.co / s.groups);
  const int64_t pixel = s.x_pixel_stride ? s.x_pixel_stride : s.ci;
  const int64_t ow = row % s.ow.nominal, oh = row / s.ow.nominal % s.oh.nominal,
                plane = row / s.ow.nominal / s.oh.nominal;
  const int64_t n = plane / s.depth.out.nominal, od = plane % s.depth.out.nominal;
  double sum = 0;
  for (int64_t k = 0; k < kernel_positions(s); ++k) {
    const int64_t kw = k % s.kw, kh = k / s.kw % s.kh, kd = k / s.kw / s.kh;
    const int64_t id = od * s.depth.stride + kd * s.depth.dilation - s.depth.pad,
                  ih = oh * s.stride_h + kh * s.dilation_h - s.pad_top,
                  iw = ow * s.stride_w + kw * s.dilation_w - s.pad_left;
    if (id < 0 || id >= s.depth.in.nominal || ih < 0 || ih >= s.h.nominal || iw < 0 ||
        iw >= s.w.nominal)
      continue;
    const int64_t place = ((n * s.depth.in.nominal + id) * s.h.nominal + ih) * s.w.nominal + iw;
    const float* from = x + place * pixel + group * group_in;
    for (int64_t ci = 0; ci < group_in; ++ci)
      sum += double{from[ci]} * weights[(co * group_in + ci) * kernel_positions(s) + k];
  }
  return sum;
}

}  // namespace

std::vector<double> reference_conv(const ConvSpec& s, const float* x, const float* weights,
                                   const std::vector<const float*>& operands) {
  const int64_t stride = s.y_pixel_stride ? s.y_pixel_stride : s.co;
  const int64_t image = output_pixels(s).nominal;
  std::vector<double> y(static_cast<size_t>(s.n.nominal * image * stride), 0);
  for (int64_t pixel = 0; pixel < s.n.nominal * image; ++pixel) {
    for (int64_t co = 0; co < s.co; ++co) {
      const double sum = conv_sum(s, x, weights, pixel, co);
      y[pixel * stride + co] = reference_epilogue(s.epilogue, sum, [&](int n) {
        const EpilogueOperand& o = s.epilogue.operands[n];
        const int64_t row = o.batch_strides.empty() ? pixel * o.row_stride.nominal
                                                    : pixel / image * o.batch_strides[0].nominal +
                                                          pixel % image * o.row_stride.nominal;
        return operands[n][row + co * o.column_stride.nominal];
      });
    }
  }
  return y;
}

namespace {

void pack_rows(const StridedPacking& packing, size_t axis, const float* from, int64_t columns,
               float*& to) {
  if (axis == packing.reduction.size()) {
    for (int64_t j = 0; j < packing.nr; ++j)
      *to++ = j < columns ? from[j * packing.columns.stride] : 0.0f;
    return;
  }
  for (int64_t i = 0; i < packing.reduction[axis].size; ++i)
    pack_rows(packing, axis + 1, from + i * packing.reduction[axis].stride, columns, to);
}

void pack_batch(const StridedPacking& packing, size_t axis, const float* from, float*& to) {
  if (axis == packing.batch.size()) {
    for (int64_t j = 0; j < packing.columns.size; j += packing.nr) {
      pack_rows(packing, 0, from + j * packing.columns.stride,
                std::min(packing.nr, packing.columns.size - j), to);
    }
    return;
  }
  for (int64_t i = 0; i < packing.batch[axis].size; ++i)
    pack_batch(packing, axis + 1, from + i * packing.batch[axis].stride, to);
}

}  // namespace

std::vector<float> reference_pack(const StridedPacking& packing, const float* source) {
  std::vector<float> packed(static_cast<size_t>(packed_elements(packing)));
  float* to = packed.data();
  pack_batch(packing, 0, source, to);
  return packed;
}

std::vector<float> in_pairs(const std::vector<float>& packed, int64_t rows, int64_t nr) {
  std::vector<float> pairs;
  for (size_t panel = 0; panel < packed.size(); panel += static_cast<size_t>(rows * nr)) {
    for (int64_t row = 0; row < rows; row += 2) {
      for (int64_t column = 0; column < nr; ++column) {
        const float* first = packed.data() + panel + row * nr + column;
        pairs.push_back(*first);
        pairs.push_back(row + 1 < rows ? first[nr] : 0);
      }
    }
  }
  return pairs;
}

int64_t value_of(const Extent& extent, const std::vector<int64_t>& symbols) {
  int64_t result = extent.factor;
  for (const uint16_t symbol : extent.symbols) result *= symbols[symbol];
  return result;
}

int64_t packed_elements(const StridedPacking& packing) {
  const auto count = [](const std::vector<StridedPacking::Axis>& axes) {
    int64_t product = 1;
    for (const StridedPacking::Axis& axis : axes) product *= axis.size;
    return product;
  };
  return count(packing.batch) * ceil_div(packing.columns.size, packing.nr) *
         count(packing.reduction) * packing.nr;
}

StridedPacking conv_weight_packing(const ConvSpec& s, int64_t nr) {
  const int64_t group_in = s.ci / s.groups, group_out = s.co / s.groups;
  const int64_t kernel = kernel_positions(s);
  StridedPacking packing;
  packing.batch = {{s.groups, group_out * group_in * kernel}};
  packing.reduction = {{s.depth.kernel, s.kh * s.kw}, {s.kh, s.kw}, {s.kw, 1}, {group_in, kernel}};
  packing.columns = {group_out, group_in * kernel};
  packing.nr = nr;
  return packing;
}

StridedPacking direct_weight_packing(const ConvSpec& s, int64_t nr) {
  const int64_t taps = s.kh * s.kw, channels = s.ci / s.groups * s.depth.kernel;
  StridedPacking packing;
  packing.batch = {{s.groups, s.co / s.groups * channels * taps}};
  packing.reduction = {{channels, taps}, {s.kw, 1}, {s.kh, s.kw}};
  packing.columns = {s.co / s.groups, channels * taps};
  packing.nr = nr;
  return packing;
}

StridedPacking depthwise_weight_packing(const ConvSpec& s, int64_t nr) {
  return {{}, {{s.kh * s.kw, 1}}, {s.co, s.kh * s.kw}, nr};
}

std::vector<std::string> cpu_profiles() {
  std::vector<std::string> names = profile_names();
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("cpu-"); });
  return names;
}

const DeviceProfile& every_cpu() {
  static const DeviceProfile profile = *get_profile("cpu-generic");
  return profile;
}

}  // namespace sluice
