// What of the dispatcher outlives it: jobs, which clients requested them, and how they ended. The
// file STATE/farm.db is SQLite's. Changes are grouped: they are durable after commit().
#pragma once

#include <string>
#include <vector>

#include "orchestrator/farm/database.h"
#include "orchestrator/farm/farm_job.h"

namespace sluice {

// Where a client stands: the ends of its jobs are numbered from 1 on in the order of their coming.
struct StoredClient {
  std::string id, owner;
  uint64_t ended = 0;  // ends that were or will be reported to it
};

// The request of a client for the end of a job.
struct StoredRequest {
  std::string client;
  Digest key;
  uint64_t number = 0;  // of the end among those of the client; 0 while there is none
};

class FarmState {
 public:
  // Errors: kIo, when the folder cannot be used or another dispatcher uses it.
  static Result<FarmState> open(const std::string& folder, bool is_synced);

  struct Content {
    std::vector<FarmJob> jobs;
    std::vector<StoredClient> clients;
    std::vector<StoredRequest> requests;  // those with ends in the order of their numbers
  };
  Result<Content> load();
  // Returns a number that no start of the dispatcher with this state has had.
  Result<int64_t> next_epoch();

  Result<void> put_job(const FarmJob& job);  // new, or changed in what is kept
  Result<void> remove_job(const Digest& key);
  // The record of a job's product, which outlives the job.
  Result<void> put_product(const Digest& key, const std::string& record);
  Result<std::string> find_product(const Digest& key);  // empty: there is none
  Result<void> put_client(const StoredClient& client);
  Result<void> remove_client(const std::string& id);  // with its requests
  Result<void> put_request(const StoredRequest& request);
  Result<void> remove_request(const std::string& client, const Digest& key);

  Result<void> commit();

 private:
  explicit FarmState(Database database) : database_(std::move(database)) {}
  Result<void> change(std::string_view sql, std::initializer_list<DatabaseValue> values);
  Database database_;
  bool is_changed_ = false;
};

}  // namespace sluice
