// Kernels compute the same whatever is in the memory that they work in: what they fill up with nothing, at the ends of tapes, widths and words,
// is there, and is not what another tile left. Nor do they read biases of pairs that nobody made: of queries that do not ask, and behind a table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "worker/trainer/lanes/floats.h"
#include "worker/trainer/lanes/lanes_engine.h"
#include "worker/trainer/lanes/runnable.h"

namespace longreach::trainer {

namespace {

constexpr int kTokens = 5, kClasses = 3;
constexpr int64_t kBeyond = 1 << 14;  // Floats after a memory that are filled too: what is read past its end shows.

struct Shape {
  int layers, dim, mlp;
  bool pre_norm = false;
  bool by_pair = false;
};

// With every matrix and vector at a multiple of 16 floats, as the engine has them.
lanes::Model ModelOf(const Shape& shape) {
  lanes::Model model;
  model.layers = shape.layers;
  model.dim = shape.dim;
  model.heads = shape.dim / lanes::kHeadDim;
  model.mlp = shape.mlp;
  model.tokens = kTokens;
  model.classes = kClasses;
  const auto take = [&](int64_t floats) {
    const int64_t at = model.stride;
    model.stride += (floats + 15) / 16 * 16;
    return at;
  };
  const int64_t dim = shape.dim, mlp = shape.mlp;
  model.embed = take(kTokens * dim);
  model.out_w = take(dim * kClasses);
  model.out_b = take(kClasses);
  for (int l = 0; l < shape.layers; ++l) {
    lanes::LayerOffsets& at = model.layer[l];
    for (int64_t* matrix : {&at.q, &at.k, &at.v, &at.o}) *matrix = take(dim * dim);
    for (int64_t* vector : {&at.norm1_scale, &at.norm1_offset, &at.norm2_scale, &at.norm2_offset, &at.mlp2_b}) *vector = take(dim);
    at.mlp1_w = take(dim * mlp);
    at.mlp1_b = take(mlp);
    at.mlp2_w = take(mlp * dim);
  }
  model.pre_norm = shape.pre_norm;
  if (shape.pre_norm) {
    model.final_scale = take(dim);
    model.final_offset = take(dim);
  }
  return model;
}

float Scattered(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return static_cast<float>(state >> 8) / static_cast<float>(1 << 24) - 0.5f;
}

// Tables of biases by pair, in memory that is full of such bytes where there is none.
void MakePairTables(const lanes::Model& model, int before, uint32_t& random, lanes::Pass& pass, Floats& biases) {
  pass.bias = lanes::Bias::kByPair;
  pass.bias_trained = true;
  pass.bias_stride = (int64_t{pass.tape} * pass.tape + 15) / 16 * 16;
  const int tables = model.layers * model.heads;
  const int64_t floats = tables * pass.bias_stride + kBeyond;
  std::memset(biases.AtLeast(floats), before, static_cast<size_t>(floats) * sizeof(float));
  for (int table = 0; table < tables; ++table) {
    const int first_query = table / model.heads == model.layers - 1 ? pass.tape - pass.outputs : 0;
    float* const rows = biases.data() + table * pass.bias_stride + first_query * pass.tape;
    std::generate_n(rows, (pass.tape - first_query) * pass.tape, [&] { return 4 * Scattered(random); });
  }
}

// The gradient of a tile, and its logits, in memory that is full of such bytes before.
std::vector<float> Results(const lanes::Kernels& kernels, const lanes::Model& model, bool by_pair, int tape, int outputs, int before) {
  uint32_t random = 7;
  Floats parameters, packed, work, gradient, logits, biases, bias_gradient;
  std::generate_n(parameters.AtLeast(model.stride), model.stride, [&] { return Scattered(random); });
  const int64_t packed_floats = kernels.packed_size(model) + kBeyond;
  std::memset(packed.AtLeast(packed_floats), before, static_cast<size_t>(packed_floats) * sizeof(float));
  for (int part = 0; part <= model.layers; ++part) kernels.pack(model, parameters.data(), part, true, packed.data());
  std::vector<int32_t> tokens(static_cast<size_t>(tape * kernels.lanes)), targets(static_cast<size_t>(outputs * kernels.lanes));
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 7 % kTokens);
  for (size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<int32_t>(i * 5 % kClasses);
  lanes::Pass pass;
  pass.tape = tape;
  pass.outputs = outputs;
  if (by_pair) MakePairTables(model, before, random, pass, biases);
  const int64_t bias_floats = model.layers * model.heads * pass.bias_stride;
  std::fill_n(bias_gradient.AtLeast(bias_floats), bias_floats, 0.0f);
  const lanes::Member member = {.parameters = parameters.data(), .packed = packed.data(), .bias = biases.data()};
  const lanes::Tile tile = {.tokens = tokens.data(), .targets = targets.data(), .lanes = kernels.lanes, .live = kernels.lanes};
  std::fill_n(gradient.AtLeast(model.stride), model.stride, 0.0f);
  const auto memory = [&](bool training) {
    const int64_t floats = kernels.work_size(model, pass, training) + kBeyond;
    std::memset(work.AtLeast(floats), before, static_cast<size_t>(floats) * sizeof(float));
    return work.data();
  };
  const double weight = 1.0 / (outputs * kernels.lanes);
  const double loss = kernels.train(model, pass, member, tile, weight, memory(true), gradient.data(), {.bias = bias_gradient.data()});
  const int64_t count = int64_t{outputs} * kClasses * kernels.lanes;
  kernels.test(model, pass, member, tile, memory(false), logits.AtLeast(count));
  std::vector<float> results = {static_cast<float>(loss)};
  results.insert(results.end(), gradient.data(), gradient.data() + model.stride);
  results.insert(results.end(), logits.data(), logits.data() + count);
  results.insert(results.end(), bias_gradient.data(), bias_gradient.data() + bias_floats);
  return results;
}

TEST(LanesWorkspaceTest, WhatIsThereBeforeIsNotRead) {
  constexpr int kZeros = 0, kNaNs = 0xFF;
  for (const lanes::Operands operands : {lanes::Operands::kFloat32, lanes::Operands::kTf32, lanes::Operands::kBf16}) {
    for (const lanes::Kernels* kernels : RunnableKernels(operands)) {
      for (const Shape& shape : {Shape{2, 16, 8}, {2, 48, 24}, {1, 64, 136}, {2, 32, 64}, {2, 48, 24, true}, {1, 64, 136, true},
                                 {2, 48, 24, false, true}, {1, 64, 136, true, true}}) {
        const lanes::Model model = ModelOf(shape);
        for (const int tape : {1, 2, 3, 8, 25, 40}) {
          for (const int outputs : {1, (tape + 1) / 2, tape}) {
            const auto results = [&](int before) { return Results(*kernels, model, shape.by_pair, tape, outputs, before); };
            const std::vector<float> zeros = results(kZeros), nans = results(kNaNs);
            SCOPED_TRACE(::testing::Message() << kernels->name << " of width " << shape.dim << " and " << shape.mlp << (shape.pre_norm ? ", pre-norm" : "") << (shape.by_pair ? ", biases by pair" : "") << ", tape " << tape << ", outputs "
                                            << outputs);
            EXPECT_TRUE(std::ranges::all_of(zeros, [](float x) { return std::isfinite(x); }));
            EXPECT_EQ(std::memcmp(zeros.data(), nans.data(), zeros.size() * sizeof(float)), 0);
          }
        }
      }
    }
  }
}

}  // namespace

}  // namespace longreach::trainer
