#include "worker/trainer/parameters.h"

#include <algorithm>

#include "worker/trainer/random/sampling.h"

namespace longreach::trainer {

int ParameterLayout::Add(std::string name, std::vector<int64_t> shape, Initial initial) {
  Parameter parameter{
      .name = std::move(name), .shape = std::move(shape), .initial = initial, .offset = stride_, .size = 1};
  for (const int64_t n : parameter.shape) parameter.size *= n;
  stride_ += (parameter.size + kAlignment - 1) / kAlignment * kAlignment;
  parameters_.push_back(std::move(parameter));
  return static_cast<int>(parameters_.size()) - 1;
}

const Parameter* ParameterLayout::Find(std::string_view name) const {
  const auto found = std::ranges::find(parameters_, name, &Parameter::name);
  return found == parameters_.end() ? nullptr : &*found;
}

int64_t ParameterLayout::count() const {
  int64_t count = 0;
  for (const Parameter& parameter : parameters_) count += parameter.size;
  return count;
}

void Initialise(const ParameterLayout& layout, uint32_t seed, std::span<float> member) {
  std::ranges::fill(member, 0.0f);
  for (const Parameter& parameter : layout.parameters()) {
    const std::span<float> values =
        member.subspan(static_cast<size_t>(parameter.offset), static_cast<size_t>(parameter.size));
    const RandomStream stream = ParameterStream(seed, parameter.name);
    const double scale = parameter.initial.scale;
    switch (parameter.initial.kind) {
      case Initial::Kind::kZeros: break;
      case Initial::Kind::kOnes: std::ranges::fill(values, 1.0f); break;
      case Initial::Kind::kTruncatedNormal: FillTruncatedNormal(stream, scale, values); break;
      case Initial::Kind::kNormal:
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(scale * StandardNormal(stream, i));
        break;
      case Initial::Kind::kUniform:
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(scale * stream.Uniform(i));
        break;
      case Initial::Kind::kSymmetric:
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(scale * (2 * stream.Uniform(i) - 1));
        break;
      case Initial::Kind::kConstant: std::ranges::fill(values, static_cast<float>(scale)); break;
    }
  }
}

Tensor ViewParameter(const Parameter& parameter, const Tensor& flat, int64_t first) {
  std::vector<int64_t> shape = parameter.shape;
  if (flat.dim() == 2) {
    if (shape.size() == 1) shape.insert(shape.begin(), 1);
    shape.insert(shape.begin(), flat.size(0));
  }
  return flat.narrow(-1, parameter.offset - first, parameter.size).view(shape);
}

ParameterSet ViewParameters(const ParameterLayout& layout, const Tensor& flat) {
  ParameterSet set;
  set.reserve(layout.parameters().size());
  for (const Parameter& parameter : layout.parameters()) set.push_back(ViewParameter(parameter, flat));
  return set;
}

}  // namespace longreach::trainer
