// Parameters of one member in one flat buffer: an offset table says where each tensor lies. All engines read
// it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "worker/trainer/torch.h"

namespace longreach::trainer {

// How a parameter is drawn, as Haiku does but for kSymmetric, which is PyTorch's. `scale`: standard deviation (of the untruncated
// normal), or upper end, below which kUniform begins at 0 and kSymmetric at -scale; of kConstant the number itself.
struct Initial {
  enum class Kind { kZeros, kOnes, kTruncatedNormal, kNormal, kUniform, kSymmetric, kConstant } kind = Kind::kZeros;
  double scale = 0;
};

struct Parameter {
  std::string name;  // As in the golden files: "layer0.attn.q.w". Matrices are [in, out]: y = x W.
  std::vector<int64_t> shape;
  Initial initial;
  int64_t offset = 0;  // In floats from the member's start: a multiple of kAlignment.
  int64_t size = 0;
};

class ParameterLayout {
 public:
  static constexpr int64_t kAlignment = 16;  // Floats: 64 bytes, a cache line and an AVX-512 register.

  // Returns the index of the new parameter. Names are distinct.
  int Add(std::string name, std::vector<int64_t> shape, Initial initial);

  std::span<const Parameter> parameters() const { return parameters_; }
  const Parameter* Find(std::string_view name) const;
  // Floats from one member to the next. What lies between parameters is zero.
  int64_t stride() const { return stride_; }
  // Numbers that are trained.
  int64_t count() const;

 private:
  std::vector<Parameter> parameters_;
  int64_t stride_ = 0;
};

// Draws a member's initial parameters; each depends on seed and name only. `member` has stride() floats.
void Initialise(const ParameterLayout& layout, uint32_t seed, std::span<float> member);

// One tensor for each parameter, by index. The pack axis comes in front: a matrix is [E, in, out], a vector
// [E, 1, n], so that both broadcast over the rows of [E, N, in]. Of one member alone there is no pack axis:
// [in, out] and [n].
using ParameterSet = std::vector<Tensor>;

// A view of a buffer [floats] or [E, floats], whose first float is the one at `first` of a member.
Tensor ViewParameter(const Parameter& parameter, const Tensor& flat, int64_t first = 0);
// Views of `flat`, which is [stride] or [E, stride].
ParameterSet ViewParameters(const ParameterLayout& layout, const Tensor& flat);

}  // namespace longreach::trainer
