// Attention whose queries, keys and values lie differently, or whose mask hides keys by a score.
#include <cmath>
#include <limits>

#include "common/ops/attributes.h"
#include "common/tools/show_onnx/decompositions.h"
#include "common/tools/show_onnx/function_builder.h"

namespace sluice {
namespace {

using AttentionAttributes = attributes::Attention;

class AttentionFunction {
 public:
  explicit AttentionFunction(const Node& node) : node_(node), function_("Attention") {}

  onnx::FunctionProto make() && {
    Operand q = take(0, AttentionAttributes::q_num_heads);
    Operand k = take(1, AttentionAttributes::kv_num_heads);
    Operand v = take(2, AttentionAttributes::kv_num_heads);
    const std::string y = is_plain_attention(node_) ? plain(q, k, v) : by_operator(q, k, v);
    if (node_.input(0)->type().rank() == 4) return std::move(function_).finish(y);
    const std::string by_length = function_.transposed(y, {0, 2, 1, 3});
    const std::string flat = function_.reshaped(by_length, {0, 0, -1});
    return std::move(function_).finish(flat);
  }

 private:
  // Queries, keys or values by head, [batch, heads, length, size].
  struct Operand {
    std::string name;
    int64_t heads;
    Dim size;
  };

  Operand take(size_t index, const IntAttribute& heads_attribute) {
    const std::string name = function_.add_input();
    const std::vector<Dim>& dims = node_.input(index)->type().dims;
    if (dims.size() == 4) return {name, dims[1].value, dims[3]};
    const int64_t heads = node_.get(heads_attribute);
    const Dim size = dims[2].is_fixed() ? Dim::fixed(dims[2].value / heads) : Dim();
    const std::string apart = function_.reshaped(name, {0, 0, heads, -1});
    return {function_.transposed(apart, {0, 2, 1, 3}), heads, size};
  }

  std::string by_operator(const Operand& q, const Operand& k, const Operand& v) {
    std::vector<std::string> inputs = {q.name, k.name, v.name};
    for (size_t i = 3; i < node_.input_count(); ++i)
      inputs.push_back(node_.input(i) == nullptr ? "" : function_.add_input());
    std::string y = function_.add("Attention", inputs);
    for (const IntAttribute& each :
         {AttentionAttributes::is_causal, AttentionAttributes::softmax_precision}) {
      if (node_.has(each)) function_.set(each.name, node_.get(each));
    }
    for (const FloatAttribute& each : {AttentionAttributes::scale, AttentionAttributes::softcap}) {
      if (node_.has(each)) function_.set(each.name, node_.get(each));
    }
    return y;
  }

  std::string plain(const Operand& q, const Operand& k, const Operand& v) {
    const std::string scores = capped(scaled(q, repeated(k, q.heads)));
    const std::string weights = softmax(causal(masked(scores)));
    return function_.add("MatMul", {weights, repeated(v, q.heads)});
  }

  // Repeats each head of keys or values for the queries that read it.
  std::string repeated(const Operand& operand, int64_t heads) {
    if (operand.heads == heads) return operand.name;
    const std::string row = function_.add("Unsqueeze", {operand.name, function_.ints({2})});
    const std::string rows =
        function_.add("Concat", std::vector(static_cast<size_t>(heads / operand.heads), row));
    function_.set("axis", int64_t{2});
    const std::string size = function_.add("Shape", {operand.name});
    function_.set("start", int64_t{3});
    const std::string dims = function_.add("Concat", {function_.ints({0, heads, -1}), size});
    function_.set("axis", int64_t{0});
    return function_.add("Reshape", {rows, dims});
  }

  std::string scaled(const Operand& q, const std::string& k) {
    const std::string product =
        function_.add("MatMul", {q.name, function_.transposed(k, {0, 1, 3, 2})});
    return function_.add("Mul", {product, scale_of(q, product)});
  }

  std::string scale_of(const Operand& q, const std::string& like) {
    const float own = node_.get(AttentionAttributes::scale);
    if (own != 0) return function_.number_like(own, like);
    if (q.size.is_fixed())
      return function_.number_like(1 / std::sqrt(static_cast<float>(q.size.value)), like);
    const std::string size = function_.add("Shape", {q.name});
    function_.set("start", int64_t{3});
    const std::string root = function_.add("Sqrt", {function_.add("CastLike", {size, like})});
    return function_.add("Reciprocal", {root});
  }

  std::string capped(const std::string& scores) {
    const float cap = node_.get(AttentionAttributes::softcap);
    if (cap <= 0) return scores;
    const std::string limit = function_.number_like(cap, scores);
    const std::string part = function_.add("Tanh", {function_.add("Div", {scores, limit})});
    return function_.add("Mul", {part, limit});
  }

  std::string masked(const std::string& scores) {
    const Value* mask = node_.input(3);
    if (mask == nullptr) return scores;
    const std::string name = function_.add_input();
    if (mask->type().dtype != DType::kBool) return function_.add("Add", {scores, name});
    const float hidden = node_.has(AttentionAttributes::hidden_score)
                             ? node_.get(AttentionAttributes::hidden_score)
                             : -std::numeric_limits<float>::infinity();
    return function_.add("Where", {name, scores, function_.number_like(hidden, scores)});
  }

  std::string causal(const std::string& scores) {
    if (node_.get(AttentionAttributes::is_causal) == 0) return scores;
    const std::string dims = function_.add("Shape", {scores});
    function_.set("start", int64_t{-2});
    const std::string zeros = function_.add("ConstantOfShape", {dims});
    const std::string ones = function_.add("Add", {zeros, function_.number_like(1, zeros)});
    const std::string seen = function_.add("Trilu", {ones});
    function_.set("upper", int64_t{0});
    const std::string is_seen = function_.add("Cast", {seen});
    function_.set("to", static_cast<int64_t>(DType::kBool));
    const std::string hidden =
        function_.number_like(-std::numeric_limits<float>::infinity(), scores);
    return function_.add("Where", {is_seen, scores, hidden});
  }

  std::string softmax(const std::string& scores) {
    std::string weights = function_.add("Softmax", {scores});
    function_.set("axis", int64_t{-1});
    return weights;
  }

  const Node& node_;
  FunctionBuilder function_;
};

}  // namespace

onnx::FunctionProto attention_function(const Node& node) { return AttentionFunction(node).make(); }

}  // namespace sluice
