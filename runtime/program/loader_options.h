// The command line of sluice-loader.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace sluice {

extern const char kLoaderUsage[];

struct LoaderOptions {
  std::string print;                // --help or --version: print this and stop
  std::string model;                // path, "-": standard input
  std::vector<std::string> inputs;  // "NAME=FILE" or "FILE.npz"
  std::optional<uint64_t> random;   // seed for inputs that are not given
  std::map<std::string, int64_t>
      dims;                    // --dim: sizes of random inputs where the model leaves them open
  std::string output_dir;      // empty: outputs are summed up on standard output
  std::string format = "npy";  // or "pb"
  int threads = 1;
  std::string weights;  // folder or file of external weights; empty: beside the model
  bool verify_weights = false;
  bool bench = false;
  bool json = false;
  bool error_json = false;
  int runs = 20;
  uint64_t bound_parts_bytes = 0;
  std::optional<uint64_t> schedule_seed;
  std::string trace;      // file, or empty
  std::string dump_dir;   // --dump-values, or empty
  std::string dump_glob;  // which values, by name
};

Result<LoaderOptions> parse_loader_options(int argc, const char* const* argv);

}  // namespace sluice
