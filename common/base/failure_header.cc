#include "common/base/failure_header.h"

#include <algorithm>
#include <cstring>

#include "common/base/file_kind.h"

namespace sluice {
namespace {

constexpr uint32_t kVersion = 1;
constexpr size_t kVersionAt = 8, kCodeAt = 12, kProgramAt = 16, kProgramBytes = 48, kCrcAt = 112;

// Computes the CRC-32 of IEEE 802.3 bit by bit, which is fast enough for 112 bytes once per failed
// program.
uint32_t crc_of(std::span<const std::byte> bytes) {
  uint32_t crc = 0xffffffffu;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  return ~crc;
}

Error damaged() {
  return make_error(ErrorCode::kBadFile,
                    "the program before wrote a failure header that is damaged");
}

}  // namespace

std::array<std::byte, kFailureHeaderBytes> print_failure_header(ErrorCode code,
                                                                std::string_view program) {
  std::array<std::byte, kFailureHeaderBytes> bytes{};
  const auto number = static_cast<uint16_t>(code);
  std::memcpy(bytes.data(), kFailureMagic, sizeof(kFailureMagic));
  std::memcpy(bytes.data() + kVersionAt, &kVersion, sizeof(kVersion));
  std::memcpy(bytes.data() + kCodeAt, &number, sizeof(number));
  std::memcpy(bytes.data() + kProgramAt, program.data(),
              std::min(program.size(), kProgramBytes - 1));
  const uint32_t crc = crc_of(std::span(bytes).first(kCrcAt));
  std::memcpy(bytes.data() + kCrcAt, &crc, sizeof(crc));
  return bytes;
}

Error failure_read(std::span<const std::byte> bytes) {
  if (bytes.size() != kFailureHeaderBytes) return damaged();
  uint16_t number = 0;
  std::memcpy(&number, bytes.data() + kCodeAt, sizeof(number));
  const auto* name = reinterpret_cast<const char*>(bytes.data() + kProgramAt);
  const std::string program(name, ::strnlen(name, kProgramBytes));
  const bool printable =
      std::all_of(program.begin(), program.end(), [](char c) { return c > ' ' && c < 127; });
  const auto code = static_cast<ErrorCode>(number);
  // A valid header is equal to the header printed again, which checks magic, version, zeros and CRC
  // at once.
  if (!is_error_code(number) || program.empty() || !printable) return damaged();
  const auto again = print_failure_header(code, program);
  if (!std::equal(bytes.begin(), bytes.end(), again.begin())) return damaged();
  Error error = make_error(
      code, "{} failed and wrote nothing that could be read; its own error says why", program);
  error.reported_by = program;
  return error;
}

}  // namespace sluice
