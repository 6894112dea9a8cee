// The shared state of lowering one aicore subgraph: kernels, layouts, and the making of the nodes
// that name kernels.
#pragma once

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/loop/packing.h"
#include "common/pass/control_edges.h"
#include "common/target/kernel_specification.h"
#include "common/target/profile.h"
#include "stages/subgraph-optimize/codegen/codegen.h"
#include "stages/subgraph-optimize/engines/aicore/chain.h"
#include "stages/subgraph-optimize/engines/aicore/contraction.h"
#include "stages/subgraph-optimize/engines/engines.h"
#include "stages/subgraph-optimize/engines/kernels.h"

namespace sluice {

using BuildChain = std::function<void(Chain&)>;

// Whether a kernel takes an operand or result whose rows are parts of wider ones (store_rows).
enum class Rows : uint8_t { kWhole, kMayBeParts };

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
    return kernels_.add(graph_.module(), generator_text(profile()) + canonical_text(spec),
                        [spec, generate, &own = profile()] { return generate(spec, own); });
  }

  // Returns the value stored in this order: itself, or the result of a TransData before `before`
  // that later callers share. A value of another rank than the map's stays as it is.
  Result<Value*> stored(Value& value, const StorageMap& map, Node* before,
                        Rows rows = Rows::kWhole);
  Result<Value*> dense(Value& value, Node* before, Rows rows = Rows::kWhole) {
    return stored(value, dense_map(value.type().dims.size()), before, rows);
  }
  // Returns whether stored() needs no TransData, or has made it already.
  bool is_there(const Value& value, const StorageMap& map) const;
  // Erases the TransData that nothing reads.
  void erase_unread_copies();

  // Returns the operand packed: a constant expression for a constant, otherwise the result of a
  // packing node before `before`.
  Result<Value*> packed(Value& operand, const BuildChain& pack, const loop::Packing& loops,
                        Node* before);

  // Returns the result of a node before `before` that computes what `build` makes of its inputs, by
  // loops of its own.
  Result<Value*> computed(const std::vector<Value*>& inputs,
                          const std::function<Value&(Graph& body)>& build, const std::string& name,
                          Node* before);

  // An operand of the kernel, with the value of the contraction's own graph that it stands for.
  struct Operand {
    // A value of the body, or of the graph for a plain node; null when only the kernel reads it.
    const Value* inside;
    Value* value;            // of the graph
    BuildChain unpack = {};  // from the operand's bytes back to `inside`; absent: the same
  };
  // Replaces the contraction by a Fused node that names the kernel. Its body unpacks, then computes
  // what the contraction did. What the body reads but the kernel does not follows the operands:
  // numbers that are in the kernel's code. made: the order in which the kernel writes; where the
  // result has another one, or rows that the kernel does not take, a TransData follows.
  Result<void> replace(const Contraction& contraction, std::vector<Operand> operands,
                       KernelId kernel, const StorageMap& made, Rows rows = Rows::kWhole);
  // Adds a Fused node of this body, with its results and their types, before `old`, whose origins
  // and placement it has.
  Node& add_launch(Node& old, Graph& body, const std::vector<Value*>& inputs, KernelId kernel);
  // Lets the results of `made` take the place of these results of `old`, one by one, and erases
  // `old`. The kernel writes dense results; a TransData follows where another order is wanted.
  Result<void> give_results(Node& made, Node& old, const std::vector<size_t>& results);
  // Returns the graph's value for an epilogue operand; a constant of the body becomes one of the
  // graph.
  Value& operand_value(const Contraction& contraction, const Value& inside);

 private:
  Result<Value*> add_copy(Value& value, StorageId storage, Node* before);
  Result<void> set_made(Value& made, const StorageMap& map, Rows rows);
  void add_unread(const Contraction& contraction, std::vector<Operand>& operands);
  void take_place(Node& made, Node& old, const std::vector<size_t>& results);
  Node& add_fused(const Contraction& contraction, const std::vector<Operand>& operands,
                  KernelId kernel);

  Graph& graph_;
  const GeneratorOptions& options_;
  KernelRequests& kernels_;
  ControlEdges control_;
  std::map<std::pair<int32_t, StorageMap>, Value*> copies_;  // by value id and map
  std::vector<Node*> trans_data_;
  // By value id, bytes and dims: views of one packed operand differ in these.
  std::map<std::tuple<int32_t, loop::Packing, std::vector<int64_t>>, Value*> packed_;
};

Result<void> lower_matmul(Lowering& lowering, const Contraction& contraction);  // MatMul and Gemm
Result<void> lower_attention(Lowering& lowering, const Contraction& contraction);
Result<void> lower_conv(Lowering& lowering, const Contraction& contraction);
Result<void> lower_quantized(Lowering& lowering, const Contraction& contraction,
                             const QuantizedContraction& quantized);
// The two nodes of an RNN, GRU or LSTM (common/target/recurrent_halves.h).
Result<void> lower_recurrent_products(Lowering& lowering, Node& node);
Result<void> lower_recurrent_walk(Lowering& lowering, Node& node);
Result<void> lower_quantized_matmul(Lowering& lowering, const Contraction& contraction,
                                    const QuantizedContraction& quantized);

// The values that a product's kernel reads.
struct StoredOperands {
  const Value *a, *b;
  std::vector<std::pair<const loop::EpilogueRead*, const Value*>> epilogue;
};
// Makes the specification but for the loops of the epilogue. Batch entries that read the same B and
// whose rows follow each other become more rows of one matrix.
Result<MatMulSpec> make_matmul_spec(const Contraction& contraction, const StoredOperands& stored);

// Returns the convolution that a node of such an op computes, without an epilogue.
Result<ConvSpec> make_conv_spec(const Node& conv, const Value& x, const Value& w);
// Gives a convolution its epilogue, whose operands, stored by the map, follow `operands`.
Result<void> add_conv_epilogue(Lowering& lowering, const Contraction& contraction,
                               const loop::LoweredEpilogue& lowered, const StorageMap& map,
                               Rows rows, ConvSpec& spec, std::vector<Lowering::Operand>& operands);

}  // namespace sluice
