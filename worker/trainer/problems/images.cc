// Grayscale images, pixel by pixel and row by row, behind each row a black one where the settings say so; one class each.
//
// Trained on images drawn from the training split; tested on the validation split from its first image on, or evenly over
// it where fewer are wanted.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "proto/base/text.h"
#include "worker/data/image_set.h"
#include "worker/trainer/engine/batch.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/problems/named_by.h"
#include "worker/trainer/problems/problem.h"
#include "worker/trainer/problems/test_picks.h"
#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer {

namespace {

constexpr uint16_t kBlack = 0;
// Pixels of a test part.
constexpr int64_t kTestPixelsAtATime = 1 << 16;
constexpr int64_t kStandInImages = 1000;

// Which sizes were kept is in the set's identity: none that goes by it has others.
// `all` is of the sizes of all lengths: images are imported anew once, not once for each size.
absl::StatusOr<data::ImageView> Kept(std::string_view setting, const absl::Status& all, absl::StatusOr<data::ImageView> view) {
  if (!absl::IsFailedPrecondition(view.status())) return view;
  return absl::InvalidArgumentError(Text(setting, ": ", all.message()));
}

class Images final : public Problem {
 public:
  Images(const PackSettings& settings, std::optional<data::ImageSet> set) : settings_(settings), set_(std::move(set)) {}

  absl::Status Check() {
    if (!set_) return absl::OkStatus();
    if (set_->classes().size() > static_cast<size_t>(settings_.model.classes)) {
      return absl::InvalidArgumentError(Text("model.classes: ", settings_.model.classes, " are fewer than the ",
                                             set_->classes().size(), " of '", settings_.data, "'"));
    }
    std::vector<data::ImageSize> sizes;
    for (const int length : settings_.training.lengths) sizes.push_back(SizeOf(length));
    for (const int length : settings_.evaluation.lengths) sizes.push_back(SizeOf(length));
    const absl::Status all = set_->HasSizes(sizes);
    for (const int length : settings_.training.lengths) {
      ASSIGN_OR_RETURN(train_[length], Kept("training.lengths", all, set_->Train(SizeOf(length))));
    }
    for (const int length : settings_.evaluation.lengths) {
      ASSIGN_OR_RETURN(valid_[length], Kept("evaluation.lengths", all, set_->Valid(SizeOf(length))));
    }
    return absl::OkStatus();
  }

  Batch TrainingBatch(PositionUse use, uint64_t step) const override {
    const PackSettings::Training& training = settings_.training;
    const int length = TrainingLength(training, step);
    const RandomStream images{.key = training.data_seed, .purpose = Purpose::kTrainingBatch, .layer = 0, .step = step};
    const uint32_t count = static_cast<uint32_t>(set_ ? set_->train_count() : kStandInImages);
    Batch batch;
    for (int b = 0; b < training.batch_size; ++b) {
      AddImage(train_, length, images.Below(static_cast<uint64_t>(b), count), batch);
    }
    return Finish(std::move(batch), use, length, {.key = training.data_seed, .step = step, .test = false});
  }

  int TestParts(int length) const override {
    return static_cast<int>((Picks().size() + ImagesAtATime(length) - 1) / ImagesAtATime(length));
  }

  Batch TestBatch(PositionUse use, int length, int part) const override {
    const TestPicks picks = Picks();
    const int64_t first = part * ImagesAtATime(length), end = std::min(picks.size(), first + ImagesAtATime(length));
    Batch batch;
    for (int64_t i = first; i < end; ++i) AddImage(valid_, length, picks[i], batch);
    return Finish(std::move(batch), use, length, TestSource(settings_, length, part));
  }

  // Of an image there is one output: its loss is the sum.
  std::vector<Score> Scores(int, const Tested& tested) const override {
    return {{"accuracy", tested.accuracy}, {"cross_entropy", tested.loss}};
  }

 private:
  data::ImageSize SizeOf(int length) const {
    const ImageShape shape = *ImageShapeOf(settings_.model, length);  // Validate() has refused others.
    return {.rows = shape.rows, .cols = shape.cols};
  }
  // The same at all lengths.
  TestPicks Picks() const { return {settings_.evaluation, set_ ? set_->valid_count() : kStandInImages, /*step=*/0}; }
  int64_t ImagesAtATime(int length) const {
    return std::max<int64_t>(1, kTestPixelsAtATime / TapeOf(settings_, length));
  }

  void AddImage(const std::map<int, data::ImageView>& views, int length, int64_t image, Batch& batch) const {
    const ImageShape shape = *ImageShapeOf(settings_.model, length);
    std::vector<uint8_t> noise;
    std::span<const uint8_t> pixels;
    if (set_) {
      const data::ImageView& view = views.at(length);
      pixels = view.pixels(image);
      batch.targets.push_back(static_cast<uint16_t>(view.label(image)));
    } else {
      const RandomStream stream{.key = static_cast<uint64_t>(image), .purpose = Purpose::kTrainingBatch, .layer = 0, .step = 0};
      for (int64_t i = 0; i < int64_t{shape.rows} * shape.cols; ++i) noise.push_back(static_cast<uint8_t>(stream.Word(static_cast<uint64_t>(i))));
      pixels = noise;
      batch.targets.push_back(static_cast<uint16_t>(image % settings_.model.classes));
    }
    for (int row = 0; row < shape.rows; ++row) {
      const std::span<const uint8_t> of_row = pixels.subspan(static_cast<size_t>(row * shape.cols), static_cast<size_t>(shape.cols));
      batch.tokens.insert(batch.tokens.end(), of_row.begin(), of_row.end());
      if (settings_.model.row_delimiter) batch.tokens.push_back(kBlack);
    }
    ++batch.size;
  }

  Batch Finish(Batch batch, PositionUse use, int length, const PassSource& source) const {
    batch.tape = TapeOf(settings_, length);
    batch.outputs = 1;
    batch.valid.assign(static_cast<size_t>(batch.size), 1);
    batch.positions = DrawPositions(settings_, use, batch.tape, batch.size, source);
    batch.source = source;
    return batch;
  }

  PackSettings settings_;
  std::optional<data::ImageSet> set_;
  std::map<int, data::ImageView> train_, valid_;  // By length.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Problem>> MakeImages(const PackSettings& settings, const DataSource* data) {
  std::optional<data::ImageSet> set;
  if (data != nullptr) {
    ASSIGN_OR_RETURN(set, NamedBy("data", data::ImageSet::Open(data->folder, settings.data, data->sha256)));
  }
  auto problem = std::make_unique<Images>(settings, std::move(set));
  RETURN_IF_ERROR(problem->Check());
  return problem;
}

}  // namespace longreach::trainer
