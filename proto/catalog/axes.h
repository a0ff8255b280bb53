// What rows and columns of a table may be, by name: the scheduler makes tables of them, the client offers and checks them.
#pragma once

#include <string>
#include <vector>

namespace longreach::catalog {

// Ascending: columns of jobs, "length", and the axes of slices (SliceAxes()).
const std::vector<std::string>& TableAxes();

}  // namespace longreach::catalog
