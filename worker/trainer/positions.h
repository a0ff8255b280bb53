// Which positions the tokens of a tape are said to have. Encodings see positions and signed distances only,
// never how they were drawn.
//
// Shapes: T position on the tape, B sequence of the batch, R entry of a table of signed distances.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/base/status.h"
#include "worker/trainer/random/random_stream.h"
#include "worker/trainer/torch.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// Signed distances between the tokens of a tape, key minus query: a table of values, and the rule that says
// which entry a (query, key) pair uses. With `causal` only those of keys that are not after the query.
class Distances {
 public:
  Distances() = default;

  // Pairs with |key - query| = k share the distance `by_offset[k]`, signed; by_offset[0] = 0. Entry: key -
  // query + T - 1.
  static Distances ByOffset(std::span<const int64_t> by_offset, bool causal = false);
  // The distance of a pair is the difference of their positions. Entry: that difference + the largest one.
  static Distances OfPositions(std::span<const int64_t> positions, bool causal = false);

  int64_t tape() const { return tape_; }
  // Entry of (query, key) is key - query + T - 1.
  bool toeplitz() const { return positions_.empty(); }
  // Of every token; empty where distances are by offset.
  const std::vector<int64_t>& positions() const { return positions_; }
  // The entry of distance 0.
  int64_t center() const { return center_; }
  // Float [R], in positions.
  const Tensor& values() const { return values_R_; }
  int64_t Entry(int64_t query, int64_t key) const {
    return toeplitz()
               ? key - query + tape_ - 1
               : positions_[static_cast<size_t>(key)] - positions_[static_cast<size_t>(query)] + center_;
  }
  // int64 [queries, T]: the entries of consecutive queries. For a pair that a causal model has no distance of: that of distance 0.
  Tensor Entries(int64_t first_query, int64_t queries) const;

 private:
  Tensor values_R_;
  std::vector<int64_t> positions_;
  int64_t tape_ = 0;
  int64_t center_ = 0;
};

// What an encoding wants to know.
enum class PositionUse { kNothing, kEmbedding, kRotation, kDistances };

// The positions of one forward pass, the same for all members of a pack. Only what the encoding uses is
// there, on the host.
struct PassPositions {
  Tensor embedding;                  // kEmbedding: int64 [T], or [B, T] when each sequence is shifted.
  std::vector<Tensor> rotation;      // kRotation: int64 [T] for each layer.
  std::vector<Distances> distances;  // kDistances: for each layer.
  Tensor given;                      // With positions.data_rows, whatever the encoding uses: int64 [B, T], those that the data brings with it.
  bool test = false;
};

// Where the randomness of a pass comes from.
struct PassSource {
  uint64_t key = 0;
  uint64_t step = 0;
  bool test = false;
};

// Draws the positions of a pass: consecutive, randomized or shifted, as the settings say. The longest tape of
// the settings must fit (Validate() sees to it). Source: reference section 6.2,
// noisy_fixed_positional_encodings() and others of google-deepmind/randomized_positional_encodings.
PassPositions DrawPositions(const PackSettings& settings, PositionUse use, int64_t tape, int64_t batch,
                            const PassSource& source);

}  // namespace longreach::trainer
