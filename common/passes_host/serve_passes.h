// The helper's side of the passes of users: it answers what the stage asks over two pipes.
//
//   request: {"file": "/mine/p.py", "point": "after-optimize", "types": true, "bytes": 4711}\n
//            and 4711 bytes of .sg
//   answer:  {"changed": true, "counts": [{"pass": "p", "matches": 2, "effects": 1}], "notes": [],
//             "bytes": 4242}\n and 4242 bytes of .sg; none where nothing changed
//   or:      {"error": {"code": 1015, "message": "…", "hint": "…"}}\n
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"

namespace sluice {

struct PassRequest {
  std::string file;       // as the stage named it when it started the helper
  std::string point;      // "after-optimize" (points.h)
  bool has_types = true;  // values have types there
};

struct PassAnswer {
  bool changed = false;
  std::vector<RuleCount> counts;   // one for each pass of the file, in the order in which they ran
  std::vector<std::string> notes;  // lines for people, which the stage prints
};

using RunPass = std::function<Result<PassAnswer>(Module& module, const PassRequest& request)>;

// Answers the requests of a stage until it closes its end. An error of a pass is an answer, and the
// next request is served. Errors: kBadReply for a request that cannot be read, kIo.
Result<void> serve_passes(int input, int output, const RunPass& run);

}  // namespace sluice
