#include "common/store/handed_over.h"

#include <fcntl.h>

#include <charconv>

#include "common/base/store.h"

namespace sluice {
namespace {

constexpr std::string_view kStart = "entry ";

struct Entry {
  Record record;
  std::span<const std::byte> artifact;
};

bool take_number(std::string_view& text, char end, size_t& number) {
  const auto [next, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || next == text.data() + text.size() || *next != end) return false;
  text.remove_prefix(static_cast<size_t>(next - text.data()) + 1);
  return true;
}

// Takes the first entry from the text.
std::optional<Entry> take_entry(std::string_view& text) {
  size_t record_bytes = 0, artifact_bytes = 0;
  if (!text.starts_with(kStart)) return std::nullopt;
  text.remove_prefix(kStart.size());
  if (!take_number(text, ' ', record_bytes) || !take_number(text, '\n', artifact_bytes) ||
      record_bytes > text.size() || artifact_bytes > text.size() - record_bytes)
    return std::nullopt;
  auto record = parse_record(text.substr(0, record_bytes));
  const std::string_view artifact = text.substr(record_bytes, artifact_bytes);
  text.remove_prefix(record_bytes + artifact_bytes);
  if (!record) return std::nullopt;
  return Entry{std::move(*record), std::as_bytes(std::span(artifact))};
}

Error bad_entry(const std::string& what) {
  return make_error(ErrorCode::kBadFile, "a result for the store {}", what)
      .with_hint("it is not kept");
}

Result<void> check_form(const Record& record, const HandedOverForm& form) {
  const std::string* build = record.fields.find("build");
  if (record.kind == form.kind && build != nullptr && *build == form.build &&
      record.results.find_digest(form.artifact) && record.artifacts().size() == 1)
    return {};
  return bad_entry(fmt::format("is no {} of this build", form.kind));
}

Result<void> take(const Entry& entry, const HandedOverForm& form, Store& store) {
  SLUICE_TRY(check_form(entry.record, form));
  const Digest artifact = *entry.record.results.find_digest(form.artifact);
  const bool is_known = store.find(entry.record.key()).has_value();  // which is a use of it
  if (entry.artifact.empty()) {
    note_use(store_path(store.path(), artifact));
    return {};
  }
  if (sha256(entry.artifact) != artifact) return bad_entry("has other bytes than its record says");
  store.keep(entry.artifact);
  if (!is_known) store.keep(entry.record);
  return {};
}

}  // namespace

Result<HandedOver> HandedOver::open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!file) return file_error("open", path);
  return HandedOver(std::move(file));
}

void HandedOver::add(const Record& record, std::span<const std::byte> artifact) {
  const std::string text = record_text(record);
  std::string entry = fmt::format("{}{} {}\n{}", kStart, text.size(), artifact.size(), text);
  entry.append(reinterpret_cast<const char*>(artifact.data()), artifact.size());
  const std::lock_guard lock(*mutex_);
  static_cast<void>(write_descriptor(file_.get(), std::as_bytes(std::span(entry))).ok());
}

Result<void> take_handed_over(std::span<const std::byte> entries, const HandedOverForm& form,
                              Store& store) {
  std::string_view text(reinterpret_cast<const char*>(entries.data()), entries.size());
  while (!text.empty()) {
    const auto entry = take_entry(text);
    if (!entry) return bad_entry("is damaged");
    SLUICE_TRY(take(*entry, form, store));
  }
  return {};
}

}  // namespace sluice
