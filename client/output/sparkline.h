// A curve in one line of text.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace longreach::client {

// Means over equal parts of `values`, at most `width` of them, as blocks from low to high: the least is the lowest block, the greatest the
// highest. Values that are not finite are left out; a part that has only such is a blank. Empty: there is no curve, as fewer than two are finite.
std::string Sparkline(std::span<const double> values, size_t width);

}  // namespace longreach::client
