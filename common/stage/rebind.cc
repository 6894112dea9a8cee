#include "common/stage/rebind.h"

#include <filesystem>
#include <map>

#include "common/base/files.h"
#include "common/base/store.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

class Rebinding {
 public:
  explicit Rebinding(const std::string& path) : given_(path) { absolute_ = absolute_path(path); }

  Result<void> run(Module& module) {
    SLUICE_TRY(open(absolute_.string()));
    for (SegmentId id = 0; static_cast<size_t>(id) < module.segment_count(); ++id) {
      Segment& segment = module.segment(id);
      const Where where = segment.location.where;
      if (segment.kind == SegmentKind::kBytes && where != Where::kHere && where != Where::kStore)
        SLUICE_TRY(bind(segment));
    }
    return {};
  }

 private:
  Result<void> open(const std::string& path) {
    SLUICE_ASSIGN(MappedFile file, MappedFile::open(path));
    files_.emplace(path, std::move(file));
    return {};
  }

  // Returns the file that is located relative to the given one as `original` was to the model:
  // "/old/data/w.bin" may be "data/w.bin" or "w.bin" beside it. Empty: there is none.
  std::string beside(const fs::path& original) const {
    if (original.filename() == absolute_.filename()) return {};
    const fs::path below_root = original.relative_path();
    for (auto first = below_root.begin(); first != below_root.end(); ++first) {
      fs::path candidate = absolute_.parent_path();
      for (auto part = first; part != below_root.end(); ++part) candidate /= *part;
      std::error_code code;
      if (fs::is_regular_file(candidate, code)) return candidate.string();
    }
    return {};
  }

  // The file that the graph names is trusted while its time of change is the same.
  bool holds(const std::string& path, const Segment& segment) {
    if (!files_.contains(path) && !open(path)) return false;
    if (path == segment.location.path && files_.at(path).mtime_ns() == segment.location.mtime_ns)
      return true;
    const auto bytes = files_.at(path).bytes();
    const uint64_t offset = segment.location.offset;
    const bool inside = offset <= bytes.size() && segment.size <= bytes.size() - offset;
    return inside && sha256(bytes.subspan(offset, segment.size)) == segment.digest;
  }

  Result<void> bind(Segment& segment) {
    if (segment.location.where == Where::kNone) {
      return make_error(
                 ErrorCode::kMissingSegment,
                 "constant sha256:{} has no place in any file, so '{}' cannot give its bytes",
                 digest_hex(segment.digest).substr(0, 16), given_)
          .with_hint(
              "the graph was made from text, which has only digests: make it again with sluice as "
              "TEXT --with FILE.sg");
    }
    const std::string sibling = beside(segment.location.path);
    for (const std::string& path : {sibling, absolute_.string()}) {
      if (path.empty() || !holds(path, segment)) continue;
      segment.location.path = path;
      segment.location.mtime_ns = files_.at(path).mtime_ns();
      return {};
    }
    return make_error(ErrorCode::kMissingSegment, "'{}' is no copy of '{}': its bytes at {} differ",
                      sibling.empty() ? given_ : sibling, segment.location.path,
                      segment.location.offset)
        .with_hint("give the file that sluice-preprocess read, or run sluice-preprocess again");
  }

  std::string given_;
  fs::path absolute_;
  std::map<std::string, MappedFile> files_;
};

void bind_store(Module& module, const std::string& store) {
  for (SegmentId id = 0; static_cast<size_t>(id) < module.segment_count(); ++id) {
    Segment& segment = module.segment(id);
    if (segment.location.where == Where::kStore)
      segment.location.path = store_path(store, segment.digest);
  }
}

}  // namespace

Result<void> find_constants(Module& module, const std::string& store, const std::string& model) {
  if (!store.empty()) bind_store(module, store);
  return model.empty() ? Result<void>() : Rebinding(model).run(module);
}

}  // namespace sluice
