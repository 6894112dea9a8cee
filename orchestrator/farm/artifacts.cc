#include "orchestrator/farm/artifacts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/base/files.h"
#include "common/base/store.h"
#include "common/wire/farm_frames.h"

namespace sluice {
namespace {

constexpr size_t kMaxActive = 16;
constexpr uint64_t kWindow = uint64_t{4} * wire::kMaxPieceBytes;  // asked for and not come yet
constexpr std::chrono::milliseconds kPiecePatience{1000};
constexpr int kMaxAttempts = 10;       // without a byte from a peer
constexpr int kMaxHolderAttempts = 3;  // the same of a holder, for which there is a substitute

uint64_t bytes_of(int file) {
  struct stat status{};
  return ::fstat(file, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

// Reads what others may change meanwhile, which a map would not survive.
Digest digest_of_file(int file) {
  std::vector<std::byte> buffer(wire::kMaxPieceBytes);
  Sha256 hash;
  off_t at = 0;
  for (ssize_t got = 1; got > 0; at += got) {
    got = ::pread(file, buffer.data(), buffer.size(), at);
    if (got > 0) hash.add(std::span(buffer.data(), static_cast<size_t>(got)));
  }
  return hash.finish();
}

Descriptor open_artifact(const std::string& path) {
  if (is_no_entry(path)) return {};  // a named pipe would be waited for
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

std::string digest_field(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

std::optional<Digest> digest_of_field(std::string_view field) {
  Digest digest;
  if (field.size() != digest.bytes.size()) return std::nullopt;
  std::memcpy(digest.bytes.data(), field.data(), field.size());
  return digest;
}

PieceOfArtifact read_piece(const Store& store, const pb::Get& get) {
  PieceOfArtifact answer;
  pb::Piece& piece = *answer.message.mutable_piece();
  piece.set_digest(get.digest());
  piece.set_offset(get.offset());
  const auto digest = digest_of_field(get.digest());
  const std::string path = digest ? store_path(store.path(), *digest) : std::string();
  const Descriptor file = digest ? open_artifact(path) : Descriptor();
  if (!file) {
    piece.set_is_missing(true);
    return answer;
  }
  const uint64_t total = bytes_of(file.get());
  piece.set_total(total);
  if (get.bytes() == 0) {
    const bool is_whole = digest_of_file(file.get()) == *digest;
    if (!is_whole) ::unlink(path.c_str());
    piece.set_is_missing(!is_whole);
    return answer;
  }
  if (get.offset() >= total) return answer;
  const size_t wanted = std::min<uint64_t>(
      {total - get.offset(), uint64_t{get.bytes()}, uint64_t{wire::kMaxPieceBytes}});
  auto bytes = std::make_shared<std::vector<std::byte>>(wanted);
  const ssize_t got = ::pread(file.get(), bytes->data(), wanted, static_cast<off_t>(get.offset()));
  if (got <= 0) return answer;
  note_use(path);
  answer.bytes = {std::span(bytes->data(), static_cast<size_t>(got)), bytes};
  return answer;
}

pb::FarmMessage check_question(const Digest& digest) {
  pb::FarmMessage message;
  message.mutable_get()->set_digest(digest_field(digest));
  return message;
}

bool Artifacts::has(const Digest& digest) {
  if (present_.contains(digest)) return true;
  const std::string path = store_path(store_.path(), digest);
  if (!note_use(path) || ::access(path.c_str(), F_OK) != 0) return false;
  present_.insert(digest);
  return true;
}

std::string Artifacts::partial(const Digest& digest) const {
  return fmt::format("{}/partial/{}", store_.path(), digest_hex(digest));
}

void Artifacts::want(const Digest& digest, const std::string& peer) {
  auto [entry, is_new] = transfers_.try_emplace(digest);
  Transfer& transfer = entry->second;
  if (std::ranges::find(transfer.peers, peer) == transfer.peers.end())
    transfer.peers.push_back(peer);
  if (!is_new) return;
  waiting_.push_back(digest);
  turn(now_());
}

void Artifacts::give_up(const Digest& digest) {
  const auto entry = transfers_.find(digest);
  if (entry == transfers_.end()) return;
  if (entry->second.file) --active_;
  transfers_.erase(entry);
}

// Ends a transfer that has begun.
void Artifacts::end(const Digest& digest, Arrival arrival) {
  arrivals_.push_back(std::move(arrival));
  --active_;
  transfers_.erase(digest);
}

void Artifacts::begin(const Digest& digest, Transfer& transfer) {
  const auto made = make_directories(store_.path() + "/partial");
  transfer.file = Descriptor(::open(partial(digest).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!made || !transfer.file) {
    arrivals_.push_back({.digest = digest,
                         .fault = fmt::format("the store '{}' cannot be written: {}", store_.path(),
                                              made ? std::strerror(errno) : made.error().message),
                         .is_unkept = true});
    transfers_.erase(digest);
    return;
  }
  ++active_;
  transfer.at = transfer.asked = bytes_of(transfer.file.get());
  ask_on(digest, transfer);
}

void Artifacts::ask_on(const Digest& digest, Transfer& transfer) {
  transfer.last = now_();
  const uint64_t end =
      std::min(transfer.at + kWindow, transfer.total > 0 ? transfer.total : transfer.at + 1);
  while (transfer.asked < end) {
    pb::Get get;
    get.set_digest(digest_field(digest));
    get.set_offset(transfer.asked);
    get.set_bytes(wire::kMaxPieceBytes);
    if (transfer.holder.empty()) get.set_here_only(transfer.failed);
    if (!ask_(transfer.asks(), std::move(get))) ++transfer.attempts;
    transfer.asked += wire::kMaxPieceBytes;
  }
}

void Artifacts::give_up_peer(const Digest& digest, Transfer& transfer, const std::string& fault,
                             bool is_absent) {
  const std::string peer = transfer.peers.front();
  transfer.peers.pop_front();
  if (!transfer.peers.empty()) {
    transfer.attempts = 0;
    transfer.asked = transfer.at;
    return ask_on(digest, transfer);
  }
  end(digest, {.digest = digest,
               .fault = fault,
               .is_absent = is_absent,
               .is_silent = transfer.attempts > kMaxAttempts,
               .peer = peer});
}

bool Artifacts::refer(const Digest& digest, const std::string& holder, uint64_t total) {
  const auto entry = transfers_.find(digest);
  if (entry == transfers_.end() || !entry->second.file || total == 0) return false;
  Transfer& transfer = entry->second;
  if (!transfer.holder.empty()) return false;
  if (transfer.at > total) {  // a killed program left it
    if (::ftruncate(transfer.file.get(), 0) != 0) return false;
    transfer.at = 0;
  }
  transfer.holder = holder;
  transfer.total = total;
  transfer.attempts = 0;
  transfer.asked = transfer.at;
  ask_on(digest, transfer);
  return true;
}

void Artifacts::wait(const Digest& digest) {
  const auto entry = transfers_.find(digest);
  if (entry == transfers_.end() || !entry->second.holder.empty()) return;
  entry->second.attempts = 0;
  entry->second.last = now_();
}

void Artifacts::give_up_holder(const Digest& digest, Transfer& transfer, Failure failure) {
  transfer.failed = failure.holder;
  transfer.holder.clear();
  transfer.attempts = 0;
  transfer.asked = transfer.at;
  failures_.push_back(std::move(failure));
  ask_on(digest, transfer);
}

void Artifacts::give_up_holder(const std::string& holder, const std::string& why) {
  for (auto& [digest, transfer] : transfers_)
    if (transfer.holder == holder)
      give_up_holder(digest, transfer, {.digest = digest, .holder = holder, .why = why});
}

// Gives up a peer that does not have it, and a holder that has something else.
bool Artifacts::is_refused(const Digest& digest, Transfer& transfer, const pb::Piece& piece) {
  const bool is_of_holder = !transfer.holder.empty();
  const bool is_other = is_of_holder && piece.total() != transfer.total;
  if (!piece.is_missing() && !is_other) return false;
  if (is_of_holder) {
    give_up_holder(digest, transfer,
                   {.digest = digest,
                    .holder = transfer.holder,
                    .why = piece.is_missing() ? "it does not have it" : "its file has another size",
                    .is_lie = !piece.is_missing()});
  } else {
    give_up_peer(digest, transfer, "its owner does not have it", true);
  }
  return true;
}

void Artifacts::take(const std::string& peer, const pb::Piece& piece,
                     std::span<const std::byte> bytes) {
  const auto digest = digest_of_field(piece.digest());
  const auto entry = digest ? transfers_.find(*digest) : transfers_.end();
  if (entry == transfers_.end() || !entry->second.file) return;
  Transfer& transfer = entry->second;
  if (transfer.asks() != peer || is_refused(*digest, transfer, piece)) return;
  if (piece.offset() != transfer.at) return;  // late, or a piece before it was lost
  if (piece.total() < transfer.at) return begin_anew(*digest, transfer);
  if (piece.total() < transfer.at + bytes.size() || (bytes.empty() && piece.total() > transfer.at))
    return;
  if (::pwrite(transfer.file.get(), bytes.data(), bytes.size(), static_cast<off_t>(transfer.at)) !=
      static_cast<ssize_t>(bytes.size())) {
    const std::string why = std::strerror(errno);
    return end(*digest,
               {.digest = *digest,
                .fault = fmt::format("the store '{}' cannot be written: {}", store_.path(), why),
                .is_unkept = true,
                .peer = peer});
  }
  transfer.total = piece.total();
  transfer.at += bytes.size();
  transfer.attempts = 0;
  received_bytes_ += bytes.size();
  if (!transfer.holder.empty()) {
    bytes_of_holders_ += bytes.size();
    transfer.helper = peer;
  }
  if (transfer.at == transfer.total) return finish(*digest, transfer);
  transfer.asked = std::max(transfer.asked, transfer.at);
  ask_on(*digest, transfer);
}

// What a killed program left is longer than the artifact, or a holder gave other bytes.
void Artifacts::begin_anew(const Digest& digest, Transfer& transfer) {
  if (::ftruncate(transfer.file.get(), 0) != 0) return;
  transfer.at = transfer.asked = transfer.total = 0;
  ask_on(digest, transfer);
}

void Artifacts::finish(const Digest& digest, Transfer& transfer) {
  const std::string from = partial(digest), to = store_path(store_.path(), digest);
  Arrival arrival{
      .digest = digest, .fault = {}, .peer = transfer.peers.front(), .bytes = transfer.total};
  const bool is_whole = digest_of_file(transfer.file.get()) == digest;
  if (!is_whole && !transfer.helper.empty()) {
    failures_.push_back({.digest = digest,
                         .holder = transfer.helper,
                         .why = "its bytes do not have their digest",
                         .is_lie = true});
    transfer.failed = std::exchange(transfer.helper, {});
    transfer.holder.clear();
    return begin_anew(digest, transfer);
  }
  if (!is_whole) {
    ::unlink(from.c_str());
    arrival.fault = "its bytes do not have its digest";
    arrival.is_lie = true;
  } else {
    const auto named = write_in_folder_of(to, [&]() -> Result<void> {
      if (::rename(from.c_str(), to.c_str()) == 0) return {};
      return file_error("rename", from);
    });
    if (!named) arrival.fault = named.error().message;
    arrival.is_unkept = !named;
    if (named) store_.count_added(transfer.total);
    if (named) present_.insert(digest);
  }
  end(digest, std::move(arrival));
}

void Artifacts::turn(Clock::time_point now) {
  while (active_ < kMaxActive && !waiting_.empty()) {
    const Digest digest = waiting_.front();
    waiting_.pop_front();
    const auto entry = transfers_.find(digest);
    if (entry != transfers_.end() && !entry->second.file) begin(digest, entry->second);
  }
  std::vector<Digest> late;
  for (const auto& [digest, transfer] : transfers_)
    if (transfer.file && now - transfer.last > kPiecePatience) late.push_back(digest);
  for (const Digest& digest : late) {
    Transfer& transfer = transfers_.at(digest);
    transfer.asked = transfer.at;
    if (!transfer.holder.empty() && ++transfer.attempts >= kMaxHolderAttempts) {
      give_up_holder(digest, transfer,
                     {.digest = digest,
                      .holder = transfer.holder,
                      .why = "it does not answer",
                      .is_silent = true});
    } else if (transfer.holder.empty() && ++transfer.attempts > kMaxAttempts) {
      give_up_peer(digest, transfer, "its owner does not answer");
    } else {
      ask_on(digest, transfer);
    }
  }
}

}  // namespace sluice
