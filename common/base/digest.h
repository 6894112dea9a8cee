// SHA-256 (FIPS 180-4), the name of every artifact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

struct Digest {
  std::array<uint8_t, 32> bytes{};
  auto operator<=>(const Digest&) const = default;
  bool is_zero() const { return *this == Digest{}; }
};

// Hashes bytes that arrive in pieces. finish() may be called once.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  template <typename T>
  void add_value(const T& value) {
    add(std::as_bytes(std::span(&value, 1)));
  }
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest sha256(std::span<const std::byte> bytes);
inline Digest sha256(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }
std::string digest_hex(const Digest& digest);                 // 64 lower-case hex digits
std::optional<Digest> digest_from_hex(std::string_view hex);  // exactly 64 hex digits

}  // namespace sluice
