// A device profile: the facts that the compiler may assume about the device.
// Profiles are JSON files in common/target/profiles, compiled into every program that needs them,
// so that a copied program file works alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/limits.h"
#include "common/base/result.h"

namespace sluice {

// What an engine means for streams, where these are chosen by engine (docs/schedule.md).
struct EngineStreams {
  bool is_independent = false;  // its subgraphs run in a stream of the engine
  bool attaches = false;        // they run in the stream of what they read, of any engine
  bool is_skipped = false;      // they take the one stream of their neighbours
  int64_t max_parallel = 1;     // streams that subgraphs are spread over
  int64_t tasks_per_node = 0;   // of the device's; 0: those of the profile
  bool operator==(const EngineStreams&) const = default;
};

// An engine that a profile file describes by the ops it supports, for devices under study and for
// tests. No stage of this release lowers for it.
struct DescribedEngine {
  std::string name;
  int cost = 0;
  std::vector<std::string> ops;
  EngineStreams streams = {};  // absent in a file: these, and each member
};

// Tasks that a device with a limit keeps of each stream for itself: 7 at its start, 20 at its end.
inline constexpr int64_t kReservedTasks = 27;

// What a device has of streams; 0: there is no limit. Absent in a file: these.
struct StreamLimits {
  bool are_by_engine = false;  // the compiler chooses streams by engine; otherwise one for all
  int64_t tasks_per_node = 1;  // that the device is given for a node, its waits and records apart
  int64_t max_streams = 1024;
  int64_t max_tasks = 0;         // of one stream, waits and records among them
  bool has_huge_stream = false;  // the only stream of a part may have any number of tasks
  int64_t max_events = 0, max_notifies = 0;  // of a part
  // In hundredths of a cycle: until a task begins after one of another stream, and until it has
  // read a line of 64 bytes that this one wrote.
  int64_t sync_cost = 1300000, transfer_cost = 4000;
  // By how many percent what a run holds, constants among it, may grow for streams that the
  // compiler chooses.
  int64_t memory_percent = 10;
};

// Engines that one subgraph may mix.
struct CompositeEngine {
  std::string name;
  std::vector<std::string> members;
};

// A class of the device's memory, with an allocator of its own.
struct MemoryClassLimits {
  std::string name;              // "hbm"
  int64_t alignment = 64;        // of buffers: a multiple of 64. Absent in a file: 64
  int64_t sub_memory_bytes = 0;  // of an allocation, unless one buffer needs more. Absent: no limit
};

// What generated code costs, in hundredths of a cycle: numbers that plans of kernels compare.
struct Costs {
  int64_t simple = 50;            // an instruction on one vector
  int64_t divide = 50;            // division, remainder or root, for each lane
  int64_t transcendental = 1000;  // a function such as exp, on one vector
  int64_t access = 100;           // a vector of neighbours, loaded or stored
  int64_t pattern = 250;          // one of elements at a small stride, or repeated: shuffled
  int64_t gather = 120;           // elements anywhere, for each lane
  int64_t scatter = 200;
  int64_t launch = 204800;  // what starting a launch takes
  // A line of 64 bytes, when the operands fit the level-2 cache, the last cache, or neither.
  int64_t l2_line = 200;
  int64_t last_cache_line = 400;
  int64_t memory_line = 800;
  // The rest is of contractions. Wide vectors have more than 256 bits.
  int64_t multiply_add = 50, wide_multiply_add = 100;
  int64_t load = 50, wide_load = 100;  // a vector of a panel; a narrow load also broadcasts
  int64_t instruction = 20;            // any, where multiplication and addition are two of them
  int64_t tile = 2500;                 // calling a register tile
  int64_t sum = 150;                   // finishing and storing one of its vectors
};
struct NamedCost {
  std::string_view name;
  int64_t Costs::* number;
};
inline constexpr NamedCost kCosts[] = {
    {"simple", &Costs::simple},
    {"divide", &Costs::divide},
    {"transcendental", &Costs::transcendental},
    {"access", &Costs::access},
    {"pattern", &Costs::pattern},
    {"gather", &Costs::gather},
    {"scatter", &Costs::scatter},
    {"launch", &Costs::launch},
    {"l2_line", &Costs::l2_line},
    {"last_cache_line", &Costs::last_cache_line},
    {"memory_line", &Costs::memory_line},
    {"multiply_add", &Costs::multiply_add},
    {"wide_multiply_add", &Costs::wide_multiply_add},
    {"load", &Costs::load},
    {"wide_load", &Costs::wide_load},
    {"instruction", &Costs::instruction},
    {"tile", &Costs::tile},
    {"sum", &Costs::sum},
};

struct DeviceProfile {
  std::string file;  // the .json file it was read from; empty: built in
  // "cpu-avx512"; `native` is resolved to an explicit profile before it is stored anywhere.
  std::string name;
  // "avx512bf16", "avx512vnni", "avx512", "avx2" or "generic": the isa that a loader must find on
  // its CPU.
  std::string isa;
  std::string llvm_cpu;       // explicit -mcpu, e.g. "x86-64-v4"
  std::string llvm_features;  // explicit -mattr, e.g. "+avx512f,+avx512vl,…"
  int vector_bits = 128;      // widest register to use
  int vector_registers = 16;
  bool fused_multiply_add = false;
  // True when one instruction adds four products of bytes (vpdpbusd). Absent in a file: false.
  bool int8_dot_product = false;
  // True when one instruction adds two products of bf16 (vdpbf16ps). Absent in a file: false.
  bool bf16_dot_product = false;
  // The first cache, and the lines that share a set of it. Absent in a file: these.
  int64_t l1_bytes = 32 * 1024, l1_ways = 8;
  int64_t l2_bytes = 1024 * 1024;
  int64_t last_cache_bytes = int64_t{32} << 20;  // that one core can fill. Absent in a file: 32 MiB
  Costs costs;                                   // absent in a file: these, and each member
  int64_t scratch_limit = kScratchLimit;         // bytes per worker, at most kScratchLimit
  std::vector<std::string> engines;              // engine names that exist on this device
  std::vector<DescribedEngine> described_engines;
  std::vector<CompositeEngine> composites;
  // Those that results can be made in; the first is that of nodes that name none. Absent in a file:
  // one, "arena", without limits.
  std::vector<MemoryClassLimits> memory_classes;
  StreamLimits streams;
};

// The values that facts of a profile may have.
struct ValueRange {
  int64_t low, high;
};
inline constexpr ValueRange kVectorBits{128, 512}, kVectorRegisters{16, 32};
inline constexpr ValueRange kCacheBytes{1, int64_t{1} << 40}, kScratchBytes{0, kScratchLimit};
inline constexpr ValueRange kAlignment{64, 4096}, kSubMemoryBytes{4096, int64_t{1} << 40};
inline constexpr ValueRange kCacheWays{1, 64}, kCostRange{1, int64_t{1} << 30};
inline constexpr ValueRange kParallelRange{1, 1024}, kTasksPerNode{1, 1024};
inline constexpr ValueRange kStreamLimit{0, int64_t{1} << 30}, kPercentRange{0, 1000};

// Returns why generated code cannot rely on the facts about the machine, each of which is in its
// range; empty: it can.
std::string machine_fault(const DeviceProfile& profile);

// Returns a profile. name: a built-in profile, "native" (detects the CPU and returns the first that
// it can run of cpu-avx512bf16, cpu-avx512vnni, cpu-avx512, cpu-avx2 and cpu-generic), the path of
// a .json file like those in common/target/profiles, or the content of one.
Result<DeviceProfile> get_profile(std::string_view name);
// Parses the content of such a file. Error: kBadJson, which names the member that is absent,
// unknown, of another kind or out of range, or contradicts another.
Result<DeviceProfile> parse_profile(std::string_view text);
// Returns kNotLowerable for a profile with engines that it only describes, or with composite ones:
// only sluice-partition knows these, and no later stage lowers for them.
Result<void> check_lowerable(const DeviceProfile& profile);
// Returns the index of a memory class of the profile, the first of them for an empty name. Error:
// kBadValue, which lists those that there are.
Result<size_t> find_memory_class(const DeviceProfile& profile, std::string_view name);
std::vector<std::string> profile_names();
// Returns true when this machine's CPU can run code for the profile's isa.
bool cpu_supports(std::string_view isa);

}  // namespace sluice
