#include "common/base/digest.h"

// These are the functions of one algorithm, which OpenSSL 3 deprecates in favour of EVP. EVP looks
// every algorithm up among providers, which costs each program four megabytes and a third of its
// page faults at start.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "fmt/format.h"

namespace sluice {

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  SHA256_Update(&state_->context, bytes.data(), bytes.size());
}

Digest Sha256::finish() {
  Digest digest;
  SHA256_Final(digest.bytes.data(), &state_->context);
  return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

std::string digest_hex(const Digest& digest) {
  return fmt::format("{:02x}", fmt::join(digest.bytes, ""));
}

std::optional<Digest> digest_from_hex(std::string_view hex) {
  if (hex.size() != 64) return std::nullopt;
  Digest digest;
  for (size_t i = 0; i < 64; ++i) {
    const char c = hex[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    digest.bytes[i / 2] = static_cast<uint8_t>(digest.bytes[i / 2] << 4 | digit);
  }
  return digest;
}

}  // namespace sluice
