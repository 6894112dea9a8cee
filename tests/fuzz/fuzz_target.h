// What the fuzz targets share. libFuzzer finds crashes, hangs and memory; a broken promise must be
// made a crash of its own: finding().
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

// Prints what is wrong and ends the process: libFuzzer keeps the input.
[[noreturn]] void finding(std::string_view what, std::string_view text);

// Bad input is refused with a sentence, and never as a bug of our own (exit class 6).
void expect_unsupported_reason(const Error& error);

// Everything that the tools do with a module that was read: verify it by its level, print it, write
// it. What is written reads back to the same bytes, and a module that verifies does so again; what
// is printed by one that verifies parses again. True when it verifies.
bool use_module(Module& module);

// The stages behind a typed graph that need no code generator: optimize and partition. Each
// refuses, or makes what use_module takes.
void run_middle_stages(Module module);

}  // namespace sluice::fuzz
