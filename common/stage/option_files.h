// Options that are typed as the path of a file and travel as its content, so that no later stage,
// and no cache, depends on the place of the file. What travels has one form for equal content:
// lines "NAME WORD".
//
//   --modify-mixlist     {"black-list": {"to-add": ["Conv"]}}        travels as   Conv deny
//   --customize-dtypes   # comment, /encoder/* f16, two lines         travels as   /encoder/* f16
//   --fusion-switch-file {"Switch": {"GraphFusion": {"ALL": "off"}}}   travels as   ALL off
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"

namespace sluice {

// Replaces the path that each of these options has by the content of the file. Errors: kNotFound;
// kBadJson, which names the key; kBadOption, which names the line.
Result<void> read_option_files(Options& options);

// Converts the content of --modify-mixlist: the changes of the lists of operators that
// --precision-mode=allow_mix_precision uses. The words are "allow", "deny" and "gray"; an operator
// that is removed from the white or the black list is gray.
Result<std::string> mixlist_lines(std::string_view text);

// Converts the content of --customize-dtypes. A line is a glob on the names of nodes, or
// "OpType::" and a glob on their operators, and the name of a Precision; one that begins with '#'
// is a comment.
Result<std::string> node_dtype_lines(std::string_view text);

// Splits what travels into pairs of a name and a word; a line without a word has an empty one.
std::vector<std::pair<std::string, std::string>> named_words(std::string_view lines);

}  // namespace sluice
