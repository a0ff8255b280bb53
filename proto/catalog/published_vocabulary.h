// What a plan counts with where a job's model is a published one, in a folder that only workers read.
#pragma once

namespace longreach::catalog {

// Tokens of the LLaMA models' vocabulary.
inline constexpr int kPublishedVocabulary = 32'000;

}  // namespace longreach::catalog
