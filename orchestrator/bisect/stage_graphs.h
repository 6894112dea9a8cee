// The graphs between the passes of a compile, each a file, made when they are asked for.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "orchestrator/bisect/bisect.h"
#include "orchestrator/bisect/child.h"
#include "orchestrator/compile/stages.h"

namespace sluice {

// Returns the name of a pass without the digest that follows that of a file of rules.
std::string plain_name(const std::string& pass);

// The graph after so many passes of a stage; after none it is what the stage reads.
struct GraphPoint {
  size_t stage = 0;  // index into kStageNames
  size_t passes = 0;
};

class StageGraphs {
 public:
  // folder: for the files.
  StageGraphs(const BisectRequest& request, std::string folder)
      : request_(request), folder_(std::move(folder)) {}

  // Looks into the input. Errors: those of steps_of.
  Result<void> begin();
  size_t first_stage() const { return first_; }
  // The input is a model: nothing can be evaluated before the first pass.
  bool begins_with_model() const { return begins_with_model_; }
  // The input is past all passes.
  bool is_complete() const { return is_complete_; }

  // Makes the graph, from the nearest one before it. Returns the error of a stage that failed.
  Result<std::optional<Error>> make(GraphPoint point);
  // Makes the graph at the end of a stage, for which the end before it must have been made.
  Result<std::optional<Error>> make_end(size_t stage);
  // Reads which passes the stage runs. Returns the error of a first pass that fails: then it alone
  // is listed.
  Result<std::optional<Error>> read_passes(size_t stage);

  bool is_made(GraphPoint point) const { return files_[point.stage].contains(point.passes); }
  const std::string& path(GraphPoint point) const { return files_[point.stage].at(point.passes); }
  const std::string& end_path(size_t stage) const { return ends_[stage]; }
  // Returns how many passes the stage's input has been through: 0, or those of a graph that
  // --stop-after wrote.
  size_t passes_before(size_t stage) const { return stage == first_ ? passes_done_ : 0; }
  const std::vector<std::string>& passes(size_t stage) const { return passes_[stage]; }
  // Returns the rules that a pass of rules applied, in the order of their file; none for others.
  std::vector<std::string> applied_rules(GraphPoint point) const;
  // Makes the graph after the pass with the rules of its file up to this one alone.
  Result<std::string> make_up_to_rule(GraphPoint point, const std::string& rule);
  // Returns for each pass whether it may have changed the graph: it says so, or nothing is known.
  std::vector<bool> changes(size_t stage) const;

 private:
  Result<void> look_into_input();
  Result<void> check_rules() const;
  Result<std::optional<Error>> run_stage(size_t stage, const std::string& input,
                                         const std::string& output, const std::string& stop);
  Result<Json::Array> reports(size_t stage) const;
  Result<std::string> first_pass(size_t stage) const;
  const Json* report_of(GraphPoint point) const;
  std::string file(size_t stage, const std::string& name) const;

  const BisectRequest& request_;
  std::string folder_;
  size_t first_ = 0, passes_done_ = 0;
  bool begins_with_model_ = false, is_complete_ = false;
  std::vector<std::vector<std::string>> arguments_;  // of the stages from first_ on
  // The next members are by stage.
  std::array<std::map<size_t, std::string>, kStageNames.size()> files_;  // by passes
  std::array<std::string, kStageNames.size()> ends_;                     // empty: not made
  std::array<std::vector<std::string>, kStageNames.size()> passes_;      // empty: not known
  std::array<Json::Array, kStageNames.size()> reports_;  // of a run to the end; the same
};

}  // namespace sluice
