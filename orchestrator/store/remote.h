// --remote: a store over HTTP behind a store in a folder. What is missing in the folder is fetched
// into it, and what a program keeps is pushed at its end:
//
//   URL/ab/abcd…            artifacts
//   URL/records/ab/ab12…    records
//   DIR/partial/abcd…       the first bytes of an artifact, whose transfer was cut off, and in
//   DIR/partial/abcd….etag  the ETag that says of which object
//
// Nothing gets its name in the folder before its bytes have been compared with its digest, and no
// record of a compiled model before sluice-verify has checked the model. A server that does not
// answer is asked no more: its user works as if there were none, and reports trouble() once.
#pragma once

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/store/store.h"
#include "orchestrator/store/http.h"

namespace sluice {

class RemoteStore {
 public:
  // The store, which outlives the object, gets from the URL what is missing in it; an empty URL is
  // no remote store.
  RemoteStore(RemoteUrl url, Store& store);

  // Sends the records that the store has kept since the last call, and before each its artifacts,
  // so that nobody finds a record without it.
  void push();

  // Returns false when it is asked no more.
  bool is_used() const;
  // Returns what went wrong first, in the form "the remote store 'URL' does not answer: …".
  std::optional<std::string> trouble() const;

 private:
  bool fetch_record(const Digest& key);
  bool fetch_artifact(const Digest& digest);
  std::optional<Record> receive_record(const Digest& key);
  bool has_good_model(const Record& record);
  bool bring_artifact(const Digest& digest);
  bool receive(const std::string& name, HttpTarget& target);
  bool push_record(const Digest& key);
  bool push_file(const std::string& name);
  HttpAnswer put(const std::string& name, int file, uint64_t bytes);
  bool may_ask(const std::string& name);
  bool connect();
  bool take(const HttpAnswer& answer, const char* method, const std::string& name);
  void note(const std::string& text);

  const RemoteUrl url_;
  Store& store_;
  mutable std::mutex mutex_;  // of everything below
  std::optional<HttpClient> client_;
  bool reads_, writes_;            // false: no more
  std::set<std::string> asked_;    // names: a server is asked once
  std::set<std::string> fetched_;  // what is kept all the same was of no use, and is replaced
  std::set<std::string> pushed_;
  std::vector<Digest> kept_;
  std::optional<std::string> trouble_;
};

}  // namespace sluice
