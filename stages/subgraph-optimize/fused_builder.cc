#include "stages/subgraph-optimize/fused_builder.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "common/ops/attributes.h"

namespace sluice {

FusedBuilder::FusedBuilder(Node& whole)
    : whole_(whole),
      old_body_(whole.op() == Op::kFused ? whole.get(attributes::Fused::body) : nullptr),
      body_(whole.graph().module().add_graph(whole.name().empty() ? "fused" : whole.name(),
                                             GraphRole::kFused)),
      mapper_(body_.module(), body_.module()) {}

Value& FusedBuilder::value(const Value& source) {
  if (const auto known = inside_.find(&source); known != inside_.end()) return *known->second;
  const Node* producer = source.producer();
  if (producer != nullptr && (old_body_ != nullptr || producer == &whole_))
    return copy(source, *producer);
  if (source.is_constant() && !source.is_input())
    return *(inside_[&source] = &mapper_.clone_constant(source, body_));
  Value* outside = const_cast<Value*>(&source);
  if (old_body_ != nullptr) {
    const auto place =
        std::ranges::find(old_body_->inputs(), outside) - old_body_->inputs().begin();
    outside = whole_.input(static_cast<size_t>(place));
  }
  return *(inside_[&source] = &input(*outside));
}

Value& FusedBuilder::copy(const Value& result, const Node& producer) {
  std::vector<Value*> inputs;
  for (size_t i = 0; i < producer.input_count(); ++i)
    inputs.push_back(producer.input(i) == nullptr ? nullptr : &value(*producer.input(i)));
  Node& copy = mapper_.clone_node(producer, inputs, body_);
  for (size_t k = 0; k < producer.output_count(); ++k)
    inside_[&producer.output(k)] = &copy.output(k);
  return copy.output(result.result());
}

void FusedBuilder::bind_constant(const Value& source, const Value& constant) {
  if (!inside_.contains(&source)) bind(source, mapper_.clone_constant(constant, body_));
}

Value& FusedBuilder::input(Value& outside) {
  outside_.push_back(&outside);
  return body_.add_input(outside.type_id(), outside.name());
}

Value& FusedBuilder::node(Op op, const std::vector<Value*>& inputs, size_t results) {
  Node& made = body_.add_node(op, inputs, results);
  made.set_origins(whole_.origins());
  return made.output(0);
}

Value& FusedBuilder::constant(DType dtype, const std::vector<int64_t>& extents,
                              std::vector<std::byte> bytes) {
  Module& module = body_.module();
  const TypeId type = module.intern(Type::fixed_tensor(dtype, extents));
  return body_.add_constant(module.make_constant(type, std::move(bytes)));
}

Value& FusedBuilder::longs(const std::vector<int64_t>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return constant(DType::kI64, {static_cast<int64_t>(numbers.size())},
                  {bytes.begin(), bytes.end()});
}

Value& FusedBuilder::element(DType dtype, uint64_t bits) {
  std::vector<std::byte> bytes(static_cast<size_t>(dtype_bits(dtype)) / 8);
  std::memcpy(bytes.data(), &bits, bytes.size());
  return constant(dtype, {}, std::move(bytes));
}

void FusedBuilder::add_result(Value& inside, Value* replaced) {
  body_.add_output(inside);
  replaced_.push_back(replaced);
}

Node& FusedBuilder::finish(const std::string& name) {
  Graph& graph = whole_.graph();
  Node& node = graph.add_node(Op::kFused, outside_, replaced_.size(), &whole_);
  node.set(attributes::Fused::body, GraphRef{body_.id()});
  node.set_name(name);
  node.set_origins(whole_.origins());
  node.placement = whole_.placement;
  for (size_t i = 0; i < replaced_.size(); ++i) {
    Value* old = replaced_[i];
    if (old == nullptr) continue;
    node.output(i).set_type(old->type_id());
    node.output(i).set_name(old->name());
    node.output(i).set_storage(old->storage_id());
    graph.replace_all_uses(*old, node.output(i));
  }
  return node;
}

}  // namespace sluice
