#include "common/omcheck/memory_checker.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/dtype.h"
#include "common/omcheck/footprint.h"
#include "common/omcheck/live_values.h"
#include "common/omcheck/piece_graph.h"
#include "common/omcheck/place_checker.h"
#include "common/omcheck/task_order.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/om_names.h"
#include "fmt/format.h"

namespace sluice {
namespace {

constexpr uint32_t kNone = 0xffffffff;

class Replay {
 public:
  Replay(const pb::ModelDef& model, const pb::FixedPart& part, const Places& places, size_t limit)
      : model_(model),
        part_(part),
        places_(places),
        node_names_(model),
        value_names_(part),
        limit_(limit),
        live_(places.footprints),
        lives_(places.footprints.size()) {
    for (int i = 0; i < part.alias_value_size(); ++i)
      views_[static_cast<int>(part.alias_after_task(i))].push_back(part.alias_value(i));
    for (uint32_t v = 0; v < lives_.size(); ++v)
      lives_[v].missing = places.pieces.members[v].size();
  }

  std::vector<std::string> run() {
    for (const Task& task : order_tasks(part_)) {
      for (const uint32_t operand : task.operands) check_read(task, operand);
      check_overlaps(task);
      for (const uint32_t result : task.results) write(task, result);
      if (const auto views = views_.find(task.number); views != views_.end()) {
        for (const uint32_t view : views->second) show(task, view);
      }
    }
    check_outputs();
    return std::move(faults_);
  }

 private:
  // What happened to a value so far.
  struct Life {
    int made_by = -1;             // task: the one that made or completed it
    uint32_t overwriter = kNone;  // the first value that was written to one of its bytes since
    size_t missing = 0;           // members that were not intact yet
    bool is_intact() const { return made_by >= 0 && overwriter == kNone; }
  };

  template <typename... Args>
  void fault(fmt::format_string<Args...> format, Args&&... args) {
    if (faults_.size() < limit_)
      faults_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  const Footprint& bytes(uint32_t v) const { return places_.footprints[v]; }
  bool is_read_only(uint32_t v) const { return places_.is_read_only(bytes(v).region); }
  std::string name(uint32_t v) const { return fmt::format("value {} ('{}')", v, value_names_[v]); }
  std::string name(const Task& task) const {
    return fmt::format("task {} ('{}')", task.number, node_names_[part_.task_node(task.number)]);
  }

  void check_read(const Task& task, uint32_t v) {
    if (is_read_only(v) || bytes(v).is_empty() || lives_[v].is_intact()) return;
    const uint32_t found = missing(v);
    const std::string which = found == v ? "" : fmt::format(", whose piece {}", name(found));
    if (lives_[found].overwriter != kNone) {
      fault("{} reads {}{}{} bytes [{}, {}) were overwritten by {}", name(task), name(v), which,
            found == v ? ", whose" : ": its", bytes(found).begin, bytes(found).end(),
            name(lives_[found].overwriter));
    } else if (found == v) {
      fault("{} reads {} before any task made it", name(task), name(v));
    } else {
      fault("{} reads {}{} no task made before", name(task), name(v), which);
    }
  }

  // Returns the value for whose sake a value is not intact: itself, or a piece of a piece.
  uint32_t missing(uint32_t v) const {
    while (lives_[v].made_by < 0) {
      const std::vector<uint32_t>& members = places_.pieces.members[v];
      const auto member =
          std::ranges::find_if(members, [&](uint32_t piece) { return !lives_[piece].is_intact(); });
      if (member == members.end()) break;
      v = *member;
    }
    return v;
  }

  void check_overlaps(const Task& task) {
    const bool may_overwrite = task.kind == pb::TASK_LAUNCH || task.kind == pb::TASK_TEST;
    for (size_t i = 0; i < task.results.size(); ++i) {
      const uint32_t result = task.results[i];
      for (size_t j = i + 1; j < task.results.size(); ++j) {
        if (overlap(bytes(result), bytes(task.results[j])))
          fault("{} writes {} and {} to common bytes", name(task), name(result),
                name(task.results[j]));
      }
      for (const uint32_t operand : task.operands) {
        const bool covers_it = bytes(result) == bytes(operand);
        if (!(covers_it && may_overwrite) && overlap(bytes(result), bytes(operand)))
          fault("{} writes {} over {}, which it reads", name(task), name(result), name(operand));
      }
    }
  }

  void write(const Task& task, uint32_t v) {
    if (is_read_only(v))
      fault("{} writes {}, which is an input or a constant", name(task), name(v));
    if (lives_[v].made_by >= 0) fault("{} makes {} again", name(task), name(v));
    for (const uint32_t other : live_.find(bytes(v))) {
      if (other == v) continue;
      lives_[other].overwriter = v;
      live_.remove(other);
    }
    make(task, v);
  }

  // Makes a value, and all that are complete with it: wholes and slices.
  void make(const Task& task, uint32_t value) {
    const PieceGraph& pieces = places_.pieces;
    for (std::vector<uint32_t> made = {value}; !made.empty();) {
      const uint32_t v = made.back();
      made.pop_back();
      const bool again = lives_[v].made_by >= 0;
      lives_[v].made_by = task.number;
      lives_[v].overwriter = kNone;
      if (!bytes(v).is_empty()) live_.add(v);
      if (again || bytes(v).is_empty()) continue;
      for (const uint32_t whole : pieces.member_of[v]) {
        if (--lives_[whole].missing == 0 && is_complete(whole)) made.push_back(whole);
      }
      std::ranges::copy_if(pieces.slices[v], std::back_inserter(made),
                           [&](uint32_t slice) { return lives_[slice].made_by < 0; });
    }
  }

  bool is_complete(uint32_t whole) const {
    return std::ranges::all_of(places_.pieces.members[whole],
                               [&](uint32_t member) { return lives_[member].is_intact(); });
  }

  // Makes a view if it has the bytes, from the first on, of an intact value that the task made or
  // completed.
  void show(const Task& task, uint32_t view) {
    if (bytes(view).is_empty() || lives_[view].is_intact()) return;
    const Footprint first{bytes(view).region, bytes(view).begin, 1, 1, 1};
    const bool shows_one = std::ranges::any_of(live_.find(first), [&](uint32_t v) {
      return lives_[v].made_by == task.number && bytes(v).begin == bytes(view).begin &&
             covers(bytes(v), bytes(view));
    });
    if (lives_[view].made_by >= 0 || !shows_one)
      return fault("{} shows no result of {}", name(view), name(task));
    make(task, view);
  }

  // Checks that each output is filled by one intact value, or by results, which share no bytes
  // while they are intact.
  void check_outputs() {
    std::vector<uint64_t> filled(places_.region_bytes.size(), 0);
    std::vector<bool> is_full(filled.size(), false);
    for (uint32_t v = 0; v < lives_.size(); ++v) {
      if (!lives_[v].is_intact()) continue;
      const uint32_t region = bytes(v).region;
      if (places_.is_result[v]) filled[region] += bytes(v).bytes();
      if (bytes(v).bytes() == places_.region_bytes[region]) is_full[region] = true;
    }
    const Bindings& outputs = part_outputs(model_, part_);
    const size_t first = filled.size() - static_cast<size_t>(outputs.size());
    for (size_t region = first; region < filled.size(); ++region) {
      if (!is_full[region] && filled[region] < places_.region_bytes[region])
        fault("output '{}' is not written in full",
              outputs[static_cast<int>(region - first)].name());
    }
  }

  const pb::ModelDef& model_;
  const pb::FixedPart& part_;
  const Places& places_;
  const NodeNames node_names_;
  const ValueNames value_names_;
  size_t limit_;
  LiveValues live_;  // the intact values that have bytes
  std::vector<Life> lives_;
  std::map<int, std::vector<uint32_t>> views_;  // by task
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> find_memory_faults(const pb::ModelDef& model, const pb::FixedPart& part,
                                            uint64_t weights_bytes, size_t limit) {
  Places places = check_places(model, part, weights_bytes);
  if (places.faults.empty()) return Replay(model, part, places, limit).run();
  places.faults.resize(std::min(places.faults.size(), limit));
  return std::move(places.faults);
}

}  // namespace sluice
