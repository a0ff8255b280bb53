#include "worker/data/pair_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "worker/data/data_folder.h"

namespace longreach::data {

static_assert(std::endian::native == std::endian::little, "files are read as they lie");

absl::StatusOr<PairSet> PairSet::Open(const std::filesystem::path& folder, const std::string& name, const std::string& sha256) {
  ASSIGN_OR_RETURN(Manifest manifest, ReadDataSet(folder, name, sha256, Kind::kPairs));
  PairSet set;
  ASSIGN_OR_RETURN(set.parts_[0], OpenPart(folder / name / kTrainPairsFile, folder / name / kTrainPositionsFile, name, manifest.train_pairs));
  ASSIGN_OR_RETURN(set.parts_[1], OpenPart(folder / name / kTestPairsFile, folder / name / kTestPositionsFile, name, manifest.test_pairs));
  set.input_symbols_ = std::move(manifest.input_symbols);
  set.output_symbols_ = std::move(manifest.output_symbols);
  set.has_ends_ = HasEnds(manifest.train_pairs, manifest.test_pairs);
  return set;
}

absl::StatusOr<PairSet::Part> PairSet::OpenPart(const std::filesystem::path& file, const std::filesystem::path& positions, const std::string& name,
                                                const std::vector<PairsOfLength>& lengths) {
  Part part;
  part.lengths = lengths;
  int64_t pairs = 0;
  for (const PairsOfLength& of : lengths) {
    part.first.push_back(pairs);
    pairs += of.pairs;
  }
  ASSIGN_OR_RETURN(part.file, MappedFile::Open(file));
  const std::span<const uint8_t> bytes = part.file.bytes();
  // The file may have been exchanged since its size was looked at.
  bool sound = bytes.size() / sizeof(uint64_t) >= static_cast<size_t>(pairs);
  if (sound) {
    // Maps begin at a page, so numbers in them are aligned.
    const std::span<const uint8_t> behind = bytes.subspan(static_cast<size_t>(pairs) * sizeof(uint64_t));
    part.ends = {reinterpret_cast<const uint64_t*>(bytes.data()), static_cast<size_t>(pairs)};
    part.symbols = {reinterpret_cast<const uint16_t*>(behind.data()), behind.size() / sizeof(uint16_t)};
    sound = part.ends.back() == part.symbols.size();
  }
  uint64_t before = 0;
  for (size_t i = 0; sound && i < lengths.size(); ++i) {
    const uint64_t least = static_cast<uint64_t>(lengths[i].length + lengths[i].shortest_output), most = static_cast<uint64_t>(lengths[i].length + lengths[i].longest_output);
    for (const uint64_t end : part.ends.subspan(static_cast<size_t>(part.first[i]), static_cast<size_t>(lengths[i].pairs))) {
      sound = sound && end > before && end - before >= least && end - before <= most;
      before = end;
    }
  }
  if (sound && HavePositions(lengths)) {
    ASSIGN_OR_RETURN(part.positions_file, MappedFile::Open(positions));
    const std::span<const uint8_t> given = part.positions_file.bytes();
    part.positions = {reinterpret_cast<const uint16_t*>(given.data()), given.size() / sizeof(uint16_t)};
    sound = part.positions.size() == part.symbols.size() + part.ends.size();
  }
  if (sound) return part;
  return absl::DataLossError(fmt::format("{}: its pairs do not follow each other; 'longreach data remove {}' and import it anew", file.string(), name));
}

Pair PairSet::pair(Split split, int length, int64_t index) const {
  const Part& part = Of(split);
  const auto of = std::ranges::lower_bound(part.lengths, length, {}, &PairsOfLength::length);
  const size_t which = static_cast<size_t>(part.first[static_cast<size_t>(of - part.lengths.begin())] + index);
  const size_t begin = which == 0 ? 0 : static_cast<size_t>(part.ends[which - 1]), end = static_cast<size_t>(part.ends[which]);
  const size_t input = static_cast<size_t>(length);
  Pair pair{.input = part.symbols.subspan(begin, input), .output = part.symbols.subspan(begin + input, end - begin - input), .positions = {}};
  if (!part.positions.empty()) pair.positions = part.positions.subspan(begin + which, end - begin + 1);
  return pair;
}

}  // namespace longreach::data
