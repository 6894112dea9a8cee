// Lowers a recurrent cell to two launches: the products of all steps with W, and the walk along the
// sequences.
//
//   before:  %y, %y_h = LSTM(%x, %w, %r, %b)
//   after:   %p = Fused(%x, %w:packed)            body: MatMul(x, unpacked w)
//            %y, %y_h = Fused(%p, %r:packed, %b)  body: LSTM(p, identity, unpacked r, b)
//
// Legal because a step reads its input only as the product with W, and the identity, whose rows are
// those of all directions' gates, hands every gate its own column of the products. Of a cell in 16
// bits the bodies compute in f32, as the kernels do: they cast what they read and what they give.
#include "common/ir/value_storage.h"
#include "common/ops/attributes.h"
#include "common/target/recurrent.h"
#include "stages/subgraph-optimize/codegen/recurrent/recurrent.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"
#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"
#include "stages/subgraph-optimize/engines/aicore/packing.h"

namespace sluice {
namespace {

class RecurrentLowering {
 public:
  RecurrentLowering(Lowering& lowering, Node& node)
      : lowering_(lowering), node_(node), cell_(read_recurrent(node)) {}

  Result<void> run() {
    SLUICE_ASSIGN(Value * products, add_products());
    return add_walk(*products);
  }

 private:
  enum CellInput : size_t {
    kX,
    kW,
    kR,
    kBias,
    kLengths,
    kInitialH,
    kInitialC,
    kPeepholes,
    kInputs
  };

  Module& module() { return lowering_.graph().module(); }
  DType dtype() const { return node_.input(kX)->type().dtype; }

  Graph& add_body(const std::string& suffix) {
    const std::string name = node_.name().empty() ? "cell" : node_.name();
    return module().add_graph(name + suffix, GraphRole::kFused);
  }

  // ---- the products

  Result<Value*> add_products() {
    SLUICE_ASSIGN(Value * x, lowering_.dense(*node_.input(kX), &node_));
    Type type = x->type();
    type.dims[2] = Dim::fixed(cell_.columns());
    type.dtype = DType::kF32;
    SLUICE_ASSIGN(const MatMulSpec spec, product_spec(type, x->type()));
    MatrixPacking packing;
    packing.k = cell_.input;
    packing.n = cell_.columns();
    packing.transposed = true;
    packing.nr = choose_matmul_plan(spec, lowering_.profile()).nr;
    packing.dtype = spec.dtype;
    packing.in_pairs = spec.dtype == DType::kBF16;
    const auto pack = [&](Chain& chain) {
      chain.reshape({packing.n, packing.k});
      packing.pack(chain);
    };
    SLUICE_ASSIGN(Value * w, lowering_.packed(*node_.input(kW), pack, packing.loops(), &node_));
    Graph& body = product_body(*x, *w, packing, type);
    const KernelId kernel = lowering_.kernel(spec, generate_matmul);
    Node& made = lowering_.add_launch(node_, body, {x, w}, kernel);
    made.set(attributes::Fused::anchor, static_cast<int64_t>(body.node_count()) - 1);
    made.output().set_name(fmt::format("{}:products", node_.output().name()));
    return &made.output();
  }

  Result<MatMulSpec> product_spec(const Type& products, const Type& x) {
    const OperandSizes sizes(module(), {&products, &x});
    SLUICE_ASSIGN(const std::vector<Extent> dims, sizes.of(x));
    MatMulSpec spec;
    spec.dtype = x.dtype;
    spec.m = dims[0] * dims[1];
    spec.n = cell_.columns();
    spec.k = cell_.input;
    spec.a_row_stride = cell_.input;
    spec.b_packed = true;
    spec.c_row_stride = cell_.columns();
    spec.epilogue.math = lowering_.math();
    return spec;
  }

  // The body unpacks W as [input, columns].
  Graph& product_body(const Value& x, const Value& w, MatrixPacking packing, const Type& type) {
    Graph& body = add_body(":products");
    Value& rows = body.add_input(x.type_id(), x.name());
    Chain weights(body, body.add_input(w.type_id(), w.name()));
    packing.transposed = false;
    packing.unpack(weights);
    Node& product =
        body.add_node(Op::kMatMul, {&as_f32(body, rows), &as_f32(body, weights.value())}, 1);
    product.output().set_type(type);
    product.set_origins(node_.origins());
    body.add_output(product.output());
    return body;
  }

  // ---- the walk

  Result<void> add_walk(Value& products) {
    const std::vector<size_t> results = used_results();
    SLUICE_ASSIGN(const RecurrentSpec spec, walk_spec(products.type(), results));
    SLUICE_ASSIGN(const RecurrentPlan plan, choose_recurrent_plan(spec, lowering_.profile()));
    MatrixPacking packing;
    packing.batch = {cell_.directions, cell_.gates()};
    packing.k = packing.n = cell_.hidden;
    packing.transposed = true;
    packing.nr = plan.nr;
    packing.dtype = spec.dtype;
    const auto pack = [&](Chain& chain) {
      chain.reshape({cell_.directions, cell_.gates(), cell_.hidden, cell_.hidden});
      packing.pack(chain);
    };
    SLUICE_ASSIGN(Value * r, lowering_.packed(*node_.input(kR), pack, packing.loops(), &node_));
    std::vector<Value*> inputs = {&products, r};
    for (size_t i = kBias; i < kInputs; ++i) {
      if (node_.input(i) == nullptr) continue;
      SLUICE_ASSIGN(Value * input, lowering_.dense(*node_.input(i), &node_));
      inputs.push_back(input);
    }
    const WalkBody body = walk_body(inputs, packing, results);
    const KernelId kernel = lowering_.kernel(spec, generate_recurrent);
    Node& made = lowering_.add_launch(node_, body.graph, inputs, kernel);
    made.set(attributes::Fused::anchor, body.anchor);
    return lowering_.give_results(made, node_, results);
  }

  // A kernel has at least one result.
  std::vector<size_t> used_results() const {
    std::vector<size_t> used;
    for (size_t i = 0; i < node_.output_count(); ++i)
      if (node_.output(i).is_used()) used.push_back(i);
    return used.empty() ? std::vector<size_t>{0} : used;
  }

  // The sizes are dims of the products, which are the first operand that has both.
  Result<RecurrentSpec> walk_spec(const Type& products, const std::vector<size_t>& results) {
    std::vector<const Type*> operands;
    RecurrentSpec spec;
    for (const size_t result : results) {
      operands.push_back(&node_.output(result).type());
      (result == 0 ? spec.has_y : result == 1 ? spec.has_y_h : spec.has_y_c) = true;
    }
    operands.push_back(&products);
    const OperandSizes sizes(module(), operands);
    SLUICE_ASSIGN(const std::vector<Extent> dims, sizes.of(products));
    spec.cell = cell_;
    spec.steps = dims[cell_.is_batch_first ? 1 : 0];
    spec.batch = dims[cell_.is_batch_first ? 0 : 1];
    spec.has_bias = node_.input(kBias) != nullptr;
    spec.has_lengths = node_.input(kLengths) != nullptr;
    spec.has_h = node_.input(kInitialH) != nullptr;
    spec.has_c = node_.input(kInitialC) != nullptr;
    spec.has_peepholes = node_.input(kPeepholes) != nullptr;
    spec.dtype = dtype();
    spec.math = lowering_.math();
    return spec;
  }

  struct WalkBody {
    Graph& graph;
    int64_t anchor;  // the number of the cell among its nodes
  };

  WalkBody walk_body(const std::vector<Value*>& inputs, const MatrixPacking& packing,
                     const std::vector<size_t>& results) {
    Graph& body = add_body("");
    std::vector<Value*> placed;
    for (const Value* input : inputs)
      placed.push_back(&body.add_input(input->type_id(), input->name()));
    Chain recurrent(body, *placed[1]);
    packing.unpack(recurrent);
    recurrent.reshape({cell_.directions, cell_.gates() * cell_.hidden, cell_.hidden});
    std::vector<Value*> operands = {placed[0], &identity(body), &as_f32(body, recurrent.value())};
    size_t next = 2;
    for (size_t i = kBias; i < node_.input_count(); ++i) {
      const bool is_present = node_.input(i) != nullptr;
      operands.push_back(is_present ? &as_f32(body, *placed[next++]) : nullptr);
    }
    Node& cell = add_cell(body, operands);
    const auto anchor = static_cast<int64_t>(body.node_count()) - 1;
    for (const size_t result : results) body.add_output(cast(body, cell.output(result), dtype()));
    return {body, anchor};
  }

  Node& add_cell(Graph& body, const std::vector<Value*>& operands) {
    Node& cell = body.add_node(node_.op(), operands, node_.output_count());
    for (const Attribute& attribute : node_.attributes())
      cell.set_attribute(attribute.name, attribute.value);
    cell.set_name(node_.name());
    cell.set_origins(node_.origins());
    for (size_t i = 0; i < node_.output_count(); ++i) {
      Type type = node_.output(i).type();
      if (type.is_tensor()) type.dtype = DType::kF32;
      cell.output(i).set_type(type);
      cell.output(i).set_name(node_.output(i).name());
    }
    return cell;
  }

  // Returns the value in a dtype, cast to it where it has another.
  static Value& cast(Graph& body, Value& value, DType to) {
    if (value.type().dtype == to) return value;
    Node& node = body.add_node(Op::kCast, {&value}, 1);
    node.set(attributes::Cast::to, static_cast<int64_t>(to));
    Type type = value.type();
    type.dtype = to;
    node.output().set_type(type);
    return node.output();
  }

  // Lengths are integers, and stay.
  static Value& as_f32(Graph& body, Value& value) {
    return value.type().dtype == DType::kI32 ? value : cast(body, value, DType::kF32);
  }

  // Returns the identity matrix of all columns as [directions, rows, columns]; it has no bytes.
  Value& identity(Graph& body) {
    const int64_t extents[] = {cell_.columns(), cell_.columns()};
    const auto bytes = std::as_bytes(std::span(extents));
    const TypeId type = module().intern(Type::fixed_tensor(DType::kI64, {2}));
    Value& shape = body.add_constant(module().make_constant(type, {bytes.begin(), bytes.end()}));
    const Type square = Type::fixed_tensor(DType::kF32, {extents[0], extents[1]});
    Node& zeros = body.add_node(Op::kConstantOfShape, {&shape}, 1);
    zeros.output().set_type(square);
    Node& eye = body.add_node(Op::kEyeLike, {&zeros.output()}, 1);
    eye.output().set_type(square);
    Chain chain(body, eye.output());
    chain.reshape({cell_.directions, cell_.gates() * cell_.hidden, cell_.columns()});
    return chain.value();
  }

  Lowering& lowering_;
  Node& node_;
  RecurrentCell cell_;
};

}  // namespace

Result<void> lower_recurrent(Lowering& lowering, Node& node) {
  return RecurrentLowering(lowering, node).run();
}

}  // namespace sluice
