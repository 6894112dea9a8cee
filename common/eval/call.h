// One evaluation of one node: the interface of a kernel.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/eval/eval.h"

namespace sluice::eval {

// An input of a node: a tensor in memory, and the EvalValue that owns it if there is one (sequences
// have no view).
struct Operand {
  TensorView view;
  const EvalValue* value = nullptr;

  static Operand of(const EvalValue& value);
  bool present() const { return view.data != nullptr || value != nullptr; }
};

// Kernels are written for few element types. Before one runs, its inputs are promoted to types it
// supports, and afterwards the outputs are converted back.
enum Promotion : uint8_t {
  kPromoteNone = 0,
  kPromoteFloats = 1,  // f16, bf16, 8- and 4-bit floats as f32
  kPromotePacked = 2,  // 2- and 4-bit elements one to a byte
  // Strings as i64 handles: equal strings have equal handles, and handles are in the order of the
  // strings.
  kPromoteStrings = 4,
  kPromoteIntegers = 8,  // bool and integers narrower than 64 bits as i64
  kPromoteCompute = kPromoteFloats | kPromotePacked,
  kPromoteMove = kPromotePacked | kPromoteStrings,
  kPromoteAll = kPromoteFloats | kPromotePacked | kPromoteStrings,
  kPromoteWide = kPromoteFloats | kPromoteIntegers,
};

struct Input {
  DType dtype = DType::kUndefined;  // after promotion
  DType logical = DType::kUndefined;
  std::span<const int64_t> dims;
  const std::byte* data = nullptr;
  int64_t count = 0;
  const EvalValue* value = nullptr;

  bool present() const { return data != nullptr || value != nullptr; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
};

// Returns the elements of a numeric input; empty when it is absent.
std::vector<double> doubles_of(const Input& input);

struct Output {
  DType dtype = DType::kUndefined;  // after promotion
  std::vector<int64_t> dims;
  std::byte* data = nullptr;
  int64_t count = 0;

  Output() = default;
  Output(DType dtype, std::vector<int64_t> dims, std::byte* data, int64_t count);
  // These are not inline: every kernel uses them, and the compiler would copy them into each.
  Output(const Output&);
  Output(Output&&) noexcept;
  Output& operator=(const Output&);
  Output& operator=(Output&&) noexcept;
  ~Output();

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

class EvalCall {
 public:
  // targets: memory for the outputs, or empty.
  EvalCall(const Node& node, std::span<const Operand> operands,
           std::span<const MutableTensorView> targets, const EvalOptions& options);
  EvalCall(const EvalCall&) = delete;
  EvalCall& operator=(const EvalCall&) = delete;
  ~EvalCall();

  // Promotes the inputs; reports bad inputs as errors.
  Result<void> start(uint8_t promotion);
  // Converts the outputs back and checks that every output was made.
  Result<void> finish();
  std::vector<EvalValue> take_outputs();

  const Node& node;
  const EvalOptions& options;
  std::span<const Operand> operands;

  size_t input_count() const { return inputs_.size(); }
  const Input& input(size_t index) const;  // an absent input has no data
  bool has(size_t index) const { return input(index).present(); }
  bool wants(size_t output) const { return output < node.output_count(); }
  // Returns the elements of an integer input (axes, shapes, pads); empty when absent.
  std::vector<int64_t> ints(size_t index) const;
  // Returns the first element of an input as a number, or the fallback when it is absent.
  double number(size_t index, double fallback) const;
  int64_t integer(size_t index, int64_t fallback) const;

  // Returns uninitialized memory for output `index`. dtype is the logical one; that of the Output
  // is the promoted one.
  Result<Output> output(size_t index, DType dtype, std::vector<int64_t> dims);
  Result<Output> output_like(size_t index, size_t input, std::vector<int64_t> dims);
  void set_value(size_t index, EvalValue value);  // sequences, optionals, results of bodies
  // Makes an output with the same elements under other dims.
  Result<void> copy_input(size_t index, size_t input, std::vector<int64_t> dims);

  // text() returns the string of a handle; it is empty for an invalid handle, since a damaged graph
  // may have numbers in place of strings. handle() returns the handle of a new string (handles of
  // new strings are not in order).
  const std::string& text(int64_t handle) const;
  int64_t handle(const std::string& text);
  Tensor strings_from(const Tensor& handles) const;

  template <typename... Args>
  Error bad_value(fmt::format_string<Args...> format, Args&&... args) const {
    return error(ErrorCode::kBadValue, format, fmt::make_format_args(args...));
  }
  template <typename... Args>
  Error bad_shape(fmt::format_string<Args...> format, Args&&... args) const {
    return error(ErrorCode::kBadShape, format, fmt::make_format_args(args...));
  }
  Error unsupported(DType dtype) const;
  Error unsupported(const std::string& what) const;

  // Returns an axis in [0, rank), or kBadValue.
  Result<int64_t> axis(int64_t axis, int64_t rank) const;

 private:
  struct Slot {
    bool made = false;
    DType logical = DType::kUndefined;
    Output promoted;
    Tensor tensor;          // the result, unless it is written to a target
    Tensor promoted_dtype;  // used when the kernel writes another type
    EvalValue value;        // set_value
    bool has_value = false;
  };
  Error error(ErrorCode code, fmt::string_view format, fmt::format_args args) const;
  DType promoted_dtype(DType logical) const;
  Result<void> promote_strings();
  Result<void> finish_slot(size_t index, Slot& slot);
  Result<void> check_target(size_t index, DType dtype, const std::vector<int64_t>& dims) const;

  uint8_t promotion_ = kPromoteNone;
  std::span<const MutableTensorView> targets_;
  std::vector<Input> inputs_;
  std::vector<Tensor> promoted_inputs_;
  std::vector<Slot> slots_;
  std::vector<std::string> texts_;
  std::map<std::string, int64_t, std::less<>> handles_;
};

using KernelFunction = Result<void> (*)(EvalCall& call);

struct KernelRow {
  Op op;
  KernelFunction run;
  uint8_t promotion;
};
// Returns null when there is none.
const KernelRow* find_kernel(Op op);

// Runs the kernel of a node: start, run, finish.
Result<void> run_kernel(EvalCall& call);

// Evaluates a body on its inputs, captures included.
Result<std::vector<EvalValue>> evaluate_body(const Graph& graph, std::span<const Operand> inputs,
                                             const EvalOptions& options);
// Returns a tensor with the operand's elements, which is shared when an EvalValue owns them.
EvalValue value_of(const Operand& operand);

}  // namespace sluice::eval
