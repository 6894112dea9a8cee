#include "common/omfile/weight_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

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

bool exists(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

bool is_folder(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_directory(path, failed);
}

bool has_name(const WeightsPath& path) { return !path.model.empty() && path.model != "-"; }

// Returns whether the path that is given is that of the file of combined weights itself.
bool gives_file(const pb::ModelDef& model, const WeightsPath& path) {
  return model.combined_weights() && !path.given.empty() && !is_folder(path.given) &&
         (exists(path.given) || !has_name(path));
}

Result<void> check_findable(const pb::ModelDef& model, const WeightsPath& path) {
  if (has_name(path) || gives_file(model, path)) return {};
  if (path.given.empty()) {
    return make_error(ErrorCode::kMissingSegment,
                      "{} constants of the model are in files, and standard input has no folder",
                      model.external_weights_size())
        .with_hint(kNameFolder);
  }
  if (!model.combined_weights()) return {};
  return make_error(ErrorCode::kMissingSegment,
                    "the constants of the model are in a file that is named after it, and standard "
                    "input has no name")
      .with_hint(
          fmt::format("give the file itself: --weights {}/NAME_weight_combined", path.given));
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
    if (!S_ISREG(status.st_mode)) {
      return make_error(ErrorCode::kBadCompiledModel, "'{}', with {}, is no regular file", path_,
                        what)
          .with_hint(kOtherFile);
    }
    if (static_cast<uint64_t>(status.st_size) == bytes) return {};
    return make_error(ErrorCode::kBadCompiledModel, "'{}', with {}, has {} bytes, expected {}",
                      path_, what, status.st_size, bytes)
        .with_hint(kOtherFile);
  }

  // Checks that a file of combined weights is of this model.
  Result<void> check_header(const Digest& digest) const {
    CombinedHeader header{};
    const ssize_t got = ::pread(file_.get(), &header, sizeof(header), 0);
    if (got == sizeof(header) &&
        std::memcmp(header.magic, kCombinedMagic, sizeof(kCombinedMagic)) == 0 &&
        std::memcmp(header.digest, digest.bytes.data(), sizeof(header.digest)) == 0)
      return {};
    return make_error(ErrorCode::kBadCompiledModel,
                      "'{}' does not contain the constants of this model but of another one", path_)
        .with_hint(kOtherFile);
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

  std::string path_;
  Descriptor file_;
};

Result<void> open_combined(const pb::ModelDef& model, const std::string& path,
                           const std::function<Result<void>(const WeightFile&)>& take) {
  const int count = model.external_weights_size();
  const uint64_t offset = external_offset(model), bytes = weights_bytes(model) - offset;
  const std::string first = weight_text(model.external_weights(0));
  Opener opener(path);
  SLUICE_TRY(opener.open(count == 1 ? first : fmt::format("{} and {} more", first, count - 1),
                         kOmPage + bytes));
  SLUICE_TRY(opener.check_header(combined_digest(model)));
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
