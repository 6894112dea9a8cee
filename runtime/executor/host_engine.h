// What the executor asks of an engine that runs nodes by C++ code (host_cpu). The engine lives in a library of its own, opened only when a
// model names it; both sides are built together, which `release` and `table_size` make sure of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/result.h"
#include "runtime/device/launch.h"

namespace sluice {

struct HostOperand {
  bool present = false;  // false: an absent optional input or output; its address is null
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;
  uint64_t bytes = 0;  // of its storage, dense
};

struct HostTask {
  uint32_t node = 0;                  // in the part's host graph
  std::vector<HostOperand> operands;  // outputs, then inputs
  size_t outputs = 0;
};

// A table of functions, found under the C name sluice_host_engine in the library.
struct HostEngine {
  const char* release;
  size_t table_size;
  // Reads the part's host graph (.sg bytes; they stay mapped while the result lives).
  Result<std::shared_ptr<void>> (*open_graph)(std::span<const std::byte> graph);
  // Checks that the node exists and takes these operands, and does what need be done once. graph outlives the result.
  Result<std::shared_ptr<const void>> (*prepare)(const std::shared_ptr<void>& graph, const HostTask& task);
  // Runs a prepared task: state is prepare's result, operands the addresses in the same order. Several threads at once.
  CallFunction run;
};

// Opens libsluice_host_cpu.so beside this program or library ($ORIGIN/../lib, then $ORIGIN). Errors: kWrongDevice when it is not there or
// of another release.
Result<const HostEngine*> open_host_engine();

inline constexpr char kHostEngineSymbol[] = "sluice_host_engine";  // extern "C" const HostEngine* sluice_host_engine();
inline constexpr char kHostEngineRelease[] = "0.1.0/1";            // raised with every change of this header

}  // namespace sluice
