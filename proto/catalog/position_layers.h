// Which layers of a model have its positional encoding, where it acts in layers: positions.none_every.
#pragma once

namespace longreach::catalog {

// Layers are counted from 0, and every `none_every`-th, from none_every - 1 on, is without. 0: all have it.
constexpr bool HasPositions(int none_every, int layer) { return none_every == 0 || (layer + 1) % none_every != 0; }

// How many of a model's layers have it.
constexpr int LayersWithPositions(int none_every, int layers) { return none_every == 0 ? layers : layers - layers / none_every; }

}  // namespace longreach::catalog
