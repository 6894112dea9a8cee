// SQLite with errors as values. Only database.cc includes the library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/result.h"

namespace sluice {

using DatabaseValue = std::variant<int64_t, std::string>;  // a text may hold any bytes

class Database {
 public:
  // Opens a file in write-ahead mode, or makes it. is_synced: a commit survives the loss of power,
  // not only the end of the process. Errors: kIo, also when another process has it open.
  static Result<Database> open(const std::string& path, bool is_synced);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  // Runs one statement, which is prepared once. Errors: kIo, with what the library says.
  Result<void> run(std::string_view sql, std::initializer_list<DatabaseValue> values = {});
  // Returns its rows.
  Result<std::vector<std::vector<DatabaseValue>>> rows(
      std::string_view sql, std::initializer_list<DatabaseValue> values = {});

 private:
  struct State;
  explicit Database(std::unique_ptr<State> state);
  Result<void> check_kind(const std::string& path);
  std::unique_ptr<State> state_;
};

}  // namespace sluice
