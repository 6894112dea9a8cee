// Prepares damaged compiled models for the fuzz targets: makes their digests match, and their parts
// fit to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/scratch_folder.h"
#include "runtime/executor/hybrid_model.h"

namespace sluice::fuzz {

// Makes every digest match, from the innermost out: otherwise nothing after the first would ever be
// read.
void seal_om(std::vector<std::byte>& bytes);

// Returns the same model with every generated kernel replaced by a stand-in that does nothing:
// machine code is trusted and never checked, so no code that may be damaged is run. Empty when the
// bytes contain no model.
std::vector<std::byte> with_stand_ins(std::span<const std::byte> om);

// A folder with the files that the external weights of a model need, and what --weights must be.
struct MadeWeights {
  std::optional<ScratchFolder> folder;
  std::string path;
};

// Makes those files, of zeros, as large as the model says, whatever that is. No folder when it has
// no such weights.
MadeWeights make_weights(std::span<const std::byte> om);

// Opens a model that with_stand_ins made, with files of weights that fit.
Result<std::shared_ptr<const OpenedModel>> open_with_stand_ins(std::span<const std::byte> om);

// Draws values of ModelDef.sizes.symbols from the entropy: tiny ones, or with `any` now and then
// any number.
std::vector<int64_t> draw_symbols(const pb::ModelDef& model, std::span<const std::byte> entropy,
                                  bool any);

// Binds inputs whose open dims are the symbols, and runs the model once on one thread. Models that
// would take long are skipped: memory beyond 64 MB.
Result<void> run_once(const std::shared_ptr<const OpenedModel>& model,
                      std::span<const int64_t> symbols);

}  // namespace sluice::fuzz
