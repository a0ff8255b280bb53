// What a positional encoding is to the model: an addition to the embedding, a rotation of queries and keys,
// or a bias on attention logits, as a table over signed distances or pair by pair.
//
// Shapes: E member of the pack, B sequence, T position, H head, K features per head, D = H K, R signed
// distances.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/trainer/rope_frequencies.h"
#include "worker/trainer/parameters.h"
#include "worker/trainer/positions.h"

namespace longreach::trainer {

struct EncodingConfig {
  int layers = 0;
  int none_every = 0;  // Every such layer has no encoding; which this is, layer_sets.h and in_some_layers.h see to.
  int embedding_dim = 0;
  int num_heads = 0;
  int max_position = 0;
  int learned_rows = 0;
  int sandwich_dim = 0;
  int t5_buckets = 0;
  int t5_max_distance = 0;
  int fire_width = 0;
  int fire_threshold = 0;
  bool fire_shared = false;
  bool kerple_shared = false;
  bool break_symmetry = false;
  bool relative_as_released = false;
  bool causal = false;  // No key comes after its query.
  double rope_theta = 10'000;
  RopeScaling rope_scaling = {};
  bool rope_scaled_in_training = false;  // Not in tests alone.
  int64_t trained_length = 0;            // Tokens of the longest tape of the training, or of the one before; known where rope_scaling asks for it.

  int head_dim() const { return embedding_dim / num_heads; }
};

// Transformer-XL: logits get (q + u) k + (q + v) r, where r belongs to the signed distance.
struct ContentTerm {
  Tensor content_bias;   // u, as [.., H, K].
  Tensor relative_bias;  // v, as [.., H, K].
  Tensor keys;           // r, as [.., R, D], columns grouped by head.
};

// Thread-safe: all methods are const. A set of parameters comes with or without a pack axis (parameters.h),
// and so does what is made of it, where they lie. Positions and distances, and what is made of them alone, are on the host.
class Encoding {
 public:
  virtual ~Encoding() = default;

  virtual PositionUse Use() const = 0;
  // Of kRotation and kDistances; in a layer that it does not act in, what it gives says nothing: no angles, biases of 0.
  virtual bool ActsIn(int /*layer*/) const { return true; }
  // Has parameters. Without any, what it returns is made once for a whole pack.
  virtual bool Trained() const { return false; }
  // Engines without autograd can train it: it has no parameters; or AddBiasGradient(), AddPairGradient() or AddContentGradient() is there; or
  // what it adds to the embedding are rows of its one parameter, one for each position. All others are left to LibTorch.
  virtual bool TrainsWithoutAutograd() const { return !Trained(); }
  // Adds its parameters and remembers their indices.
  virtual void Declare(ParameterLayout&) {}
  // Brings parameters back into their range, in place. Called before each forward pass.
  virtual void Clamp(const ParameterSet&) const {}

  // kEmbedding: [T, D], or [B, T, D] when positions are [B, T]; added to the scaled embedding.
  virtual Tensor Addition(const Tensor& /*positions*/, const ParameterSet&) const { return {}; }
  // kRotation: cosine and sine of the angles, [2, T, K/2], maybe times a factor; the pair (2i, 2i+1) of a head turns by angle i. Tests may have angles of
  // their own. The same for all layers that it acts in.
  virtual Tensor Rotation(const Tensor& /*positions*/, bool /*test*/, int /*layer*/) const { return {}; }
  // kDistances: the bias, [H, R] or [E, H, R]; added after the 1/sqrt(K) factor. Without parameters the same for all layers that it acts in.
  virtual Tensor BiasTable(const Distances&, const ParameterSet&, int /*layer*/) const { return {}; }
  // Adds to `gradients` what the gradient of a layer's BiasTable(), [H, R], makes of the parameters: for
  // engines without autograd, on a CPU and without pack axis. Goes with TrainsWithoutAutograd().
  virtual void AddBiasGradient(const Distances&, const ParameterSet& /*parameters*/, int /*layer*/,
                               const Tensor& /*table_gradient*/, const ParameterSet& /*gradients*/) const {}
  // kDistances: a bias that no table over distances has, since it depends on where the query is, too. How many numbers of each pair are
  // there at a time while it is made; 0: there is none.
  virtual int64_t NumbersOfPair() const { return 0; }
  // Of consecutive queries with the first keys: [H, queries, keys] or [E, H, queries, keys]; added as a table's. What it says of keys
  // that a causal model's query does not see is read by nobody.
  virtual Tensor PairBias(const Distances&, const ParameterSet&, int /*layer*/, int64_t /*first_query*/, int64_t /*queries*/,
                          int64_t /*keys*/) const { return {}; }
  // Adds to `gradients` what the gradient of a PairBias(), [H, queries, keys], makes of the parameters; as AddBiasGradient().
  virtual void AddPairGradient(const Distances&, const ParameterSet& /*parameters*/, int /*layer*/, int64_t /*first_query*/,
                               const Tensor& /*bias_gradient*/, const ParameterSet& /*gradients*/) const {}
  // kDistances: Transformer-XL's term, inside of the 1/sqrt(K) factor. Whether there is one.
  virtual bool AddsContent() const { return false; }
  virtual ContentTerm Content(const Distances&, const ParameterSet&, int /*layer*/) const { return {}; }
  // Adds to `gradients` what the gradient of a layer's Content(), in the same shapes, makes of the parameters; as
  // AddBiasGradient().
  virtual void AddContentGradient(const Distances&, int /*layer*/, const ContentTerm& /*content_gradient*/,
                                  const ParameterSet& /*gradients*/) const {}
};

// Make_alibi(), Make_learned(), ...: one for each line of the list, each in <name>.cc.
#define X(name, ...) \
  std::unique_ptr<Encoding> Make_##name(const EncodingConfig& config);
#include "proto/catalog/encodings.def"
#undef X

// nullptr: no encoding has this name.
std::unique_ptr<Encoding> MakeEncoding(const std::string& name, const EncodingConfig& config);

}  // namespace longreach::trainer
