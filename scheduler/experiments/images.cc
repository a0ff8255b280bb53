// The experiment kind "images": an encoder reads grayscale pixels row by row, a decoder predicts the class from a begin
// token. Table 3. docs/models.md says what the paper leaves open, and which switches there are.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "proto/catalog/limits.h"
#include "scheduler/experiments/data_kind.h"

namespace longreach::experiments {

const Kind& Images();

namespace {

constexpr double kLevels = 256;
// ImageNet's validation split.
constexpr double kTestImages = 50'000;

v1::JobSpec ImageDefaults() {
  v1::JobSpec job = DataDefaults();
  v1::Model& model = *job.mutable_model();
  model.set_decoder_layers(8);
  model.set_classes(1000);
  model.set_row_delimiter(true);
  model.set_count_delimiters(true);
  model.set_pixel_embedding("lookup");
  model.set_fire_threshold(128);  // A quarter of what they are trained at, again.
  v1::Training& training = *job.mutable_training();
  training.set_batch_size(32);
  training.add_lengths(506);
  v1::Evaluation& evaluation = *job.mutable_evaluation();
  evaluation.add_lengths(506);
  evaluation.add_lengths(2025);
  return job;
}

class ImagesKind final : public DataKind {
 public:
  std::string_view Name() const override { return "images"; }
  const v1::JobSpec& Defaults() const override {
    static const v1::JobSpec defaults = ImageDefaults();
    return defaults;
  }

  absl::Status ValidateInput(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job,
                             std::string_view prefix) const override {
    RETURN_IF_ERROR(DataKind::ValidateInput(input, maker, job, prefix));
    Checks checks("");
    CheckSame(input, "model.decoder_layers", maker.model().decoder_layers(), job.model().decoder_layers(), prefix, checks);
    CheckSame(input, "model.classes", maker.model().classes(), job.model().classes(), prefix, checks);
    const std::string &theirs = maker.model().pixel_embedding(), &ours = job.model().pixel_embedding();
    if (theirs != ours) {
      checks.Refuse(fmt::format("{}inputs.{}.from: model.pixel_embedding is '{}' there and '{}' here, so its parameters do not fit", prefix,
                                input.name(), theirs, ours));
    }
    return checks.status();
  }

  void Complete(v1::JobSpec& job) const override {
    DataKind::Complete(job);
    if (!job.model().row_delimiter()) job.mutable_model()->clear_count_delimiters();
  }

 protected:
  void CheckOwn(const Settings& settings, Checks& checks) const override {
    const v1::Model& model = settings.model;
    checks.Range("model.decoder_layers", model.decoder_layers(), 1, catalog::kMaxLayers);
    checks.Range("model.classes", model.classes(), 1, 65'536);
    if (model.pixel_embedding() != "lookup" && model.pixel_embedding() != "linear") {
      checks.Refuse(fmt::format("model.pixel_embedding: '{}' is neither 'lookup' nor 'linear'", model.pixel_embedding()));
    }
    for (const int length : LengthsOf(settings)) {
      if (TapeOf(model, length) > 0) continue;
      checks.Refuse(fmt::format("length {}: no pixel is left beside the delimiters\n  lengths are rows x (columns + 1), as 506 = 22 x 23", length));
    }
  }

  // As ImageShapeOf() of the trainer: rows as near to the square root as divides, never more of them than columns.
  int64_t TapeOf(const v1::Model& model, int length) const override {
    if (length < 1) return 0;
    int rows = std::max(1, static_cast<int>(std::sqrt(static_cast<double>(length))));
    while (length % rows != 0) --rows;
    if (!model.row_delimiter()) return length;
    if (!model.count_delimiters()) return int64_t{length} + rows;
    return length / rows > 1 ? length : 0;
  }
  double ForwardFlops(const v1::Model& model, int length) const override {
    const double d = model.embedding_dim(), tape = static_cast<double>(TapeOf(model, length));
    const double block = 12 * d * d + 4 * d * model.mlp_dim() + tape * (4 * d * d + 4 * d);
    return BlockFlops(model, model.layers(), tape, tape * tape) + tape * 2 * d * (kLevels + 1) + model.decoder_layers() * block +
           2 * d * model.classes();
  }
  double Parameters(const v1::Model& model) const override {
    const double d = model.embedding_dim(), mlp = model.mlp_dim();
    const double rows = model.pixel_embedding() == "linear" ? 2 : kLevels + 1;
    return BlockParameters(model) + d * rows + d + model.decoder_layers() * (8 * d * d + 2 * d * mlp + mlp + d + 6 * d) +
           (d + 1) * model.classes();
  }
  double TestExamples(int) const override { return kTestImages; }
};

}  // namespace

const Kind& Images() {
  static const ImagesKind kind;
  return kind;
}

}  // namespace longreach::experiments
