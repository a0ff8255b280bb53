// What `longreach-worker data` says of a data set.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "worker/data/manifest.h"

namespace longreach {

// "22x22,45x44".
std::string SizesText(const std::vector<data::ImageSize>& sizes);

// "90000000 + 5000000 + 5000000 bytes", "1281167 + 50000 images of 1000 classes at 22x22,45x44", "20 + 3 documents, 70000 tokens of
// 32000", "22 layers of width 2048, ..., no positions", "3750 samples of 16 tasks", "1000 + 200 pairs of lengths 1..40 + 1..500, 12 input and
// 11 output symbols and an end".
std::string ContentsOf(const data::Manifest& manifest);

// As `-o json` has it in a list. Of pairs besides: the lengths of both splits, the symbols, and what SayOfImport() tells.
nlohmann::ordered_json DataSetJson(const data::Manifest& manifest);

// On standard error, behind an import: what was left out, and what matters to those who train on it.
void SayOfImport(const data::Manifest& manifest);

}  // namespace longreach
