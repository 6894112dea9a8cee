// Splits recurrent cells into two nodes: the products of all steps with W, and the walk along the
// sequences.
//
//   before:  %y, %y_h, %y_c = LSTM(%x, %w, %r, %b)
//   after:   %p = Fused(%x, %w) { %m = Transpose(Reshape(%w, [columns, inputs]))
//                                 %p = MatMul(%x, %m) }
//            %y, %y_h = Fused(%p, %r, %b) { %y, %y_h, %y_c = LSTM(%p, identity, %r, %b) }
//
// Legal because a step reads its input only as the product with W, and the identity, whose rows are
// those of all directions' gates, hands every gate its own column of the products. Of a cell in 16
// bits the bodies compute in f32, as the kernels do: they cast what they read and what they give.
// Results that nothing reads are dropped. The kernels, and how they have W and R packed, are left
// to lower-subgraphs.
#include "common/ops/attributes.h"
#include "common/target/aicore.h"
#include "common/target/recurrent.h"
#include "stages/subgraph-optimize/engines/aicore/chain.h"
#include "stages/subgraph-optimize/passes/passes.h"
#include "stages/subgraph-optimize/split_nodes.h"

namespace sluice {
namespace {

class CellSplitter {
 public:
  explicit CellSplitter(Node& node) : node_(node), cell_(read_recurrent(node)) {}

  // The products wait for nothing but their operands: the control edges are the walk's.
  std::vector<Node*> run() { return {&add_walk(add_products())}; }

 private:
  enum CellInput : size_t { kX, kW, kR, kBias };

  Module& module() { return node_.graph().module(); }
  DType dtype() const { return node_.input(kX)->type().dtype; }

  Graph& add_body(const std::string& suffix) {
    const std::string name = node_.name().empty() ? "cell" : node_.name();
    return module().add_graph(name + suffix, GraphRole::kFused);
  }

  Value& add_input(Graph& body, std::vector<Value*>& inputs, size_t input) {
    inputs.push_back(node_.input(input));
    return body.add_input(inputs.back()->type_id(), inputs.back()->name());
  }

  Node& add_fused(const Graph& body, const std::vector<Value*>& inputs) {
    Node& made = node_.graph().add_node(Op::kFused, inputs, body.outputs().size(), &node_);
    made.set(attributes::Fused::body, GraphRef{body.id()});
    made.set_origins(node_.origins());
    made.placement = node_.placement;
    for (size_t i = 0; i < body.outputs().size(); ++i)
      made.output(i).set_type(body.outputs()[i]->type_id());
    return made;
  }

  // ---- the products

  Value& add_products() {
    Graph& body = add_body(":products");
    std::vector<Value*> inputs;
    Value& rows = add_input(body, inputs, kX);
    Chain weights(body, add_input(body, inputs, kW));
    weights.reshape({cell_.columns(), cell_.input}).transpose({1, 0});
    Node& product =
        body.add_node(Op::kMatMul, {&as_f32(body, rows), &as_f32(body, weights.value())}, 1);
    product.output().set_type(type_of_products());
    product.set_origins(node_.origins());
    body.add_output(product.output());
    Value& products = add_fused(body, inputs).output();
    products.set_name(fmt::format("{}:products", node_.output().name()));
    return products;
  }

  Type type_of_products() const {
    Type type = node_.input(kX)->type();
    type.dims[2] = Dim::fixed(cell_.columns());
    type.dtype = DType::kF32;
    return type;
  }

  // ---- the walk

  Node& add_walk(Value& products) {
    Graph& body = add_body("");
    std::vector<Value*> inputs = {&products};
    std::vector<Value*> read = {&body.add_input(products.type_id(), products.name())};
    for (size_t i = kR; i < node_.input_count(); ++i)
      read.push_back(node_.input(i) == nullptr ? nullptr : &add_input(body, inputs, i));
    std::vector<Value*> operands = {read[0], &identity(body)};
    for (size_t i = 1; i < read.size(); ++i)
      operands.push_back(read[i] == nullptr ? nullptr : &as_f32(body, *read[i]));
    const Node& cell = add_cell(body, operands);
    const std::vector<size_t> results = used_results();
    for (const size_t result : results) body.add_output(cast(body, cell.output(result), dtype()));
    Node& walk = add_fused(body, inputs);
    walk.set_name(node_.name());
    for (size_t i = 0; i < results.size(); ++i) replace(node_.output(results[i]), walk.output(i));
    return walk;
  }

  void replace(Value& old, Value& made) {
    made.set_name(old.name());
    made.set_storage(old.storage_id());
    node_.graph().replace_all_uses(old, made);
  }

  // A kernel has at least one result.
  std::vector<size_t> used_results() const {
    std::vector<size_t> used;
    for (size_t i = 0; i < node_.output_count(); ++i)
      if (node_.output(i).is_used()) used.push_back(i);
    return used.empty() ? std::vector<size_t>{0} : used;
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

  Node& node_;
  RecurrentCell cell_;
};

std::vector<Node*> split_cell(Node& node) {
  if (!is_recurrent(node.op()) || !aicore_unsupported_reason(node).empty()) return {};
  return CellSplitter(node).run();
}

}  // namespace

Result<bool> split_recurrent_cells(Graph& root, const Options&) {
  return split_nodes(root, engine_name(EngineId::kAicore), split_cell);
}

}  // namespace sluice
