// What a store knows about a result: the fields that it depends on, whose digest is its key, and
// where it is. A record is text:
//
//   sluice record 1
//   kernel                          its kind
//   specification 3fa0…             the fields: a name, a blank and a value
//
//   object 9ab1…                    after an empty line the results, in the same form
//   entry k_00ab…
//   sum 88c1…                       SHA-256 of everything before
//
// The key is the SHA-256 of the text before the empty line. A "\" or an end of line in a value is
// written as "\\" or "\n".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/digest.h"

namespace sluice {

// Names and values in a fixed order. A name contains no blank and is not empty.
class Fields {
 public:
  void add(std::string name, std::string value) {
    rows_.emplace_back(std::move(name), std::move(value));
  }
  void add(std::string name, const Digest& value) { add(std::move(name), digest_hex(value)); }
  const std::string* find(std::string_view name) const;  // the first of that name, or null
  std::optional<Digest> find_digest(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& rows() const { return rows_; }
  bool operator==(const Fields&) const = default;

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

struct Record {
  std::string kind;  // "kernel", or a stage
  Fields fields;
  Fields results;

  Digest key() const;
  // Returns the artifacts that it names: results that are digests, except for "graph", by which the
  // next stage calls its input.
  std::vector<Digest> artifacts() const;
};

// Returns the first digits of a key, by which people see it.
inline std::string short_key(const Digest& key) { return digest_hex(key).substr(0, 16); }

std::string record_text(const Record& record);
// Returns nothing when the text is no whole record.
std::optional<Record> parse_record(std::string_view text);

}  // namespace sluice
