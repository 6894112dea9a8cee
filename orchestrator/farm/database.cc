#include "orchestrator/farm/database.h"

#include <sqlite3.h>

#include <map>

#include "fmt/format.h"

namespace sluice {
namespace {

constexpr int64_t kApplicationId = 0x534c4943;  // "SLIC"

}  // namespace

Error damaged_database(const std::string& path, const std::string& why) {
  return make_error(ErrorCode::kBadFile, "'{}' cannot be read: {}", path, why)
      .with_hint(fmt::format("move '{0}' and '{0}-wal' away; what clients still want, they submit "
                             "again",
                             path));
}

struct Database::State {
  ~State() {
    for (const auto& [sql, statement] : statements) ::sqlite3_finalize(statement);
    ::sqlite3_close(handle);
  }
  Error error(std::string_view what) const {
    switch (::sqlite3_errcode(handle)) {
      case SQLITE_BUSY:
        return make_error(ErrorCode::kIo, "another program uses '{}'", path)
            .with_hint("a dispatcher needs a --state of its own");
      case SQLITE_FULL:
        return make_error(ErrorCode::kIo, "there is no space for '{}'", path)
            .with_hint("make room and start it again: it goes on with what it had accepted");
      case SQLITE_CORRUPT:
      case SQLITE_NOTADB:
        return damaged_database(path, ::sqlite3_errmsg(handle));
      default:
        break;
    }
    return make_error(ErrorCode::kIo, "'{}' {}: {}", path, what, ::sqlite3_errmsg(handle));
  }
  Result<sqlite3_stmt*> prepare(std::string_view sql) {
    const auto found = statements.find(sql);
    if (found != statements.end()) return found->second;
    sqlite3_stmt* statement = nullptr;
    if (::sqlite3_prepare_v3(handle, sql.data(), static_cast<int>(sql.size()),
                             SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
      return error("cannot be used");
    statements.emplace(sql, statement);
    return statement;
  }
  std::string path;
  sqlite3* handle = nullptr;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements;
};

namespace {

void bind(sqlite3_stmt* statement, int index, const DatabaseValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    ::sqlite3_bind_int64(statement, index, *number);
  } else {
    const auto& text = std::get<std::string>(value);
    ::sqlite3_bind_blob64(statement, index, text.data(), text.size(), SQLITE_STATIC);
  }
}

std::vector<DatabaseValue> row_of(sqlite3_stmt* statement) {
  std::vector<DatabaseValue> row;
  for (int i = 0; i < ::sqlite3_column_count(statement); ++i) {
    if (::sqlite3_column_type(statement, i) == SQLITE_INTEGER) {
      row.emplace_back(int64_t{::sqlite3_column_int64(statement, i)});
    } else {
      const auto* bytes = static_cast<const char*>(::sqlite3_column_blob(statement, i));
      const auto size = static_cast<size_t>(::sqlite3_column_bytes(statement, i));
      row.emplace_back(bytes == nullptr ? std::string() : std::string(bytes, size));
    }
  }
  return row;
}

}  // namespace

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::Database(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::open(const std::string& path, bool is_synced) {
  auto state = std::make_unique<State>();
  state->path = path;
  if (::sqlite3_open(path.c_str(), &state->handle) != SQLITE_OK)
    return state->error("cannot be opened");
  Database database(std::move(state));
  // One process has the file, which makes the index of the log a matter of its own memory. Keys are
  // digests: with too small a cache each change would read and write a page of its own.
  constexpr std::string_view kPragmas[] = {"PRAGMA locking_mode=EXCLUSIVE",
                                           "PRAGMA journal_mode=WAL", "PRAGMA cache_size=-65536",
                                           "PRAGMA wal_autocheckpoint=8000"};
  for (const std::string_view sql : kPragmas) SLUICE_TRY(database.rows(sql));
  SLUICE_TRY(database.check_kind(path));
  SLUICE_TRY(database.rows(is_synced ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
  return database;
}

// A file of ours has our number; a new one has no tables.
Result<void> Database::check_kind(const std::string& path) {
  SLUICE_ASSIGN(const auto number, rows("PRAGMA application_id"));
  if (std::get<int64_t>(number.at(0).at(0)) == kApplicationId) return {};
  SLUICE_ASSIGN(const auto tables, rows("SELECT name FROM sqlite_master LIMIT 1"));
  if (!tables.empty()) return damaged_database(path, "it is another program's");
  return run(fmt::format("PRAGMA application_id={}", kApplicationId));
}

Result<void> Database::run(std::string_view sql, std::initializer_list<DatabaseValue> values) {
  SLUICE_TRY(rows(sql, values));
  return {};
}

Result<std::vector<std::vector<DatabaseValue>>> Database::rows(
    std::string_view sql, std::initializer_list<DatabaseValue> values) {
  SLUICE_ASSIGN(sqlite3_stmt * statement, state_->prepare(sql));
  int index = 0;
  for (const DatabaseValue& value : values) bind(statement, ++index, value);
  std::vector<std::vector<DatabaseValue>> rows;
  int code = SQLITE_ROW;
  while ((code = ::sqlite3_step(statement)) == SQLITE_ROW) rows.push_back(row_of(statement));
  ::sqlite3_reset(statement);
  if (code != SQLITE_DONE) return state_->error("failed");
  return rows;
}

}  // namespace sluice
