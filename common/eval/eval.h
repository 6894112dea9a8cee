// The reference evaluator, which defines the semantics of the IR. It has one obvious function per
// op and dtype class, uses libm only for float32, and is always compiled with -ffp-contract=off and
// -O2.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/base/tensor.h"
#include "common/ir/module.h"

namespace sluice {

// The content of a Value at run time. Copies share the tensor, which never changes once it is in an
// EvalValue.
struct EvalValue {
  enum class Kind : uint8_t { kTensor, kSequence, kMap, kNone };  // kNone: an empty optional
  Kind kind = Kind::kTensor;
  std::shared_ptr<const Tensor> tensor;
  // For kSequence the elements; for kMap its keys and its values, tensors of one dim.
  std::vector<EvalValue> elements;

  EvalValue();
  EvalValue(const EvalValue&);
  EvalValue(EvalValue&&) noexcept;
  EvalValue& operator=(const EvalValue&);
  EvalValue& operator=(EvalValue&&) noexcept;
  ~EvalValue();
  static EvalValue of(Tensor tensor);
};

// A tensor in memory that another owner keeps alive.
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

// Returns true when the evaluator has a kernel for the op (for some dtypes).
bool is_evaluable(Op op);

// Evaluates all outputs of a node; inputs are in order, null for absent ones. Bodies (If, Loop,
// Scan, Call, Fused, …) are evaluated through their graphs.
Result<std::vector<EvalValue>> evaluate_node(const Node& node,
                                             std::span<const EvalValue* const> inputs);

// Does the same into planned memory: every output must have exactly the given dtype and dims,
// otherwise the error is kBadShape. An output must not share memory with anything. Used by host_cpu
// tasks.
Result<void> evaluate_node_into(const Node& node, std::span<const TensorView> inputs,
                                std::span<const MutableTensorView> outputs);

// Runs nodes in place of the evaluator.
struct NodeRunner {
  std::function<bool(const Node&)> takes;
  // Runs an accepted node and returns all its outputs. The data of absent inputs is null.
  std::function<Result<std::vector<EvalValue>>(const Node&, std::span<const TensorView> inputs)>
      run;
};

struct EvalOptions {
  // Called with every value when it is computed (except inputs and constants), in node order;
  // values of bodies are included.
  std::function<void(const Value&, const EvalValue&)> observer;
  // Called before and after every node of a root graph, but not for nodes of bodies.
  std::function<void(const Node&, bool begins)> around_node;
  // Runs some nodes elsewhere, such as Calls of compiled parts. Null: all are evaluated here.
  const NodeRunner* elsewhere = nullptr;
};

// Evaluates the outputs of a graph at any level. inputs: one per graph input that is not bound to a
// constant. A value is freed after its last use.
Result<std::vector<EvalValue>> evaluate_graph(const Graph& graph, std::vector<EvalValue> inputs,
                                              const EvalOptions& options = {});

// An input of a graph: a value, or a tensor that another owner keeps alive.
struct EvalInput {
  TensorView view;
  const EvalValue* value = nullptr;
};
// Does the same on inputs that are not copied; they must not change meanwhile.
Result<std::vector<EvalValue>> evaluate_graph_on(const Graph& graph,
                                                 std::span<const EvalInput> inputs,
                                                 const EvalOptions& options = {});

// Returns the bytes of a constant of any kind except kParameter as a tensor. Expressions are
// evaluated, splats expanded.
Result<Tensor> evaluate_segment(const Module& module, SegmentId segment);

}  // namespace sluice
