#include "common/base/digest.h"

#include <openssl/evp.h>

#include <new>

#include "fmt/format.h"

namespace sluice {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (state_->context == nullptr || EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
}
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) { EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()); }

Digest Sha256::finish() {
  Digest digest;
  EVP_DigestFinal_ex(state_->context, digest.bytes.data(), nullptr);
  return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

std::string digest_hex(const Digest& digest) { return fmt::format("{:02x}", fmt::join(digest.bytes, "")); }

std::optional<Digest> digest_from_hex(std::string_view hex) {
  if (hex.size() != 64) return std::nullopt;
  Digest digest;
  for (size_t i = 0; i < 64; ++i) {
    const char c = hex[i];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return std::nullopt;
    digest.bytes[i / 2] = static_cast<uint8_t>(digest.bytes[i / 2] << 4 | digit);
  }
  return digest;
}

}  // namespace sluice
