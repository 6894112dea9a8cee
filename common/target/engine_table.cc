#include "common/target/engine_table.h"

#include <algorithm>

#include "common/eval/eval.h"
#include "common/ir/engine_fault.h"
#include "common/target/aicore.h"
#include "common/target/vector.h"

namespace sluice {
namespace {

// Rejects Fused nodes: host_cpu could run them, but their parts may find better engines
// individually.
std::string host_cpu_unsupported_reason(const Node& node) {
  if (node.op() == Op::kFused) return "fused nodes are for engines that generate kernels";
  return is_evaluable(node.op())
             ? std::string()
             : fmt::format("the reference evaluator has no kernel for {}", op_name(node.op()));
}

std::string rts_unsupported_reason(const Node& node) {
  return node.op() == Op::kMemCopy ? std::string() : "only memory copies run there";
}

struct OwnEngine {
  std::string_view name;
  int cost;
  std::string (*reason)(const Node& node);
  EngineStreams streams = {};
};

// The engines of this release. How each lowers its subgraphs is the table in
// stages/subgraph-optimize/engines/engines.cc (docs/adding-an-engine.md).
constexpr OwnEngine kOwn[] = {
    {"aicore", 1, aicore_unsupported_reason},
    {"rts", 2, rts_unsupported_reason, {.attaches = true}},
    {"vector", 3, vector_unsupported_reason},
    {"host_cpu", 10, host_cpu_unsupported_reason, {.attaches = true}},
};

const OwnEngine* find_own(std::string_view name) {
  const auto* own = std::ranges::find(kOwn, name, &OwnEngine::name);
  return own == std::end(kOwn) ? nullptr : own;
}

Error bad_profile(const DeviceProfile& profile, const std::string& what) {
  Error error = make_error(ErrorCode::kBadOption, "device profile '{}': {}", profile.name, what);
  error.file = profile.file;
  return error;
}

Error unknown_engine(const DeviceProfile& profile, std::string_view name) {
  std::string known;
  for (const OwnEngine& own : kOwn) known += (known.empty() ? "" : ", ") + std::string(own.name);
  return bad_profile(
      profile,
      fmt::format("engines: this release does not have '{}', expected some of {}", name, known));
}

// The profile's names are well formed, so an id is missing only when there are too many.
Result<EngineId> engine_id(const DeviceProfile& profile, std::string_view key,
                           std::string_view name) {
  const EngineId id = intern_engine(name);
  if (id != EngineId::kNone) return id;
  return bad_profile(profile, fmt::format("{}: '{}', {}", key, name, engine_fault(name)));
}

Result<EngineRow> described_row(const DeviceProfile& profile, const DescribedEngine& described) {
  if (find_own(described.name) != nullptr) {
    return bad_profile(
        profile,
        fmt::format("described_engines: '{}' is an engine of this release, expected another name",
                    described.name));
  }
  SLUICE_ASSIGN(const EngineId id, engine_id(profile, "described_engines", described.name));
  EngineRow row{id, described.cost, nullptr, {}, described.streams};
  for (const std::string& name : described.ops) {
    const auto op = op_from_name(name);
    if (!op) {
      return bad_profile(profile,
                         fmt::format("described_engines: '{}': ops: there is no op '{}', expected "
                                     "names of operators",
                                     described.name, name));
    }
    row.ops.push_back(*op);
  }
  return row;
}

Result<CompositeRow> composite_row(const DeviceProfile& profile, const CompositeEngine& composite) {
  SLUICE_ASSIGN(const EngineId id, engine_id(profile, "composites", composite.name));
  CompositeRow row{id, {}};
  for (const std::string& member : composite.members) {
    SLUICE_ASSIGN(const EngineId engine, engine_id(profile, "composites", member));
    row.members.push_back(engine);
  }
  return row;
}

}  // namespace

const EngineRow* EngineTable::find(EngineId id) const {
  const auto found = std::find_if(engines.begin(), engines.end(),
                                  [&](const EngineRow& row) { return row.id == id; });
  return found == engines.end() ? nullptr : &*found;
}

Result<EngineTable> make_engine_table(const DeviceProfile& profile) {
  EngineTable table;
  for (const std::string& name : profile.engines) {
    const OwnEngine* own = find_own(name);
    if (own == nullptr) return unknown_engine(profile, name);
    SLUICE_ASSIGN(const EngineId id, engine_id(profile, "engines", name));
    table.engines.push_back({id, own->cost, own->reason, {}, own->streams});
  }
  for (const DescribedEngine& described : profile.described_engines) {
    SLUICE_ASSIGN(EngineRow row, described_row(profile, described));
    table.engines.push_back(std::move(row));
  }
  std::sort(table.engines.begin(), table.engines.end(), [](const EngineRow& a, const EngineRow& b) {
    return std::pair(a.cost, engine_name(a.id)) < std::pair(b.cost, engine_name(b.id));
  });
  for (const CompositeEngine& composite : profile.composites) {
    SLUICE_ASSIGN(CompositeRow row, composite_row(profile, composite));
    table.composites.push_back(std::move(row));
  }
  return table;
}

std::string engine_unsupported_reason(const EngineRow& row, const Node& node) {
  if (row.reason != nullptr) return row.reason(node);
  const bool listed = std::find(row.ops.begin(), row.ops.end(), node.op()) != row.ops.end();
  return listed ? std::string() : fmt::format("{} is not among its ops", op_name(node.op()));
}

}  // namespace sluice
