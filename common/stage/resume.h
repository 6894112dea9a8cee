// What binds a stage that goes on with a graph that it stopped half-way: finished passes do not run
// again, so it must have the options that it began with.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Checks that options given again have the values that the stage began with. Accepts any other
// graph. Errors: kBadOption; those of reading the file that an option names.
Result<void> check_resumed(StageId stage, const Module& module, const Options& given);

// Makes the options of a graph record those that the stage has read and that do not travel, as
// "preprocess.strict", while the graph is half-way; erases the record afterwards, because they are
// in no product.
void record_options_read(StageId stage, const Options& options, Module& module);

// Gives the options that a graph records to the rest of its stage; values already set win. Errors:
// kBadFile for a value that the option does not accept.
Result<void> inherit_record(StageId stage, const std::map<std::string, std::string>& travelling,
                            Options& options);

// Returns whether a name among a graph's options is such a record of the stage.
bool is_record(StageId stage, std::string_view name);

}  // namespace sluice
