// Level lowered: every node has a kernel or is a task by its engine; every value that occupies
// memory has a size.
#include <algorithm>

#include "common/base/limits.h"
#include "common/base/work.h"
#include "common/ir/append_axis.h"
#include "common/ir/value_storage.h"
#include "common/verify/findings.h"

namespace sluice::verifying {
namespace {

// Returns false for bodies of Fused nodes, of control flow and of constants, which do not run by
// themselves.
bool is_run(const Graph& graph) {
  return graph.role == GraphRole::kRoot || graph.role == GraphRole::kPart ||
         graph.role == GraphRole::kSubgraph;
}

bool runs_without_kernel(const Node& node) {
  if (node.placement.engine == EngineId::kRts) return is_copied(node);
  return node.placement.engine == EngineId::kHostCpu;
}

void check_task(const Node& node, Findings& findings) {
  const Module& module = node.graph().module();
  const Placement& placement = node.placement;
  if (placement.kernel >= static_cast<KernelId>(module.kernel_count())) {
    findings.add("{}: kernel {} does not exist", node.label(), placement.kernel);
    return;
  }
  if (placement.kernel >= 0 && !placement.no_task && operand_layouts(node) != placement.layouts) {
    const auto shown = [](const std::string& layouts) {
      return layouts.empty() ? std::string("all dense") : layouts;
    };
    findings.add("{}: its operands lie {}, its kernel was made for {}", node.label(),
                 shown(operand_layouts(node)), shown(placement.layouts));
  }
  if (placement.kernel < 0 && !placement.no_task && node.op() != Op::kCall &&
      !runs_without_kernel(node)) {
    findings.add("{}: names no kernel, and {} does not run it without one", node.label(),
                 engine_name(placement.engine));
  }
}

// Entries are symbols of an object file that we generate: a compiled model takes no other bytes.
bool is_entry(const std::string& name) {
  return std::ranges::all_of(name, [](char c) { return c > ' ' && c < 127; });
}

// Checks the limits that a loader enforces.
void check_kernel(const Kernel& kernel, Findings& findings) {
  if (kernel.entry.empty()) findings.add("a kernel has no entry name");
  if (!is_entry(kernel.entry)) findings.add("the entry of a kernel is no name: {}", kernel.entry);
  if (kernel.blocks == 0 || kernel.blocks > kBlockLimit) {
    findings.add("kernel '{}' has {} blocks, 1 to {} are possible", kernel.entry, kernel.blocks,
                 kBlockLimit);
  }
  if (kernel.scratch_bytes > kScratchLimit) {
    findings.add("kernel '{}' needs {} bytes of scratch, at most {} are possible", kernel.entry,
                 kernel.scratch_bytes, kScratchLimit);
  }
}

void check_memory(const Value& value, Findings& findings) {
  if (const Storage* storage = value.storage()) {
    if (storage->bytes.is_unknown())
      findings.add("{}: its storage has no size", value_label(value));
    if (storage->bytes.is_fixed() && storage->bytes.value == 0 &&
        value.type().element_count().value_or(0) > 0) {
      findings.add("{}: its storage has 0 bytes", value_label(value));
    }
  }
}

}  // namespace

bool is_copied(const Node& node) {
  return node.op() == Op::kMemCopy || node.op() == Op::kTransData ||
         (node.op() == Op::kConcat && append_axis(node.output()));
}

void check_lowered(const Module& module, Findings& findings) {
  for (size_t id = 0; id < module.kernel_count(); ++id)
    check_kernel(module.kernel(static_cast<KernelId>(id)), findings);
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id) || !is_run(module.graph(id))) continue;
    const Graph& graph = module.graph(id);
    add_work(Work::kNodeVisits, graph.node_count());
    for (const Node& node : graph.nodes()) check_task(node, findings);
    for (const Value& value : graph.values()) {
      if (!value.is_erased() && value.is_used()) check_memory(value, findings);
    }
  }
}

}  // namespace sluice::verifying
