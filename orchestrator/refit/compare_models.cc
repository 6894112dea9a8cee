#include "orchestrator/refit/compare_models.h"

#include <algorithm>
#include <map>
#include <vector>

#include "common/base/result.h"
#include "common/omfile/om_names.h"
#include "common/omfile/om_types.h"
#include "orchestrator/refit/compare_values.h"

namespace sluice {
namespace {

using Bindings = google::protobuf::RepeatedPtrField<pb::BindingDef>;

template <typename A, typename B>
bool equal_messages(const A& a, const B& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

// Returns the names with the number of nodes that have them.
std::map<std::string, int> counted(const NodeNames& names, uint32_t nodes) {
  std::map<std::string, int> counts;
  for (uint32_t node = 0; node < nodes; ++node) ++counts[names[node]];
  return counts;
}

class ModelComparison {
 public:
  ModelComparison(const pb::ModelDef& base, const pb::ModelDef& made)
      : base_(base), made_(made), base_names_(base), made_names_(made) {}

  std::string run() const {
    std::string text = bindings("input", base_.inputs(), made_.inputs());
    if (text.empty()) text = bindings("output", base_.outputs(), made_.outputs());
    if (text.empty()) text = nodes();
    if (text.empty()) text = states();
    if (text.empty()) text = parts();
    if (text.empty()) text = root();
    return text;
  }

 private:
  std::string bindings(std::string_view kind, const Bindings& base, const Bindings& made) const {
    for (int i = 0; i < std::min(base.size(), made.size()); ++i) {
      if (base[i].name() != made[i].name())
        return fmt::format("{} {}: '{}', expected '{}'", kind, i, made[i].name(), base[i].name());
      if (!same_type(base_, base[i].type(), made_, made[i].type()))
        return fmt::format("{} '{}': {}, expected {}", kind, made[i].name(),
                           type_text(made_, made[i].type()), type_text(base_, base[i].type()));
    }
    if (base.size() == made.size()) return {};
    return fmt::format("{} {}s, expected {}", made.size(), kind, base.size());
  }

  std::string nodes() const {
    if (std::string text = node_names(); !text.empty()) return text;
    for (uint32_t node = 0; node < base_.nodes(); ++node) {
      const std::string expected = node_text(base_, base_names_, node),
                        found = node_text(made_, made_names_, node);
      if (found != expected) return fmt::format("{}, expected {}", found, expected);
      if (engine(made_, node) != engine(base_, node))
        return fmt::format("{}: runs on {}, expected {}", found, engine(made_, node),
                           engine(base_, node));
    }
    return {};
  }

  // Compares the lists of names: one that only one side has is the reason why others moved.
  std::string node_names() const {
    std::map<std::string, int> left = counted(base_names_, base_.nodes());
    for (uint32_t node = 0; node < made_.nodes(); ++node) {
      if (--left[made_names_[node]] < 0)
        return fmt::format("{}: there is no such node", node_text(made_, made_names_, node));
    }
    for (uint32_t node = 0; node < base_.nodes(); ++node) {
      if (left[base_names_[node]] > 0)
        return fmt::format("{} is missing", node_text(base_, base_names_, node));
    }
    return {};
  }

  static std::string_view engine(const pb::ModelDef& model, uint32_t node) {
    const int n = static_cast<int>(node);
    if (n >= model.node_engine_size()) return {};
    return model.engines(static_cast<int>(model.node_engine(n)));
  }

  std::string states() const {
    for (int i = 0; i < std::min(base_.states_size(), made_.states_size()); ++i) {
      const pb::StateDef &base = base_.states(i), &made = made_.states(i);
      const bool is_same_memory =
          (base.storage() == 0) == (made.storage() == 0) &&
          (base.storage() == 0 || same_type(base_, base.storage() - 1, made_, made.storage() - 1));
      if (base.input() != made.input() || base.output() != made.output() || !is_same_memory)
        return fmt::format("the state of input '{}' is kept otherwise",
                           made_.inputs(static_cast<int>(made.input())).name());
    }
    if (base_.states_size() == made_.states_size()) return {};
    return fmt::format("{} states, expected {}", made_.states_size(), base_.states_size());
  }

  std::string parts() const {
    if (base_.parts_size() != made_.parts_size())
      return fmt::format("{} parts, expected {}", made_.parts_size(), base_.parts_size());
    if (!equal_messages(base_.sizes(), made_.sizes()))
      return "open sizes follow otherwise from those of the inputs";
    for (int i = 0; i < base_.parts_size(); ++i) {
      if (std::string text = part(base_.parts(i), made_.parts(i)); !text.empty())
        return base_.parts_size() == 1 ? text : fmt::format("part {}: {}", i, text);
    }
    return {};
  }

  std::string part(const pb::PartDef& base, const pb::PartDef& made) const {
    if (base.has_symbolic() != made.has_symbolic())
      return base.has_symbolic() ? "its sizes are fixed, expected open ones"
                                 : "its sizes are open, expected fixed ones";
    std::string text = bindings("input", base.fixed().inputs(), made.fixed().inputs());
    if (text.empty()) text = bindings("output", base.fixed().outputs(), made.fixed().outputs());
    if (text.empty()) text = streams(base.fixed(), made.fixed());
    ValueComparison values(base_, base.fixed(), made_, made.fixed());
    if (text.empty()) text = tasks(base.fixed(), made.fixed(), values);
    if (text.empty()) text = values.compare_pieces();
    return text;
  }

  static std::string streams(const pb::FixedPart& base, const pb::FixedPart& made) {
    const bool is_same =
        std::equal(base.streams().begin(), base.streams().end(), made.streams().begin(),
                   made.streams().end(), equal_messages<pb::StreamDef, pb::StreamDef>);
    return is_same && base.events_size() == made.events_size() ? ""
                                                               : "it has other streams or events";
  }

  std::string tasks(const pb::FixedPart& base, const pb::FixedPart& made,
                    ValueComparison& values) const {
    for (int t = 0; t < std::min(base.task_kind_size(), made.task_kind_size()); ++t) {
      const std::string node = node_text(made_, made_names_, made.task_node(t));
      if (!is_same_task(base, made, t)) return fmt::format("{}: is done by other tasks", node);
      if (const std::string text = values.compare_operands(t); !text.empty())
        return fmt::format("{}: {}", node, text);
      if (!is_same_target(base, made, t)) return fmt::format("{}: {}", node, kOtherCode);
    }
    if (base.task_kind_size() == made.task_kind_size()) return {};
    return fmt::format("{} tasks, expected {}", made.task_kind_size(), base.task_kind_size());
  }

  static bool is_same_task(const pb::FixedPart& base, const pb::FixedPart& made, int t) {
    const auto count = [t](const pb::FixedPart& part) {
      return part.task_operand_end(t) - (t == 0 ? 0 : part.task_operand_end(t - 1));
    };
    return base.task_kind(t) == made.task_kind(t) && base.task_node(t) == made.task_node(t) &&
           base.task_stream(t) == made.task_stream(t) &&
           base.task_outputs(t) == made.task_outputs(t) && count(base) == count(made);
  }

  bool is_same_target(const pb::FixedPart& base, const pb::FixedPart& made, int t) const {
    const uint32_t a = base.task_target(t), b = made.task_target(t);
    const bool has_kernel =
        base.task_kind(t) == pb::TASK_LAUNCH || base.task_kind(t) == pb::TASK_TEST;
    return has_kernel ? entry(base_, a) == entry(made_, b) : a == b;
  }

  static const std::string& entry(const pb::ModelDef& model, uint32_t kernel) {
    return model.kernels(static_cast<int>(kernel)).entry();
  }

  std::string root() const {
    const pb::RootDef &base = base_.root(), &made = made_.root();
    if (base_.has_root() != made_.has_root() || base.first_node() != made.first_node() ||
        base.node_kernel_size() != made.node_kernel_size())
      return "other nodes run one by one";
    for (int i = 0; i < base.node_kernel_size(); ++i) {
      const uint32_t a = base.node_kernel(i), b = made.node_kernel(i);
      const bool is_same = a == 0 || b == 0 ? a == b : entry(base_, a - 1) == entry(made_, b - 1);
      if (is_same) continue;
      const uint32_t node = made.first_node() + static_cast<uint32_t>(i);
      return fmt::format("{}: {}", node_text(made_, made_names_, node), kOtherCode);
    }
    return {};
  }

  static constexpr std::string_view kOtherCode =
      "an attribute, or a constant that is part of its code, is another one";

  const pb::ModelDef& base_;
  const pb::ModelDef& made_;
  const NodeNames base_names_, made_names_;
};

}  // namespace

std::string structure_difference(const pb::ModelDef& base, const pb::ModelDef& made) {
  return ModelComparison(base, made).run();
}

}  // namespace sluice
