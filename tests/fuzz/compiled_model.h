// Damaged compiled models for the fuzz targets: their digests made right, and their parts made fit
// to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/executor/hybrid_model.h"

namespace sluice::fuzz {

// Makes every digest match, from the innermost out: else nothing behind the first would ever be
// read.
void seal_om(std::vector<std::byte>& bytes);

// The same model with every generated kernel replaced by a stand-in that does nothing: machine code
// is trusted and never checked, so none that may be damaged is run. Empty when the bytes hold no
// model.
std::vector<std::byte> with_stand_ins(std::span<const std::byte> om);

// Opens what with_stand_ins made.
Result<std::shared_ptr<const OpenedModel>> open_with_stand_ins(std::span<const std::byte> om);

// Values of ModelDef.sizes.symbols, drawn from the entropy: tiny ones, or where `any` now and then
// any number.
std::vector<int64_t> draw_symbols(const pb::ModelDef& model, std::span<const std::byte> entropy,
                                  bool any);

// Binds inputs whose open dims are the symbols, and runs the model once on one thread. What would
// take long is left: memory beyond 64 MB.
Result<void> run_once(const std::shared_ptr<const OpenedModel>& model,
                      std::span<const int64_t> symbols);

}  // namespace sluice::fuzz
