// Runs steps that each preserve the failure, until a round of them changes nothing:
//
//   remarks    documentation, declared types of inner values
//   outputs    some of them only, and the nodes they need
//   nodes      of every graph, the model's before bodies: a dropped node's results become inputs
//   bodies     their nodes in place of the node that has them
//   operands   in place of a node's result
//   leftovers  attributes and optional inputs
//   sizes      of inputs and constants
//
// Lists are cut in halves, quarters and so on (A. Zeller, R. Hildebrandt, "Simplifying and
// Isolating Failure-Inducing Input", 2002): a list that needs k of its n members takes about
// 4 k log n runs.
#include "common/tools/reduce/reduce.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "common/base/count_text.h"
#include "common/base/digest.h"
#include "common/base/files.h"
#include "common/tools/reduce/cuts.h"
#include "common/tools/reduce/shapes.h"
#include "common/tools/reduce/types.h"

namespace sluice {
namespace {

using onnx::ModelProto;

class Reducer {
 public:
  Reducer(const ReduceRequest& request, Command& command, ModelProto model)
      : request_(request),
        command_(command),
        model_(std::move(model)),
        whole_nodes_(count_nodes(model_)) {}

  Result<Reduced> run() {
    SLUICE_TRY(begin());
    for (bool changed = true; changed;) {
      const Digest before = digest();
      SLUICE_TRY(drop_outputs());
      for (size_t i = 0; i < graph_paths(model_).size(); ++i) SLUICE_TRY(drop_nodes(i));
      SLUICE_TRY(inline_bodies());
      SLUICE_TRY(bypass_nodes());
      SLUICE_TRY(drop_leftovers());
      SLUICE_TRY(shrink_sizes());
      changed = !(digest() == before);
    }
    SLUICE_TRY(declare_outputs());
    return Reduced{count_nodes(model_), whole_nodes_};
  }

 private:
  Digest digest() const { return sha256(model_.SerializeAsString()); }

  Result<void> begin() {
    const std::string candidate = write_path();
    SLUICE_TRY(write_text(candidate, model_.SerializeAsString()));
    SLUICE_TRY(command_.learn(candidate));
    SLUICE_TRY(say(
        fmt::format("{}: {}", count_text(whole_nodes_, "node"), ending_text(command_.whole()))));
    SLUICE_ASSIGN(Inferred inferred, infer_types(model_, request_.scratch));
    types_ = std::move(inferred.types);
    must_be_valid_ = inferred.is_valid;
    SLUICE_TRY(save());
    SLUICE_TRY(attempt(without_remarks(model_)));
    return {};
  }

  // Takes the candidate when it fails in the same way and, if the whole model was valid, is valid,
  // too: a smaller model that fails only because it is invalid is useless.
  Result<bool> attempt(const std::optional<ModelProto>& candidate, bool is_resized = false) {
    if (!candidate) return false;
    const std::string bytes = candidate->SerializeAsString();
    if (!tried_.insert(sha256(bytes)).second) return false;
    SLUICE_TRY(write_text(write_path(), bytes));
    SLUICE_ASSIGN(const bool fails, command_.fails(write_path()));
    if (!fails) return false;
    if (must_be_valid_) {
      SLUICE_ASSIGN(std::optional<Types> types, types_of_valid(*candidate, request_.scratch));
      if (!types) return false;
      if (!is_resized) types->merge(types_);  // types of values that no output needs any more
      types_ = std::move(*types);
    }
    model_ = *candidate;
    SLUICE_TRY(save());
    return true;
  }

  // Declares shapes of outputs, which a change of sizes removed: other readers of ONNX require
  // them.
  Result<void> declare_outputs() {
    ModelProto cut = model_;
    for (auto& output : *cut.mutable_graph()->mutable_output()) {
      if (const auto type = types_.find(output.name()); type != types_.end())
        *output.mutable_type() = type->second;
    }
    SLUICE_TRY(attempt(std::move(cut)));
    return {};
  }

  std::string write_path() const { return request_.scratch + "/candidate.onnx"; }
  Result<void> save() const { return write_text(request_.output, model_.SerializeAsString()); }
  Result<void> say(const std::string& line) const { return request_.say(line + "\n"); }

  Result<void> say_progress(const char* step) {
    const size_t nodes = count_nodes(model_);
    if (nodes == said_) return {};
    said_ = nodes;
    return say(fmt::format("{}: {} left after {}", step, count_text(nodes, "node"),
                           count_text(command_.runs(), "run")));
  }

  // Drops members of a list, many at once first. try_remaining(members) tries the candidate with
  // those members only, which may keep more; it updates `members` to the kept ones, renumbered, and
  // returns true when it failed.
  template <typename Try>
  Result<void> sweep(size_t count, const Try& try_remaining) {
    for (size_t chunk = std::max<size_t>(1, (count + 1) / 2);; chunk = (chunk + 1) / 2) {
      for (size_t end = count; end > 0;) {
        const size_t begin = end > chunk ? end - chunk : 0;
        std::vector<int> remaining;
        for (size_t i = 0; i < count; ++i) {
          if (i < begin || i >= end) remaining.push_back(static_cast<int>(i));
        }
        SLUICE_ASSIGN(const size_t left, try_remaining(remaining));
        count = left;
        end = std::min(begin, count);
      }
      if (chunk == 1) return {};
    }
  }

  Result<void> drop_outputs() {
    const auto count = [&] { return static_cast<size_t>(model_.graph().output_size()); };
    SLUICE_TRY(sweep(count(), [&](const std::vector<int>& remaining) -> Result<size_t> {
      SLUICE_TRY(attempt(with_outputs(model_, remaining)));
      return count();
    }));
    return say_progress("outputs");
  }

  Result<void> drop_nodes(size_t index) {
    const GraphPath path = graph_paths(model_)[index];
    const auto count = [&] {
      return static_cast<size_t>(graph_at(std::as_const(model_), path).node_size());
    };
    SLUICE_TRY(sweep(count(), [&](const std::vector<int>& remaining) -> Result<size_t> {
      if (auto cut = with_nodes(model_, path, remaining, types_)) SLUICE_TRY(attempt(cut->model));
      return count();
    }));
    return say_progress(path.empty() ? "nodes" : "nodes of bodies");
  }

  // Tries candidates at every node of every graph, and starts again after a change.
  template <typename Candidates>
  Result<void> at_every_node(const Candidates& candidates) {
    for (size_t g = 0; g < graph_paths(model_).size(); ++g) {
      for (int i = 0; g < graph_paths(model_).size() &&
                      i < graph_at(std::as_const(model_), graph_paths(model_)[g]).node_size();) {
        SLUICE_ASSIGN(const bool changed, candidates(graph_paths(model_)[g], i));
        if (!changed) ++i;
      }
    }
    return {};
  }

  Result<void> inline_bodies() {
    SLUICE_TRY(at_every_node([&](const GraphPath& path, int i) -> Result<bool> {
      for (const GraphPath& inner :
           bodies_of(graph_at(std::as_const(model_), path).node(i), path, i)) {
        SLUICE_ASSIGN(const bool changed, attempt(inlined(model_, path, inner.back(), types_)));
        if (changed) return true;
      }
      return false;
    }));
    return say_progress("bodies");
  }

  Result<void> bypass_nodes() {
    SLUICE_TRY(at_every_node([&](const GraphPath& path, int i) -> Result<bool> {
      const int inputs = graph_at(std::as_const(model_), path).node(i).input_size();
      for (int k = 0; k < inputs; ++k) {
        SLUICE_ASSIGN(const bool changed, attempt(bypassed(model_, path, i, k, types_)));
        if (changed) return true;
      }
      return false;
    }));
    return say_progress("operands");
  }

  Result<bool> drop_attribute_of(const GraphPath& path, int i) {
    const onnx::NodeProto& node = graph_at(std::as_const(model_), path).node(i);
    for (int k = node.attribute_size() - 1; k >= 0; --k) {
      if (node.attribute(k).has_g() || node.attribute(k).graphs_size() > 0) continue;
      ModelProto cut = model_;
      graph_at(cut, path).mutable_node(i)->mutable_attribute()->DeleteSubrange(k, 1);
      SLUICE_ASSIGN(const bool changed, attempt(std::move(cut)));
      if (changed) return true;
    }
    return false;
  }

  Result<bool> drop_input_of(const GraphPath& path, int i) {
    const onnx::NodeProto& node = graph_at(std::as_const(model_), path).node(i);
    for (int k = node.input_size() - 1; k > 0; --k) {
      if (node.input(k).empty()) continue;
      ModelProto cut = model_;
      auto& inputs = *graph_at(cut, path).mutable_node(i)->mutable_input();
      inputs.Mutable(k)->clear();
      while (!inputs.empty() && inputs.Get(inputs.size() - 1).empty()) inputs.RemoveLast();
      drop_unread(cut);
      SLUICE_ASSIGN(const bool changed, attempt(std::move(cut)));
      if (changed) return true;
    }
    return false;
  }

  // Only for valid models: a command may take any invalid model for a failure.
  Result<void> drop_leftovers() {
    if (!must_be_valid_) return {};
    return at_every_node([&](const GraphPath& path, int i) -> Result<bool> {
      SLUICE_ASSIGN(const bool dropped, drop_attribute_of(path, i));
      if (dropped) return true;
      return drop_input_of(path, i);
    });
  }

  Result<bool> shrink_size(int64_t size) {
    for (const int64_t smaller : {int64_t{1}, int64_t{2}, size / 2}) {
      if (smaller >= size || smaller < 1) continue;
      for (const bool in_elements : {true, false}) {
        SLUICE_ASSIGN(const bool changed,
                      attempt(with_size(model_, size, smaller, in_elements), true));
        if (changed) return true;
      }
    }
    return false;
  }

  Result<bool> shrink_input(int input, int axis) {
    const int64_t size =
        model_.graph().input(input).type().tensor_type().shape().dim(axis).dim_value();
    for (const int64_t smaller : {int64_t{1}, int64_t{2}, size / 2}) {
      if (smaller >= size || smaller < 1) continue;
      SLUICE_ASSIGN(const bool changed,
                    attempt(with_input_dim(model_, input, axis, smaller), true));
      if (changed) return true;
    }
    return false;
  }

  Result<void> shrink_sizes() {
    for (const int64_t size : sizes_of(model_)) {
      for (bool changed = true; changed;) {
        SLUICE_ASSIGN(changed, shrink_size(size));
      }
    }
    for (int i = 0; i < model_.graph().input_size(); ++i) {
      for (int axis = 0; axis < model_.graph().input(i).type().tensor_type().shape().dim_size();
           ++axis) {
        SLUICE_TRY(shrink_input(i, axis));
      }
    }
    return {};
  }

  const ReduceRequest& request_;
  Command& command_;
  ModelProto model_;
  size_t whole_nodes_;
  size_t said_ = SIZE_MAX;
  Types types_;
  bool must_be_valid_ = true;
  std::set<Digest> tried_;
};

}  // namespace

Result<Reduced> reduce_model(const ReduceRequest& request, Command& command) {
  SLUICE_ASSIGN(ModelProto model, read_whole_model(request.input));
  return Reducer(request, command, std::move(model)).run();
}

}  // namespace sluice
