#include "common/rules/instance.h"

#include <algorithm>
#include <cmath>

#include "common/eval/number.h"
#include "common/ops/attributes.h"
#include "common/ops/infer.h"
#include "common/ops/op_table.h"
#include "common/pass/number.h"
#include "common/rules/matcher.h"
#include "common/rules/term.h"

namespace sluice::rules {
namespace {

constexpr DType kCastTargets[] = {DType::kF32, DType::kF64, DType::kF16, DType::kI64};

// What conditions of the form rank(%a) == 2 say.
struct Hints {
  std::optional<int64_t> rank;
  std::optional<DType> dtype;
  std::optional<TermValue> value;
  bool is_constant = false;
};

class Drawing {
 public:
  Drawing(const Rule& rule, const Pattern& pattern, DType dtype, Random& random)
      : rule_(rule),
        pattern_(pattern),
        dtype_(dtype),
        random_(random),
        hints_(rule.values.size()),
        values_(rule.values.size(), nullptr) {}

  std::optional<Instance> run(std::string& reason) {
    for (const Term& condition : rule_.conditions) read_hint(condition);
    for (const Statement& statement : rule_.replacement) {
      for (const Operand& operand : statement.operands) need_values(operand.term);
      for (const AttributeTerm& attribute : statement.attributes) need_values(attribute.term);
    }
    Graph& graph = instance_.module.add_graph("instance");
    numbers_.resize(rule_.numbers.size());
    for (auto& number : numbers_) number = draw_real();
    for (int64_t& extent : palette_) extent = draw(1, 5);
    rank_ = draw(0, 4);
    range_ = draw(0, 2) > 0 ? 2 : std::max(10.0, 2 * largest_number());
    is_plain_ = draw(0, 1) == 0;
    if (draw(0, 1) == 0) palette_[0] = 1;
    if (draw(0, 3) == 0) palette_[1] = palette_[2] = palette_[0];
    for (const Hints& hints : hints_) {
      if (hints.rank && draw(0, 4) > 0) rank_ = *hints.rank;
    }
    same_shape_ = draw(0, 9) < 4;
    for (const Statement& statement : pattern_.statements) {
      for (const Operand& operand : statement.operands) draw_operand(operand, graph);
      if (!make(statement, graph, reason)) return std::nullopt;
    }
    for (const int32_t output : rule_.outputs) graph.add_output(*value(output));
    return std::move(instance_);
  }

 private:
  Value*& value(int32_t index) { return values_[static_cast<size_t>(index)]; }
  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  double draw_real() {
    constexpr double kReals[] = {0.5, 1, 2, -1, 1.5, 0.25, 1.702};
    return kReals[draw(0, std::ssize(kReals) - 1)];
  }

  // Returns the largest magnitude of the numbers in the pattern, where functions may change.
  double largest_number() const {
    constexpr double kMax = 1000;
    double largest = 0;
    for (const Statement& statement : pattern_.statements) {
      for (const Operand& operand : statement.operands) {
        const double magnitude = std::abs(operand.term.number);
        if (operand.kind == Operand::Kind::kTerm && magnitude <= kMax)
          largest = std::max(largest, magnitude);
      }
    }
    return largest;
  }

  void read_hint(const Term& condition) {
    need_values(condition);
    if (condition.kind == Term::Kind::kCall && condition.text == "constant")
      hints_[static_cast<size_t>(condition.terms[0].value)].is_constant = true;
    const bool is_near = condition.kind == Term::Kind::kCall && condition.text == "near";
    if (is_near) read_value_hint(condition.terms[0], condition.terms[1]);
    if (is_near) spread_value_hint(condition);
    if (condition.kind != Term::Kind::kBinary) return;
    const Term& call = condition.terms[0];
    const Term& other = condition.terms[1];
    const bool is_about_value = call.kind == Term::Kind::kCall && !call.terms.empty() &&
                                call.terms[0].kind == Term::Kind::kValue;
    if (!is_about_value) return;
    Hints& hints = hints_[static_cast<size_t>(call.terms[0].value)];
    const bool is_bound = condition.text == "==" || condition.text == ">=";
    if (call.text == "rank" && is_bound && other.kind == Term::Kind::kInteger)
      hints.rank =
          static_cast<int64_t>(other.number) + (condition.text == ">=" ? draw(0, 2) : int64_t{0});
    if (condition.text != "==") return;
    read_value_hint(call, other);
    if (call.text == "dtype" && other.kind == Term::Kind::kWord)
      hints.dtype = dtype_from_name(other.text);
  }

  // value(%c) == 0.5
  void read_value_hint(const Term& call, const Term& literal) {
    const bool is_about_value = call.kind == Term::Kind::kCall && call.text == "value" &&
                                call.terms[0].kind == Term::Kind::kValue;
    const bool is_literal =
        literal.kind == Term::Kind::kInteger || literal.kind == Term::Kind::kReal ||
        literal.kind == Term::Kind::kList || literal.kind == Term::Kind::kNegative;
    if (!is_about_value || !is_literal) return;
    Bindings none;
    none.values.resize(rule_.values.size());
    none.numbers.resize(rule_.numbers.size());
    hints_[static_cast<size_t>(call.terms[0].value)].value = evaluate_term(literal, rule_, none);
  }

  // near(value(%c), 0.5, 0.1): any number there, not only the one in the middle.
  void spread_value_hint(const Term& near) {
    const Term& call = near.terms[0];
    const bool is_about_value = call.kind == Term::Kind::kCall && call.text == "value";
    const bool is_number =
        near.terms[2].kind == Term::Kind::kReal || near.terms[2].kind == Term::Kind::kInteger;
    if (!is_about_value || !is_number) return;
    auto& hint = hints_[static_cast<size_t>(call.terms[0].value)].value;
    const auto middle = hint ? hint->number() : std::nullopt;
    if (!middle) return;
    const double tolerance = near.terms[2].number;
    hint->content =
        *middle + std::uniform_real_distribution<double>(-tolerance, tolerance)(random_);
  }

  // What value(%c) is asked of must be a constant.
  void need_values(const Term& term) {
    if (term.kind == Term::Kind::kCall && term.text == "value" && !term.terms.empty() &&
        term.terms[0].kind == Term::Kind::kValue)
      hints_[static_cast<size_t>(term.terms[0].value)].is_constant = true;
    for (const Term& each : term.terms) need_values(each);
  }

  void draw_operand(const Operand& operand, Graph& graph) {
    if (operand.kind != Operand::Kind::kValue || value(operand.value) != nullptr ||
        pattern_.makers[static_cast<size_t>(operand.value)] >= 0)
      return;
    const Hints& hints = hints_[static_cast<size_t>(operand.value)];
    const std::string& name = rule_.values[static_cast<size_t>(operand.value)];
    if (hints.value) {
      value(operand.value) = constant_of(*hints.value, hints.dtype.value_or(dtype_), graph);
      return;
    }
    const bool is_list = !hints.rank && !hints.dtype && draw(0, 5) == 0;
    if (is_list) {
      value(operand.value) = &add_ints(graph, draw_ints());
      return;
    }
    const bool is_scalar = hints.is_constant && draw(0, 2) > 0;
    Tensor tensor = draw_tensor(hints.dtype.value_or(dtype_),
                                is_scalar ? std::vector<int64_t>() : draw_dims(hints));
    const TypeId type = instance_.module.intern(Type::fixed_tensor(tensor.dtype, tensor.dims));
    if (hints.is_constant) {
      value(operand.value) = &graph.add_constant(instance_.module.make_constant(
          type, std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end())));
      return;
    }
    value(operand.value) = &graph.add_input(type, name);
    instance_.inputs.push_back(std::move(tensor));
  }

  // Axes and shapes.
  std::vector<int64_t> draw_ints() {
    const std::vector<int64_t> lists[] = {{-1}, {0}, {1}, {0, -1}, {0, 1}, {1, 0}, {-1, 1}, {2}};
    return lists[draw(0, std::ssize(lists) - 1)];
  }

  std::vector<int64_t> draw_dims(const Hints& hints) {
    const bool is_usual = draw(0, 9) < 7;
    const int64_t rank = hints.rank.value_or(same_shape_ || is_usual ? rank_ : draw(0, 4));
    if (same_shape_ && static_cast<int64_t>(shape_.size()) == rank && !shape_.empty())
      return shape_;
    std::vector<int64_t> dims;
    for (int64_t i = 0; i < rank; ++i) dims.push_back(palette_[draw(0, 2)]);
    if (shape_.empty()) shape_ = dims;
    return dims;
  }

  Tensor draw_tensor(DType dtype, const std::vector<int64_t>& dims) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.dims = dims;
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    const auto width = static_cast<size_t>(dtype_bits(dtype)) / 8;
    tensor.bytes.resize(static_cast<size_t>(count) * width);
    std::uniform_real_distribution<double> reals(-range_, range_);
    std::vector<double> numbers(static_cast<size_t>(count));
    for (double& number : numbers)
      number = dtype_is_float(dtype) ? reals(random_) : static_cast<double>(draw(-4, 4));
    if (dtype == DType::kBool)
      for (double& number : numbers) number = number > 0 ? 1 : 0;
    eval::store_doubles(dtype, tensor.bytes.data(), 0, count, numbers.data());
    return tensor;
  }

  bool make(const Statement& statement, Graph& graph, std::string& reason) {
    if (statement.form == Statement::Form::kProduct) return make_product(statement, graph, reason);
    if (statement.form == Statement::Form::kPolynomial)
      return make_polynomial(statement, graph, reason);
    if (statement.optional && draw(0, 1) == 0) {
      value(statement.results[0]) = value(statement.operands[0].value);
      return true;
    }
    const Op op = statement.ops[static_cast<size_t>(draw(0, std::ssize(statement.ops) - 1))];
    std::vector<Value*> inputs;
    for (const Operand& operand : statement.operands)
      inputs.push_back(operand_value(operand, statement, graph));
    const OpRow* row = find_op(op);
    const int64_t max_inputs = row->max_inputs < 0 ? std::ssize(inputs) + 2 : row->max_inputs;
    if (statement.has_more) {
      for (int64_t more = draw(0, std::max<int64_t>(0, max_inputs - std::ssize(inputs))); more > 0;
           --more)
        inputs.push_back(draw_any(graph));
    }
    while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
    if (statement.commuted && draw(0, 1) == 0) std::swap(inputs[0], inputs[1]);
    Node& node = graph.add_node(op, inputs, statement.results.size());
    draw_attributes(statement, node);
    for (size_t i = 0; i < statement.results.size(); ++i) {
      if (statement.results[i] >= 0) value(statement.results[i]) = &node.output(i);
    }
    return infer(node, reason);
  }

  // An operand of which the pattern says nothing: none, a list, or like the others.
  Value* draw_any(Graph& graph) {
    const int64_t kind = draw(0, 3);
    if (kind == 0) return nullptr;
    if (kind == 1) return &add_ints(graph, draw_ints());
    Tensor tensor = draw_tensor(dtype_, kind == 2 ? std::vector<int64_t>() : draw_dims({}));
    const TypeId type = instance_.module.intern(Type::fixed_tensor(tensor.dtype, tensor.dims));
    return &graph.add_constant(instance_.module.make_constant(
        type, std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end())));
  }

  Value* operand_value(const Operand& operand, const Statement& statement, Graph& graph) {
    if (operand.kind == Operand::Kind::kValue) return value(operand.value);
    if (operand.kind == Operand::Kind::kAnything) return draw_any(graph);
    if (operand.kind != Operand::Kind::kTerm) return nullptr;
    Bindings none;
    none.values.resize(rule_.values.size());
    none.numbers = numbers_;
    DType dtype = dtype_;
    for (const Operand& other : statement.operands) {
      if (other.kind == Operand::Kind::kValue && value(other.value) != nullptr)
        dtype = value(other.value)->type().dtype;
    }
    return constant_of(evaluate_term(operand.term, rule_, none), dtype, graph);
  }

  // A rule says of attributes that it does not name that it holds for all their values.
  void draw_attributes(const Statement& statement, Node& node) {
    Bindings none;
    none.values.resize(rule_.values.size());
    none.numbers = numbers_;
    const OpRow* row = find_op(node.op());
    for (const AttributeRow& attribute : row->attributes) {
      const auto given =
          std::ranges::find(statement.attributes, attribute.name, &AttributeTerm::name);
      if (given != statement.attributes.end()) {
        const auto made =
            attribute_of(evaluate_term(given->term, rule_, none), node.op(), attribute.name);
        if (made) node.set_attribute(attribute.name, *made);
      } else if (attribute.required || (!is_plain_ && draw(0, 1) == 0)) {
        draw_attribute(attribute, node);
      }
    }
  }

  void draw_attribute(const AttributeRow& row, Node& node) {
    if (row.name == "to") {
      node.set(attributes::Cast::to, static_cast<int64_t>(kCastTargets[draw(0, 3)]));
    } else if (row.kind == AttributeKind::kInt) {
      node.set_attribute(row.name, draw(-2, 2));
    } else if (row.kind == AttributeKind::kFloat) {
      node.set_attribute(row.name, static_cast<float>(draw_real()));
    } else if (row.kind == AttributeKind::kInts) {
      node.set_attribute(row.name, draw_permutation(node));
    } else if (row.kind == AttributeKind::kString && !row.words.empty()) {
      std::vector<std::string> words;
      for (std::string_view left = row.words; !left.empty();) {
        const std::string_view word = left.substr(0, left.find(' '));
        words.emplace_back(word);
        left.remove_prefix(std::min(left.size(), word.size() + 1));
      }
      node.set_attribute(row.name, words[static_cast<size_t>(draw(0, std::ssize(words) - 1))]);
    }
  }

  // Either a permutation of the operand's axes or a small list.
  std::vector<int64_t> draw_permutation(const Node& node) {
    const Type* type = node.input(0) == nullptr ? nullptr : &node.input(0)->type();
    if (type == nullptr || !type->is_tensor() || draw(0, 2) == 0) return draw_ints();
    // Nodes with equal lists are drawn often, since patterns ask for them.
    if (last_axes_.size() == type->dims.size() && draw(0, 1) == 0) return last_axes_;
    std::vector<int64_t> axes(type->dims.size());
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
    std::ranges::shuffle(axes, random_);
    last_axes_ = axes;
    return axes;
  }

  Value* add(Op op, const std::vector<Value*>& inputs, Graph& graph, std::string& reason) {
    if (inputs[1] == nullptr) return nullptr;
    Node& node = graph.add_node(op, inputs);
    return infer(node, reason) ? &node.output() : nullptr;
  }

  bool make_product(const Statement& statement, Graph& graph, std::string& reason) {
    std::vector<Value*> factors;
    for (const Operand& operand : statement.operands) factors.push_back(value(operand.value));
    Bindings none;
    none.numbers = numbers_;
    const TermValue factor = statement.attributes.empty()
                                 ? TermValue{}
                                 : evaluate_term(statement.attributes[0].term, rule_, none);
    if (factor.is_known()) factors.push_back(constant_of(factor, factors[0]->type().dtype, graph));
    std::ranges::shuffle(factors, random_);
    Value* product = factors[0];
    for (size_t i = 1; i < factors.size() && product != nullptr; ++i)
      product = add(Op::kMul, {product, factors[i]}, graph, reason);
    value(statement.results[0]) = product;
    return product != nullptr;
  }

  // Horner's scheme.
  bool make_polynomial(const Statement& statement, Graph& graph, std::string& reason) {
    Value* x = value(statement.operands[0].value);
    const std::vector<Term>& terms = statement.attributes[0].term.terms;
    Value* sum = add_number(graph, x->type().dtype, terms.back().number);
    for (size_t i = terms.size() - 1; i-- > 0 && sum != nullptr;) {
      sum = add(Op::kMul, {x, sum}, graph, reason);
      if (sum != nullptr && terms[i].number != 0)
        sum = add(Op::kAdd, {sum, add_number(graph, x->type().dtype, terms[i].number)}, graph,
                  reason);
    }
    value(statement.results[0]) = sum;
    return sum != nullptr;
  }

  static bool infer(Node& node, std::string& reason) {
    ValueFacts facts(node.graph());
    auto inferred = infer_node(node, facts);
    if (!inferred) reason = inferred.error().message;
    if (!inferred) return false;
    return true;
  }

  const Rule& rule_;
  const Pattern& pattern_;
  DType dtype_;
  Random& random_;
  std::vector<Hints> hints_;
  Instance instance_;
  std::vector<Value*> values_;
  std::vector<std::optional<double>> numbers_;
  int64_t palette_[3] = {};
  int64_t rank_ = 0;
  bool same_shape_ = false;
  std::vector<int64_t> last_axes_;
  double range_ = 2;       // of the elements of floats
  bool is_plain_ = false;  // attributes that may be left out are
  std::vector<int64_t> shape_;
};

}  // namespace

std::optional<Instance> draw_instance(const Rule& rule, const Pattern& pattern, DType dtype,
                                      Random& random, std::string& reason) {
  return Drawing(rule, pattern, dtype, random).run(reason);
}

}  // namespace sluice::rules
