#include "tests/simulation/world.h"

#include <fmt/format.h>

namespace longreach::simulation {

void World::Log(std::string_view text) {
  const int64_t at = now().time_since_epoch().count();
  const auto mix = [this](unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3u; };
  for (int shift = 0; shift < 64; shift += 8) mix(static_cast<unsigned char>(at >> shift));
  for (const char c : text) mix(static_cast<unsigned char>(c));
  if (verbose_) fmt::print("{:.3f} {}\n", static_cast<double>(at) / 1e6, text);
}

}  // namespace longreach::simulation
