#include "worker/data/import_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "proto/base/file_to_read.h"
#include "worker/data/data_folder.h"
#include "worker/data/files.h"
#include "worker/data/hashed_file.h"
#include "worker/data/line_reader.h"
#include "worker/data/pair_set.h"
#include "worker/data/source_files.h"
#include "worker/data/staging.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPairSpool = "spool.bin";
// Two sequences of the longest symbols, each of whose bytes JSON may write as six.
constexpr size_t kMaxPairLine = size_t{64} << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

template <typename Number>
std::string_view BytesOfNumbers(std::span<const Number> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

struct SpooledPair {
  uint64_t at = 0;  // In the spool, in symbols.
  uint32_t input = 0, output = 0;
  uint16_t highest_position = 0;
};

struct SpooledSplit {
  std::vector<SpooledPair> pairs;
  std::vector<size_t> input_hashes;
};

// Ids of the symbols of one side, in the order in which they were met.
class SymbolIds {
 public:
  explicit SymbolIds(std::string_view side) : side_(side) {}

  absl::StatusOr<uint16_t> Id(const std::string& symbol) {
    if (const auto found = ids_.find(symbol); found != ids_.end()) return found->second;
    if (ids_.size() == kMaxSymbols) {
      return absl::InvalidArgumentError(fmt::format("'{}' would be {} symbol number {}, and there may be {} different ones; --symbols says what a text is made of, and a list "
                                                    "of texts names its symbols one by one", symbol, side_, kMaxSymbols + 1, kMaxSymbols));
    }
    const auto id = static_cast<uint16_t>(ids_.size());
    ids_.emplace(symbol, id);
    return id;
  }
  // By their bytes.
  std::vector<std::string> Ascending() const {
    std::vector<std::string> symbols;
    for (const auto& [symbol, id] : ids_) symbols.push_back(symbol);
    std::ranges::sort(symbols);
    return symbols;
  }
  // Of each id: the place of its symbol among Ascending().
  std::vector<uint16_t> Places() const {
    std::vector<uint16_t> places(ids_.size());
    uint16_t place = 0;
    for (const std::string& symbol : Ascending()) places[ids_.at(symbol)] = place++;
    return places;
  }

 private:
  std::string_view side_;
  std::unordered_map<std::string, uint16_t> ids_;
};

// Symbols of all pairs, and their positions behind those of each, one behind the other, in a file: where each of them belongs is only known when all lengths
// and symbols are.
class PairSpool {
 public:
  explicit PairSpool(OutputFile out) : out_(std::move(out)) {}

  absl::Status Add(const PairOfSymbols& pair, SpooledSplit& split) {
    RETURN_IF_ERROR(HaveAllPositions(!pair.positions.empty()));
    const size_t begin = gathered_.size();
    split.pairs.push_back({.at = written_ + begin, .input = static_cast<uint32_t>(pair.input.size()), .output = static_cast<uint32_t>(pair.output.size())});
    if (!pair.positions.empty()) split.pairs.back().highest_position = std::ranges::max(pair.positions);
    RETURN_IF_ERROR(Gather(pair.input, inputs_));
    split.input_hashes.push_back(std::hash<std::string_view>()(BytesOfNumbers(std::span<const uint16_t>(gathered_).subspan(begin))));
    RETURN_IF_ERROR(Gather(pair.output, outputs_));
    gathered_.insert(gathered_.end(), pair.positions.begin(), pair.positions.end());
    constexpr size_t kGathered = 1 << 16;
    return gathered_.size() < kGathered ? absl::OkStatus() : Flush();
  }
  absl::Status Close() {
    RETURN_IF_ERROR(Flush());
    return out_.Close();
  }
  const SymbolIds& inputs() const { return inputs_; }
  const SymbolIds& outputs() const { return outputs_; }
  bool has_positions() const { return has_positions_.value_or(false); }

 private:
  absl::Status HaveAllPositions(bool has) {
    if (!has_positions_.has_value()) has_positions_ = has;
    if (*has_positions_ == has) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format("has {}positions, and those before have {}; either all pairs have some, or none", has ? "" : "no ", has ? "none" : "some"));
  }
  absl::Status Gather(const std::vector<std::string>& symbols, SymbolIds& ids) {
    for (const std::string& symbol : symbols) {
      ASSIGN_OR_RETURN(gathered_.emplace_back(), ids.Id(symbol));
    }
    return absl::OkStatus();
  }
  absl::Status Flush() {
    RETURN_IF_ERROR(out_.Write(BytesOfNumbers(std::span<const uint16_t>(gathered_))));
    written_ += gathered_.size();
    gathered_.clear();
    return absl::OkStatus();
  }

  OutputFile out_;
  std::vector<uint16_t> gathered_;
  uint64_t written_ = 0;
  SymbolIds inputs_{"input"}, outputs_{"output"};
  std::optional<bool> has_positions_;  // By the first pair.
};

absl::Status SpoolFile(const fs::path& file, const PairFormat& format, PairSpool& spool, SpooledSplit& split, Progress& progress) {
  ASSIGN_OR_RETURN(const FileToRead in, FileToRead::Open(file));
  LineReader lines(in, kMaxPairLine);
  PairOfSymbols pair;
  int64_t before = 0;
  for (int64_t number = 1;; ++number) {
    const auto refused = [&](const absl::Status& why) {
      return absl::InvalidArgumentError(fmt::format("{}:{}: {}", file.string(), number, std::string(why.message())));
    };
    const absl::StatusOr<std::optional<std::string_view>> line = lines.Next();
    if (absl::IsResourceExhausted(line.status())) return refused(line.status());
    RETURN_IF_ERROR(line.status());
    if (!line->has_value()) return absl::OkStatus();
    std::string_view text = **line;
    if (number == 1 && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (!text.empty()) {
      if (const absl::Status read = ParsePair(text, format, pair); !read.ok()) return refused(read);
      if (const absl::Status added = spool.Add(pair, split); !added.ok()) return absl::IsInvalidArgument(added) ? refused(added) : added;
    }
    progress.Advance(lines.given() - before);
    before = lines.given();
  }
}

// Counts a pair among those of its length, which come last so far.
void Count(const SpooledPair& pair, bool has_positions, std::vector<PairsOfLength>& lengths) {
  const int length = static_cast<int>(pair.input), output = static_cast<int>(pair.output);
  if (lengths.empty() || lengths.back().length != length) lengths.push_back({.length = length, .pairs = 0, .shortest_output = output, .longest_output = output});
  PairsOfLength& of = lengths.back();
  ++of.pairs;
  of.shortest_output = std::min(of.shortest_output, output);
  of.longest_output = std::max(of.longest_output, output);
  if (has_positions) of.highest_position = std::max<int>(of.highest_position, pair.highest_position);
}

// Writes the positions of the pairs, in this order, out of the spool.
absl::Status WritePositions(const FileToRead& spool, const std::vector<SpooledPair>& pairs, const fs::path& file, Manifest& manifest) {
  ASSIGN_OR_RETURN(HashedFile out, HashedFile::Open(file));
  std::string bytes;
  for (const SpooledPair& pair : pairs) {
    const size_t symbols = pair.input + pair.output;
    bytes.resize((symbols + 1) * sizeof(uint16_t));
    RETURN_IF_ERROR(spool.Read((pair.at + symbols) * sizeof(uint16_t), {bytes.data(), bytes.size()}));
    RETURN_IF_ERROR(out.Write(bytes));
  }
  ASSIGN_OR_RETURN(manifest.files.emplace_back(), out.Close());
  return absl::OkStatus();
}

// Where the files of a split are written.
struct SplitFiles {
  fs::path pairs, positions;
};

// Writes the files of a split out of the spool, and says how many pairs of each length it has.
absl::Status WriteSplit(const FileToRead& spool, const PairSpool& spooled, std::vector<SpooledPair> pairs, const SplitFiles& files, std::vector<PairsOfLength>& lengths,
                        Manifest& manifest) {
  // Those of one length stay in the order in which they were met.
  std::ranges::sort(pairs, {}, [](const SpooledPair& pair) { return std::pair(pair.input, pair.at); });
  ASSIGN_OR_RETURN(HashedFile out, HashedFile::Open(files.pairs));
  uint64_t end = 0;
  for (const SpooledPair& pair : pairs) {
    Count(pair, spooled.has_positions(), lengths);
    end += pair.input + pair.output;
    RETURN_IF_ERROR(out.Write(BytesOfNumbers(std::span<const uint64_t>(&end, 1))));
  }
  const std::vector<uint16_t> inputs = spooled.inputs().Places(), outputs = spooled.outputs().Places();
  std::vector<uint16_t> ids;
  for (const SpooledPair& pair : pairs) {
    ids.resize(pair.input + pair.output);
    RETURN_IF_ERROR(spool.Read(pair.at * sizeof(uint16_t), {reinterpret_cast<char*>(ids.data()), ids.size() * sizeof(uint16_t)}));
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = (i < pair.input ? inputs : outputs)[ids[i]];
    RETURN_IF_ERROR(out.Write(BytesOfNumbers(std::span<const uint16_t>(ids))));
  }
  ASSIGN_OR_RETURN(manifest.files.emplace_back(), out.Close());
  return spooled.has_positions() ? WritePositions(spool, pairs, files.positions, manifest) : absl::OkStatus();
}

// How many of the test inputs are inputs to train on, too.
int64_t TestInputsInTraining(std::vector<size_t> train, const std::vector<size_t>& test) {
  std::ranges::sort(train);
  return std::ranges::count_if(test, [&train](size_t hash) { return std::ranges::binary_search(train, hash); });
}

absl::Status ImportSpooled(const PairImport& wanted, const std::vector<fs::path>& files, size_t training_files, const fs::path& staging, Manifest& manifest,
                           Progress& progress) {
  ASSIGN_OR_RETURN(const int64_t total, SizeOfFiles(files));
  ASSIGN_OR_RETURN(OutputFile out, OutputFile::Open(staging / kPairSpool));
  PairSpool spooled(std::move(out));
  SpooledSplit train, test;
  progress.Start(total, 0, "bytes");
  for (size_t i = 0; i < files.size(); ++i) RETURN_IF_ERROR(SpoolFile(files[i], wanted.format, spooled, i < training_files ? train : test, progress));
  RETURN_IF_ERROR(spooled.Close());
  progress.Finish();
  if (train.pairs.empty()) return absl::InvalidArgumentError(fmt::format("{} has no pair to train on: all of its lines are empty", SourceText(wanted.sources, {})));
  if (test.pairs.empty()) return absl::InvalidArgumentError(fmt::format("--test: {} has no pair to test on: all of its lines are empty", SourceText(wanted.test_sources, {})));
  manifest.input_symbols = spooled.inputs().Ascending();
  manifest.output_symbols = spooled.outputs().Ascending();
  manifest.test_inputs_in_training = TestInputsInTraining(std::move(train.input_hashes), test.input_hashes);
  ASSIGN_OR_RETURN(const FileToRead spool, FileToRead::Open(staging / kPairSpool));
  RETURN_IF_ERROR(WriteSplit(spool, spooled, std::move(train.pairs), {staging / kTrainPairsFile, staging / kTrainPositionsFile}, manifest.train_pairs, manifest));
  return WriteSplit(spool, spooled, std::move(test.pairs), {staging / kTestPairsFile, staging / kTestPositionsFile}, manifest.test_pairs, manifest);
}

}  // namespace

absl::StatusOr<Manifest> ImportPairs(const PairImport& wanted, Progress& progress) {
  RETURN_IF_ERROR(CheckName(wanted.name));
  if (wanted.sources.empty()) return absl::InvalidArgumentError("no file was given to train on; name one before --test");
  if (wanted.test_sources.empty()) return absl::InvalidArgumentError("no file was given to test on; name one with --test");
  Manifest manifest;
  manifest.kind = Kind::kPairs;
  manifest.source = SourceText(wanted.sources, wanted.test_sources);
  std::vector<fs::path> all = wanted.sources;
  all.insert(all.end(), wanted.test_sources.begin(), wanted.test_sources.end());
  ASSIGN_OR_RETURN(const SourceFiles found, FindSourceFiles(all));
  const size_t training_files = std::accumulate(found.of_source.begin(), found.of_source.begin() + std::ssize(wanted.sources), size_t{0});

  ASSIGN_OR_RETURN(Staging staging, Staging::Open(wanted.folder, wanted.name));
  if (absl::Status made = ImportSpooled(wanted, found.files, training_files, staging.path(), manifest, progress); !made.ok()) {
    staging.Discard();  // It is begun anew in any case.
    return made;
  }
  manifest.skipped = LeftOutInManifest(found.left_out);
  RETURN_IF_ERROR(staging.Publish(manifest));
  ASSIGN_OR_RETURN(Manifest published, ReadDataSet(wanted.folder, wanted.name));
  published.skipped = found.left_out;
  return published;
}

}  // namespace longreach::data
