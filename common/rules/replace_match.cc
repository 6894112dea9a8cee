#include "common/rules/replace_match.h"

#include <algorithm>

#include "common/ops/op_table.h"
#include "common/ops/refine.h"
#include "common/pass/fold_over_constants.h"
#include "common/pass/rewriter.h"

namespace sluice::rules {
namespace {

class MatchReplacer {
 public:
  MatchReplacer(Editor& editor, const Rule& rule, const Match& match, ValueFacts* facts,
                bool has_types)
      : editor_(editor),
        rule_(rule),
        match_(match),
        facts_(facts),
        has_types_(has_types),
        replacement_(editor, match.nodes),
        old_(match.bindings),
        values_(match.bindings) {}

  Replaced run() {
    Replaced result;
    result.obstacle = storage_obstacle();
    for (const Statement& statement : rule_.replacement) {
      if (result.obstacle.empty()) result.obstacle = make(statement);
    }
    if (result.obstacle.empty()) result.obstacle = identity_obstacle();
    if (result.obstacle.empty()) result.obstacle = types_obstacle();
    if (!result.obstacle.empty()) return result;
    std::vector<std::pair<Value*, Value*>> outputs;
    for (size_t i = 0; i < rule_.outputs.size(); ++i) {
      Value* from = old_value(rule_.outputs[i]);
      Value* to = value(rule_.sources[i]);
      result.types_changed = result.types_changed || from->type_id() != to->type_id();
      from->set_type(to->type_id());
      outputs.emplace_back(from, to);
    }
    replacement_.commit(outputs);
    result.made = replacement_.made();
    return result;
  }

 private:
  Value* old_value(int32_t index) const { return old_.values[static_cast<size_t>(index)]; }
  Value*& value(int32_t index) { return values_.values[static_cast<size_t>(index)]; }

  // A value that is stored in a format, or within another one, has readers that count on it.
  std::string storage_obstacle() const {
    for (const Node* node : match_.nodes) {
      for (size_t i = 0; i < node->output_count(); ++i) {
        if (node->output(i).storage() != nullptr)
          return fmt::format("the result of {} is stored in a format", node->label());
      }
      for (size_t i = 0; i < node->input_count(); ++i) {
        if (node->input(i) != nullptr && node->input(i)->storage() != nullptr)
          return fmt::format("operand {} of {} is stored in a format", i, node->label());
      }
    }
    return {};
  }

  // Returns the dtype of the first operand that is a value, but for conditions of a Where: numbers
  // beside it have it, too.
  DType dtype_of(const Statement& statement) {
    if (!has_types_) return DType::kUndefined;
    DType dtype = match_.nodes.back()->output().type().dtype;
    for (auto operand = statement.operands.rbegin(); operand != statement.operands.rend();
         ++operand) {
      if (operand->kind != Operand::Kind::kValue) continue;
      const DType found = value(operand->value)->type().dtype;
      if (found != DType::kBool || statement.ops[0] != Op::kWhere) dtype = found;
    }
    return dtype;
  }

  // An Identity of a model's output that becomes an input would be made again.
  std::string identity_obstacle() {
    for (size_t i = 0; i < rule_.outputs.size(); ++i) {
      const Value& from = *old_value(rule_.outputs[i]);
      const Value* to = rule_.sources[i] == rule_.outputs[i] ? nullptr : value(rule_.sources[i]);
      const bool is_copy = to != nullptr && match_.nodes.size() == 1 &&
                           from.producer()->op() == Op::kIdentity && is_model_output(from);
      if (is_copy) return fmt::format("'{}' is an output of the model", from.name());
    }
    return {};
  }

  std::string make(const Statement& statement) {
    if (statement.ops.empty()) {
      value(statement.results[0]) = value(statement.operands[0].value);
      return {};
    }
    std::vector<Value*> inputs;
    for (const Operand& operand : statement.operands) {
      if (operand.kind == Operand::Kind::kValue) inputs.push_back(value(operand.value));
      if (operand.kind == Operand::Kind::kAbsent) inputs.push_back(nullptr);
      if (operand.kind != Operand::Kind::kTerm) continue;
      const TermValue number = evaluate_term(operand.term, rule_, old_);
      inputs.push_back(constant_of(number, dtype_of(statement), editor_.graph()));
      if (inputs.back() == nullptr) {
        return fmt::format("operand {} of the new {} is {}, which is {}", inputs.size() - 1,
                           op_name(statement.ops[0]), operand.term.spelling, shown_value(number));
      }
    }
    Node& node = replacement_.add(statement.ops[0], inputs, statement.results.size());
    for (size_t i = 0; i < statement.results.size(); ++i)
      name_result(statement.results[i], node, i);
    if (std::string obstacle = set_attributes(statement, node); !obstacle.empty()) return obstacle;
    return infer(node);
  }

  // The result that replaces another one has its type, so that a contradiction shows.
  void name_result(int32_t index, Node& node, size_t result) {
    if (index < 0) return;
    if (std::ranges::find(rule_.outputs, index) != rule_.outputs.end())
      node.output(result).set_type(old_value(index)->type_id());
    value(index) = &node.output(result);
  }

  // Copies what the new op has, too.
  static void copy_attributes(const Node& like, Node& node) {
    const OpRow* row = find_op(node.op());
    for (const Attribute& attribute : like.attributes()) {
      const bool is_known = std::ranges::find(row->attributes, attribute.name,
                                              &AttributeRow::name) != row->attributes.end();
      if (is_known) node.set_attribute(attribute.name, attribute.value);
    }
  }

  std::string set_attributes(const Statement& statement, Node& node) {
    const bool is_there = statement.like >= 0 &&
                          std::ranges::find(old_.left_out, statement.like) == old_.left_out.end();
    if (is_there) copy_attributes(*old_value(statement.like)->producer(), node);
    for (const AttributeTerm& attribute : statement.attributes) {
      const TermValue found = evaluate_term(attribute.term, rule_, old_);
      auto made = attribute_of(found, node.op(), attribute.name);
      if (!made) {
        return fmt::format("attribute '{}' of the new {} is {}, which is {}", attribute.name,
                           op_name(node.op()), attribute.term.spelling, shown_value(found));
      }
      // What a node without the attribute means is not spelled out.
      if (attribute_or_default(node, attribute.name) != made)
        node.set_attribute(attribute.name, std::move(*made));
    }
    return {};
  }

  std::string infer(Node& node) {
    if (facts_ == nullptr) {
      auto fits = check_signature(node);
      return fits ? std::string() : fits.error().message;
    }
    const size_t mark = editor_.graph().module().expressions.mark();
    auto inferred = infer_node(node, *facts_);
    if (inferred) return {};
    editor_.graph().module().expressions.forget_since(mark);
    return inferred.error().message;
  }

  std::string types_obstacle() {
    const Module& module = editor_.graph().module();
    for (size_t i = 0; i < rule_.outputs.size() && facts_ != nullptr; ++i) {
      const Value& from = *old_value(rule_.outputs[i]);
      const Value& to = *value(rule_.sources[i]);
      if (from.type_id() == to.type_id()) continue;
      const bool is_made = rule_.sources[i] == rule_.outputs[i];
      if (is_made) continue;  // inference has refined the type of the old one
      return fmt::format(
          "%{} is {}, and %{}, which would take its place, is {}",
          rule_.values[static_cast<size_t>(rule_.outputs[i])], type_text(module, from.type()),
          rule_.values[static_cast<size_t>(rule_.sources[i])], type_text(module, to.type()));
    }
    return {};
  }

  Editor& editor_;
  const Rule& rule_;
  const Match& match_;
  ValueFacts* facts_;
  bool has_types_;
  Replacement replacement_;
  const Bindings& old_;
  Bindings values_;
};

}  // namespace

Replaced replace_match(Editor& editor, const Rule& rule, const Match& match, ValueFacts* facts,
                       bool has_types) {
  Replaced result = MatchReplacer(editor, rule, match, facts, has_types).run();
  if (facts == nullptr) return result;
  std::vector<Node*> left;
  for (Node* node : result.made) {
    if (!fold_over_constants(editor, *node)) left.push_back(node);
  }
  result.made = std::move(left);
  return result;
}

}  // namespace sluice::rules
