#include "common/wire/keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/wire/lazy_zmq.h"

namespace sluice {
namespace {

constexpr std::string_view kSecretHead = "sluice secret key", kPublicHead = "sluice public key";
constexpr std::string_view kPublic = "public ", kSecret = "secret ";
constexpr size_t kKeyChars = 40, kKeyBytes = 32, kMaxName = 100, kMaxFile = 1000;
// Others than the owner and the group: systemd and Kubernetes give a service its secrets by a
// group of its own.
constexpr mode_t kOthers = 0027;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_key(const std::string& text) {
  constexpr std::string_view kMarks = ".-:+=^!/*?&<>()[]{}@%$#";
  std::array<uint8_t, kKeyBytes> bytes{};
  return text.size() == kKeyChars &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_word(c) || kMarks.find(c) != kMarks.npos; }) &&
         zmq_z85_decode(bytes.data(), text.c_str()) != nullptr;
}

Error bad_key(const std::string& path, const std::string& why) {
  Error error = make_error(ErrorCode::kBadFile, "the key file '{}' {}", path, why);
  return std::move(error).with_hint("sluice farm keygen NAME makes NAME.key and NAME.pub");
}

struct KeyFile {
  std::string text;
  mode_t mode = 0;
};

// Never waits: a named pipe is no key.
Result<KeyFile> read_key_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return file_error("open", path);
  if (!S_ISREG(status.st_mode)) return bad_key(path, "is not a file");
  std::array<char, kMaxFile + 1> text{};
  const ssize_t bytes = ::read(file.get(), text.data(), text.size());
  if (bytes < 0) return file_error("read", path);
  return KeyFile{{text.data(), static_cast<size_t>(bytes)}, status.st_mode};
}

// Takes a line "NAME KEY" off the text; empty: there is none.
std::string take_key(std::string_view& text, std::string_view name) {
  const size_t end = text.find('\n');
  if (!text.starts_with(name) || end == std::string_view::npos) return {};
  const std::string key(text.substr(name.size(), end - name.size()));
  text.remove_prefix(end + 1);
  return is_key(key) ? key : std::string();
}

bool take_head(std::string_view& text, std::string_view head) {
  if (!text.starts_with(head) || text.size() == head.size() || text[head.size()] != '\n')
    return false;
  text.remove_prefix(head.size() + 1);
  return true;
}

// Creates the file whole, and never in place of another one.
Result<void> write_new_file(const std::string& path, const std::string& text, mode_t mode) {
  const std::string temporary = fmt::format("{}.tmp{}", path, ::getpid());
  ::unlink(temporary.c_str());
  const Descriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (file.get() < 0) return file_error("create", path);
  Result<void> written = write_descriptor(file.get(), std::as_bytes(std::span(text)));
  if (written && (::fsync(file.get()) != 0 || ::link(temporary.c_str(), path.c_str()) != 0)) {
    written = errno == EEXIST
                  ? make_error(ErrorCode::kIo, "'{}' exists, and keys are not overwritten", path)
                        .with_hint("take another name, or remove it when nobody uses it any more")
                  : file_error("create", path);
  }
  ::unlink(temporary.c_str());
  return written;
}

}  // namespace

bool is_key_name(const std::string& name) {
  constexpr std::string_view kMarks = "-_.@";
  return !name.empty() && name.size() <= kMaxName && name[0] != '.' && name[0] != '-' &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_word(c) || kMarks.find(c) != kMarks.npos; });
}

Result<void> make_key_files(const std::string& folder, const std::string& name) {
  if (!is_key_name(name)) {
    return make_error(ErrorCode::kBadOption,
                      "'{}' is no name of a key, expected up to {} letters, digits, '-', '_', '.' "
                      "and '@'",
                      name, kMaxName);
  }
  SLUICE_TRY(wire::load_zmq());
  std::array<char, kKeyChars + 1> public_key{}, secret_key{};
  if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0)
    return make_error(ErrorCode::kIo, "the installed library of ZeroMQ has no keys (CURVE)");
  const std::string path = folder + "/" + name;
  const std::string public_line = fmt::format("{}{}\n", kPublic, public_key.data());
  SLUICE_TRY(write_new_file(
      path + ".key",
      fmt::format("{}\n{}{}{}\n", kSecretHead, public_line, kSecret, secret_key.data()), 0600));
  Result<void> written =
      write_new_file(path + ".pub", fmt::format("{}\n{}", kPublicHead, public_line), 0644);
  if (!written) ::unlink((path + ".key").c_str());
  return written;
}

Result<KeyPair> read_key_pair(const std::string& path) {
  SLUICE_TRY(wire::load_zmq());
  SLUICE_ASSIGN(const KeyFile file, read_key_file(path));
  std::string_view text = file.text;
  if (!take_head(text, kSecretHead))
    return bad_key(path, fmt::format("does not start with the line '{}'", kSecretHead));
  if ((file.mode & kOthers) != 0) {
    return make_error(ErrorCode::kBadFile, "others than its owner can use the secret key '{}'",
                      path)
        .with_hint(fmt::format("chmod 600 '{}'; who may have read it can pose as its owner", path));
  }
  KeyPair pair;
  pair.public_key = take_key(text, kPublic);
  pair.secret_key = take_key(text, kSecret);
  if (pair.public_key.empty() || pair.secret_key.empty() || !text.empty())
    return bad_key(path, "is damaged");
  std::array<char, kKeyChars + 1> own{};
  if (zmq_curve_public(own.data(), pair.secret_key.c_str()) != 0 || pair.public_key != own.data())
    return bad_key(path, "has two keys that do not belong together");
  return pair;
}

Result<std::string> read_public_key(const std::string& path) {
  SLUICE_TRY(wire::load_zmq());
  SLUICE_ASSIGN(const KeyFile file, read_key_file(path));
  std::string_view text = file.text;
  if (!take_head(text, kPublicHead))
    return bad_key(path, fmt::format("does not start with the line '{}'", kPublicHead));
  const std::string key = take_key(text, kPublic);
  if (key.empty() || !text.empty()) return bad_key(path, "is damaged");
  return key;
}

}  // namespace sluice
