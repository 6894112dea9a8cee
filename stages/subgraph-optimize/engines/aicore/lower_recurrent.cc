// Lowers the two nodes that stand for a recurrent cell (common/target/recurrent_halves.h) to a
// launch each, whose weights are packed.
//
//   before:  %p = Fused(%x, %w)                   body: MatMul(x, transposed w)
//            %y = Fused(%p, %r, %b)               body: LSTM(p, identity, r, b)
//   after:   %p = Fused(%x, %w:packed)            body: MatMul(x, unpacked w)
//            %y = Fused(%p, %r:packed, %b)        body: LSTM(p, identity, unpacked r, b)
#include <numeric>

#include "common/ir/clone.h"
#include "common/ops/attributes.h"
#include "common/target/recurrent.h"
#include "common/target/recurrent_halves.h"
#include "stages/subgraph-optimize/codegen/recurrent/recurrent.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"
#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"
#include "stages/subgraph-optimize/engines/aicore/packing.h"

namespace sluice {
namespace {

int64_t number_of(const Graph& body, const Node& wanted) {
  int64_t number = 0;
  for (const Node& node : body.nodes()) {
    if (&node == &wanted) break;
    ++number;
  }
  return number;
}

class ProductsLowering {
 public:
  ProductsLowering(Lowering& lowering, Node& node)
      : lowering_(lowering),
        node_(node),
        columns_(node.output().type().dims[2].value),
        inputs_(node.input(1)->type().dims[2].value) {}

  Result<void> run() {
    SLUICE_ASSIGN(Value * x, lowering_.dense(*node_.input(0), &node_));
    SLUICE_ASSIGN(const MatMulSpec spec, product_spec(x->type()));
    const MatrixPacking packing = weight_packing(spec);
    const auto pack = [&](Chain& chain) {
      chain.reshape({packing.n, packing.k});
      packing.pack(chain);
    };
    SLUICE_ASSIGN(Value * w, lowering_.packed(*node_.input(1), pack, packing.loops(), &node_));
    Graph& body = product_body(*x, *w, packing);
    const KernelId kernel = lowering_.kernel(spec, generate_matmul);
    Node& made = lowering_.add_launch(node_, body, {x, w}, kernel);
    made.set(attributes::Fused::anchor, static_cast<int64_t>(body.node_count()) - 1);
    return lowering_.give_results(made, node_, {0});
  }

 private:
  Result<MatMulSpec> product_spec(const Type& x) const {
    const OperandSizes sizes(lowering_.graph().module(), {&node_.output().type(), &x});
    SLUICE_ASSIGN(const std::vector<Extent> dims, sizes.of(x));
    MatMulSpec spec;
    spec.dtype = x.dtype;
    spec.m = dims[0] * dims[1];
    spec.n = columns_;
    spec.k = inputs_;
    spec.a_row_stride = inputs_;
    spec.b_packed = true;
    spec.c_row_stride = columns_;
    spec.epilogue.math = lowering_.math();
    return spec;
  }

  MatrixPacking weight_packing(const MatMulSpec& spec) const {
    MatrixPacking packing;
    packing.k = inputs_;
    packing.n = columns_;
    packing.transposed = true;
    packing.nr = choose_matmul_plan(spec, lowering_.profile()).nr;
    packing.dtype = spec.dtype;
    packing.in_pairs = spec.dtype == DType::kBF16;
    return packing;
  }

  // The body unpacks W as [input, columns].
  Graph& product_body(const Value& x, const Value& w, MatrixPacking packing) {
    const Graph& old = *node_.get(attributes::Fused::body);
    Graph& body = lowering_.graph().module().add_graph(old.name(), GraphRole::kFused);
    Value& rows = body.add_input(x.type_id(), x.name());
    Chain weights(body, body.add_input(w.type_id(), w.name()));
    packing.transposed = false;
    packing.unpack(weights);
    Value& row_floats = in_f32(body, rows);
    Node& product = body.add_node(Op::kMatMul, {&row_floats, &weights.cast(DType::kF32).value()});
    product.output().set_type(node_.output().type_id());
    product.set_origins(node_.origins());
    body.add_output(product.output());
    return body;
  }

  // A Chain is of fixed shape.
  static Value& in_f32(Graph& body, Value& rows) {
    if (rows.type().dtype == DType::kF32) return rows;
    Node& node = body.add_node(Op::kCast, {&rows});
    node.set(attributes::Cast::to, static_cast<int64_t>(DType::kF32));
    Type type = rows.type();
    type.dtype = DType::kF32;
    node.output().set_type(type);
    return node.output();
  }

  Lowering& lowering_;
  Node& node_;
  int64_t columns_, inputs_;
};

class WalkLowering {
 public:
  WalkLowering(Lowering& lowering, Node& node)
      : lowering_(lowering),
        node_(node),
        old_body_(*node.get(attributes::Fused::body)),
        old_cell_(*find_recurrent(old_body_)),
        cell_(read_recurrent(old_cell_)) {}

  Result<void> run() {
    SLUICE_ASSIGN(const RecurrentSpec spec, walk_spec());
    SLUICE_ASSIGN(const RecurrentPlan plan, choose_recurrent_plan(spec, lowering_.profile()));
    const MatrixPacking packing = weight_packing(plan);
    const auto pack = [&](Chain& chain) {
      chain.reshape({cell_.directions, cell_.gates(), cell_.hidden, cell_.hidden});
      packing.pack(chain);
    };
    SLUICE_ASSIGN(Value * r, lowering_.packed(*node_.input(1), pack, packing.loops(), &node_));
    std::vector<Value*> inputs = {node_.input(0), r};
    for (size_t i = 2; i < node_.input_count(); ++i) {
      SLUICE_ASSIGN(Value * input, lowering_.dense(*node_.input(i), &node_));
      inputs.push_back(input);
    }
    Graph& body = walk_body(inputs, packing);
    const KernelId kernel = lowering_.kernel(spec, generate_recurrent);
    Node& made = lowering_.add_launch(node_, body, inputs, kernel);
    made.set(attributes::Fused::anchor, number_of(body, *find_recurrent(body)));
    std::vector<size_t> results(node_.output_count());
    std::iota(results.begin(), results.end(), size_t{0});
    return lowering_.give_results(made, node_, results);
  }

 private:
  enum CellInput : size_t { kR = 2, kBias, kLengths, kInitialH, kInitialC, kPeepholes };

  // The sizes are dims of the products, which are the first operand that has both.
  Result<RecurrentSpec> walk_spec() {
    std::vector<const Type*> operands;
    RecurrentSpec spec;
    const std::vector<size_t> results = walk_results(node_);
    for (size_t i = 0; i < results.size(); ++i) {
      operands.push_back(&node_.output(i).type());
      (results[i] == 0 ? spec.has_y : results[i] == 1 ? spec.has_y_h : spec.has_y_c) = true;
    }
    const Type& products = node_.input(0)->type();
    operands.push_back(&products);
    const OperandSizes sizes(lowering_.graph().module(), operands);
    SLUICE_ASSIGN(const std::vector<Extent> dims, sizes.of(products));
    spec.cell = cell_;
    spec.steps = dims[cell_.is_batch_first ? 1 : 0];
    spec.batch = dims[cell_.is_batch_first ? 0 : 1];
    spec.has_bias = old_cell_.input(kBias) != nullptr;
    spec.has_lengths = old_cell_.input(kLengths) != nullptr;
    spec.has_h = old_cell_.input(kInitialH) != nullptr;
    spec.has_c = old_cell_.input(kInitialC) != nullptr;
    spec.has_peepholes = old_cell_.input(kPeepholes) != nullptr;
    spec.dtype = node_.input(1)->type().dtype;
    spec.math = lowering_.math();
    return spec;
  }

  MatrixPacking weight_packing(const RecurrentPlan& plan) const {
    MatrixPacking packing;
    packing.batch = {cell_.directions, cell_.gates()};
    packing.k = packing.n = cell_.hidden;
    packing.transposed = true;
    packing.nr = plan.nr;
    packing.dtype = node_.input(1)->type().dtype;
    return packing;
  }

  // The nodes of the old body, over the operands of the launch.
  Graph& walk_body(const std::vector<Value*>& operands, const MatrixPacking& packing) {
    Module& module = lowering_.graph().module();
    Graph& body = module.add_graph(old_body_.name(), GraphRole::kFused);
    std::vector<Value*> inside(old_body_.value_limit(), nullptr);
    for (size_t i = 0; i < operands.size(); ++i)
      inside[id_of(*old_body_.inputs()[i])] =
          &body.add_input(operands[i]->type_id(), operands[i]->name());
    Value*& r = inside[id_of(*old_body_.inputs()[1])];
    Chain unpacked(body, *r);
    packing.unpack(unpacked);
    unpacked.reshape({cell_.directions, cell_.gates() * cell_.hidden, cell_.hidden});
    r = &unpacked.value();
    ModuleMapper mapper(module, module);
    for (const Node& node : old_body_.nodes()) mapper.clone_node(node, body, inside);
    for (const Value* output : old_body_.outputs()) body.add_output(*inside[id_of(*output)]);
    return body;
  }

  static size_t id_of(const Value& value) { return static_cast<size_t>(value.id()); }

  Lowering& lowering_;
  Node& node_;
  const Graph& old_body_;
  const Node& old_cell_;
  RecurrentCell cell_;
};

}  // namespace

Result<void> lower_recurrent_products(Lowering& lowering, Node& node) {
  return ProductsLowering(lowering, node).run();
}

Result<void> lower_recurrent_walk(Lowering& lowering, Node& node) {
  return WalkLowering(lowering, node).run();
}

}  // namespace sluice
