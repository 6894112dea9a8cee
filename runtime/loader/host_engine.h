// The interface between the executor and an engine that runs nodes by C++ code (host_cpu). The
// engine is in a library of its own, opened only when a model names it; both sides are built
// together, which `release` and `table_size` make sure of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/result.h"
#include "common/base/tensor.h"
#include "runtime/device/launch.h"

namespace sluice {

struct HostOperand {
  bool present = false;  // false: an absent optional input or output; its address is null
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;
  uint64_t bytes = 0;                   // of its storage, dense
  const std::byte* constant = nullptr;  // its elements, if they lie among the weights
};

struct HostTask {
  uint32_t node = 0;                  // in the part's host graph
  std::vector<HostOperand> operands;  // outputs, then inputs
  size_t outputs = 0;
};

// A task that is ready to run, any number of times.
struct HostCall {
  std::shared_ptr<const void> state;
  uint32_t blocks = 1;  // that threads may share
};

// A tensor in memory that the caller or `owner` keeps. Its elements are stored as in Tensor.
struct HostTensor {
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;

  static HostTensor of(
      std::shared_ptr<const Tensor> tensor) {  // inline: both sides of the library use it
    const Tensor& held = *tensor;
    return {held.dtype, held.dims, held.bytes, std::move(tensor)};
  }
};

// The value of an input, an output or a node of a graph that is walked.
struct HostValue {
  enum class Kind : uint8_t {
    kTensor,
    kSequence,
    kMap,
    kMaps,
    kNone
  };  // kMaps: a sequence of maps; kNone: an empty optional
  Kind kind = Kind::kTensor;
  std::vector<HostTensor> tensors;  // one, a sequence's elements, or none; of each map its keys and
                                    // its values, both of one dim
};

// The actions of the executor while a root graph is walked, and its observers.
struct GraphHooks {
  // Returns the results of a fixed part.
  std::function<Result<std::vector<Tensor>>(uint32_t part, std::span<const HostTensor> inputs)>
      call_part;
  // By the node's position in the graph: 1 + the kernel of the compiled model that it launches; 0:
  // none. Empty: no node launches one.
  std::span<const uint32_t> node_kernels;
  // Launches a kernel and waits for its end. operands: its outputs, then its inputs, each at a
  // multiple of 64 bytes, in the storages that the graph declares. dims: of all operands,
  // concatenated.
  std::function<Result<void>(uint32_t kernel, std::span<void* const> operands,
                             std::span<const int64_t> dims)>
      launch;
  // Called before and after each node, with its position in the graph. May be empty.
  std::function<void(uint32_t node, bool begins)> around_node;
  // Called for each node, after the walk, with the bytes of all its inputs and outputs. May be
  // empty.
  std::function<void(uint32_t node, uint64_t bytes)> operands_counted;
  // The resource that values allocate their memory from; null: the heap. It outlives all values.
  std::pmr::memory_resource* memory = nullptr;
  // Called with each value as it is made. May be empty.
  std::function<void(const std::string& name, const HostValue& value)> value_made;
};

// Result `result` of the Call of part `part`, which is the root's output `output`.
struct PartResult {
  uint32_t part = 0;
  uint32_t result = 0;
  uint32_t output = 0;
};

// A table of functions, found under its C name sluice_host_engine in the library.
struct HostEngine {
  const char* release;
  size_t table_size;
  // Reads a part's host graph, or a root graph (.sg bytes). The bytes and the weights stay mapped
  // during the lifetime of the result.
  Result<std::shared_ptr<void>> (*open_graph)(std::span<const std::byte> graph,
                                              std::span<const std::byte> weights);
  // Checks that the node exists and takes these operands, and prepares what is needed once. graph
  // outlives the result.
  Result<HostCall> (*prepare)(const std::shared_ptr<void>& graph, const HostTask& task);
  // Runs a block of a prepared task: state is that of the HostCall, operands the addresses in the
  // same order. Several threads may call it at once.
  CallFunction run;
  // Checks that each of these results of parts is the one output of the root graph with its index,
  // and that no node reads it, because its elements are in memory that the graph knows nothing of.
  // Error: kBadCompiledModel.
  Result<void> (*check_unread)(const std::shared_ptr<void>& graph,
                               std::span<const PartResult> results);
  // Returns the results of parts that are one output of the root graph each, of parts that are
  // called once, and that only other parts read: nothing else shares their memory.
  std::vector<PartResult> (*outputs_of_parts)(const std::shared_ptr<void>& graph);
  // Walks a root graph node by node. inputs: one of each of the graph's types; they are not copied
  // and must not change meanwhile.
  Result<std::vector<HostValue>> (*run_graph)(const std::shared_ptr<void>& graph,
                                              std::span<const HostValue> inputs,
                                              const GraphHooks& hooks);
};

// Opens libsluice_host_cpu.so beside this program or library ($ORIGIN/../lib, then $ORIGIN). Error:
// kWrongDevice when it does not exist or is of another release.
Result<const HostEngine*> open_host_engine();

inline constexpr char kHostEngineSymbol[] =
    "sluice_host_engine";  // extern "C" const HostEngine* sluice_host_engine();
inline constexpr char kHostEngineRelease[] = "0.1.0/6";  // raised with every change of this header

}  // namespace sluice
