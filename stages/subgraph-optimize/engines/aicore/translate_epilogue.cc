#include <cstring>
#include <map>

#include "common/ir/module.h"
#include "common/ops/attributes.h"
#include "common/target/aicore.h"
#include "stages/subgraph-optimize/engines/aicore/contraction.h"

namespace sluice {
namespace {

// Returns the single element of an f32 constant of the graph.
std::optional<float> scalar_constant(const Value& value) {
  if (!value.is_constant() || value.is_input()) return std::nullopt;
  const Segment& segment = value.graph().module().segment(value.segment());
  const bool at_hand = segment.kind == SegmentKind::kSplat ||
                       (segment.kind == SegmentKind::kSmall && value.type().element_count() == 1);
  if (!at_hand || value.type().dtype != DType::kF32 || segment.data.size() != sizeof(float))
    return std::nullopt;
  float number = 0;
  std::memcpy(&number, segment.data.data(), sizeof(number));
  return number;
}

struct UnaryRow {
  Op op;
  EpilogueOp epilogue;
};
constexpr UnaryRow kUnary[] = {
    {Op::kRelu, EpilogueOp::kRelu},
    {Op::kSigmoid, EpilogueOp::kSigmoid},
    {Op::kTanh, EpilogueOp::kTanh},
    {Op::kErf, EpilogueOp::kErf},
    {Op::kExp, EpilogueOp::kExp},
    {Op::kSqrt, EpilogueOp::kSqrt},
    {Op::kNeg, EpilogueOp::kNeg},
    {Op::kAbs, EpilogueOp::kAbs},
    {Op::kReciprocal, EpilogueOp::kReciprocal},
};
constexpr UnaryRow kBinary[] = {
    {Op::kAdd, EpilogueOp::kAdd}, {Op::kSub, EpilogueOp::kSub}, {Op::kMul, EpilogueOp::kMul},
    {Op::kDiv, EpilogueOp::kDiv}, {Op::kMax, EpilogueOp::kMax}, {Op::kMin, EpilogueOp::kMin},
};

template <size_t N>
std::optional<EpilogueOp> find_row(const UnaryRow (&rows)[N], Op op) {
  for (const UnaryRow& row : rows) {
    if (row.op == op) return row.epilogue;
  }
  return std::nullopt;
}

class Translator {
 public:
  Translator(const Contraction& contraction, const EpilogueAddressing& addressing,
             const QuantizedContraction* quantized)
      : contraction_(contraction), addressing_(addressing), quantized_(quantized) {}

  Result<TranslatedEpilogue> run() {
    SLUICE_ASSIGN(int last, start());
    numbers_[&contraction_.anchor->output()] = last;
    if (contraction_.body != nullptr) {
      for (const Node& node : contraction_.body->nodes()) {
        if (quantized_ != nullptr && quantized_->is_own(node)) {
          SLUICE_ASSIGN(last, pass(node, last));
          continue;
        }
        if (&node == contraction_.anchor || makes_operand(node)) continue;
        SLUICE_ASSIGN(last, translate(node));
        numbers_[&node.output()] = last;
      }
      last = numbers_.at(contraction_.body->outputs()[0]);
    }
    return TranslatedEpilogue{builder_.finish(last), std::move(operands_)};
  }

 private:
  // Computes the anchor's own scaling and bias: alpha * accumulator + beta * bias.
  Result<int> start() {
    const Node& anchor = *contraction_.anchor;
    const bool gemm = anchor.op() == Op::kGemm;
    int value = builder_.accumulator();
    if (quantized_ != nullptr) {
      SLUICE_ASSIGN(value, scaled(value));
      if (is_integer_contraction(anchor.op())) return value;
    }
    if (const float alpha = gemm ? anchor.get(attributes::Gemm::alpha) : 1; alpha != 1)
      value = builder_.mul(value, builder_.constant(alpha));
    const Value* bias = anchor.op() == Op::kMatMul ? nullptr : anchor.input(2);
    const float beta = gemm ? anchor.get(attributes::Gemm::beta) : 1;
    if (bias == nullptr || beta == 0) return value;
    int term = 0;
    if (anchor.op() == Op::kConv) {
      term = load(*bias, addressing_.column);
    } else {
      SLUICE_ASSIGN(term, read(*bias));
    }
    if (beta != 1) term = builder_.mul(term, builder_.constant(beta));
    return builder_.add(value, term);
  }

  // Returns the scale of the result; aicore takes none that is not constant.
  Result<double> result_step() const {
    const auto step = known_number(contraction_, *quantized_->y.scale);
    if (step) return *step;
    return make_error(ErrorCode::kInternal, "{}: the scale of its result is no constant",
                      contraction_.node->label());
  }

  // Multiplies the sum by the scales of both operands; without nodes after the anchor also converts
  // it to steps of the result's scale.
  Result<int> scaled(int value) {
    double known = 1;
    const QuantizedContraction& q = *quantized_;
    if (contraction_.body == nullptr && q.y.scale != nullptr) {
      SLUICE_ASSIGN(const double step, result_step());
      known /= step;
    }
    std::vector<int> factors;
    for (const Value* scale : {q.x.scale, q.w.scale}) {
      if (scale == nullptr) continue;
      if (const auto number = known_number(contraction_, *scale)) {
        known *= *number;
      } else if (scale->type().element_count() == 1) {
        factors.push_back(load(*scale, EpilogueOperand::scalar()));
      } else {
        factors.push_back(load(*scale, addressing_.column));
      }
    }
    if (known != 1) factors.push_back(builder_.constant(static_cast<float>(known)));
    if (factors.empty()) return value;
    int factor = factors[0];
    for (size_t i = 1; i < factors.size(); ++i) factor = builder_.mul(factor, factors[i]);
    return builder_.mul(value, factor);
  }

  // Handles a node that the kernel's integers replace.
  Result<int> pass(const Node& node, int last) {
    if (&node == quantized_->cast) return numbers_[&node.output()] = numbers_.at(node.input(0));
    if (&node != quantized_->last) return last;
    SLUICE_ASSIGN(const int value, read(*node.input(0)));
    SLUICE_ASSIGN(const double step, result_step());
    return numbers_[&node.output()] =
               step == 1 ? value
                         : builder_.mul(value, builder_.constant(static_cast<float>(1 / step)));
  }

  int load(const Value& value, const EpilogueOperand& operand) {
    operands_.push_back(&value);
    return builder_.load(operand);
  }

  bool makes_operand(const Node& node) const {
    return find_operand_transpose(*contraction_.anchor, 0) == &node ||
           find_operand_transpose(*contraction_.anchor, 1) == &node;
  }

  Result<int> read(const Value& value) {
    if (const auto found = numbers_.find(&value); found != numbers_.end()) return found->second;
    int number = 0;
    if (const auto scalar = scalar_constant(value)) {
      number = builder_.constant(*scalar);
    } else {
      const auto shape = epilogue_shape(value.type(), *contraction_.anchor);
      if (!shape)
        return make_error(ErrorCode::kNotLowerable, "{}: an operand's shape fits no epilogue",
                          contraction_.node->label());
      switch (*shape) {
        case EpilogueShape::kScalar:
          number = load(value, EpilogueOperand::scalar());
          break;
        case EpilogueShape::kColumn:
          number = load(value, addressing_.column);
          break;
        case EpilogueShape::kRow:
          number = load(value, addressing_.row);
          break;
        case EpilogueShape::kFull:
          number = load(value, addressing_.full);
          break;
      }
    }
    numbers_[&value] = number;
    return number;
  }

  Result<int> translate(const Node& node) {
    SLUICE_ASSIGN(const int a, read(*node.input(0)));
    if (const auto unary = find_row(kUnary, node.op())) return builder_.unary(*unary, a);
    if (const auto binary = find_row(kBinary, node.op())) return fold(node, *binary, a);
    return activation(node, a);
  }

  // Max and Min take any number of inputs.
  Result<int> fold(const Node& node, EpilogueOp op, int a) {
    for (size_t i = 1; i < node.input_count(); ++i) {
      SLUICE_ASSIGN(const int b, read(*node.input(i)));
      a = builder_.binary(op, a, b);
    }
    return a;
  }

  Result<int> activation(const Node& node, int a) {
    switch (node.op()) {
      case Op::kClip:
        return clip(node, a);
      case Op::kLeakyRelu:
        return builder_.leaky_relu(a, node.get(attributes::LeakyRelu::alpha));
      case Op::kHardSigmoid:
        return hard_sigmoid(a, node.get(attributes::HardSigmoid::alpha),
                            node.get(attributes::HardSigmoid::beta));
      case Op::kHardSwish:
        return builder_.mul(a, hard_sigmoid(a, 1.0f / 6.0f, 0.5f));
      case Op::kGelu:
        return gelu(a, node.get(attributes::Gelu::approximate) == "tanh");
      case Op::kSwish: {
        const float alpha = node.get(attributes::Swish::alpha);
        const int scaled = alpha == 1 ? a : builder_.mul(a, builder_.constant(alpha));
        return builder_.mul(a, builder_.unary(EpilogueOp::kSigmoid, scaled));
      }
      case Op::kElu: {
        const int below = builder_.sub(builder_.unary(EpilogueOp::kExp, a), builder_.constant(1));
        return builder_.select_positive(
            a, a, builder_.mul(below, builder_.constant(node.get(attributes::Elu::alpha))));
      }
      default:
        return make_error(ErrorCode::kNotLowerable, "{}: {} cannot stand in an epilogue",
                          contraction_.node->label(), op_name(node.op()));
    }
  }

  Result<int> clip(const Node& node, int a) {
    if (node.input(1) != nullptr) {
      SLUICE_ASSIGN(const int low, read(*node.input(1)));
      a = builder_.binary(EpilogueOp::kMax, a, low);
    }
    if (node.input(2) != nullptr) {
      SLUICE_ASSIGN(const int high, read(*node.input(2)));
      a = builder_.binary(EpilogueOp::kMin, a, high);
    }
    return a;
  }

  int hard_sigmoid(int a, float alpha, float beta) {
    return builder_.clip(
        builder_.add(builder_.mul(a, builder_.constant(alpha)), builder_.constant(beta)), 0, 1);
  }

  // Computes 0.5 a (1 + erf(a / sqrt(2))), or with tanh(sqrt(2 / pi) a (1 + 0.044715 a^2)).
  int gelu(int a, bool by_tanh) {
    int argument = builder_.mul(a, builder_.constant(by_tanh ? 0.79788456F : 0.70710678F));
    if (by_tanh) {
      const int square = builder_.mul(builder_.mul(a, a), builder_.constant(0.044715F));
      argument = builder_.mul(argument, builder_.add(square, builder_.constant(1)));
    }
    const int curve = builder_.unary(by_tanh ? EpilogueOp::kTanh : EpilogueOp::kErf, argument);
    return builder_.mul(builder_.mul(a, builder_.constant(0.5F)),
                        builder_.add(curve, builder_.constant(1)));
  }

  const Contraction& contraction_;
  const EpilogueAddressing& addressing_;
  const QuantizedContraction* quantized_;
  EpilogueBuilder builder_;
  std::map<const Value*, int> numbers_;  // looked up only, never iterated
  std::vector<const Value*> operands_;
};

}  // namespace

Value* Contraction::outside(const Value& inside) const {
  if (body == nullptr) return const_cast<Value*>(&inside);
  for (size_t i = 0; i < body->inputs().size(); ++i) {
    if (body->inputs()[i] == &inside) return node->input(i);
  }
  return nullptr;
}

const Value& Contraction::source(size_t index) const {
  const Value& operand = *anchor->input(index);
  return transposes(index) ? *operand.producer()->input(0) : operand;
}

bool read_contraction(Node& node, Contraction& contraction) {
  if (is_contraction(node.op())) {
    contraction = {&node, &node, nullptr};
    return true;
  }
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  const Node* anchor = body == nullptr ? nullptr : find_anchor(*body);
  contraction = {&node, anchor, body};
  return anchor != nullptr;
}

std::optional<double> known_number(const Contraction& contraction, const Value& inside) {
  const Value* outside = contraction.outside(inside);
  return known_number(outside == nullptr ? inside : *outside);
}

Result<TranslatedEpilogue> translate_epilogue(const Contraction& contraction,
                                              const EpilogueAddressing& addressing,
                                              const QuantizedContraction* quantized) {
  return Translator(contraction, addressing, quantized).run();
}

}  // namespace sluice
