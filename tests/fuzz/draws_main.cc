// A main for a fuzz target without libFuzzer: it draws inputs of 1 to 48 bytes, others for each
// seed, for some seconds. When an input takes the process down, its bytes are in the file
// out/fuzz/last-draw.
//
// usage: PROGRAM SECONDS SEED
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

static constexpr char kLastDraw[] = "out/fuzz/last-draw";

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: PROGRAM SECONDS SEED\n", stderr), 2;
  std::mt19937_64 random(std::strtoull(argv[2], nullptr, 10));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  uint64_t draws = 0;
  for (; std::chrono::steady_clock::now() < end; ++draws) {
    std::vector<uint8_t> input(1 + random() % 48);
    for (uint8_t& byte : input) byte = static_cast<uint8_t>(random());
    if (std::FILE* file = std::fopen(kLastDraw, "wb")) {
      std::fwrite(input.data(), 1, input.size(), file);
      std::fclose(file);
    }
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::remove(kLastDraw);
  std::printf("%llu draws of seed %s\n", static_cast<unsigned long long>(draws), argv[2]);
  return 0;
}
