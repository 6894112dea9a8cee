#include "common/target/task_cost.h"

#include <algorithm>

#include "common/ir/module.h"
#include "common/ops/value_bytes.h"

namespace sluice {
namespace {

constexpr double kLine = 64;  // bytes

double operand_bytes(const Node& task) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < task.input_count(); ++i)
    if (task.input(i) != nullptr) bytes += nominal_bytes(*task.input(i));
  for (size_t i = 0; i < task.output_count(); ++i) bytes += nominal_bytes(task.output(i));
  return static_cast<double>(bytes);
}

uint32_t nominal_blocks(const Kernel& kernel) {
  if (!kernel.symbolic || kernel.multiply_adds_per_block == 0) return kernel.blocks;
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(kernel.nominal_multiply_adds / kernel.multiply_adds_per_block, 1,
                           std::max<uint32_t>(kernel.blocks, 1)));
}

}  // namespace

TaskCost estimate_task(const Node& task, const DeviceProfile& profile) {
  const auto in_cycles = [](int64_t cost) { return static_cast<double>(cost) / 100; };
  TaskCost cost;
  cost.cycles = 1;
  if (task.placement.kernel >= 0) {
    const Kernel& kernel = task.graph().module().kernel(task.placement.kernel);
    cost.blocks = nominal_blocks(kernel);
    if (kernel.cycles > 0) {
      cost.cycles += static_cast<double>(kernel.cycles);
      return cost;
    }
  }
  cost.cycles += operand_bytes(task) / kLine * in_cycles(profile.costs.memory_line);
  return cost;
}

}  // namespace sluice
