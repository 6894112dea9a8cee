// Functions that the fuzz targets share. libFuzzer finds crashes, hangs and excessive memory; any
// other fault must be turned into a crash: finding().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice::fuzz {

inline std::span<const std::byte> bytes_of(const uint8_t* data, size_t size) {
  return std::as_bytes(std::span(data, size));
}
inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Prints the fault and ends the process: libFuzzer keeps the input.
[[noreturn]] void finding(std::string_view what, std::string_view text);

// Checks that bad input was refused with a sentence, and never as a bug of Sluice (exit class 6).
void expect_unsupported_reason(const Error& error);

// Does everything that the tools do with a module that was read: verifies it by its level, prints
// it, writes it. The written bytes must read back to the same bytes, and a module that verifies
// must do so again; the text of a module that verifies must parse again. Returns whether it
// verifies.
bool use_module(Module& module);

// Runs the stages after a typed graph that need no code generator: optimize and partition. Each
// refuses its input, or makes a module that use_module takes.
void run_middle_stages(Module module);

}  // namespace sluice::fuzz
