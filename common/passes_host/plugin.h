// What a plugin consists of: a shared object with passes in C++. It defines one record,
//
//   const sluice::PluginPass passes[] = {
//       {"drop-dropout", "erases Dropout", "after-infer-shape", drop_dropout}};
//   extern "C" const SluicePlugin sluice_plugin = SLUICE_PLUGIN(passes);
//
// links libsluice_compiler.so, and is used as --pass=after-infer-shape=drop.so: its passes of that
// point run in the order of the record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "common/base/release.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Changes with every change of what a plugin shares with the compiler.
inline constexpr uint32_t kPluginAbi = 1;

struct PluginPass {
  const char* name;      // "drop-dropout"
  const char* sentence;  // for people: what it does
  const char* point;     // "after-infer-shape" (points.h)
  // Returns true when it changed the graph; called for the root of the model.
  Result<bool> (*run)(Graph& graph);
};

}  // namespace sluice

// The first three fields stay where they are, in every release.
struct SluicePlugin {
  uint32_t abi;
  uint32_t pass_count;
  const char* release;
  const sluice::PluginPass* passes;
};

#define SLUICE_PLUGIN(passes) \
  {sluice::kPluginAbi, static_cast<uint32_t>(std::size(passes)), sluice::kRelease, passes}

// Defined by the plugin.
extern "C" __attribute__((visibility("default"))) const SluicePlugin sluice_plugin;
