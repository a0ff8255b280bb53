// Rows and columns of a table that are several axes ("task,system"), and the keys of places on them ("even_pairs,layers-2"). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace longreach {

// "task,system" as task and system, and "task, system" too; of an empty text none.
std::vector<std::string> AxesIn(std::string_view list);
// The list has this axis.
bool HasAxis(std::string_view list, std::string_view axis);

// A key of one axis is what it is. Of several they have ',' between them, and '\' before each ',' and '\' of their own: the value of a setting
// may have them.
std::string JoinKeys(const std::vector<std::string>& keys);
// As many keys as there are axes: "" for those that the text lacks.
std::vector<std::string> SplitKeys(std::string_view key, size_t axes);

}  // namespace longreach
