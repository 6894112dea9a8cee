#include "orchestrator/bisect/bisect.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "common/base/files.h"
#include "common/base/log.h"
#include "common/base/program.h"
#include "common/base/scratch_folder.h"
#include "orchestrator/bisect/finding.h"
#include "orchestrator/bisect/stage_graphs.h"
#include "orchestrator/bisect/values.h"

namespace sluice {
namespace {

constexpr const char* kProgram = "sluice-bisect";

// What a graph gives, against another one.
enum class Verdict : uint8_t { kSame, kOther, kBroken };

class Bisection {
 public:
  Bisection(const BisectRequest& request, const ScratchFolder& scratch)
      : request_(request), scratch_(scratch), graphs_(request, scratch.path()) {}

  Result<int> run() {
    SLUICE_TRY(graphs_.begin());
    if (!request_.keep.empty()) SLUICE_TRY(make_directories(request_.keep));
    SLUICE_TRY(evaluate_first());
    std::optional<Finding> finding;
    const size_t end = graphs_.is_complete() ? 0 : kStageNames.size();
    for (size_t stage = graphs_.first_stage(); stage < end && !finding; ++stage) {
      SLUICE_ASSIGN(finding, search_stage(stage));
    }
    if (finding) SLUICE_TRY(keep(*finding));
    const int printed = print_text(kProgram, text_of(finding));
    return printed != 0 || !finding ? printed : static_cast<int>(ExitClass::kFailed);
  }

 private:
  // Evaluates the first graph that can be, to which the others are compared.
  Result<void> evaluate_first() {
    const size_t stage = graphs_.first_stage();
    first_ = {stage, graphs_.begins_with_model() ? 1 : graphs_.passes_before(stage)};
    SLUICE_ASSIGN(const auto failure, failure_at(first_));
    if (failure) return *failure;
    return {};
  }

  // Returns the pass of the stage that gives other values, if there is one.
  Result<std::optional<Finding>> search_stage(size_t stage) {
    const GraphPoint start = stage == first_.stage ? first_ : GraphPoint{stage, 0};
    SLUICE_ASSIGN(auto failure, graphs_.make_end(stage));
    if (!failure) {
      SLUICE_ASSIGN(failure, evaluate(graphs_.end_path(stage)));
    }
    Verdict verdict = Verdict::kBroken;
    if (!failure) {
      SLUICE_ASSIGN(verdict, compare(graphs_.path(start), graphs_.end_path(stage)));
    }
    report(kStageNames[stage], verdict);
    if (verdict == Verdict::kSame) return std::optional<Finding>();
    SLUICE_ASSIGN(failure, graphs_.read_passes(stage));
    if (failure) return std::optional<Finding>(broken({stage, 1}, *failure));
    SLUICE_ASSIGN(const GraphPoint found, first_other(start));
    SLUICE_ASSIGN(auto finding, describe(found));
    if (finding) return finding;
    return scan(start);
  }

  // Returns the first graph after `start` that gives other values or none, the one before which
  // gives those of `start`. The end of the stage is known to be such a graph.
  Result<GraphPoint> first_other(GraphPoint start) {
    GraphPoint low = start, high{start.stage, graphs_.passes(start.stage).size()};
    const std::vector<bool> changes = graphs_.changes(start.stage);
    SLUICE_TRY(narrow(start, changes, low, high));
    if (high.passes - low.passes < 2) return high;
    // The passes between say that they changed nothing. One of them may be wrong.
    const GraphPoint before{high.stage, high.passes - 1};
    SLUICE_ASSIGN(const Verdict verdict, verdict_of(start, before));
    if (verdict == Verdict::kSame) return high;
    high = before;
    SLUICE_TRY(narrow(start, std::vector<bool>(changes.size(), true), low, high));
    return high;
  }

  // Halves what lies between a graph with the values of `start` and one without, until no pass that
  // may change the graph is between them.
  Result<void> narrow(GraphPoint start, const std::vector<bool>& changes, GraphPoint& low,
                      GraphPoint& high) {
    while (true) {
      std::vector<size_t> between;
      for (size_t passes = low.passes + 1; passes < high.passes; ++passes)
        if (changes[passes - 1]) between.push_back(passes);
      if (between.empty()) return {};
      const GraphPoint middle{start.stage, between[between.size() / 2]};
      SLUICE_ASSIGN(const Verdict verdict, verdict_of(start, middle));
      (verdict == Verdict::kSame ? low : high) = middle;
    }
  }

  // Values drift away from those at the start: compares the passes one by one.
  Result<std::optional<Finding>> scan(GraphPoint start) {
    std::optional<Finding> finding;
    const size_t end = graphs_.passes(start.stage).size();
    for (size_t passes = start.passes + 1; passes <= end && !finding; ++passes) {
      SLUICE_ASSIGN(finding, describe({start.stage, passes}));
    }
    if (!finding) drifting_.emplace_back(kStageNames[start.stage]);
    return finding;
  }

  // Compares a graph with the one before it. Returns nothing when they give the same values.
  Result<std::optional<Finding>> describe(GraphPoint point) {
    const GraphPoint before{point.stage, point.passes - 1};
    Finding finding = finding_at(point);
    for (const GraphPoint each : {before, point}) {
      SLUICE_ASSIGN(const auto failure, failure_at(each));
      if (failure) return std::optional<Finding>(broken(each, *failure));
    }
    const std::string &a = graphs_.path(before), &b = graphs_.path(point);
    SLUICE_ASSIGN(const auto output, differing_output(request_, folders_.at(a), folders_.at(b)));
    if (!output) return std::optional<Finding>();
    finding.output = *output;
    SLUICE_ASSIGN(finding.rule, wrong_rule(before, point));
    SLUICE_ASSIGN(finding.node, first_node(a, b, finding.output));
    finding.before = a, finding.after = b;
    return std::optional<Finding>(std::move(finding));
  }

  // Returns the first rule of a file with which the values are others; empty for other passes, and
  // where the rules cannot be told apart, since the search began with a graph amid the stage.
  Result<std::string> wrong_rule(GraphPoint before, GraphPoint point) {
    const std::vector<std::string> rules = graphs_.applied_rules(point);
    if (rules.size() < 2) return rules.empty() ? std::string() : rules[0];
    if (graphs_.passes_before(point.stage) > 0) return std::string();
    for (const std::string& rule : rules) {
      SLUICE_ASSIGN(const std::string graph, graphs_.make_up_to_rule(point, rule));
      SLUICE_ASSIGN(const auto failure, evaluate(graph));
      if (failure) return rule;
      SLUICE_ASSIGN(const Verdict verdict, compare(graphs_.path(before), graph));
      if (verdict == Verdict::kOther) return rule;
    }
    return std::string();
  }

  // Without a value of the same name on both sides, or all values, it is the node that makes the
  // output.
  Result<std::optional<std::pair<Json, FoundNode>>> first_node(const std::string& before,
                                                               const std::string& after,
                                                               const Json& output) {
    const std::string a = scratch_.file("before"), b = scratch_.file("after");
    for (const auto& [graph, folder] : {std::pair(before, a), std::pair(after, b)}) {
      SLUICE_ASSIGN(const auto failed,
                    evaluate_graph_file(request_, graph, ValuesKept::kAll, folder));
      if (failed) return find_node(after, {output});
    }
    SLUICE_ASSIGN(std::vector<Json> values, differing_values(request_, a, b));
    values.push_back(output);
    return find_node(after, values);
  }

  Finding finding_at(GraphPoint point) const {
    const std::vector<std::string>& names = graphs_.passes(point.stage);
    return {.stage = std::string(kStageNames[point.stage]),
            .pass = plain_name(names[point.passes - 1]),
            .number = point.passes,
            .of = names.size()};
  }

  // The graph after the pass may be there, and not be evaluable.
  Finding broken(GraphPoint point, const Error& failure) const {
    Finding finding = finding_at(point);
    finding.failure = failure;
    finding.failure->file.clear();  // it is a temporary one
    finding.failure->hint.clear();  // it is for a stage that runs alone
    const GraphPoint before{point.stage, point.passes - 1};
    if (graphs_.is_made(before)) finding.before = graphs_.path(before);
    if (graphs_.is_made(point)) finding.after = graphs_.path(point);
    return finding;
  }

  // Makes and evaluates a graph.
  Result<std::optional<Error>> failure_at(GraphPoint point) {
    SLUICE_ASSIGN(const auto failure, graphs_.make(point));
    if (failure) return failure;
    return evaluate(graphs_.path(point));
  }

  Result<std::optional<Error>> evaluate(const std::string& graph) {
    if (folders_.contains(graph)) return std::optional<Error>();
    const std::string folder = scratch_.file(fmt::format("outputs-{}", folders_.size()));
    SLUICE_ASSIGN(auto failure, evaluate_graph_file(request_, graph, ValuesKept::kOutputs, folder));
    if (!failure) folders_[graph] = folder;
    return failure;
  }

  Result<Verdict> compare(const std::string& before, const std::string& after) const {
    SLUICE_ASSIGN(const auto output,
                  differing_output(request_, folders_.at(before), folders_.at(after)));
    return output ? Verdict::kOther : Verdict::kSame;
  }

  Result<Verdict> verdict_of(GraphPoint start, GraphPoint point) {
    Verdict verdict = Verdict::kBroken;
    SLUICE_ASSIGN(const auto failure, failure_at(point));
    if (!failure) {
      SLUICE_ASSIGN(verdict, compare(graphs_.path(start), graphs_.path(point)));
    }
    report(fmt::format("{}, pass {} of {}", kStageNames[point.stage], point.passes,
                       graphs_.passes(point.stage).size()),
           verdict);
    return verdict;
  }

  void report(std::string_view where, Verdict verdict) const {
    if (request_.quiet) return;
    const char* words = verdict == Verdict::kSame    ? "the same values"
                        : verdict == Verdict::kOther ? "other values"
                                                     : "no values";
    log_text(fmt::format("{}: {}: {}\n", kProgram, where, words));
  }

  // Puts the graphs where they stay, or forgets where they were.
  Result<void> keep(Finding& finding) const {
    if (request_.keep.empty()) finding.before = finding.after = "";
    if (request_.keep.empty()) return {};
    for (const auto& [path, name] :
         {std::pair(&finding.before, "before.sg"), std::pair(&finding.after, "after.sg")}) {
      if (path->empty()) continue;
      SLUICE_ASSIGN(const MappedFile graph, MappedFile::open(*path));
      *path = fmt::format("{}/{}", request_.keep, name);
      SLUICE_TRY(write_file(*path, graph.bytes()));
    }
    return {};
  }

  std::string text_of(const std::optional<Finding>& finding) const {
    if (finding) return request_.is_json ? finding_json(*finding) : finding_text(*finding);
    return request_.is_json ? nothing_json(drifting_) : nothing_text(drifting_, request_.tolerance);
  }

  const BisectRequest& request_;
  const ScratchFolder& scratch_;
  StageGraphs graphs_;
  GraphPoint first_;
  std::map<std::string, std::string> folders_;  // of outputs, by graph file
  std::vector<std::string> drifting_;           // stages
};

}  // namespace

Result<int> bisect(const BisectRequest& request) {
  SLUICE_ASSIGN(const ScratchFolder scratch, ScratchFolder::create());
  Result<int> code = Bisection(request, scratch).run();
  if (!code && code.error().file.starts_with(scratch.path())) code.error().file.clear();
  return code;
}

}  // namespace sluice
