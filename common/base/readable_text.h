// Text that a terminal may show.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Makes a message printable. Names that the user chose are between quotes and may contain any byte.
// Control characters become escapes, except for the line breaks of our own lists, whose lines are
// indented; a name that is too long for a line is cut.
std::string readable_text(std::string_view text);

}  // namespace sluice
