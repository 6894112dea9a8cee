// Tables of text.
#pragma once

#include <string>
#include <vector>

namespace sluice {

using Row = std::vector<std::string>;

// Returns the rows, which have equally many cells, as columns of equal width, two spaces apart.
std::string aligned(const std::vector<Row>& rows);

}  // namespace sluice
