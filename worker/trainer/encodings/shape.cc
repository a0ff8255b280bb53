#include "worker/trainer/encodings/encoding.h"

namespace longreach::trainer {

// SHAPE is sin/cos at shifted positions: the shift is the sampler's work (positions.cc), not the encoding's.
// Source: onmt/modules/embeddings.py of butsugiri/shape; the order of sines and cosines is that of sin_cos.
std::unique_ptr<Encoding> Make_shape(const EncodingConfig& config) { return Make_sin_cos(config); }

}  // namespace longreach::trainer
