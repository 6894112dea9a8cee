// A folder that one test owns. Tests of one program run at the same time as separate processes, so
// a fixed name in the shared temporary folder would be shared by several tests.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace sluice {

// Creates an empty folder with a name of its own and removes it with its content at the end.
class TestFolder {
 public:
  TestFolder() : path_(::testing::TempDir() + "sluice-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("no folder for a test in " + ::testing::TempDir());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }  // absolute, without "/" at the end
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace sluice
