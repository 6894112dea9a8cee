#include "common/ops/bodies.h"

#include "common/ops/infer_steps.h"
#include "common/ops/refine.h"

namespace sluice {
namespace {

constexpr int kMaxBodyDepth = 64;
// Each round infers the body once and each nesting multiplies, so deeper bodies get no guesses.
constexpr int kMaxGuessDepth = 3;
constexpr int kMaxRounds = 4;

// The types of all values of a body and of the bodies in it.
class TypesOfBody {
 public:
  explicit TypesOfBody(Graph& body) { add(body, 0); }

  void restore() const {
    for (const auto& [value, type] : types_) value->set_type(type);
  }
  bool differ() const {
    for (const auto& [value, type] : types_) {
      if (value->type_id() != type) return true;
    }
    return false;
  }

 private:
  void add(Graph& body, int depth) {
    for (Value& value : body.values()) types_.emplace_back(&value, value.type_id());
    for (const Node& node : body.nodes()) {
      for (const GraphId inner : node.bodies()) {
        if (depth < kMaxBodyDepth && body.module().has_graph(inner))
          add(body.module().graph(inner), depth + 1);
      }
    }
  }

  std::vector<std::pair<Value*, TypeId>> types_;
};

// Returns the type of a carried value that is `now` and comes back as `next`. An optional may come
// back as its element, which means that it is present.
std::optional<Type> loop_carried_type(Module& module, const Type& now, const Type& next) {
  if (now.kind != TypeKind::kOptional || next.kind == TypeKind::kOptional)
    return generalize(module, now, next);
  const auto element = generalize(module, module.type(now.element), next);
  return element ? std::optional(Type::optional(module.intern(*element))) : std::nullopt;
}

// Returns the type with dtype and kind only.
Type without_shape(const Type& type) {
  return type.is_tensor() ? Type::unranked(type.dtype) : type;
}

}  // namespace

Result<Graph*> find_body(InferCall& call, const BodyAttribute& attribute) {
  Graph* body = call.node.get(attribute);
  if (body == nullptr) return call.bad_node("attribute '{}' names no graph", attribute.name);
  if (body->owner() != &call.node)
    return call.bad_node("graph '{}' belongs to another node", body->name());
  if (call.body_depth >= kMaxBodyDepth) {
    return make_error(ErrorCode::kLimit, "{}: more than {} bodies lie in one another",
                      call.node.label(), kMaxBodyDepth);
  }
  return body;
}

Result<void> check_body(const InferCall& call, const Graph& body, int64_t inputs, int64_t outputs) {
  if (inputs >= 0 && static_cast<int64_t>(body.inputs().size()) != inputs) {
    return call.bad_node("graph '{}' has {} inputs, expected {}", body.name(), body.inputs().size(),
                         inputs);
  }
  if (outputs >= 0 && static_cast<int64_t>(body.outputs().size()) != outputs) {
    return call.bad_node("graph '{}' has {} outputs, expected {}", body.name(),
                         body.outputs().size(), outputs);
  }
  return {};
}

Result<void> infer_body(InferCall& call, Graph& body, std::span<const BodyInput> inputs,
                        bool results, bool& changed) {
  ValueFacts facts(body);
  const std::string where = fmt::format("{}: graph '{}'", call.node.label(), body.name());
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value& input = *body.inputs()[i];
    SLUICE_TRY(refine_value(input, inputs[i].type, where, changed));
    const auto* elements =
        inputs[i].source >= 0 ? call.value(static_cast<size_t>(inputs[i].source)) : nullptr;
    if (elements != nullptr) facts.set(input, *elements);
  }
  auto inferred = infer_graph_in(body, facts, call.body_depth + 1);
  if (!inferred) return std::move(inferred).error().within(where);
  changed = changed || *inferred;
  for (size_t i = 0; results && i < body.outputs().size() && i < call.node.output_count(); ++i) {
    if (const auto* elements = facts.find(*body.outputs()[i]))
      call.facts.set(call.node.output(i), *elements);
  }
  return {};
}

Result<std::vector<Type>> infer_repeated_body(InferCall& call, Graph& body,
                                              std::vector<BodyInput> inputs, size_t first,
                                              size_t first_output, size_t count) {
  const TypesOfBody before(body);
  const bool guess = call.body_depth < kMaxGuessDepth;
  std::vector<Type> carried;
  for (size_t i = 0; i < count; ++i)
    carried.push_back(guess ? inputs[first + i].type : without_shape(inputs[first + i].type));
  for (int round = 1;; ++round) {
    for (size_t i = 0; i < count; ++i) inputs[first + i] = {carried[i]};
    bool ignored = false;
    SLUICE_TRY(infer_body(call, body, inputs, false, ignored));
    bool stable = true;
    for (size_t i = 0; i < count; ++i) {
      const Type& next = body.outputs()[first_output + i]->type();
      auto both = loop_carried_type(call.module, carried[i], next);
      if (!both) {
        return call.bad_shape("carried value {} is {} and then {}", i,
                              type_text(call.module, carried[i]), type_text(call.module, next));
      }
      if (round >= kMaxRounds && *both != carried[i]) *both = without_shape(*both);
      stable = stable && *both == carried[i];
      carried[i] = std::move(*both);
    }
    if (stable || round > kMaxRounds) break;
    before.restore();
  }
  for (size_t i = 0; i < count; ++i) {
    const Type& last = body.outputs()[first_output + i]->type();
    const bool unwrapped =
        carried[i].kind == TypeKind::kOptional && last.kind != TypeKind::kOptional;
    if (unwrapped && last.kind != TypeKind::kUnknown) carried[i] = last;
  }
  call.changed = call.changed || before.differ();
  return carried;
}

}  // namespace sluice
