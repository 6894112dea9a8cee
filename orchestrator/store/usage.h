// The help text of sluice-cache, which is also the grammar of its command line.
#pragma once

namespace sluice {

inline constexpr char kCacheUsage[] =
    R"(Looks into the folder of a store, which --store of sluice-compile fills, and keeps it small.

Usage:
  sluice-cache stats [options] [--json] <dir>
  sluice-cache gc [options] [--max-bytes=SIZE] [--older-than=DAYS] [--dry-run] <dir>
  sluice-cache limit [options] <dir> <size>
  sluice-cache verify [options] [--delete] <dir>
  sluice-cache explain [options] [--json] <dir> <a> <b>
  sluice-cache (--help | --version)

stats    Prints records, artifacts, bytes and times of use by kind: kernels, the stages, and what no
         record names, such as constants. Bytes that have another name too are counted apart.
gc       Deletes unfinished files that killed programs left, and what was used longest ago: until
         the store has at most SIZE, or all that is older than DAYS. Without these two SIZE is the
         limit of the store. What running programs need stays.
limit    Sets the limit that programs keep to by themselves; <size> is SIZE or none.
verify   Hashes every artifact and reads every record, and says which records name artifacts that
         are not there. Exits 7 when something is damaged.
explain  Says by what two results differ: <a> and <b> are keys, as sluice-compile prints them, or
         their first digits, 8 at least, or .om or .sg files that were made with the store.

SIZE is a number of bytes: 10G, 500M, 1.5GB, 64MiB.

Options:
  --json                 Print one JSON object.
  --max-bytes=SIZE       The bytes that the store shall have at most.
  --older-than=DAYS      Delete what was not used for so many days, also what has another name.
  --dry-run              Delete nothing, say what would be deleted.
  --delete               Delete what is damaged.
  -q, --quiet            Print errors alone, and what stats and explain are asked for.
  --error-format=FORMAT  text or json.
  --help                 Print this.
  --version              Print the release.
)";

}  // namespace sluice
