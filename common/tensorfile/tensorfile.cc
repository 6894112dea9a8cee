#include "common/tensorfile/tensorfile.h"

#include "common/base/files.h"
#include "common/tensorfile/bad_file.h"

namespace sluice {

Result<Tensor> read_tensor(const std::string& path) {
  if (path.ends_with(".npy")) return read_npy(path);
  if (path.ends_with(".pb")) return read_pb(path);
  return bad_file(path,
                  "unknown kind of tensor file, expected a name that ends in .npy, .npz or .pb");
}

Result<void> write_tensor(const std::string& path, const Tensor& tensor) {
  if (path.ends_with(".npy")) {
    SLUICE_ASSIGN(const std::string text, npy_bytes(tensor));
    return write_text(path, text);
  }
  if (path.ends_with(".pb")) return write_text(path, pb_bytes(tensor));
  return bad_file(path, "unknown kind of tensor file, expected a name that ends in .npy or .pb");
}

Result<Tensor> read_npy(const std::string& path) {
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
  return parse_npy(file.bytes(), path);
}

Result<Tensor> read_pb(const std::string& path) {
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
  return parse_pb(file.bytes(), path);
}

}  // namespace sluice
