#include "common/tools/tool_main.h"
#include "stages/build/plan_memory/plan_rows.h"

namespace {

constexpr char kUsage[] =
    R"(Gives buffers offsets in one arena, so that those live at the same time never overlap.

Usage:
  sluice-plan-memory [options] [<in>]
  sluice-plan-memory (--help | --version)

Reads <in>, or standard input when it is absent or "-": lines of comma-separated values after the
header id,lower,upper,size. A buffer is live from the time lower until before upper. Writes the same
lines with a last column, offset. Standard error says how large the arena is, how many bytes are
live at a time at most, which no arena can go below, and which planner was best.

Options:
  -o FILE             Write the lines to FILE [default: -].
  --capacity=BYTES    The size of the arena: a plan that fits is as good as a smaller one, and it is
                      an error when none is found.
  --steps=N           Stop the exact planner when it has visited N buffers [default: 100000000].
)";

}  // namespace

int main(int argc, char** argv) {
  return sluice::tool_main(argc, argv, {"sluice-plan-memory", kUsage, sluice::plan_rows});
}
