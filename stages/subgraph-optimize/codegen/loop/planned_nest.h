// A nest and its plan, as all emitters of its code read them.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include <vector>

#include "common/loop/loop_graph.h"
#include "common/loop/real_range.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"
#include "stages/subgraph-optimize/codegen/loop/flat_nest.h"
#include "stages/subgraph-optimize/codegen/loop/nest_plan.h"

namespace sluice {

// What it refers to must outlive the emitters. Of the graph they change nothing but that its table
// of expressions grows.
struct PlannedNest {
  KernelBuilder& builder;
  loop::LoopGraph& graph;
  const FlatNest& flat;
  const NestPlan& plan;
  std::vector<loop::RealRange> ranges;  // by instruction

  const loop::Axis& axis(loop::AxisId id) const { return flat.nest.axes[static_cast<size_t>(id)]; }
  const loop::Instruction& instruction(loop::InstructionId id) const {
    return flat.nest.instructions[static_cast<size_t>(id)];
  }
  const loop::Accumulator& accumulator(loop::AccumulatorId id) const {
    return flat.nest.accumulators[static_cast<size_t>(id)];
  }
  const loop::Sweep& sweep(size_t number) const { return flat.nest.sweeps[number]; }
  const loop::Buffer& buffer(loop::BufferId id) const {
    return graph.buffers[static_cast<size_t>(id)];
  }

  bool is_inner() const { return plan.vector == NestPlan::Vector::kInner; }
  bool has_masks() const { return builder.profile().vector_bits >= 512; }  // for all types
  bool has_masks_of(DType dtype) const {
    return has_masks() || (builder.profile().vector_bits >= 256 && dtype_bits(dtype) >= 32);
  }
};

}  // namespace sluice
