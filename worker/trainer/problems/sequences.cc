// Pairs of sequences out of a data set, as they lie there: input and output stand on the tape as those of an algorithmic task do.
//
// An update draws one input length of those that are trained on, and its pairs from all training pairs of that length, with replacement. A test of a length has all
// test pairs of it or, where fewer are wanted, one of each of so many equal parts.
//
// Where a data set's outputs have ends, the rest of the tape behind an output's end holds ends, too: the loss has them, and scores go up to the first.
#include "worker/trainer/problems/sequences.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/base/sha256.h"
#include "proto/base/text.h"
#include "worker/data/data_folder.h"
#include "worker/data/pair_set.h"
#include "worker/trainer/engine/batch.h"
#include "worker/trainer/pair_shape.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/problems/named_by.h"
#include "worker/trainer/problems/problem.h"
#include "worker/trainer/problems/test_picks.h"
#include "worker/trainer/random/random_stream.h"
#include "worker/trainer/vocabulary.h"

namespace longreach::trainer {

namespace {

using data::PairSet;

// Tokens of a test part.
constexpr int64_t kTestTokensAtATime = 1 << 16;
constexpr int64_t kStandInPairs = 1000;
// Of one length: a draw among them is one word.
constexpr int64_t kMostPairs = std::numeric_limits<uint32_t>::max();
// Ranges of lengths that a refusal names.
constexpr size_t kNamedRanges = 12;

// No two lists have the same: each symbol stands behind its size.
std::string Sha256OfSymbols(const PairSet& set) {
  std::string text;
  for (const auto& [name, symbols] : {std::pair("inputs", &set.input_symbols()), {"outputs", &set.output_symbols()}}) {
    text += Text(name, " ", symbols->size(), "\n");
    for (const std::string& symbol : *symbols) text += Text(symbol.size(), " ", symbol, "\n");
  }
  return Sha256Of(text);
}

PairShape ShapeOf(const PairSet& set) {
  PairShape shape{.input_symbols = static_cast<int>(set.input_symbols().size()),
                  .output_symbols = static_cast<int>(set.output_symbols().size()),
                  .symbols_sha256 = Sha256OfSymbols(set),
                  .ends = set.has_ends(),
                  .outputs = {}};
  for (const PairSet::Split split : {PairSet::Split::kTrain, PairSet::Split::kTest}) {
    for (const data::PairsOfLength& of : set.lengths(split)) {
      int& outputs = shape.outputs[of.length];
      outputs = std::max(outputs, of.longest_output + (shape.ends ? 1 : 0));
    }
  }
  return shape;
}

int64_t PairsOf(const PairSet& set, PairSet::Split split, int length) {
  const std::vector<data::PairsOfLength>& lengths = set.lengths(split);
  const auto found = std::ranges::find(lengths, length, &data::PairsOfLength::length);
  return found == lengths.end() ? 0 : found->pairs;
}

// "1..6, 8, 10..40".
std::string RangesOf(const std::vector<data::PairsOfLength>& lengths) {
  std::vector<std::string> ranges;
  for (size_t first = 0; first < lengths.size();) {
    size_t last = first;
    while (last + 1 < lengths.size() && lengths[last + 1].length == lengths[last].length + 1) ++last;
    if (ranges.size() == kNamedRanges) {
      ranges.push_back(Text("and others up to ", lengths.back().length));
      break;
    }
    ranges.push_back(first == last ? Text(lengths[first].length) : Text(lengths[first].length, "..", lengths[last].length));
    first = last + 1;
  }
  return Join(ranges, ", ");
}

absl::Status HasLengths(const PairSet& set, const std::string& name, PairSet::Split split, const std::vector<int>& wanted) {
  const bool train = split == PairSet::Split::kTrain;
  for (const int length : wanted) {
    const int64_t pairs = PairsOf(set, split, length);
    if (pairs > 0 && pairs <= kMostPairs) continue;
    const std::string place = Text(train ? "training" : "evaluation", ".lengths: ", length, ": '", name, "' has ");
    if (pairs > 0) return absl::InvalidArgumentError(Text(place, pairs, " pairs of that length; at most ", kMostPairs, " can be drawn from"));
    return absl::InvalidArgumentError(
        Text(place, "no ", train ? "training" : "test", " pairs with inputs of that length; it has those of ", RangesOf(set.lengths(split))));
  }
  return absl::OkStatus();
}

absl::StatusOr<PairSet> OpenPairs(const PackSettings& settings, const DataSource& data) {
  return NamedBy("data", PairSet::Open(data.folder.empty() ? data::DefaultDataFolder() : data.folder, settings.data, data.sha256));
}

absl::Status HasPositions(const PairSet& set, const PackSettings& settings) {
  const int rows = settings.positions.data_rows;
  if (rows == 0) return absl::OkStatus();
  if (!set.has_positions()) {
    return absl::InvalidArgumentError(Text("positions.data_rows: ", rows, ": the pairs of '", settings.data, "' have no positions; import some that have, or leave it out"));
  }
  const auto fit = [&](PairSet::Split split, const std::vector<int>& used, int shift) {
    for (const data::PairsOfLength& of : set.lengths(split)) {
      const int highest = of.highest_position + shift;
      if (highest < rows || std::ranges::find(used, of.length) == used.end()) continue;
      return absl::InvalidArgumentError(Text("positions.data_rows: ", rows, ": pairs of length ", of.length, " of '", settings.data, "' have positions up to ", of.highest_position,
                                             shift > 0 ? Text(", which training moves up by as much as ", shift) : "", "; set at least ", highest + 1));
    }
    return absl::OkStatus();
  };
  if (settings.training.steps > 0) RETURN_IF_ERROR(fit(PairSet::Split::kTrain, settings.training.lengths, settings.positions.data_shift));
  return fit(PairSet::Split::kTest, settings.evaluation.lengths, 0);
}

// Settings with what the data set says, which refuses nothing of them.
absl::StatusOr<PackSettings> Resolved(PackSettings settings, const PairSet& set) {
  if (settings.training.steps > 0) RETURN_IF_ERROR(HasLengths(set, settings.data, PairSet::Split::kTrain, settings.training.lengths));
  RETURN_IF_ERROR(HasLengths(set, settings.data, PairSet::Split::kTest, settings.evaluation.lengths));
  RETURN_IF_ERROR(HasPositions(set, settings));
  PairShape shape = ShapeOf(set);
  if (settings.model.pairs != nullptr && *settings.model.pairs != shape) {
    return absl::FailedPreconditionError(Text("the data set '", settings.data, "' was exchanged while a job of it began; start it again"));
  }
  settings.model.pairs = std::make_shared<const PairShape>(std::move(shape));
  RETURN_IF_ERROR(Validate(settings));
  return settings;
}

class Sequences final : public Problem {
 public:
  Sequences(PackSettings settings, std::optional<PairSet> set)
      : settings_(std::move(settings)), set_(std::move(set)), vocabulary_(VocabularyOf(settings_)) {}

  Batch TrainingBatch(PositionUse use, uint64_t step) const override {
    const PackSettings::Training& training = settings_.training;
    const int length = TrainingLength(training, step);
    const RandomStream stream{.key = training.data_seed, .purpose = Purpose::kTrainingBatch, .layer = 0, .step = step};
    const uint32_t count = static_cast<uint32_t>(Count(PairSet::Split::kTrain, length));
    std::vector<int64_t> picked;
    for (int b = 0; b < training.batch_size; ++b) picked.push_back(stream.Below(static_cast<uint64_t>(b), count));
    return BatchOf(PairSet::Split::kTrain, use, length, picked, {.key = training.data_seed, .step = step, .test = false});
  }

  int TestParts(int length) const override {
    return static_cast<int>((Picks(length).size() + PairsAtATime(length) - 1) / PairsAtATime(length));
  }

  Batch TestBatch(PositionUse use, int length, int part) const override {
    const TestPicks picks = Picks(length);
    const int64_t first = part * PairsAtATime(length), end = std::min(picks.size(), first + PairsAtATime(length));
    std::vector<int64_t> picked;
    for (int64_t i = first; i < end; ++i) picked.push_back(picks[i]);
    return BatchOf(PairSet::Split::kTest, use, length, picked, TestSource(settings_, length, part));
  }

  // Of a decoder that is what it would write by itself, greedily (algorithmic.cc).
  bool ScoresExactMatch() const override { return true; }
  std::vector<Score> Scores(int, const Tested& tested) const override {
    return {{"accuracy", tested.accuracy}, {"exact_match", tested.exact_match}, {"loss", tested.loss}};
  }

 private:
  int64_t Outputs(int length) const { return set_ ? settings_.model.pairs->outputs.at(length) : length; }
  int64_t Tape(int length) const { return length + Outputs(length); }
  int64_t Count(PairSet::Split split, int length) const { return set_ ? PairsOf(*set_, split, length) : kStandInPairs; }
  TestPicks Picks(int length) const { return {settings_.evaluation, Count(PairSet::Split::kTest, length), static_cast<uint64_t>(length)}; }
  int64_t PairsAtATime(int length) const { return std::max<int64_t>(1, kTestTokensAtATime / Tape(length)); }

  Batch BatchOf(PairSet::Split split, PositionUse use, int length, const std::vector<int64_t>& picked, const PassSource& source) const {
    Batch batch;
    batch.size = std::ssize(picked);
    batch.tape = Tape(length);
    batch.outputs = Outputs(length);
    batch.tokens.assign(static_cast<size_t>(batch.size * batch.tape), static_cast<uint16_t>(vocabulary_.read));
    batch.targets.assign(static_cast<size_t>(batch.size * batch.outputs), static_cast<uint16_t>(vocabulary_.classes - 1));  // The end, where there are ends.
    for (int64_t b = 0; b < batch.size; ++b) {
      const auto token = batch.tokens.begin() + b * batch.tape;
      const auto target = batch.targets.begin() + b * batch.outputs;
      if (!set_) {
        FillWithNoise(picked[static_cast<size_t>(b)], {&*token, static_cast<size_t>(length)}, {&*target, static_cast<size_t>(batch.outputs)});
        batch.valid.push_back(static_cast<int32_t>(batch.outputs));
        continue;
      }
      const data::Pair pair = set_->pair(split, length, picked[static_cast<size_t>(b)]);
      std::ranges::copy(pair.input, token);
      std::ranges::copy(pair.output, target);
      batch.valid.push_back(static_cast<int32_t>(std::ssize(pair.output)) + (settings_.model.pairs->ends ? 1 : 0));
    }
    if (settings_.model.causal) PutTrueOutputs(vocabulary_.inputs, batch);
    batch.positions = DrawPositions(settings_, use, batch.tape, batch.size, source);
    if (settings_.positions.data_rows > 0) batch.positions.given = GivenPositions(split, length, picked, batch, source);
    batch.source = source;
    return batch;
  }

  // [B, T]: where the data says that tokens stand. In training what is somewhere is moved up, each sequence by a draw of its own.
  Tensor GivenPositions(PairSet::Split split, int length, const std::vector<int64_t>& picked, const Batch& batch, const PassSource& source) const {
    const RandomStream stream{.key = source.key, .purpose = Purpose::kTrainingDataShift, .layer = 0, .step = source.step};
    const int most = source.test ? 0 : settings_.positions.data_shift;
    Tensor given_BT = at::zeros({batch.size, batch.tape}, at::kLong);
    int64_t* out = given_BT.data_ptr<int64_t>();
    for (int64_t b = 0; b < batch.size; ++b) {
      const int64_t shift = stream.Below(static_cast<uint64_t>(b), static_cast<uint32_t>(most + 1));
      const std::span<const uint16_t> given = set_ ? set_->pair(split, length, picked[static_cast<size_t>(b)]).positions : std::span<const uint16_t>();
      for (int64_t t = 0; t < batch.tape; ++t, ++out) {
        // Without data: the tape's own, as far as there are rows.
        const int64_t position = set_ ? given[static_cast<size_t>(std::min(t, std::ssize(given) - 1))] : std::min<int64_t>(t, settings_.positions.data_rows - 1 - most);
        *out = position == 0 ? 0 : position + shift;
      }
    }
    return given_BT;
  }

  void FillWithNoise(int64_t index, std::span<uint16_t> input, std::span<uint16_t> output) const {
    const RandomStream stream{.key = static_cast<uint64_t>(index), .purpose = Purpose::kTrainingBatch, .layer = 0, .step = 0};
    uint64_t at = 0;
    for (uint16_t& token : input) token = static_cast<uint16_t>(stream.Below(at++, static_cast<uint32_t>(vocabulary_.inputs)));
    for (uint16_t& token : output) token = static_cast<uint16_t>(stream.Below(at++, static_cast<uint32_t>(vocabulary_.classes)));
  }

  PackSettings settings_;
  std::optional<PairSet> set_;
  Vocabulary vocabulary_;
};

}  // namespace

absl::Status ReadPairs(PackSettings& settings, const DataSource& data) {
  if (settings.experiment != "sequences") return absl::OkStatus();
  ASSIGN_OR_RETURN(const PairSet set, OpenPairs(settings, data));
  ASSIGN_OR_RETURN(settings, Resolved(settings, set));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Problem>> MakeSequences(const PackSettings& settings, const DataSource* data) {
  if (data == nullptr) return std::make_unique<Sequences>(settings, std::nullopt);
  ASSIGN_OR_RETURN(PairSet set, OpenPairs(settings, *data));
  ASSIGN_OR_RETURN(PackSettings resolved, Resolved(settings, set));
  return std::make_unique<Sequences>(std::move(resolved), std::move(set));
}

}  // namespace longreach::trainer
