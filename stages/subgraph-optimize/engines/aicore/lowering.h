// The shared state of lowering one aicore subgraph: kernels, layouts, and the making of the nodes
// that name kernels.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/control_edges.h"
#include "common/target/profile.h"
#include "stages/subgraph-optimize/codegen/codegen.h"
#include "stages/subgraph-optimize/engines/aicore/chain.h"
#include "stages/subgraph-optimize/engines/aicore/contraction.h"
#include "stages/subgraph-optimize/engines/engines.h"
#include "stages/subgraph-optimize/engines/kernels.h"

namespace sluice {

using BuildChain = std::function<void(Chain&)>;

class Lowering {
 public:
  Lowering(Graph& graph, const GeneratorOptions& options, KernelRequests& kernels)
      : graph_(graph), options_(options), kernels_(kernels), control_(graph) {}

  Graph& graph() const { return graph_; }
  const DeviceProfile& profile() const { return options_.profile; }
  MathPrecision math() const { return options_.math; }

  // Adds the kernel to the module.
  template <typename Spec>
  KernelId kernel(const Spec& spec,
                  Result<GeneratedKernel> (*generate)(const Spec&, const DeviceProfile&)) {
    return kernels_.add(graph_.module(), canonical_text(spec),
                        [spec, generate, &own = profile()] { return generate(spec, own); });
  }

  // Returns the value stored channels-last, or dense: itself, or the result of a TransData before
  // `before` that later callers share.
  Result<Value*> channels_last(Value& value, Node* before) {
    return converted(value, before, true);
  }
  Result<Value*> dense(Value& value, Node* before) { return converted(value, before, false); }
  // Marks a rank-4 value as stored channels-last, unless its bytes are the same when dense.
  void store_channels_last(Value& value);

  // Returns the operand packed: a constant expression for a constant, otherwise the result of a
  // packing node before `before`.
  Result<Value*> packed(Value& operand, const BuildChain& pack, const PackSpec& spec, Node* before);

  // An operand of the kernel, with the value of the contraction's own graph that it stands for.
  struct Operand {
    // A value of the body, or of the graph for a plain node; null when only the kernel reads it.
    const Value* inside;
    Value* value;            // of the graph
    BuildChain unpack = {};  // from the operand's bytes back to `inside`; absent: the same
  };
  // Replaces the contraction by a Fused node that names the kernel. Its body unpacks, then computes
  // what the contraction did. What the body reads but the kernel does not follows the operands:
  // numbers that are in the kernel's code.
  Node& replace(const Contraction& contraction, std::vector<Operand> operands, KernelId kernel);
  // Returns the graph's value for an epilogue operand; a constant of the body becomes one of the
  // graph.
  Value& operand_value(const Contraction& contraction, const Value& inside);

 private:
  Result<Value*> converted(Value& value, Node* before, bool channels_last);
  void add_unread(const Contraction& contraction, std::vector<Operand>& operands);

  Graph& graph_;
  const GeneratorOptions& options_;
  KernelRequests& kernels_;
  ControlEdges control_;
  std::map<std::pair<int32_t, bool>, Value*> converted_;      // by value id and layout
  std::map<std::pair<int32_t, std::string>, Value*> packed_;  // by value id and text of the packing
};

bool is_channels_last(const Value& value);

Result<void> lower_matmul(Lowering& lowering, const Contraction& contraction);  // MatMul and Gemm
Result<void> lower_conv(Lowering& lowering, const Contraction& contraction);
Result<void> lower_quantized(Lowering& lowering, const Contraction& contraction,
                             const QuantizedContraction& quantized);

// Returns the convolution that a node of such an op computes, without an epilogue.
Result<ConvSpec> make_conv_spec(const Node& conv, const Value& x, const Value& w);
// Gives a convolution its epilogue, whose operands follow `operands`.
Result<void> add_conv_epilogue(Lowering& lowering, const Contraction& contraction,
                               const loop::LoweredEpilogue& lowered, bool channels_last,
                               ConvSpec& spec, std::vector<Lowering::Operand>& operands);
// Returns true when a convolution reads the value, which most likely prefers it channels-last.
bool has_conv_reader(const Value& value);

}  // namespace sluice
