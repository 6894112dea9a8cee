// The five stages in the order of the pipe, and where to enter it.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace sluice {

// The stages' numbers in graph headers and in the names of dumps count from 1: kStageNames[n - 1].
inline constexpr std::array<std::string_view, 5> kStageNames = {
    "preprocess", "optimize", "partition", "subgraph-optimize", "build"};

// Returns the index of the stage that must read this file: the one after the last stage done when
// it is a graph file, otherwise the first, which takes it for an ONNX model. Errors: kNotFound,
// kBadFile, kNewerSchema.
Result<size_t> first_stage_for(const std::string& path);

}  // namespace sluice
