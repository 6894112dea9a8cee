#include "orchestrator/compile/plan.h"

#include <algorithm>
#include <filesystem>

#include "common/base/files.h"
#include "common/base/options.h"
#include "common/base/pass_names.h"
#include "common/base/pass_switches.h"
#include "common/base/weights_place.h"
#include "common/wire/endpoint.h"
#include "orchestrator/compile/sandbox.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

constexpr size_t kBuild = kStageNames.size() - 1;

Result<void> take_last(const std::string& text, CompileSteps& steps) {
  steps.last = kBuild;
  if (text.empty()) return {};
  const size_t colon = std::min(text.find(':'), text.size());
  const auto* stage =
      std::find(kStageNames.begin() + steps.first, kStageNames.end(), text.substr(0, colon));
  if (stage == kStageNames.end() || colon + 1 == text.size()) {
    std::string stages(kStageNames[steps.first]);
    for (size_t i = steps.first + 1; i < kStageNames.size(); ++i)
      stages += fmt::format(", {}", kStageNames[i]);
    return make_error(
               ErrorCode::kBadOption,
               "--stop-after is '{}', expected STAGE or STAGE:PASS with a stage that runs: {}",
               text, stages)
        .with_hint("sluice STAGE --list-passes prints the passes of a stage");
  }
  steps.last = static_cast<size_t>(stage - kStageNames.begin());
  steps.last_pass = colon == text.size() ? "" : text.substr(colon + 1);
  return {};
}

Result<void> check_in_time(const CompileRequest& request, size_t first) {
  for (const OptionRow& row : option_table()) {
    const std::string_view reader = last_reader(row.name);
    if (reader.empty()) continue;
    const auto stage =
        static_cast<size_t>(std::ranges::find(kStageNames, reader) - kStageNames.begin());
    const std::string start = option_argument(row, "");
    const auto given = [&](const std::string& argument) { return argument.starts_with(start); };
    if (first <= stage || std::ranges::none_of(request.options.semantic, given)) continue;
    return Error{
        ErrorCode::kBadOption,
        fmt::format(
            "--{} is read by sluice-{} and this file is past it: work goes on with sluice-{}",
            row.name, reader, kStageNames[first]),
        "compile the model itself, or an earlier file of --dump-dir, with this option",
        request.input};
  }
  return {};
}

// A switch of a pass that has run, or was left out, comes too late.
Result<void> check_switches_in_time(const CompileRequest& request, size_t first) {
  SLUICE_ASSIGN(const PassSwitches switches,
                parse_switch_list(option_value(request.options, "optimization-switch")));
  for (const auto& [name, is_on] : switches) {
    const PassName* pass = find_pass_name(name);
    if (pass == nullptr) continue;
    const auto stage =
        static_cast<size_t>(std::ranges::find(kStageNames, pass->stage) - kStageNames.begin());
    if (first <= stage) continue;
    return Error{ErrorCode::kBadOption,
                 fmt::format("--optimization-switch has '{}' of sluice-{} and this file is past "
                             "it: work goes on with sluice-{}",
                             name, pass->stage, kStageNames[first]),
                 "compile the model itself, or an earlier file of --dump-dir, with this switch",
                 request.input};
  }
  return {};
}

bool verifies(const CompileRequest& request) {
  return std::ranges::any_of(request.options.non_semantic, [](const std::string& argument) {
    return argument.starts_with("--verify=");
  });
}

class Planner {
 public:
  Planner(const CompileRequest& request, const CompileSteps& steps, const CompilePlaces& places)
      : request_(request), places_(places), segments_(request.segments) {
    plan_.steps = steps;
  }

  Result<CompilePlan> plan() {
    asks_store_ = asks_store(request_, plan_.steps);
    if (segments_.empty() && sends_files(request_)) segments_ = "inline";
    plan_.profile = option_value(request_.options, "profile");
    if (plan_.steps.first == 0 && request_.model.empty())
      plan_.model = absolute_path(request_.input);
    is_seen_ = !plan_.steps.builds() || !request_.dump_dir.empty() || verifies(request_);
    const auto [first, last] = std::pair(plan_.steps.first, plan_.steps.last);
    SLUICE_ASSIGN(const auto early, early_arguments(request_.options, first, last));
    SLUICE_ASSIGN(const auto late, late_arguments(request_.options, first));
    for (size_t i = first; i <= last; ++i) {
      const bool is_late = asks_store_ && first == 0 && !is_seen_;
      SLUICE_ASSIGN(StageRun stage, stage_run(i, is_late ? late[i - first] : early[i - first]));
      stage.semantic = late[i - first];
      stage.store_use = store_use(i);
      plan_.stages.push_back(std::move(stage));
    }
    return std::move(plan_);
  }

 private:
  // Graphs that people get carry the options of all later stages, which are not in their digests.
  // So none of them is taken from the store, nor kept there: each option is given to the first
  // stage. Where nobody sees the graphs, each is given to the stage that reads it first, so that
  // compiles with other options share the products of the stages before it. A graph file that work
  // goes on with may carry any options.
  StoreUse store_use(size_t i) const {
    const bool is_part = i == plan_.steps.last && !plan_.steps.last_pass.empty();
    if (!asks_store_ || plan_.steps.first > 0 || i == 0 || is_part) return StoreUse::kNone;
    if (i == kBuild && asks_for_weight_files(request_)) return StoreUse::kNone;
    if (!is_seen_) return StoreUse::kTake;
    return i == kBuild ? StoreUse::kKeep : StoreUse::kCompare;
  }

  Result<StageRun> stage_run(size_t i, const std::vector<std::string>& semantic) const {
    StageRun stage{.name = std::string(kStageNames[i]),
                   .options = request_.options.non_semantic,
                   .input = i == plan_.steps.first ? request_.input : "-"};
    SLUICE_ASSIGN(stage.program, find_program("sluice-" + stage.name));
    // What a stage warns of is kept with its product, for those who want to know later.
    if (asks_store_) std::erase(stage.options, "--quiet");
    stage.options.insert(stage.options.end(), semantic.begin(), semantic.end());
    add_pass_limits(request_.options, stage.options);
    if (i == plan_.steps.last && !plan_.steps.last_pass.empty())
      stage.options.push_back("--stop-after=" + plan_.steps.last_pass);
    if (!segments_.empty() && i < kBuild) stage.options.push_back("--segments=" + segments_);
    if (takes_store(i)) stage.options.push_back("--store=" + places_.store);
    if (!request_.model.empty() && i > 0) stage.options.push_back("--model=" + request_.model);
    SLUICE_TRY(add_dump(i, stage));
    SLUICE_TRY(add_stats(stage));
    // A graph may carry --external-weight, too.
    if (i == kBuild && plan_.steps.builds() &&
        (asks_for_weight_files(request_) || plan_.steps.first > 0))
      stage.options.push_back("--weights-beside=" + model_name(request_));
    if (is_confined()) SLUICE_TRY(confine(i, stage));
    return stage;
  }

  // Kernels are in the store, and other constants when graphs are to have none.
  bool takes_store(size_t i) const {
    return !places_.store.empty() &&
           (!asks_store_ || !request_.dump_dir.empty() || !segments_.empty() ||
            !plan_.steps.builds() || kStageNames[i] == "subgraph-optimize" || i == kBuild);
  }

  Result<void> add_dump(size_t i, StageRun& stage) const {
    if (request_.dump_dir.empty()) return {};
    const std::string folder = fmt::format("{}/{}-{}", request_.dump_dir, i + 1, kStageNames[i]);
    if (!request_.shows_plan)
      SLUICE_TRY(make_directories(is_confined() ? folder : request_.dump_dir));
    stage.options.push_back("--dump-dir=" + folder);
    if (i < plan_.steps.last) stage.dump = folder + ".sg";  // the last one's graph is the output
    return {};
  }

  Result<void> add_stats(StageRun& stage) const {
    if (!request_.has_statistics()) return {};
    const std::string path = stats_path(places_, stage.name);
    SLUICE_TRY(make_directories(std::filesystem::path(path).parent_path().string()));
    stage.options.push_back("--stats=" + path);
    return {};
  }

  // Workers confine what they run, unless they were told not to.
  bool is_confined() const { return request_.sandbox || request_.transport == Transport::kZmq; }

  Result<void> confine(size_t i, StageRun& stage) const {
    Sandbox sandbox = request_.sandbox.value_or(Sandbox());  // a worker has limits of its own
    allow_model(request_.input, sandbox);
    allow_options(request_.options.semantic, sandbox);  // others read them, too
    allow_options(stage.options, sandbox);
    if (request_.has_statistics()) {
      sandbox.writable.push_back(
          std::filesystem::path(stats_path(places_, stage.name)).parent_path().string());
    }
    if (i == kBuild && plan_.steps.builds() && asks_for_weight_files(request_)) {
      const std::string folder = weights_place(model_name(request_)).folder;
      if (!request_.shows_plan) SLUICE_TRY(make_directories(folder));
      sandbox.writable.push_back(folder);
    }
    const bool keeps_constants = takes_store(i) && (!asks_store_ || !request_.dump_dir.empty() ||
                                                    !segments_.empty() || !plan_.steps.builds());
    if (keeps_constants && !request_.shows_plan) allow_constants(places_.store, sandbox);
    stage.sandbox = std::move(sandbox);
    return {};
  }

  const CompileRequest& request_;
  const CompilePlaces& places_;
  CompilePlan plan_;
  std::string segments_;  // --segments; empty: not given
  bool asks_store_ = false;
  bool is_seen_ = false;  // somebody wants to see the stages work, or the graphs that they make
};

}  // namespace

bool CompileSteps::builds() const { return last == kBuild && last_pass.empty(); }

Result<CompileSteps> steps_of(const CompileRequest& request) {
  CompileSteps steps;
  SLUICE_ASSIGN(steps.first, first_stage_for(request.input));
  SLUICE_TRY(check_in_time(request, steps.first));
  SLUICE_TRY(check_switches_in_time(request, steps.first));
  SLUICE_TRY(take_last(request.stop_after, steps));
  return steps;
}

Result<CompilePlan> plan_compile(const CompileRequest& request, const CompileSteps& steps,
                                 const CompilePlaces& places) {
  return Planner(request, steps, places).plan();
}

bool asks_store(const CompileRequest& request, const CompileSteps& steps) {
  return !request.farm.endpoint.empty() || (!request.store.empty() && steps.first == 0);
}

bool sends_files(const CompileRequest& request) {
  return std::ranges::any_of(request.services,
                             [](const auto& service) { return ipc_path(service.second).empty(); });
}

bool asks_for_weight_files(const CompileRequest& request) {
  return std::ranges::any_of(request.options.semantic, [](const std::string& argument) {
    return argument.starts_with("--external-weight=") && !argument.ends_with("=0");
  });
}

const std::string& model_name(const CompileRequest& request) {
  return request.weights_beside.empty() ? request.output : request.weights_beside;
}

std::string stats_path(const CompilePlaces& places, const std::string& stage) {
  return fmt::format("{}/stats-{}/stats", places.scratch, stage);
}

}  // namespace sluice
