// A folder of the values of one run: each as .npy, maps as .npz, and values.txt, which lists them
// in the order in which they were made, a line each: the file's name, a tab, the value's name.
#pragma once

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
  Result<void> finish();                                                     // writes values.txt

 private:
  explicit ValueFolder(std::string path) : path_(std::move(path)) {}
  std::string listed(const std::string& name, const char* ending);  // the path of a new file

  std::string path_;
  FileNames names_;
  std::string list_;
};

struct ValueFile {
  std::string path;
  std::string name;  // of the value; of the file without ending, in a folder without values.txt
};
// In the order of values.txt; by name in a folder that has none.
Result<std::vector<ValueFile>> list_values(const std::string& folder);

}  // namespace sluice
