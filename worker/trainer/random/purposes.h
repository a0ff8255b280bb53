// What random bits are drawn for. Numbers are part of every result: they are never changed and never used again for
// something else; a test pins the first values of each.
#pragma once

#include <cstdint>

namespace longreach::trainer {

enum class Purpose : uint16_t {
  kInitialisation = 1,      // Key: the member's seed. One stream per parameter: ParameterStream().
  kTrainingLength = 2,      // Key: data seed, as for all of training. Index 0: the length of the batch.
  // Index: see Draws, one range per sequence; of texts the sequence, with a lower half in layer 1 where there are too many places for a word.
  kTrainingBatch = 3,
  kTrainingPositions = 4,   // Layer: that of the encoder, 0 where all layers share a draw.
  kTrainingShift = 5,       // SHAPE. Index: sequence.
  kTrainingDropout = 6,     // Layer: the place in the model. Index: see KeepMask.
  kTestBatch = 7,           // Key: kEvaluationKey, as for all of testing. Step: the length, of the input where there is one; of images 0.
  kTestPositions = 8,
  kTestShift = 9,
  kTestDropout = 10,        // Only where dropout is left on at test.
  kTestPasskey = 11,        // Step: the length of the prompts. Index: two words for each of them, DrawLandmark().
  kTrainingSource = 12,     // Which data set of a mixture a training block is from. Index: its place in the batch.
  kTrainingDataShift = 13,  // How far positions of the data are moved up. Index: sequence.
};

// All units are tested on the same sequences and positions, whatever their seeds.
inline constexpr uint64_t kEvaluationKey = 0x4c6f6e6765737400;
// The key of all of testing under evaluation.seed.
constexpr uint64_t EvaluationKey(uint32_t seed) { return kEvaluationKey + seed; }

}  // namespace longreach::trainer
