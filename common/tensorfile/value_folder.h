// A folder of the values of one run: each as .npy, maps as .npz, and values.txt, which lists them
// in the order of their computation, one per line: the file's name, a tab, the value's name. Values
// that have no file follow, with "-" in place of its name and after a tab the reason.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/base/files.h"
#include "common/base/result.h"
#include "common/tensorfile/tensorfile.h"

namespace sluice {

class ValueFolder {
 public:
  static Result<ValueFolder> create(const std::string& path);  // makes the folder
  Result<void> write(const std::string& name, const Tensor& tensor);
  Result<void> write_maps(const std::string& name, const FileValue& value);  // as .npz
  // Lists a value that has no file, unless one of its name was written.
  void mention(const std::string& name, const std::string& reason);
  Result<void> finish();  // writes values.txt

 private:
  explicit ValueFolder(std::string path) : path_(std::move(path)) {}
  std::string listed(const std::string& name, const char* ending);  // the path of a new file

  std::string path_;
  FileNames names_;
  std::set<std::string> written_;  // names of values
  std::string list_;
};

struct ValueFile {
  std::string path;
  // The name of the value, or of the file without extension in a folder without values.txt.
  std::string name;
};
// Returns the values that have files in the order of values.txt, or by name in a folder without it.
Result<std::vector<ValueFile>> list_values(const std::string& folder);

}  // namespace sluice
