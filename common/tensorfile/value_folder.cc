#include "common/tensorfile/value_folder.h"

#include <algorithm>
#include <filesystem>

#include "common/tensorfile/tensorfile.h"

namespace sluice {
namespace {

constexpr char kList[] = "values.txt";
constexpr char kNoFile[] = "-";

std::string one_line(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }, '_');
  return name;
}

}  // namespace

Result<ValueFolder> ValueFolder::create(const std::string& path) {
  SLUICE_TRY(make_directories(path));
  return ValueFolder(path);
}

std::string ValueFolder::listed(const std::string& name, const char* ending) {
  const std::string file = names_.take(name) + ending;
  written_.insert(name);
  list_ += file + "\t" + one_line(name) + "\n";
  return path_ + "/" + file;
}

void ValueFolder::mention(const std::string& name, const std::string& reason) {
  if (!written_.contains(name))
    list_ += kNoFile + ("\t" + one_line(name)) + "\t" + one_line(reason) + "\n";
}

Result<void> ValueFolder::write(const std::string& name, const Tensor& tensor) {
  return write_tensor(listed(name, ".npy"), tensor);
}

Result<void> ValueFolder::write_maps(const std::string& name, const FileValue& value) {
  return sluice::write_maps(listed(name, ".npz"), value);
}

Result<void> ValueFolder::finish() { return write_text(path_ + "/" + kList, list_); }

Result<std::vector<ValueFile>> list_values(const std::string& folder) {
  std::vector<ValueFile> files;
  std::error_code code;
  if (std::filesystem::exists(folder + "/" + kList, code)) {
    SLUICE_ASSIGN(const std::string list, read_text(folder + "/" + kList));
    for (size_t begin = 0, end = 0; begin < list.size(); begin = end + 1) {
      end = std::min(list.find('\n', begin), list.size());
      const std::string line = list.substr(begin, end - begin);
      const size_t tab = line.find('\t');
      if (tab == std::string::npos || line.find('/') < tab) {
        return Error{ErrorCode::kBadTensorFile,
                     fmt::format("line '{}' names no file and value", line),
                     {},
                     folder + "/" + kList};
      }
      if (line.substr(0, tab) == kNoFile) continue;
      files.push_back({folder + "/" + line.substr(0, tab), line.substr(tab + 1)});
    }
    return files;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    if (entry.path().extension() == ".npy" || entry.path().extension() == ".npz")
      files.push_back({entry.path().string(), entry.path().stem().string()});
  }
  if (code)
    return make_error(ErrorCode::kNotFound, "cannot read the folder '{}': {}", folder,
                      code.message());
  std::sort(files.begin(), files.end(),
            [](const ValueFile& a, const ValueFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace sluice
