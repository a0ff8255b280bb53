#include "worker/trainer/problems/mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "proto/base/text.h"
#include "proto/catalog/limits.h"
#include "worker/trainer/problems/tokens_of_model.h"
#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer {

namespace {

double SumOf(const std::vector<double>& weights) { return std::accumulate(weights.begin(), weights.end(), 0.0); }

// The last is 2^32. Sums, a quotient and a power of two: no step that one compiler or processor rounds otherwise than another.
std::vector<uint64_t> SharesThrough(const std::vector<double>& weights) {
  const double sum = SumOf(weights);
  std::vector<uint64_t> shares;
  double through = 0;
  for (const double weight : weights) {
    through += weight;
    shares.push_back(static_cast<uint64_t>(through / sum * 0x1p32));
  }
  return shares;
}

template <typename Corpus>
absl::StatusOr<Corpus> OpenSource(const PackSettings& settings, const DataSource& data, size_t source) {
  const std::string& name = settings.training.mixture[source];
  absl::StatusOr<Corpus> corpus =
      Corpus::Open(data.folder, name, source < data.mixture_sha256.size() ? data.mixture_sha256[source] : std::string());
  if (!corpus.ok()) return absl::Status(corpus.status().code(), Text("training.mixture: ", corpus.status().message()));
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(Text(parts...)); };
  const char* ids = "bytes";
  if constexpr (std::is_same_v<Corpus, data::TokenCorpus>) {
    ids = "tokens";
    RETURN_IF_ERROR(CheckTokensOfModel(settings, corpus->vocabulary(), corpus->tokenizer(), "training.mixture", name));
  }
  const int64_t there = static_cast<int64_t>(corpus->train().size());
  for (const int length : settings.training.lengths) {
    if (length < there) continue;
    return refuse("training.lengths: ", length + 1, " ", ids, " are more than the ", there, " of '", name, "' in training.mixture that are for training");
  }
  return corpus;
}

}  // namespace

absl::Status ValidateMixture(const PackSettings::Training& training) {
  const std::vector<std::string>& names = training.mixture;
  const std::vector<double>& weights = training.mixture_weights;
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(Text(parts...)); };
  if (names.size() > catalog::kMaxMixture) return refuse("training.mixture: ", names.size(), " data sets; at most ", catalog::kMaxMixture);
  if (weights.size() != names.size()) {
    return refuse("training.mixture_weights: ", weights.size(), " weights for the ", names.size(), " data sets of training.mixture");
  }
  const double sum = SumOf(weights);
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::count(names, names[i]) > 1) return refuse("training.mixture: '", names[i], "' is there twice");
    if (!std::isfinite(weights[i]) || weights[i] <= 0) {
      return refuse("training.mixture_weights: ", ShortestNumber(weights[i]), " of '", names[i], "' is not a finite number above 0");
    }
    if (weights[i] / sum < catalog::kLeastMixtureShare) {
      return refuse("training.mixture_weights: ", ShortestNumber(weights[i]), " of ", ShortestNumber(sum), " is so little that nothing is drawn from '",
                    names[i], "'");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Mixture> Mixture::Open(const PackSettings& settings, const DataSource& data) {
  Mixture mixture;
  mixture.key_ = settings.training.data_seed;
  mixture.shares_through_ = SharesThrough(settings.training.mixture_weights);
  for (size_t i = 0; i < settings.training.mixture.size(); ++i) {
    if (settings.task == "tokens") {
      ASSIGN_OR_RETURN(data::TokenCorpus corpus, OpenSource<data::TokenCorpus>(settings, data, i));
      mixture.sources_.emplace_back(std::move(corpus));
    } else {
      ASSIGN_OR_RETURN(data::TextCorpus corpus, OpenSource<data::TextCorpus>(settings, data, i));
      mixture.sources_.emplace_back(std::move(corpus));
    }
  }
  return mixture;
}

size_t Mixture::SourceOf(uint64_t step, uint64_t block) const {
  const RandomStream sources{.key = key_, .purpose = Purpose::kTrainingSource, .layer = 0, .step = step};
  return static_cast<size_t>(std::ranges::upper_bound(shares_through_, uint64_t{sources.Word(block)}) - shares_through_.begin());
}

int64_t Mixture::size(size_t source) const {
  return std::visit([](const auto& corpus) { return static_cast<int64_t>(corpus.train().size()); }, sources_[source]);
}

void Mixture::Append(size_t source, int64_t begin, int64_t count, std::vector<uint16_t>& to) const {
  std::visit([&](const auto& corpus) { AppendIds(corpus.train(), begin, count, to); }, sources_[source]);
}

}  // namespace longreach::trainer
