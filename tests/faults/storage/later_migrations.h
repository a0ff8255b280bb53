// Migrations as later versions may bring them, behind those that this version has: a column, a table that is filled from others, an index.
#pragma once

#include <span>
#include <string_view>

namespace longreach::faults {

std::span<const std::string_view> LaterMigrations();

}  // namespace longreach::faults
