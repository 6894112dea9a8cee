#include "common/target/engine_table.h"

#include <algorithm>

#include "common/eval/eval.h"
#include "common/target/aicore.h"

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
};

// The engines of this release. How each lowers its subgraphs is the table in
// stages/subgraph-optimize/engines/engines.cc (docs/adding-an-engine.md).
constexpr OwnEngine kOwn[] = {
    {"aicore", 1, aicore_unsupported_reason},
    {"rts", 2, rts_unsupported_reason},
    {"host_cpu", 10, host_cpu_unsupported_reason},
};

Error unknown_engine(const DeviceProfile& profile, std::string_view name) {
  return make_error(ErrorCode::kBadOption,
                    "device profile '{}' names the engine '{}', which this release does not have",
                    profile.name, name);
}

Result<EngineRow> described_row(const DeviceProfile& profile, const DescribedEngine& described) {
  EngineRow row{intern_engine(described.name), described.cost, nullptr, {}};
  if (row.id == EngineId::kNone) return unknown_engine(profile, described.name);
  for (const std::string& name : described.ops) {
    const auto op = op_from_name(name);
    if (!op)
      return make_error(ErrorCode::kBadOption,
                        "device profile '{}': engine '{}' names the unknown op '{}'", profile.name,
                        described.name, name);
    row.ops.push_back(*op);
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
    const auto* own = std::ranges::find(kOwn, name, &OwnEngine::name);
    if (own == std::end(kOwn)) return unknown_engine(profile, name);
    table.engines.push_back({intern_engine(name), own->cost, own->reason, {}});
  }
  for (const DescribedEngine& described : profile.described_engines) {
    SLUICE_ASSIGN(EngineRow row, described_row(profile, described));
    table.engines.push_back(std::move(row));
  }
  std::sort(table.engines.begin(), table.engines.end(), [](const EngineRow& a, const EngineRow& b) {
    return std::pair(a.cost, engine_name(a.id)) < std::pair(b.cost, engine_name(b.id));
  });
  for (const CompositeEngine& composite : profile.composites) {
    CompositeRow row{intern_engine(composite.name), {}};
    if (!is_composite(row.id))
      return make_error(ErrorCode::kBadOption,
                        "device profile '{}': composite engine '{}' is not named as several "
                        "engines, like 'aicore+vector'",
                        profile.name, composite.name);
    for (const std::string& member : composite.members) {
      row.members.push_back(intern_engine(member));
      if (table.find(row.members.back()) == nullptr) return unknown_engine(profile, member);
    }
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
