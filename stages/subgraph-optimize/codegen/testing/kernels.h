// Runs kernels for the generator's tests and benchmarks, and computes the same results in double
// precision by the plainest loops.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "runtime/device/kernel_image.h"
#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"
#include "stages/subgraph-optimize/codegen/epilogue_builder.h"

namespace sluice {

// A loaded kernel with its scratch.
class RunnableKernel {
 public:
  static Result<RunnableKernel> load(const GeneratedKernel& kernel);
  void run(const std::vector<void*>& pointers);
  void run_block(const std::vector<void*>& pointers, uint32_t block);
  // Runs a symbolic kernel in `blocks` blocks, the last one first; 0 means as many as the device
  // would launch.
  void run(const std::vector<void*>& pointers, const std::vector<int64_t>& symbols,
           uint32_t blocks = 0);
  uint32_t blocks() const { return blocks_; }

 private:
  // Throws when the kernel wrote past its scratch.
  void call(const std::vector<void*>& pointers, const int64_t* symbols, uint32_t block,
            uint32_t blocks);
  RunnableKernel(KernelImage image, KernelFunction function, const GeneratedKernel& kernel);
  KernelImage image_;
  KernelFunction function_;
  uint32_t blocks_;
  int64_t multiply_adds_per_block_;
  Extent multiply_adds_;
  size_t scratch_bytes_;
  std::vector<std::byte> scratch_;
};

// The built-in profiles of CPUs: no two of them have the same instructions.
std::vector<std::string> cpu_profiles();
// The one whose code every CPU can run.
const DeviceProfile& every_cpu();

// Returns values in [-1, 1].
std::vector<float> random_floats(size_t count, std::mt19937& random);

// Returns the numbers as elements of f32, f16 or bf16, and the numbers of such elements.
std::vector<std::byte> elements_of(const std::vector<float>& numbers, DType dtype);
std::vector<float> numbers_of(const std::vector<std::byte>& elements, DType dtype);
// Returns values in [-1, 1] that the dtype has.
std::vector<float> random_floats(size_t count, std::mt19937& random, DType dtype);
// Returns the greatest relative error of rounding to the dtype; 0 for f32.
double rounding_error(DType dtype);

// Transposes [n][rows][columns] -> [n][columns][rows].
std::vector<float> transposed(const std::vector<float>& from, int64_t n, int64_t rows,
                              int64_t columns);

// Returns the specification with values for its symbols: a fixed one, whose sizes may be 0.
MatMulSpec fixed_at(MatMulSpec spec, const std::vector<int64_t>& symbols);
ConvSpec fixed_at(ConvSpec spec, const std::vector<int64_t>& symbols);

// Returns the epilogue's result for one sum of f32, in f64; operand(i) returns the element of
// operand i.
double reference_epilogue(const Epilogue& epilogue, double sum,
                          const std::function<double(int)>& operand);

// Computes a matmul whose operands are all indexed with the spec's own strides. b is always the
// unpacked operand, at b_row_stride and b_column_stride.
std::vector<double> reference_matmul(const MatMulSpec& spec, const float* a, const float* b,
                                     const std::vector<const float*>& operands, size_t c_elements);
// Computes a convolution of weights [co][ci / groups][kh][kw]. Untouched elements of y (a pixel
// stride wider than co) are 0.
std::vector<double> reference_conv(const ConvSpec& spec, const float* x, const float* weights,
                                   const std::vector<const float*>& operands);

// Returns an extent's value; symbols as in KernelArgs.
int64_t value_of(const Extent& extent, const std::vector<int64_t>& symbols);

// Generates a TransData of fixed sizes.
Result<GeneratedKernel> generate_copy(DType dtype, const std::vector<int64_t>& dims,
                                      const StorageMap& from, const StorageMap& to,
                                      const DeviceProfile& profile);

// A copy: packed[batch...][ceil(columns.size / nr)][reduction...][nr] = source at batch, reduction
// and column strides; columns past the end are zero.
struct StridedPacking {
  struct Axis {
    int64_t size = 1, stride = 0;
  };
  std::vector<Axis> batch;      // outermost first; may be empty
  std::vector<Axis> reduction;  // outermost first; may be empty (size 1)
  Axis columns;
  int64_t nr = 1;
};
std::vector<float> reference_pack(const StridedPacking& packing, const float* source);
int64_t packed_elements(const StridedPacking& packing);  // floats of the result
// Turns panels [rows][nr] into [ceil(rows / 2)][nr][2], a missing row zero.
std::vector<float> in_pairs(const std::vector<float>& packed, int64_t rows, int64_t nr);
// Returns the packing of a conv's [co][ci / groups][kh][kw] weights; the others are for direct and
// depthwise convolutions.
StridedPacking conv_weight_packing(const ConvSpec& spec, int64_t nr);
StridedPacking direct_weight_packing(const ConvSpec& spec, int64_t nr);
StridedPacking depthwise_weight_packing(const ConvSpec& spec, int64_t nr);

}  // namespace sluice
