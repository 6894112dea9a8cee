#include "stages/build/plan_memory/buffer_rows.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "common/base/count_text.h"

namespace sluice {
namespace {

constexpr std::string_view kHeader = "id,lower,upper,size";

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  for (size_t comma = line.find(','); comma != line.npos; comma = line.find(',')) {
    columns.push_back(line.substr(0, comma));
    line.remove_prefix(comma + 1);
  }
  columns.push_back(line);
  return columns;
}

class RowReader {
 public:
  RowReader(std::string_view text, std::string_view file) : text_(text), file_(file) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);  // a byte order mark
  }

  Result<BufferRows> read() {
    if (text_.empty()) return fault("the file is empty, expected the header '{}'", kHeader);
    if (const std::string_view header = next_line(); header != kHeader)
      return fault("the header is '{}', expected '{}'", header, kHeader);
    while (!text_.empty()) SLUICE_TRY(read_row(next_line()));
    return std::move(rows_);
  }

 private:
  std::string_view next_line() {
    ++line_;
    const size_t end = text_.find('\n');
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(end == text_.npos ? text_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  template <typename... Args>
  Error fault(fmt::format_string<Args...> format, Args&&... args) const {
    return make_error(ErrorCode::kBadFile, "{}:{}: {}", file_, std::max<size_t>(line_, 1),
                      fmt::format(format, std::forward<Args>(args)...));
  }

  Result<int64_t> number(std::string_view name, std::string_view digits) const {
    int64_t number = -1;
    const char* end = digits.data() + digits.size();
    const auto done = std::from_chars(digits.data(), end, number);
    if (done.ec == std::errc() && done.ptr == end && number >= 0) return number;
    return fault("{} is '{}', it must be a whole number from 0 to {}", name, digits, INT64_MAX);
  }

  Result<void> read_row(std::string_view line) {
    const std::vector<std::string_view> columns = columns_of(line);
    if (columns.size() != 4)
      return fault("'{}' has {}, expected 4: {}", line, count_text(columns.size(), "column"),
                   kHeader);
    SLUICE_ASSIGN(const int64_t lower, number("lower", columns[1]));
    SLUICE_ASSIGN(const int64_t upper, number("upper", columns[2]));
    SLUICE_ASSIGN(const int64_t size, number("size", columns[3]));
    if (upper <= lower) return fault("upper is {}, it must be above lower, {}", upper, lower);
    if (const auto [first, is_new] = lines_of_ids_.emplace(columns[0], line_); !is_new)
      return fault("id '{}' is that of line {}, each must be its own", columns[0], first->second);
    if (size > INT64_MAX - total_)
      return fault("size is {}, with it the sizes sum up to more than {}", size, INT64_MAX);
    total_ += size;
    rows_.lines.push_back(line);
    rows_.ids.push_back(columns[0]);
    rows_.buffers.push_back({lower, upper - 1, static_cast<uint64_t>(size), 0});
    return {};
  }

  std::string_view text_;  // what is still to be read
  const std::string_view file_;
  size_t line_ = 0;
  int64_t total_ = 0;
  std::map<std::string_view, size_t> lines_of_ids_;
  BufferRows rows_;
};

}  // namespace

Result<BufferRows> read_buffer_rows(std::string_view text, std::string_view file) {
  return RowReader(text, file).read();
}

std::string rows_with_offsets(const BufferRows& rows, const std::vector<uint64_t>& offsets) {
  std::string text = fmt::format("{},offset\n", kHeader);
  for (size_t i = 0; i < rows.lines.size(); ++i)
    text += fmt::format("{},{}\n", rows.lines[i], offsets[i]);
  return text;
}

}  // namespace sluice
