#include "common/omfile/weight_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "common/base/files.h"
#include "common/base/program.h"
#include "common/base/weights_place.h"
#include "common/omfile/external_weights.h"
#include "common/omfile/om_format.h"

namespace sluice {
namespace {

constexpr const char* kNameFolder = "--weights DIR names the folder that has them";
constexpr const char* kOtherFile =
    "put back the file that was compiled with the model, or compile the model again";

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_folder(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Returns whether the path that is given is that of the file of combined weights itself.
bool gives_file(const pb::ModelDef& model, const WeightsPath& path) {
  return model.combined_weights() && !path.given.empty() && !is_folder(path.given);
}

Result<void> check_findable(const pb::ModelDef& model, const WeightsPath& path) {
  const bool has_name = !path.model.empty() && path.model != "-";
  const bool has_folder = has_name || !path.given.empty();
  const bool needs_name = model.combined_weights() && !gives_file(model, path);
  if (has_name || (has_folder && !needs_name)) return {};
  return make_error(ErrorCode::kMissingSegment,
                    "{} constants of the model are in {}, and standard input has no {}",
                    model.external_weights_size(),
                    has_folder ? "a file that is named after it" : "files",
                    has_folder ? "name" : "folder")
      .with_hint(has_folder ? "give the file itself: --weights DIR/NAME_weight_combined"
                            : kNameFolder);
}

// Returns the place that has the weights of the model, or else the one that they were written to.
WeightsPlace place_of(const pb::ModelDef& model, const WeightsPath& path) {
  const WeightsPlace beside = weights_place(path.model);
  if (!path.given.empty()) return {path.given, beside.name};
  const WeightsPlace behind = weights_place(behind_links(path.model));
  const auto has_weights = [&](const WeightsPlace& place) {
    return exists(model.combined_weights()
                      ? place.combined_file()
                      : place.shared_file(digest_of(model.external_weights(0))));
  };
  return has_weights(beside) || !has_weights(behind) ? beside : behind;
}

class Opener {
 public:
  explicit Opener(std::string path) : path_(std::move(path)) {}

  // what: the content of the file, for messages.
  Result<void> open(const std::string& what, uint64_t bytes) {
    // A named pipe would otherwise be waited for.
    file_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file_) return cannot_open(what);
    struct stat status{};
    if (::fstat(file_.get(), &status) != 0) return file_error("read", path_);
    if (!S_ISREG(status.st_mode)) return other_file(what, "is no regular file");
    if (static_cast<uint64_t>(status.st_size) == bytes) return {};
    return other_file(what, fmt::format("has {} bytes, expected {}", status.st_size, bytes));
  }

  // Checks that a file of combined weights is of this model.
  Result<void> check_header(const std::string& what, const Digest& digest) const {
    CombinedHeader header{};
    const ssize_t got = ::pread(file_.get(), &header, sizeof(header), 0);
    if (got == sizeof(header) &&
        std::memcmp(header.magic, kCombinedMagic, sizeof(kCombinedMagic)) == 0 &&
        std::memcmp(header.digest, digest.bytes.data(), sizeof(header.digest)) == 0)
      return {};
    return other_file(what, "has those of another model");
  }

  const std::string& path() const { return path_; }
  const Descriptor& file() const { return file_; }

 private:
  Error cannot_open(const std::string& what) const {
    Error error = file_error("open", path_);
    if (error.code != ErrorCode::kNotFound) return error;
    return make_error(ErrorCode::kMissingSegment, "{}: {}", what, error.message)
        .with_hint(kNameFolder);
  }

  Error other_file(const std::string& what, const std::string& fact) const {
    return make_error(ErrorCode::kBadCompiledModel, "{}: '{}' {}", what, path_, fact)
        .with_hint(kOtherFile);
  }

  std::string path_;
  Descriptor file_;
};

Result<void> open_combined(const pb::ModelDef& model, const std::string& path,
                           const std::function<Result<void>(const WeightFile&)>& take) {
  const int count = model.external_weights_size();
  const uint64_t offset = external_offset(model), bytes = weights_bytes(model) - offset;
  std::string what = weight_text(model.external_weights(0));
  if (count > 1) what += fmt::format(" and {} more", count - 1);
  Opener opener(path);
  SLUICE_TRY(opener.open(what, kOmPage + bytes));
  SLUICE_TRY(opener.check_header(what, combined_digest(model)));
  return take({opener.path(), opener.file(), kOmPage, offset, bytes, 0, count});
}

}  // namespace

Result<void> for_each_weight_file(const pb::ModelDef& model, const WeightsPath& path,
                                  const std::function<Result<void>(const WeightFile&)>& take) {
  if (model.external_weights_size() == 0) return {};
  SLUICE_TRY(check_findable(model, path));
  const WeightsPlace place = place_of(model, path);
  if (model.combined_weights())
    return open_combined(model, gives_file(model, path) ? path.given : place.combined_file(), take);
  uint64_t offset = external_offset(model);
  for (int i = 0; i < model.external_weights_size(); ++i) {
    const pb::ExternalWeightDef& weight = model.external_weights(i);
    Opener opener(place.shared_file(digest_of(weight)));
    SLUICE_TRY(opener.open(weight_text(weight), weight.bytes()));
    SLUICE_TRY(take({opener.path(), opener.file(), 0, offset, weight.bytes(), i, i + 1}));
    offset = next_external_offset(offset, weight.bytes());
  }
  return {};
}

}  // namespace sluice
