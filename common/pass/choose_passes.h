// Which passes of a stage run: by the options opt-level, passes, skip, optimization-switch and
// fusion-switch-file, and up to stop-after.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"

namespace sluice {

// Returns the passes to run, in their order. --passes is exactly them. Otherwise --skip leaves a
// pass out; a switch decides, that of --optimization-switch before that of the file, and for each
// of the two one of the pass's own name before ALL; then the level. ALL:off leaves out passes of
// level O3 only: the others are needed, or only clean up. Errors: kBadOption for names that the
// stage does not have, and options that contradict each other.
Result<std::vector<const Pass*>> choose_passes(std::span<const Pass> passes,
                                               const Options& options);

// Returns the index after the pass to stop after, or that of the end without --stop-after.
Result<size_t> stop_index(std::span<const Pass> passes, const std::vector<const Pass*>& chosen,
                          const Options& options);

// Returns where to begin: a file written by --stop-after is resumed at that point in its own list
// of passes.
Result<size_t> resume_index(const Module& module, std::span<const Pass> passes,
                            const std::vector<std::string>& chosen, size_t stop);

}  // namespace sluice
