// Compiler facts about a node and about a graph. There is no free map: every fact that a later
// stage reads is a field here (checked by scripts/check).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/ir/precision.h"
#include "common/ir/type.h"

namespace sluice {

// What a node runs on, by name: an engine of the device profile, or one that a profile describes.
// Files name engines; ids are those of this process. The enumerators are the engines that code
// asks for.
enum class EngineId : uint8_t { kNone = 0, kAicore = 1, kHostCpu = 2, kRts = 3 };

std::string_view engine_name(EngineId engine);  // "aicore", "host_cpu", …; kNone: "none"
// Returns the id of a name, a new one if nothing had that name. Returns kNone when the text cannot
// name an engine: other characters than a-z, 0-9, _ and +, or too many names. Any thread may call.
EngineId intern_engine(std::string_view name);
// Says whether several engines share it: "aicore+vector".
bool is_composite(EngineId engine);

// The name of a stream that a node is to run in.
struct StreamLabel {
  std::string text = {};
  bool is_chosen = false;  // by the compiler; otherwise the user gave it
  bool empty() const { return text.empty(); }
  bool operator==(const StreamLabel&) const = default;
};
// Returns the label that the user gave; empty: none.
inline std::string_view user_label(const StreamLabel& label) {
  return label.is_chosen ? std::string_view() : std::string_view(label.text);
}

// A wait for an event, which may be recorded several times, one after the other.
struct EventWait {
  uint32_t event;
  uint32_t record = 1;  // which of them, in the order of tasks
  auto operator<=>(const EventWait&) const = default;
};
// Returns "3", or "3:2" for the second record of event 3.
std::string wait_text(const EventWait& wait);

struct Placement {
  EngineId engine = EngineId::kNone;
  KernelId kernel = -1;  // lowered: the kernel this node launches
  // Lowered: how the operands lie that the kernel was made for (operand_layouts); empty: all dense.
  std::string layouts = {};
  StreamLabel stream_label = {};
  int32_t stream = -1;  // scheduled: the stream that it runs in, of Graph::streams
  // Scheduled: the records that are made before it runs, and the events that it records when done.
  std::vector<EventWait> waits = {};
  std::vector<uint32_t> records = {};
  int32_t stage_level = -1;  // user's pipeline stage; -1: none
  int32_t parallel_group = -1;
  std::string super_kernel_scope;          // user's; empty: none
  std::string memory_class = {};           // user's, of its results; empty: the device's first
  Precision precision = Precision::kNone;  // user's
  bool no_task = false;                    // its result is a view of its input: nothing runs
  // Scheduled, without a task: the position, in the order of tasks, of the last one that makes the
  // bytes of its results; -1: they are there from the beginning.
  int32_t complete_after = -1;
  bool keep = false;     // no pass may remove it
  bool no_fold = false;  // no pass may fold it
  bool operator==(const Placement&) const = default;
};
// Compares all but the precision, which says nothing once nodes have their dtypes.
bool is_alike_but_precision(const Placement& a, Placement b);
// Compares all but the labels that the compiler chose, which any of the nodes can have.
bool is_alike_for_users(const Placement& a, const Placement& b);

enum class ShapeClass : uint8_t { kFixed = 0, kSymbolic = 1, kDynamic = 2 };
std::string_view shape_class_name(ShapeClass shapes);  // "fixed", "symbolic", "dynamic"

// The role of a graph, which decides the verifier's rules and the text form.
enum class GraphRole : uint8_t {
  kRoot = 0,        // a model
  kBody = 1,        // of If, Loop, Scan, SequenceMap: captures are trailing inputs
  kFused = 2,       // of a Fused node
  kPart = 3,        // called by the root
  kSubgraph = 4,    // called by a part; one engine
  kExpression = 5,  // of a constant expression; owned by segments
};
inline constexpr std::string_view kGraphRoleNames[] = {"root", "body",     "fused",
                                                       "part", "subgraph", "expression"};

// A generated or prebuilt kernel: an entry of an ELF object.
struct Kernel {
  SegmentId object = -1;
  std::string entry;
  std::string isa;
  uint32_t blocks = 1;         // per launch
  uint64_t scratch_bytes = 0;  // per worker, for any sizes
  uint64_t multiply_adds = 0;  // per launch
  // True for a kernel of symbolic sizes. It reads the dims of the operands of its launch, first
  // those of the outputs, then those of the inputs; multiply_add_symbols are indices into them.
  bool symbolic = false;
  std::vector<uint32_t> multiply_add_symbols = {};  // multiply_adds times the product of these
  // A launch has multiply_adds divided by this as blocks, at least 1 and at most `blocks`; 0 means
  // always `blocks`.
  uint64_t multiply_adds_per_block = 0;
  // Estimated for one thread, at the nominal sizes; at others in proportion to multiply_adds.
  uint64_t cycles = 0;
  uint64_t nominal_multiply_adds = 0;  // of a symbolic kernel
  bool operator==(const Kernel&) const = default;
};

}  // namespace sluice
