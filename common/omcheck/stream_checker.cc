#include "common/omcheck/stream_checker.h"

#include <algorithm>
#include <optional>

#include "common/omcheck/footprint.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/om_names.h"
#include "fmt/format.h"

namespace sluice {
namespace {

struct Access {
  Footprint bytes;
  bool write;
};

struct Work {
  uint32_t task;
  uint32_t stream;
  uint32_t position;           // within its stream, from 1
  std::vector<uint32_t> past;  // vector clock: per stream, the position up to which tasks have
                               // completed before this one begins
  std::vector<Access> accesses;
};

std::vector<Access> accesses_of(const pb::ModelDef& model, const pb::FixedPart& part, int t) {
  std::vector<Access> accesses;
  const uint32_t begin = t == 0 ? 0 : part.task_operand_end(t - 1);
  for (uint32_t i = begin; i < part.task_operand_end(t); ++i) {
    const uint32_t value = part.operand(static_cast<int>(i));
    if (value == 0xffffffff) continue;
    // a value of rows at unequal distances counts as empty: it is a fault of its place
    accesses.push_back(
        {footprint_of(model, part, value).value_or(Footprint()), i - begin < part.task_outputs(t)});
  }
  return accesses;
}

// Replays the streams until none can advance: each task's clock is its stream's, joined at a wait
// with the clock of the record (Mattern 1989). A stream that waits for an event that is never
// recorded continues unordered, after all others have stopped.
std::vector<Work> clocks_of(const pb::ModelDef& model, const pb::FixedPart& part) {
  const size_t streams = static_cast<size_t>(part.streams_size());
  std::vector<std::vector<int>> order(streams);
  for (int t = 0; t < part.task_kind_size(); ++t) order[part.task_stream(t)].push_back(t);
  std::vector<size_t> head(streams, 0);
  std::vector<std::vector<uint32_t>> clock(streams, std::vector<uint32_t>(streams, 0));
  std::vector<std::optional<std::vector<uint32_t>>> recorded(
      static_cast<size_t>(part.events_size()));
  std::vector<Work> works;
  for (bool moved = true, force = false; moved || !force;) {
    force = !moved;
    moved = false;
    for (uint32_t s = 0; s < streams; ++s) {
      for (; head[s] < order[s].size(); ++head[s]) {
        const int t = order[s][head[s]];
        const pb::TaskKind kind = part.task_kind(t);
        if (kind == pb::TASK_WAIT) {
          const auto& past = recorded[part.task_target(t)];
          if (!past && !force) break;
          for (size_t i = 0; past && i < streams; ++i)
            clock[s][i] = std::max(clock[s][i], (*past)[i]);
          force = false;
        } else if (kind == pb::TASK_RECORD) {
          recorded[part.task_target(t)] = clock[s];
        } else {
          const uint32_t position = clock[s][s] + 1;
          works.push_back(
              {static_cast<uint32_t>(t), s, position, clock[s], accesses_of(model, part, t)});
          clock[s][s] = position;
        }
        moved = true;
      }
    }
  }
  std::sort(works.begin(), works.end(),
            [](const Work& a, const Work& b) { return a.task < b.task; });
  return works;
}

bool ordered(const Work& a, const Work& b) {
  return a.stream == b.stream || b.past[a.stream] >= a.position || a.past[b.stream] >= b.position;
}

struct Range {
  uint32_t region;
  uint64_t begin;
  uint64_t end;
};

// Returns the range from the first to the last byte that two tasks may share.
std::optional<Range> common_bytes(const Work& a, const Work& b) {
  for (const Access& x : a.accesses) {
    for (const Access& y : b.accesses) {
      if ((x.write || y.write) && overlap(x.bytes, y.bytes))
        return Range{x.bytes.region, std::max(x.bytes.begin, y.bytes.begin),
                     std::min(x.bytes.end(), y.bytes.end())};
    }
  }
  return std::nullopt;
}

std::string region_name(const pb::ModelDef& model, const pb::FixedPart& part, uint32_t region) {
  if (region == pb::REGION_ARENA) return "the arena";
  if (region == pb::REGION_WEIGHTS) return "the weights";
  const int binding = static_cast<int>(region - pb::REGION_FIRST_BINDING);
  const Bindings& inputs = part_inputs(model, part);
  if (binding < inputs.size()) return fmt::format("input '{}'", inputs[binding].name());
  return fmt::format("output '{}'", part_outputs(model, part)[binding - inputs.size()].name());
}

std::string task_name(const NodeNames& names, const pb::FixedPart& part, const Work& work) {
  return fmt::format("'{}' (task {}, stream '{}')",
                     names[part.task_node(static_cast<int>(work.task))], work.task,
                     part.streams(static_cast<int>(work.stream)).name());
}

}  // namespace

std::vector<StreamConflict> find_stream_conflicts(const pb::ModelDef& model,
                                                  const pb::FixedPart& part, size_t limit) {
  std::vector<StreamConflict> conflicts;
  if (part.streams_size() < 2) return conflicts;
  const NodeNames names(model);
  const std::vector<Work> works = clocks_of(model, part);
  for (size_t i = 0; i < works.size(); ++i) {
    for (size_t j = i + 1; j < works.size() && conflicts.size() < limit; ++j) {
      if (ordered(works[i], works[j])) continue;
      const auto common = common_bytes(works[i], works[j]);
      if (!common) continue;
      std::string text =
          fmt::format("launches {} and {} may overlap and share bytes [{}, {}) of {}",
                      task_name(names, part, works[i]), task_name(names, part, works[j]),
                      common->begin, common->end, region_name(model, part, common->region));
      conflicts.push_back({works[i].task, works[j].task, common->region, common->begin, common->end,
                           std::move(text)});
    }
  }
  return conflicts;
}

}  // namespace sluice
