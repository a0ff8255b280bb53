// An encoding that acts in some layers of a model alone.
#pragma once

#include <memory>

#include "worker/trainer/encodings/encoding.h"

namespace longreach::trainer {

// Leaves out the layers that config.none_every says, if the encoding acts in layers; one that is added to the embedding stays what it is.
std::unique_ptr<Encoding> InSomeLayers(std::unique_ptr<Encoding> encoding, const EncodingConfig& config);

}  // namespace longreach::trainer
