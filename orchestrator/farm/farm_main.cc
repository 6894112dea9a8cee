#include "orchestrator/farm/farm_command.h"
#include "orchestrator/farm/farm_usage.h"
#include "orchestrator/program_main.h"

int main(int argc, char** argv) {
  using namespace sluice;
  constexpr bool kNotesInterrupts = false;
  return program_main(
      argc, argv,
      {"sluice-farm", [] { return std::string(kFarmUsage); }, run_farm_command, kNotesInterrupts});
}
