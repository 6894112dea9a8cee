// The reference evaluator: the meaning of the IR. One obvious function per op and dtype class; libm
// only for float32, -ffp-contract=off, always -O2.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/base/tensor.h"
#include "common/ir/module.h"

namespace sluice {

// What a Value holds at run time. Copies share the tensor, which nobody changes once it is in an
// EvalValue.
struct EvalValue {
  enum class Kind : uint8_t { kTensor, kSequence, kMap, kNone };  // kNone: an empty optional
  Kind kind = Kind::kTensor;
  std::shared_ptr<const Tensor> tensor;
  std::vector<EvalValue>
      elements;  // of kSequence; of kMap its keys and its values, tensors of one dim

  EvalValue();
  EvalValue(const EvalValue&);
  EvalValue(EvalValue&&) noexcept;
  EvalValue& operator=(const EvalValue&);
  EvalValue& operator=(EvalValue&&) noexcept;
  ~EvalValue();
  static EvalValue of(Tensor tensor);
};

// Tensors in memory that somebody else owns.
struct TensorView {
  DType dtype = DType::kUndefined;
  std::span<const int64_t> dims;
  const std::byte* data = nullptr;  // null: an absent optional input
};
struct MutableTensorView {
  DType dtype = DType::kUndefined;
  std::span<const int64_t> dims;
  std::byte* data = nullptr;  // null: an unused optional output
};

// True when the evaluator has a kernel for the op (for some dtypes).
bool is_evaluable(Op op);

// All outputs of a node; inputs in order, null for absent ones. Bodies (If, Loop, Scan, Call,
// Fused, …) are evaluated through their graphs.
Result<std::vector<EvalValue>> evaluate_node(const Node& node,
                                             std::span<const EvalValue* const> inputs);

// The same into memory planned before: every output must come out with exactly the dtype and dims
// given, else kBadShape. An output may share memory with nothing. Used by host_cpu tasks.
Result<void> evaluate_node_into(const Node& node, std::span<const TensorView> inputs,
                                std::span<const MutableTensorView> outputs);

// Runs nodes in place of the evaluator.
struct NodeRunner {
  std::function<bool(const Node&)> takes;
  // All outputs of a node that it takes. The data of absent inputs is null.
  std::function<Result<std::vector<EvalValue>>(const Node&, std::span<const TensorView> inputs)>
      run;
};

struct EvalOptions {
  // Called with every value as it is made (inputs and constants left out), in node order; bodies'
  // values too.
  std::function<void(const Value&, const EvalValue&)> observer;
  // Called before and after every node of a root graph; bodies' nodes left out.
  std::function<void(const Node&, bool begins)> around_node;
  // Nodes that somebody else runs, such as Calls of compiled parts. Null: all are evaluated here.
  const NodeRunner* elsewhere = nullptr;
};

// Outputs of a graph at any level. inputs: one per graph input that is not bound to a constant.
// Values nobody needs any more are freed on the way.
Result<std::vector<EvalValue>> evaluate_graph(const Graph& graph, std::vector<EvalValue> inputs,
                                              const EvalOptions& options = {});

// What is given to a graph: a value, or else a tensor that somebody else owns.
struct EvalInput {
  TensorView view;
  const EvalValue* value = nullptr;
};
// The same on inputs that are not copied; they must not change meanwhile.
Result<std::vector<EvalValue>> evaluate_graph_on(const Graph& graph,
                                                 std::span<const EvalInput> inputs,
                                                 const EvalOptions& options = {});

// The bytes of a constant of any kind but kParameter as a tensor. Expressions are evaluated, splats
// expanded.
Result<Tensor> evaluate_segment(const Module& module, SegmentId segment);

}  // namespace sluice
