// A main for a fuzz target without libFuzzer: it takes the files named on standard input, one a
// line, one after the other in this process. It prints a line "begin FILE" before each and "end"
// after it, so that the reader knows which file ended the process. SIGPROF ends it after 10 seconds
// of CPU.
#include <sys/resource.h>
#include <sys/time.h>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>

#include "common/base/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void limit_seconds(int seconds) {
  const itimerval timer{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

int main() {
  constexpr int kSeconds = 10;
  for (std::string path; std::getline(std::cin, path);) {
    const auto file = sluice::read_file(path);
    if (!file) continue;
    std::printf("begin %s\n", path.c_str());
    std::fflush(stdout);
    limit_seconds(kSeconds);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(file->data()), file->size());
    limit_seconds(0);
    std::printf("end %ld\n", peak_kilobytes());
    std::fflush(stdout);
  }
  return 0;
}
