#include "worker/data/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "proto/base/names.h"
#include "proto/base/sha256.h"
#include "worker/data/pair_lengths_json.h"
#include "worker/data/pair_lines.h"
#include "worker/data/shard.h"
#include "worker/data/token_corpus.h"

namespace longreach::data {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "longreach data set";
constexpr int kVersion = 1;
constexpr int64_t kMaxBytes = int64_t{1} << 50;
constexpr size_t kMaxFiles = 1'000'000;
constexpr int64_t kMaxDocuments = int64_t{1} << 40;

// A name in the data set's own folder.
bool IsFileName(std::string_view name) {
  return IsOfNameCharacters(name) && name.size() <= 200 && name.front() != '.' && name != kManifest;
}

absl::Status Bad(std::string_view field, std::string_view what) {
  return absl::DataLossError(fmt::format("{}: {}", field, what));
}

// Fields of a JSON object, each taken with its type; the first one that is not so is the error.
class Fields {
 public:
  explicit Fields(const Json& object, std::string where = "") : object_(object), where_(std::move(where)) {}

  std::string String(const char* name) {
    const Json* value = Find(name);
    if (value == nullptr) return "";
    if (!value->is_string()) return Fail(name, "not a text"), "";
    return value->get<std::string>();
  }
  int64_t Integer(const char* name, int64_t least, int64_t most) {
    const Json* value = Find(name);
    return value == nullptr ? least : Number(name, *value, least, most);
  }
  const Json* Array(const char* name) {
    const Json* value = Find(name);
    if (value == nullptr) return nullptr;
    if (!value->is_array() || value->size() > kMaxFiles) return Fail(name, "not a list"), nullptr;
    return value;
  }
  ByteRange Range(const char* name) {
    const Json* value = Array(name);
    if (value == nullptr) return {};
    if (value->size() != 2) return Fail(name, "not [begin, end]"), ByteRange{};
    return {Number(name, (*value)[0], 0, kMaxBytes), Number(name, (*value)[1], 0, kMaxBytes)};
  }
  std::vector<std::string> Strings(const char* name) {
    std::vector<std::string> strings;
    const Json* values = Array(name);
    if (values == nullptr) return strings;
    for (const Json& value : *values) {
      if (!value.is_string()) return Fail(name, "not a list of texts"), strings;
      strings.push_back(value.get<std::string>());
    }
    return strings;
  }
  int64_t Number(const char* name, const Json& value, int64_t least, int64_t most) {
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(most)) ||
        value.get<int64_t>() < least || value.get<int64_t>() > most) {
      Fail(name, fmt::format("not a whole number from {} to {}", least, most));
      return least;
    }
    return value.get<int64_t>();
  }

  bool Has(const char* name) const { return object_.contains(name); }

  absl::Status status() const { return status_; }

 private:
  const Json* Find(const char* name) {
    if (!object_.is_object()) return Fail(name, "is in no object"), nullptr;
    const auto found = object_.find(name);
    if (found == object_.end()) return Fail(name, "missing"), nullptr;
    return &*found;
  }
  void Fail(const char* name, std::string_view what) {
    if (status_.ok()) status_ = Bad(where_ + name, what);
  }

  const Json& object_;
  std::string where_;
  absl::Status status_;
};

absl::StatusOr<std::vector<ShardEntry>> ParseShards(Fields& fields, const char* name) {
  std::vector<ShardEntry> shards;
  const Json* list = fields.Array(name);
  if (list == nullptr) return fields.status();
  for (const Json& entry : *list) {
    Fields shard(entry, fmt::format("{}.", name));
    shards.push_back({shard.String("file"), shard.Integer("images", 1, kMaxShardImages)});
    RETURN_IF_ERROR(shard.status());
  }
  if (shards.empty()) return Bad(name, "no images");
  return shards;
}

absl::Status ParseImages(Fields& fields, Manifest& manifest) {
  manifest.classes = fields.Strings("classes");
  if (fields.status().ok() && manifest.classes.empty()) return Bad("classes", "none");
  manifest.fit = fields.String("fit");
  const Json* sizes = fields.Array("sizes");
  RETURN_IF_ERROR(fields.status());
  for (const Json& entry : *sizes) {
    Fields size(entry, "sizes.");
    ImageSize& read = manifest.sizes.emplace_back();
    read.rows = static_cast<int>(size.Integer("rows", 1, kMaxSide));
    read.cols = static_cast<int>(size.Integer("cols", 1, kMaxSide));
    RETURN_IF_ERROR(size.status());
  }
  if (manifest.sizes.empty() || manifest.sizes.size() > kMaxSizes) return Bad("sizes", fmt::format("not 1 to {}", kMaxSizes));
  ASSIGN_OR_RETURN(manifest.train_shards, ParseShards(fields, "train"));
  ASSIGN_OR_RETURN(manifest.valid_shards, ParseShards(fields, "valid"));

  // Each file is a shard of exactly one split, as long as its images make it.
  std::set<std::string> used;
  for (const std::vector<ShardEntry>* shards : {&manifest.train_shards, &manifest.valid_shards}) {
    for (const ShardEntry& shard : *shards) {
      const auto file = std::ranges::find(manifest.files, shard.file, &FileEntry::name);
      if (file == manifest.files.end()) return Bad("train, valid", fmt::format("'{}' is not among the files", shard.file));
      if (!used.insert(shard.file).second) return Bad("train, valid", fmt::format("'{}' is named twice", shard.file));
      const int64_t expected = ShardBytes(shard.images, manifest.sizes);
      if (file->bytes != expected) {
        return Bad("files", fmt::format("'{}' has {} bytes, and {} images make {}", shard.file, file->bytes, shard.images, expected));
      }
    }
  }
  if (used.size() != manifest.files.size()) return Bad("files", "some are in no split");
  return absl::OkStatus();
}

absl::Status ParseText(Fields& fields, Manifest& manifest) {
  manifest.train = fields.Range("train");
  manifest.valid = fields.Range("valid");
  manifest.test = fields.Range("test");
  if (fields.Has("skipped")) manifest.skipped = fields.Strings("skipped");  // Older builds did not write it.
  RETURN_IF_ERROR(fields.status());
  if (manifest.files.size() != 1) return Bad("files", "a text has exactly one");
  int64_t at = 0;
  for (const ByteRange& range : {manifest.train, manifest.valid, manifest.test}) {
    if (range.begin != at || range.end <= range.begin) return Bad("train, valid, test", "not consecutive ranges of bytes");
    at = range.end;
  }
  if (at != manifest.files[0].bytes) return Bad("test", fmt::format("ends at {}, and the file has {} bytes", at, manifest.files[0].bytes));
  return absl::OkStatus();
}

absl::Status ParseTokens(Fields& fields, Manifest& manifest) {
  manifest.vocabulary = fields.Integer("vocabulary", 1, kMaxVocabulary);
  manifest.tokens = fields.Integer("tokens", 1, kMaxBytes);
  manifest.train = fields.Range("train");
  manifest.test = fields.Range("test");
  manifest.skipped = fields.Strings("skipped");
  if (fields.Has("tokenizer")) manifest.tokenizer = fields.String("tokenizer");
  RETURN_IF_ERROR(fields.status());
  if (!manifest.tokenizer.empty() && !IsSha256(manifest.tokenizer)) return Bad("tokenizer", "not 64 hexadecimal digits");
  if (manifest.train.begin != 0 || manifest.test.begin != manifest.train.end || manifest.train.end < 0 || manifest.test.end < manifest.test.begin ||
      manifest.test.end < 1 || manifest.test.end > kMaxDocuments) {
    return Bad("train, test", "not consecutive ranges of documents");
  }
  for (const auto& [name, bytes] : {std::pair(kTokensFile, 2 * manifest.tokens), std::pair(kDocumentsFile, 8 * manifest.test.end)}) {
    const auto file = std::ranges::find(manifest.files, name, &FileEntry::name);
    if (file == manifest.files.end() || file->bytes != bytes) return Bad("files", fmt::format("'{}' of {} bytes is not there", name, bytes));
  }
  if (manifest.files.size() != 2) return Bad("files", "some have no place among tokens");
  return absl::OkStatus();
}

absl::Status ParseModel(Fields& fields, Manifest& manifest) {
  manifest.description = fields.String("description");
  const std::string positions = fields.String("positions");
  RETURN_IF_ERROR(fields.status());
  manifest.nope = positions == "none";
  if (fields.Has("skipped")) manifest.skipped = fields.Strings("skipped");  // Older builds did not write it.
  RETURN_IF_ERROR(fields.status());
  if (!manifest.nope && positions != "rope") return Bad("positions", fmt::format("'{}' is neither 'rope' nor 'none'", positions));
  if (std::ranges::find(manifest.files, "config.json", &FileEntry::name) == manifest.files.end()) return Bad("files", "there is no config.json");
  return absl::OkStatus();
}

absl::Status ParseLongBench(Fields& fields, Manifest& manifest) {
  manifest.samples = fields.Integer("samples", 1, kMaxBytes);
  manifest.skipped = fields.Strings("skipped");
  RETURN_IF_ERROR(fields.status());
  if (manifest.files.empty()) return Bad("files", "there is none");
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ParseSymbols(Fields& fields, const char* name) {
  std::vector<std::string> symbols = fields.Strings(name);
  RETURN_IF_ERROR(fields.status());
  if (symbols.empty() || symbols.size() > kMaxSymbols) return Bad(name, fmt::format("not 1 to {}", kMaxSymbols));
  for (const std::string& symbol : symbols) {
    if (const std::string_view why = WhyNoSymbol(symbol); !why.empty()) return Bad(name, fmt::format("one {}", why));
  }
  if (std::ranges::adjacent_find(symbols, std::greater_equal()) != symbols.end()) return Bad(name, "not ascending");
  return symbols;
}

// Of a split, whose file must have room for these pairs and for no others.
absl::StatusOr<std::vector<PairsOfLength>> ParseLengths(Fields& fields, const char* name, const char* file_name, const Manifest& manifest) {
  constexpr int64_t kMaxPairs = int64_t{1} << 32;  // Their bytes can be counted in 64 bits.
  const Json* list = fields.Array(name);
  RETURN_IF_ERROR(fields.status());
  const auto file = std::ranges::find(manifest.files, file_name, &FileEntry::name);
  if (file == manifest.files.end()) return Bad("files", fmt::format("'{}' is not there", file_name));
  std::vector<PairsOfLength> lengths;
  int64_t least = 0, most = 0;
  for (const Json& entry : *list) {
    Fields of(entry, fmt::format("{}.", name));
    PairsOfLength read{.length = static_cast<int>(of.Integer("length", 1, kMaxSequence)), .pairs = of.Integer("pairs", 1, kMaxPairs)};
    read.shortest_output = static_cast<int>(of.Integer("shortest_output", 1, kMaxSequence));
    read.longest_output = static_cast<int>(of.Integer("longest_output", read.shortest_output, kMaxSequence));
    if (of.Has("highest_position")) read.highest_position = static_cast<int>(of.Integer("highest_position", 0, kMaxGivenPosition));
    RETURN_IF_ERROR(of.status());
    if (!lengths.empty() && read.length <= lengths.back().length) return Bad(name, "lengths do not ascend");
    if (!lengths.empty() && HavePositions(lengths) != (read.highest_position >= 0)) return Bad(name, "some lengths have positions and others have none");
    lengths.push_back(read);
    const auto bytes = [&read](int output) { return read.pairs * int64_t{8 + 2 * (read.length + output)}; };
    least += bytes(read.shortest_output);
    most = std::min(most + bytes(read.longest_output), kMaxBytes);
    if (least > file->bytes) break;
  }
  if (lengths.empty()) return Bad(name, "no pairs");
  if (file->bytes < least || file->bytes > most || file->bytes % 2 != 0) {
    return Bad("files", fmt::format("'{}' has {} bytes, which is not what its pairs make", file_name, file->bytes));
  }
  return lengths;
}

// Where the pairs of a split have positions: their file must have one for each symbol and each pair.
absl::Status CheckPositions(const char* name, const char* pairs_name, const std::vector<PairsOfLength>& lengths, const Manifest& manifest) {
  const auto file = std::ranges::find(manifest.files, name, &FileEntry::name), of_pairs = std::ranges::find(manifest.files, pairs_name, &FileEntry::name);
  if (file == manifest.files.end()) return Bad("files", fmt::format("'{}' is not there", name));
  if (file->bytes != of_pairs->bytes - 6 * CountPairs(lengths)) return Bad("files", fmt::format("'{}' has {} bytes, which is not what its pairs make", name, file->bytes));
  return absl::OkStatus();
}

absl::Status ParsePairs(Fields& fields, Manifest& manifest) {
  ASSIGN_OR_RETURN(manifest.input_symbols, ParseSymbols(fields, "input_symbols"));
  ASSIGN_OR_RETURN(manifest.output_symbols, ParseSymbols(fields, "output_symbols"));
  ASSIGN_OR_RETURN(manifest.train_pairs, ParseLengths(fields, "train", kTrainPairsFile, manifest));
  ASSIGN_OR_RETURN(manifest.test_pairs, ParseLengths(fields, "test", kTestPairsFile, manifest));
  manifest.test_inputs_in_training = fields.Integer("test_inputs_in_training", 0, kMaxBytes);
  manifest.skipped = fields.Strings("skipped");
  RETURN_IF_ERROR(fields.status());
  const bool positions = HavePositions(manifest.train_pairs);
  if (positions != HavePositions(manifest.test_pairs)) return Bad("train, test", "one of them has positions and the other none");
  if (manifest.files.size() != (positions ? 4 : 2)) return Bad("files", "some have no place among pairs");
  if (!positions) return absl::OkStatus();
  RETURN_IF_ERROR(CheckPositions(kTrainPositionsFile, kTrainPairsFile, manifest.train_pairs, manifest));
  return CheckPositions(kTestPositionsFile, kTestPairsFile, manifest.test_pairs, manifest);
}

absl::Status ParseFiles(Fields& fields, Manifest& manifest) {
  const Json* files = fields.Array("files");
  RETURN_IF_ERROR(fields.status());
  std::set<std::string> names;
  int64_t total = 0;
  for (const Json& entry : *files) {
    Fields file(entry, "files.");
    FileEntry& read = manifest.files.emplace_back();
    read.name = file.String("name");
    read.bytes = file.Integer("bytes", 0, kMaxBytes);
    read.sha256 = file.String("sha256");
    RETURN_IF_ERROR(file.status());
    if (!IsFileName(read.name)) return Bad("files.name", fmt::format("'{}' is not a file's name", read.name));
    if (!names.insert(read.name).second) return Bad("files.name", fmt::format("'{}' is there twice", read.name));
    if (!IsSha256(read.sha256)) return Bad("files.sha256", "not 64 hexadecimal digits");
    total += read.bytes;
    if (total > kMaxBytes) return Bad("files.bytes", "too many");
  }
  return absl::OkStatus();
}

Json ShardsJson(const std::vector<ShardEntry>& shards) {
  Json list = Json::array();
  for (const ShardEntry& shard : shards) list.push_back({{"file", shard.file}, {"images", shard.images}});
  return list;
}

}  // namespace

std::string_view Word(Kind kind) {
  switch (kind) {
    case Kind::kText: return "text";
    case Kind::kImages: return "images";
    case Kind::kTokens: return "tokens";
    case Kind::kModel: return "model";
    case Kind::kLongBench: return "longbench";
    case Kind::kPairs: return "pairs";
  }
  return "";
}

int64_t Manifest::bytes() const {
  int64_t total = 0;
  for (const FileEntry& file : files) total += file.bytes;
  return total;
}

std::string Manifest::Identity() const {
  // One line for each fact; no value has a line's end in it, so no two contents have the same text.
  std::string text = fmt::format("{} {}\nkind {}\n", kFormat, kVersion, Word(kind));
  for (const FileEntry& file : files) text += fmt::format("file {} {} {}\n", file.name, file.bytes, file.sha256);
  if (kind == Kind::kText) {
    for (const ByteRange& range : {train, valid, test}) text += fmt::format("range {} {}\n", range.begin, range.end);
  } else if (kind == Kind::kTokens) {
    text += fmt::format("vocabulary {}\n", vocabulary);
    for (const ByteRange& range : {train, test}) text += fmt::format("range {} {}\n", range.begin, range.end);
  } else if (kind == Kind::kModel) {
    text += fmt::format("positions {}\n", nope ? "none" : "rope");
  } else if (kind == Kind::kLongBench) {
    text += fmt::format("samples {}\n", samples);
  } else if (kind == Kind::kPairs) {
    // A symbol may have any character in it: the number of its bytes says where it ends.
    for (const std::string& symbol : input_symbols) text += fmt::format("input {} {}\n", symbol.size(), symbol);
    for (const std::string& symbol : output_symbols) text += fmt::format("output {} {}\n", symbol.size(), symbol);
    for (const auto& [split, lengths] : {std::pair("train", &train_pairs), std::pair("test", &test_pairs)}) {
      for (const PairsOfLength& of : *lengths) {
        text += fmt::format("{} {} {} {} {}\n", split, of.length, of.pairs, of.shortest_output, of.longest_output);
        if (of.highest_position >= 0) text += fmt::format("positions to {}\n", of.highest_position);
      }
    }
  } else {
    text += fmt::format("fit {}\n", fit);
    for (const std::string& one : classes) text += fmt::format("class {}\n", one);
    for (const ImageSize& size : sizes) text += fmt::format("size {} {}\n", size.rows, size.cols);
    for (const ShardEntry& shard : train_shards) text += fmt::format("train {} {}\n", shard.file, shard.images);
    for (const ShardEntry& shard : valid_shards) text += fmt::format("valid {} {}\n", shard.file, shard.images);
  }
  return Sha256Of(text);
}

std::string ToJson(const Manifest& manifest) {
  Json files = Json::array();
  for (const FileEntry& file : manifest.files) files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  nlohmann::ordered_json json = {{"format", kFormat},
                                 {"version", kVersion},
                                 {"name", manifest.name},
                                 {"kind", Word(manifest.kind)},
                                 {"sha256", manifest.Identity()},
                                 {"source", manifest.source},
                                 {"imported_at", manifest.imported_at},
                                 {"imported_by", manifest.imported_by}};
  if (manifest.kind == Kind::kText) {
    json["train"] = {manifest.train.begin, manifest.train.end};
    json["valid"] = {manifest.valid.begin, manifest.valid.end};
    json["test"] = {manifest.test.begin, manifest.test.end};
    json["skipped"] = manifest.skipped;
  } else if (manifest.kind == Kind::kTokens) {
    json["vocabulary"] = manifest.vocabulary;
    json["tokens"] = manifest.tokens;
    if (!manifest.tokenizer.empty()) json["tokenizer"] = manifest.tokenizer;
    json["train"] = {manifest.train.begin, manifest.train.end};
    json["test"] = {manifest.test.begin, manifest.test.end};
    json["skipped"] = manifest.skipped;
  } else if (manifest.kind == Kind::kModel) {
    json["description"] = manifest.description;
    json["positions"] = manifest.nope ? "none" : "rope";
    json["skipped"] = manifest.skipped;
  } else if (manifest.kind == Kind::kLongBench) {
    json["samples"] = manifest.samples;
    json["skipped"] = manifest.skipped;
  } else if (manifest.kind == Kind::kPairs) {
    json["input_symbols"] = manifest.input_symbols;
    json["output_symbols"] = manifest.output_symbols;
    json["train"] = Json(JsonOf(manifest.train_pairs));
    json["test"] = Json(JsonOf(manifest.test_pairs));
    json["test_inputs_in_training"] = manifest.test_inputs_in_training;
    json["skipped"] = manifest.skipped;
  } else {
    Json sizes = Json::array();
    for (const ImageSize& size : manifest.sizes) sizes.push_back({{"rows", size.rows}, {"cols", size.cols}});
    json["fit"] = manifest.fit;
    json["sizes"] = std::move(sizes);
    json["train"] = ShardsJson(manifest.train_shards);
    json["valid"] = ShardsJson(manifest.valid_shards);
    json["classes"] = manifest.classes;
    json["skipped"] = manifest.skipped;
  }
  json["files"] = std::move(files);
  // A path may have any bytes; what is not UTF-8 is shown as such.
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

absl::StatusOr<Manifest> ParseManifest(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return absl::DataLossError("not a JSON object");
  Fields fields(json);
  Manifest manifest;
  if (const std::string format = fields.String("format"); format != kFormat) return Bad("format", "not that of a data set");
  if (const int64_t version = fields.Integer("version", 1, 1'000'000); fields.status().ok() && version != kVersion) {
    return absl::FailedPreconditionError(fmt::format(
        "version: {}, and this build reads {}; import it anew, or install the build that wrote it", version, kVersion));
  }
  manifest.name = fields.String("name");
  const std::string kind = fields.String("kind");
  const std::string sha256 = fields.String("sha256");
  manifest.source = fields.String("source");
  manifest.imported_at = fields.String("imported_at");
  manifest.imported_by = fields.String("imported_by");
  RETURN_IF_ERROR(fields.status());
  RETURN_IF_ERROR(ParseFiles(fields, manifest));
  if (kind == Word(Kind::kText)) {
    RETURN_IF_ERROR(ParseText(fields, manifest));
  } else if (kind == Word(Kind::kImages)) {
    manifest.kind = Kind::kImages;
    manifest.skipped = fields.Strings("skipped");
    RETURN_IF_ERROR(ParseImages(fields, manifest));
    RETURN_IF_ERROR(fields.status());
  } else if (kind == Word(Kind::kTokens)) {
    manifest.kind = Kind::kTokens;
    RETURN_IF_ERROR(ParseTokens(fields, manifest));
  } else if (kind == Word(Kind::kModel)) {
    manifest.kind = Kind::kModel;
    RETURN_IF_ERROR(ParseModel(fields, manifest));
  } else if (kind == Word(Kind::kLongBench)) {
    manifest.kind = Kind::kLongBench;
    RETURN_IF_ERROR(ParseLongBench(fields, manifest));
  } else if (kind == Word(Kind::kPairs)) {
    manifest.kind = Kind::kPairs;
    RETURN_IF_ERROR(ParsePairs(fields, manifest));
  } else {
    return Bad("kind", fmt::format("'{}' is none of images, longbench, model, pairs, text and tokens", kind));
  }
  if (sha256 != manifest.Identity()) return Bad("sha256", "not that of the content: the manifest was changed");
  return manifest;
}

}  // namespace longreach::data
