// Options of three kinds: semantic options change the product and travel in graph files;
// non-semantic ones do neither; sources are files and folders that the import reads.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace sluice {

// kSource is a file or folder that the import reads besides the model; its content becomes part of
// the graph.
enum class OptionKind : uint8_t { kSemantic, kNonSemantic, kSource };

struct OptionRow {
  std::string_view name;  // as typed after "--"
  OptionKind kind;
  std::string_view fallback;  // default value; a value equal to it is not stored
  std::string_view sentence;
  std::string_view choices = "";  // the only values, separated by '|'; empty: any text
  int64_t maximum = -1;           // a whole number from `minimum` to this; -1: no number
  int64_t minimum = 0;
  bool is_flag = false;  // typed without a value, which means "on"
};

std::span<const OptionRow> option_table();
const OptionRow* find_option(std::string_view name);
// Returns the first stage that reads a semantic option. Until then the option travels beside the
// graph and is in no digest of it.
std::string_view first_reader(std::string_view option);
// Returns the last stage that reads the option; for a file after that stage the option comes too
// late. Empty when build, or no stage, is the last.
std::string_view last_reader(std::string_view option);
bool names_file(std::string_view option);  // its value is the path of a file or a folder

// Returns the value of an option as it was typed; that of a flag, which has no value, is "on".
inline std::string_view typed_value(const OptionRow& row, std::string_view value) {
  return row.is_flag ? "on" : value;
}
// Returns the equivalent argument of another program: "--name=value", or "--name".
std::string option_argument(const OptionRow& row, std::string_view value);

// Checks that the option accepts the value. Errors: kBadOption, which names the accepted values.
Result<void> check_option_value(const OptionRow& row, std::string_view value);

// A set of option values by name, sorted. A value equal to its default is left out. The values of a
// repeatable option (--dim) are joined with ';', sorted.
class Options {
 public:
  // Errors: kBadOption for an unknown name, or a value that it does not accept.
  Result<void> set(std::string_view name, std::string_view value);
  std::string text(std::string_view name) const;  // stored or default value
  bool flag(std::string_view name) const { return text(name) == "on"; }
  Result<int64_t> integer(std::string_view name, int64_t low, int64_t high) const;
  uint64_t max_constant_bytes() const;
  Result<int64_t> threads() const;  // the number that --threads means, at least 1
  // An empty value is an empty list.
  std::vector<std::string> list(std::string_view name, char separator = ',') const;

  // Returns the semantic options alone, as they travel in a file.
  const std::map<std::string, std::string>& semantic() const { return semantic_; }
  // Adds the semantic options of a file that was read; values already set here win.
  Result<void> inherit(const std::map<std::string, std::string>& semantic);

 private:
  std::map<std::string, std::string> semantic_;
  std::map<std::string, std::string> non_semantic_;
};

}  // namespace sluice
