#include "worker/data_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "proto/base/text.h"
#include "worker/data/pair_lengths_json.h"

namespace longreach {
namespace {

int64_t Images(const std::vector<data::ShardEntry>& shards) {
  int64_t images = 0;
  for (const data::ShardEntry& shard : shards) images += shard.images;
  return images;
}

// "1..40": lengths between may be without pairs.
std::string LengthsText(const std::vector<data::PairsOfLength>& lengths) {
  const int first = lengths.front().length, last = lengths.back().length;
  return first == last ? fmt::format("{}", first) : fmt::format("{}..{}", first, last);
}

int HighestPosition(const data::Manifest& manifest) {
  int highest = 0;
  for (const std::vector<data::PairsOfLength>* lengths : {&manifest.train_pairs, &manifest.test_pairs}) {
    for (const data::PairsOfLength& of : *lengths) highest = std::max(highest, of.highest_position);
  }
  return highest;
}

std::string PairsText(const data::Manifest& manifest) {
  return fmt::format("{} + {} pairs of lengths {} + {}, {} input and {} output symbols{}{}", data::CountPairs(manifest.train_pairs), data::CountPairs(manifest.test_pairs),
                     LengthsText(manifest.train_pairs), LengthsText(manifest.test_pairs), manifest.input_symbols.size(), manifest.output_symbols.size(),
                     data::HasEnds(manifest.train_pairs, manifest.test_pairs) ? " and an end" : "",
                     data::HavePositions(manifest.train_pairs) ? fmt::format(", positions to {}", HighestPosition(manifest)) : "");
}

void SayOfPairs(const data::Manifest& manifest) {
  fmt::print(stderr, "{}\n", data::HasEnds(manifest.train_pairs, manifest.test_pairs)
                                 ? "outputs of one input length differ in length: models are to say where an output ends, as one class more"
                                 : "all outputs of one input length have the same length: they need no end");
  if (manifest.test_inputs_in_training > 0) {
    fmt::print(stderr, "{} of {} test inputs are among the training inputs, too\n", manifest.test_inputs_in_training, data::CountPairs(manifest.test_pairs));
  }
}

}  // namespace

std::string SizesText(const std::vector<data::ImageSize>& sizes) {
  std::vector<std::string> texts;
  for (const data::ImageSize& size : sizes) texts.push_back(fmt::format("{}x{}", size.rows, size.cols));
  return Join(texts, ",");
}

std::string ContentsOf(const data::Manifest& manifest) {
  switch (manifest.kind) {
    case data::Kind::kModel: return manifest.description + (manifest.nope ? ", no positions" : ", rotary positions");
    case data::Kind::kTokens:
      return fmt::format("{} + {} documents, {} tokens of {}", manifest.train.end - manifest.train.begin, manifest.test.end - manifest.test.begin,
                         manifest.tokens, manifest.vocabulary);
    case data::Kind::kLongBench: return fmt::format("{} samples of {} tasks", manifest.samples, manifest.files.size());
    case data::Kind::kPairs: return PairsText(manifest);
    case data::Kind::kText:
      return fmt::format("{} + {} + {} bytes", manifest.train.end - manifest.train.begin, manifest.valid.end - manifest.valid.begin,
                         manifest.test.end - manifest.test.begin);
    case data::Kind::kImages: break;
  }
  return fmt::format("{} + {} images of {} classes at {}", Images(manifest.train_shards), Images(manifest.valid_shards), manifest.classes.size(),
                     SizesText(manifest.sizes));
}

nlohmann::ordered_json DataSetJson(const data::Manifest& manifest) {
  nlohmann::ordered_json json = {{"name", manifest.name},
                                 {"kind", data::Word(manifest.kind)},
                                 {"sha256", manifest.Identity()},
                                 {"bytes", manifest.bytes()},
                                 {"contents", ContentsOf(manifest)},
                                 {"source", manifest.source},
                                 {"imported_at", manifest.imported_at},
                                 {"skipped", manifest.skipped}};
  if (manifest.kind == data::Kind::kPairs) {
    json["lengths"] = {{"train", data::JsonOf(manifest.train_pairs)}, {"test", data::JsonOf(manifest.test_pairs)}};
    json["input_symbols"] = manifest.input_symbols;
    json["output_symbols"] = manifest.output_symbols;
    json["ends"] = data::HasEnds(manifest.train_pairs, manifest.test_pairs);
    json["test_inputs_in_training"] = manifest.test_inputs_in_training;
  }
  return json;
}

void SayOfImport(const data::Manifest& manifest) {
  if (manifest.kind == data::Kind::kPairs) SayOfPairs(manifest);
  if (manifest.skipped.empty()) return;
  if (manifest.kind == data::Kind::kText) {  // In one line: a folder may have any number of files that are none.
    const size_t files = manifest.skipped.size();
    fmt::print(stderr, "{} {} left out: {}\n", files, files == 1 ? "file" : "files", JoinSome(manifest.skipped));
    return;
  }
  if (manifest.kind == data::Kind::kTokens || manifest.kind == data::Kind::kPairs) {  // Of tokens empty texts too, which have no name each.
    fmt::print(stderr, "left out: {}\n", JoinSome(manifest.skipped));
    return;
  }
  for (const std::string& skipped : manifest.skipped) fmt::print(stderr, "left out: {}\n", skipped);
}

}  // namespace longreach
