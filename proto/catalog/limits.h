// Bounds that the scheduler checks before a job begins, and the trainer again.
#pragma once

#include <cstdint>

namespace longreach::catalog {

// The longest input of a task of the kind "algorithmic", in tokens: what its rules work on is made for it.
inline constexpr int kMaxInputLength = 2048;
// The longest input of a pair of the kind "sequences", in symbols.
inline constexpr int kMaxPairInput = 1 << 16;
// Layers of a model, and numbers in a token's vector and in what is between: beyond these they are mistakes.
inline constexpr int kMaxLayers = 1000;
inline constexpr int kMaxWidth = 1 << 16;

// Values of one job's attention matrices together: 256 MiB.
inline constexpr int64_t kMaxAttentionValues = int64_t{1} << 26;

// Bytes of a passkey prompt without filler, and of the key that is to follow it: what a prompt cannot do without.
inline constexpr int kLeastPasskeyBytes = 252;
// The same of landmark attention's prompts, whose answers have ten bytes or tokens.
inline constexpr int kLeastLandmarkBytes = 257;
// Prompts at one length and, where depths are given, at each of them.
inline constexpr int kMaxPasskeyTests = 1000;
// Tokens of a LongBench prompt without which nothing is left of a task, and beams that its answers are searched with.
inline constexpr int kLeastLongBenchWindow = 16;
inline constexpr int kMaxLongBenchBeams = 64;
// Data sets that one job is trained on, and the least share of one: training blocks are drawn with 32 bits.
inline constexpr int kMaxMixture = 8;
inline constexpr double kLeastMixtureShare = 0x1p-32;
// Measurements of one metric that a job may have: more belong into a series file.
inline constexpr int kMaxValuesOfMetric = 1000;

// Points of a job's loss curve: the trainer makes no more, the store keeps no more.
inline constexpr int kMaxLossPoints = 1000;

// Scales of attention that one job tries: each is an evaluation of its own.
inline constexpr int kMaxAttentionScales = 1000;

}  // namespace longreach::catalog
