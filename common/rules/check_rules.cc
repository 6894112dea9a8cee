#include "common/rules/check_rules.h"

#include <algorithm>
#include <cmath>

#include "common/eval/eval.h"
#include "common/eval/number.h"
#include "common/ops/refine.h"
#include "common/rules/instance.h"
#include "common/rules/matcher.h"
#include "common/rules/places.h"
#include "common/rules/replace_match.h"

namespace sluice::rules {
namespace {

constexpr int kAttempts = 2000;  // for each pattern and dtype
constexpr size_t kInstances = 10;
constexpr uint64_t kSeed = 20261130;    // the same for every file: comments change no verdict
constexpr int kSteadyAttempts = 20000;  // for a pattern with nothing found yet

struct TriedDType {
  DType dtype;
  double tolerance;  // of the largest magnitude, or of 1
};
constexpr TriedDType kFloats[] = {{DType::kF32, 2e-4}, {DType::kF64, 1e-6}, {DType::kF16, 3e-2}};
constexpr TriedDType kOthers[] = {{DType::kI64, 0}, {DType::kI32, 0}, {DType::kBool, 0}};

// Conditions on names, symbols and the model's outputs say where a rule is used, and not when it
// holds; drawn graphs have none of these.
bool is_about_place(const Term& term) {
  const bool is_one = term.kind == Term::Kind::kCall &&
                      (term.text == "scope" || term.text == "symbolic" || term.text == "output");
  return is_one || std::ranges::any_of(term.terms, is_about_place);
}

bool is_finite(const Tensor& tensor) {
  if (!dtype_is_float(tensor.dtype)) return true;
  int64_t count = 1;
  for (const int64_t dim : tensor.dims) count *= dim;
  std::vector<double> numbers(static_cast<size_t>(count));
  eval::load_doubles(tensor.dtype, tensor.bytes.data(), 0, count, numbers.data());
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

Result<std::vector<Tensor>> values_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<EvalValue> values;
  for (const Tensor& input : inputs) values.push_back(EvalValue::of(input));
  SLUICE_ASSIGN(const std::vector<EvalValue> results, evaluate_graph(graph, std::move(values)));
  std::vector<Tensor> tensors;
  for (const EvalValue& result : results) {
    if (result.kind != EvalValue::Kind::kTensor)
      return make_error(ErrorCode::kNotEvaluable, "a result is no tensor");
    tensors.push_back(*result.tensor);
  }
  return tensors;
}

// Returns "element 3 is 0.25, and 0.5 after the replacement", or nothing for values that agree.
std::string difference(const Tensor& before, const Tensor& after, double tolerance) {
  if (before.dtype != after.dtype || before.dims != after.dims)
    return "it has another type after the replacement";
  if (!dtype_is_float(before.dtype)) {
    const bool same = std::ranges::equal(before.bytes, after.bytes);
    return same ? "" : "it has other elements after the replacement";
  }
  int64_t count = 1;
  for (const int64_t dim : before.dims) count *= dim;
  std::vector<double> a(static_cast<size_t>(count)), b(a.size());
  eval::load_doubles(before.dtype, before.bytes.data(), 0, count, a.data());
  eval::load_doubles(after.dtype, after.bytes.data(), 0, count, b.data());
  double largest = 1;  // below, what cancels out leaves only rounding
  for (const double each : b)
    largest = std::isfinite(each) ? std::max(largest, std::abs(each)) : largest;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                      std::abs(a[i] - b[i]) <= tolerance * largest;
    if (!same) return fmt::format("element {} is {}, and {} after the replacement", i, a[i], b[i]);
  }
  return {};
}

class RuleChecker {
 public:
  RuleChecker(const RuleFile& file, const Rule& rule) : file_(file), rule_(rule), random_(kSeed) {
    std::erase_if(rule_.conditions, is_about_place);
  }

  Result<RuleCheck> run() {
    RuleCheck check{.rule = rule_.name};
    for (const Pattern& pattern : rule_.patterns) {
      check.is_definition = check.is_definition || is_foreign(pattern);
      if (is_foreign(pattern)) continue;
      SLUICE_ASSIGN(size_t found, try_dtypes(pattern, kFloats, kSteadyAttempts));
      const std::string reason = reason_;  // that of floats says more
      SLUICE_ASSIGN(const size_t others,
                    try_dtypes(pattern, kOthers, found == 0 ? kSteadyAttempts : kAttempts));
      reason_ = reason;
      found += others;
      if (found == 0) return nothing_found(pattern);
      check.instances += found;
    }
    return check;
  }

 private:
  static bool is_foreign(const Pattern& pattern) {
    return std::ranges::any_of(
        pattern.statements, [](const Statement& statement) { return !statement.foreign.empty(); });
  }

  Error nothing_found(const Pattern& pattern) const {
    const std::string which =
        rule_.patterns.size() == 1
            ? "its pattern"
            : fmt::format("its alternative {}", &pattern - rule_.patterns.data() + 1);
    const std::string found =
        !obstacle_.empty() ? "could be replaced, so nothing is compared: " + obstacle_
        : reason_.empty()  ? "meets its conditions, so nothing is compared"
                           : "was found, so nothing is compared; at last: " + reason_;
    return make_error(ErrorCode::kBadText, "{}: rule {}: of the drawn graphs none that {} {}",
                      file_.path, rule_.name,
                      !obstacle_.empty() ? which + " matches" : which + " could match", found)
        .with_hint(
            "conditions on ranks, dtypes and values narrow what is drawn; "
            "--unchecked-rules uses it as it is");
  }

  Result<size_t> try_dtypes(const Pattern& pattern, std::span<const TriedDType> dtypes,
                            int max_attempts) {
    size_t found = 0;
    for (const TriedDType& each : dtypes) {
      size_t here = 0;
      const int attempts = found == 0 ? max_attempts : kAttempts;
      for (int i = 0; i < attempts && here < kInstances; ++i) {
        SLUICE_ASSIGN(const bool tried, try_instance(pattern, each));
        here += tried ? 1 : 0;
      }
      found += here;
    }
    return found;
  }

  // Returns whether both sides could be evaluated. Error: they differ.
  Result<bool> try_instance(const Pattern& pattern, const TriedDType& tried) {
    auto instance = draw_instance(rule_, pattern, tried.dtype, random_, reason_);
    if (!instance) return false;
    Graph& graph = instance->module.root();
    const std::string types = types_of(graph);
    const auto before = values_of(graph, instance->inputs);
    if (!before) {
      reason_ = before.error().message;
      return false;
    }
    if (!replace_in(graph)) return false;
    const auto after = values_of(graph, instance->inputs);
    if (!after) {
      reason_ = after.error().message;
      return false;
    }
    // What leaves the range of f16 on the way says nothing of the rule.
    const bool is_narrow = tried.dtype == DType::kF16;
    for (size_t i = 0; i < before->size(); ++i) {
      if (is_narrow && (!is_finite((*before)[i]) || !is_finite((*after)[i]))) return false;
    }
    for (size_t i = 0; i < before->size(); ++i) {
      const std::string what = difference((*before)[i], (*after)[i], tried.tolerance);
      if (what.empty()) continue;
      return make_error(ErrorCode::kBadText,
                        "{}: rule {}: its pattern and its replacement are not the same: %{} {}, "
                        "where {}",
                        file_.path, rule_.name, rule_.values[static_cast<size_t>(rule_.outputs[i])],
                        what, types.empty() ? "there is no input" : types)
          .with_hint(
              "a condition may be missing that leaves this case out; --unchecked-rules uses the "
              "rule as it is");
    }
    return true;
  }

  std::string types_of(const Graph& graph) const {
    std::string text;
    for (const Value* input : graph.inputs())
      text += fmt::format("{}%{} is {}", text.empty() ? "" : ", ", input->name(),
                          type_text(graph.module(), input->type()));
    return text;
  }

  bool replace_in(Graph& graph) {
    const OpIndex index(graph);
    Matcher matcher(rule_, index);
    std::optional<Match> match;
    const auto keep = [&](const Match& found) {
      match = found;
      return true;
    };
    PartialMatch trace;
    for (const Op op : matcher.root_ops()) {
      for (Node* node : index.nodes(op)) {
        if (!match) matcher.match_at(*node, keep, &trace);
      }
    }
    if (!match) {
      reason_ = trace.reason;
      return false;
    }
    Editor editor(graph);
    ValueFacts facts(graph);
    const Replaced replaced = replace_match(editor, rule_, *match, &facts, has_types(file_));
    if (!replaced.obstacle.empty()) obstacle_ = replaced.obstacle;
    return replaced.obstacle.empty();
  }

  const RuleFile& file_;
  Rule rule_;  // without conditions on its place
  Random random_;
  std::string reason_;    // why the last instance was none
  std::string obstacle_;  // why a replacement could not be made
};

}  // namespace

Result<std::vector<RuleCheck>> check_rules(const RuleFile& file) {
  std::vector<RuleCheck> checks;
  for (const Rule& rule : file.rules) {
    SLUICE_ASSIGN(RuleCheck check, RuleChecker(file, rule).run());
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace sluice::rules
