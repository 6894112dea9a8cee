#include "orchestrator/farm/farm_state.h"

#include "common/base/files.h"
#include "orchestrator/farm/artifacts.h"

namespace sluice {
namespace {

constexpr std::string_view kTables[] = {
    "CREATE TABLE IF NOT EXISTS jobs(key BLOB PRIMARY KEY, record BLOB, priority INTEGER,"
    " quarantined INTEGER, losses INTEGER, losses_alone INTEGER,"
    " losses_excused INTEGER, failures INTEGER, end BLOB)"
    " WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS clients(id BLOB PRIMARY KEY, owner BLOB, ended INTEGER)"
    " WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS wishes(client BLOB, key BLOB, number INTEGER,"
    " PRIMARY KEY(client, key)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS products(key BLOB PRIMARY KEY, record BLOB) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS starts(epoch INTEGER)",
};

const std::string& text_at(const std::vector<DatabaseValue>& row, size_t i) {
  static const std::string empty;
  const auto* text = std::get_if<std::string>(&row[i]);
  return text == nullptr ? empty : *text;
}

int64_t number_at(const std::vector<DatabaseValue>& row, size_t i) {
  const auto* number = std::get_if<int64_t>(&row[i]);
  return number == nullptr ? 0 : *number;
}

Result<FarmJob> job_of_row(const std::vector<DatabaseValue>& row) {
  pb::FarmJob message;
  message.set_record(text_at(row, 1));
  message.set_priority(static_cast<int32_t>(number_at(row, 2)));
  SLUICE_ASSIGN(FarmJob job, farm_job_of(message));
  job.losses = static_cast<int>(number_at(row, 4));
  job.losses_alone = static_cast<int>(number_at(row, 5));
  job.losses_excused = static_cast<int>(number_at(row, 6));
  job.failures = static_cast<int>(number_at(row, 7));
  pb::JobEnd end;
  if (!text_at(row, 8).empty() && end.ParseFromString(text_at(row, 8))) {
    const bool is_quarantined = number_at(row, 3) != 0;
    job.state = is_quarantined ? FarmJob::State::kQuarantined : FarmJob::State::kEnded;
    job.end = std::move(end);
  }
  return job;
}

}  // namespace

Result<FarmState> FarmState::open(const std::string& folder, bool is_synced) {
  SLUICE_TRY(make_directories(folder));
  SLUICE_ASSIGN(Database database, Database::open(folder + "/farm.db", is_synced));
  for (const std::string_view sql : kTables) SLUICE_TRY(database.run(sql));
  return FarmState(std::move(database));
}

Result<FarmState::Content> FarmState::load() {
  Content content;
  SLUICE_ASSIGN(const auto jobs,
                database_.rows("SELECT key, record, priority, quarantined, losses, losses_alone,"
                               " losses_excused, failures, end FROM jobs"));
  for (const auto& row : jobs) {
    SLUICE_ASSIGN(FarmJob job, job_of_row(row));
    content.jobs.push_back(std::move(job));
  }
  SLUICE_ASSIGN(const auto clients, database_.rows("SELECT id, owner, ended FROM clients"));
  for (const auto& row : clients)
    content.clients.push_back(
        {text_at(row, 0), text_at(row, 1), static_cast<uint64_t>(number_at(row, 2))});
  SLUICE_ASSIGN(const auto requests,
                database_.rows("SELECT client, key, number FROM wishes ORDER BY number"));
  for (const auto& row : requests) {
    const auto key = digest_of_field(text_at(row, 1));
    if (key)
      content.requests.push_back({text_at(row, 0), *key, static_cast<uint64_t>(number_at(row, 2))});
  }
  return content;
}

Result<int64_t> FarmState::next_epoch() {
  SLUICE_ASSIGN(const auto rows, database_.rows("SELECT max(epoch) FROM starts"));
  const int64_t epoch = rows.empty() ? 1 : number_at(rows[0], 0) + 1;
  SLUICE_TRY(database_.run("DELETE FROM starts"));
  SLUICE_TRY(database_.run("INSERT INTO starts VALUES(?)", {epoch}));
  return epoch;
}

Result<void> FarmState::change(std::string_view sql, std::initializer_list<DatabaseValue> values) {
  if (!is_changed_) SLUICE_TRY(database_.run("BEGIN"));
  is_changed_ = true;
  return database_.run(sql, values);
}

Result<void> FarmState::put_job(const FarmJob& job) {
  return change("INSERT OR REPLACE INTO jobs VALUES(?,?,?,?,?,?,?,?,?)",
                {digest_field(job.key), job.record, int64_t{job.priority},
                 int64_t{job.state == FarmJob::State::kQuarantined}, int64_t{job.losses},
                 int64_t{job.losses_alone}, int64_t{job.losses_excused}, int64_t{job.failures},
                 job.end ? job.end->SerializeAsString() : std::string()});
}

Result<void> FarmState::remove_job(const Digest& key) {
  return change("DELETE FROM jobs WHERE key=?", {digest_field(key)});
}

Result<void> FarmState::put_product(const Digest& key, const std::string& record) {
  return change("INSERT OR REPLACE INTO products VALUES(?,?)", {digest_field(key), record});
}

Result<std::string> FarmState::find_product(const Digest& key) {
  SLUICE_ASSIGN(const auto rows,
                database_.rows("SELECT record FROM products WHERE key=?", {digest_field(key)}));
  return rows.empty() ? std::string() : text_at(rows[0], 0);
}

Result<void> FarmState::put_client(const StoredClient& client) {
  return change("INSERT OR REPLACE INTO clients VALUES(?,?,?)",
                {client.id, client.owner, static_cast<int64_t>(client.ended)});
}

Result<void> FarmState::remove_client(const std::string& id) {
  SLUICE_TRY(change("DELETE FROM wishes WHERE client=?", {id}));
  return change("DELETE FROM clients WHERE id=?", {id});
}

Result<void> FarmState::put_request(const StoredRequest& request) {
  return change("INSERT OR REPLACE INTO wishes VALUES(?,?,?)",
                {request.client, digest_field(request.key), static_cast<int64_t>(request.number)});
}

Result<void> FarmState::remove_request(const std::string& client, const Digest& key) {
  return change("DELETE FROM wishes WHERE client=? AND key=?", {client, digest_field(key)});
}

Result<void> FarmState::commit() {
  if (!is_changed_) return {};
  is_changed_ = false;
  return database_.run("COMMIT");
}

}  // namespace sluice
