// What the programs of the farm say of themselves on standard error: a line for each event, as text
// for people or as JSON for those who collect logs.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

class FarmLog {
 public:
  using Field = std::pair<std::string_view, std::string>;
  // program: "sluice-farm". level: 0 warnings alone, 1 what people want to know, 2 every job.
  FarmLog(std::string program, bool is_json, int level)
      : program_(std::move(program)), is_json_(is_json), level_(level) {}

  // event: words, "worker lost".
  void warn(std::string_view event, std::initializer_list<Field> fields) const {
    write("warning", event, fields);
  }
  void report(std::string_view event, std::initializer_list<Field> fields) const {
    if (level_ >= 1) write("info", event, fields);
  }
  void detail(std::string_view event, std::initializer_list<Field> fields) const {
    if (level_ >= 2) write("info", event, fields);
  }

 private:
  void write(std::string_view kind, std::string_view event,
             std::initializer_list<Field> fields) const;
  std::string program_;
  bool is_json_;
  int level_;
};

}  // namespace sluice
