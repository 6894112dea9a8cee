#include "orchestrator/program_main.h"
#include "orchestrator/store/cache.h"
#include "orchestrator/store/usage.h"

int main(int argc, char** argv) {
  using namespace sluice;
  constexpr bool kNotesInterrupts = false;
  return program_main(argc, argv,
                      {"sluice-cache", [] { return std::string(kCacheUsage); }, run_cache_command,
                       kNotesInterrupts});
}
