// Jobs as folders for transformers: what is in them, what is computed with them again, and what is refused.
#include <gmock/gmock.h>

#include <functional>

#include "tests/worker/trainer/published_fixture.h"
#include "worker/trainer/checkpoint/safetensors.h"
#include "worker/trainer/llama/config.h"

namespace longreach::trainer {

namespace {

using ::testing::HasSubstr;

class ExportTest : public PublishedModelTest {
 protected:
  // A pack of two jobs that tune all weights, or the head scales.
  PackRequest TrainingOf(const std::string& model, PackSettings::Training::Trainable trainable) {
    PackRequest request = RequestOf(model, model + "_training");
    request.settings.training = {.steps = 6, .batch_size = 4, .lengths = {24}, .warmup_steps = 1, .weight_decay = 0, .trainable = trainable};
    request.members.push_back(request.members[0]);
    request.members[1].job = "job1";
    request.members[0].learning_rate = 0.02;
    request.members[1].learning_rate = 0.1;
    return request;
  }
  ExportRequest ExportOf(const PackRequest& trained, const std::filesystem::path& parameters, int member, const std::string& target) {
    return {.settings = trained.settings, .job = trained.members[static_cast<size_t>(member)].job, .parameters = parameters,
            .data = trained.data, .target = Folder("exported") / target};
  }
  static double MemberLoss(const PackResult& result, int member, int length) {
    PackResult one = result;
    one.results = {result.results.at(static_cast<size_t>(member))};
    return LossOf(one, length);
  }
  // What a job measures that begins with an exported folder.
  double LossOfFolder(const std::string& name, bool nope) {
    data::NoProgress quiet;
    const std::filesystem::path source = Folder("exported") / name;
    const absl::StatusOr<ModelFolder> checked = CheckModelFolder(source);
    EXPECT_TRUE(checked.ok()) << checked.status();
    EXPECT_EQ(checked->nope, nope);
    const auto made = data::ImportModel({.folder = Folder("data"), .name = "again-" + name, .source = source, .files = checked->files,
                                         .description = checked->description, .nope = checked->nope}, quiet);
    EXPECT_TRUE(made.ok()) << made.status();
    PackRequest request = RequestOf(nope ? "nope" : "plain", "again-" + name);
    request.settings.model.folder = "again-" + name;
    return LossOf(Run(request), 24);
  }
};

TEST_F(ExportTest, AMemberOfAPackIsWhatItWasTrainedTo) {
  const PackRequest request = TrainingOf("plain", PackSettings::Training::Trainable::kAll);
  const PackResult trained = Run(request);
  for (const int member : {0, 1}) {
    const std::string name = "all-" + std::to_string(member);
    const absl::StatusOr<ExportedModel> exported = ExportModel(ExportOf(request, trained.weights, member, name));
    ASSERT_TRUE(exported.ok()) << exported.status();
    EXPECT_EQ(exported->step, 6);
    EXPECT_EQ(exported->scales, 0);
    EXPECT_EQ(LossOfFolder(name, false), MemberLoss(trained, member, 24));
  }
}

TEST_F(ExportTest, HeadScalesAreStoredOrFolded) {
  const PackRequest request = TrainingOf("nope", PackSettings::Training::Trainable::kHeadScales);
  const PackResult tuned = Run(request);
  ExportRequest wanted = ExportOf(request, tuned.weights, 1, "stored");
  const absl::StatusOr<ExportedModel> stored = ExportModel(wanted);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_TRUE(stored->nope);
  EXPECT_EQ(stored->scales, 2 * 4);
  EXPECT_EQ(LossOfFolder("stored", true), MemberLoss(tuned, 1, 24));

  wanted.fold_scales = true;
  wanted.target = Folder("exported") / "folded";
  ASSERT_EQ(ExportModel(wanted)->scales, 0);
  EXPECT_EQ(SafetensorsFile::Open(wanted.target / "model.safetensors")->Find("model.layers.0.self_attn.scale_param"), nullptr);
  EXPECT_NEAR(LossOfFolder("folded", true), MemberLoss(tuned, 1, 24), 1e-5);
}

// Readers extend a model from there: YaRN, a dynamic base and the growth of a scale begin with it.
TEST_F(ExportTest, TheLongestLengthIsThatOfTheFolderOrOfTraining) {
  PackRequest request = TrainingOf("plain", PackSettings::Training::Trainable::kAll);
  const int64_t known = LoadLlama(Folder("published") / "plain")->config.max_positions;
  const auto exported = [&](int length, const std::string& scaling) -> int64_t {
    const std::string name = std::to_string(length) + scaling;
    request.folder = Folder("trained-" + name);
    request.settings.training.lengths = {length};
    request.settings.positions.rope_scaling = scaling;
    request.settings.positions.rope_factor = scaling == "none" ? 1 : 2;
    const PackResult trained = Run(request);
    const absl::StatusOr<ExportedModel> made = ExportModel(ExportOf(request, trained.weights, 0, name));
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? LoadLlama(Folder("exported") / name)->config.max_positions : 0;
  };
  const int longer = static_cast<int>(known) + 4;
  EXPECT_EQ(exported(longer, "none"), longer);
  EXPECT_EQ(exported(longer, "linear"), longer);
  EXPECT_EQ(exported(longer, "yarn"), known) << "its factor counts from there";
  EXPECT_EQ(exported(8, "none"), known) << "what it knew it is not said to have lost";
}

TEST_F(ExportTest, ACheckpointIsExportedToo) {
  PackRequest request = TrainingOf("plain", PackSettings::Training::Trainable::kAll);
  RecordingObserver observer;
  observer.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.step == 3, .dropped = {}}; };
  ASSERT_TRUE(Train(request, observer)->stopped);
  const absl::StatusOr<ExportedModel> exported = ExportModel(ExportOf(request, observer.checkpoints.back(), 0, "checkpoint"));
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->step, 3);
  EXPECT_EQ(LoadLlama(Folder("exported") / "checkpoint")->parameters.scalar_type(), at::kFloat);
}

TEST_F(ExportTest, WhatCannotBeExportedLeavesNothingBehind) {
  const PackRequest request = TrainingOf("plain", PackSettings::Training::Trainable::kAll);
  const PackResult trained = Run(request);
  const auto refused = [&](absl::StatusCode code, const std::function<void(ExportRequest&)>& change) {
    ExportRequest wanted = ExportOf(request, trained.weights, 0, "refused");
    change(wanted);
    const absl::Status status = ExportModel(wanted).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(std::filesystem::is_empty(Folder("exported")));
    return std::string(status.message());
  };
  EXPECT_THAT(refused(absl::StatusCode::kInvalidArgument, [](auto& r) { r.settings.experiment = "algorithmic"; }),
              HasSubstr("of the kind 'algorithmic', which has no form in transformers"));
  EXPECT_THAT(refused(absl::StatusCode::kInvalidArgument, [](auto& r) {
                r.settings.training.steps = 0;
                r.settings.model.attention_scale_from = 12;
              }),
              HasSubstr("has model.attention_scale_from 12: config.json has no name for a scale that depends on the position"));
  EXPECT_THAT(refused(absl::StatusCode::kInvalidArgument, [](auto& r) { r.job = "another"; }), HasSubstr("it is not of job another"));
  EXPECT_THAT(refused(absl::StatusCode::kInvalidArgument, [&](auto& r) { r.parameters = Folder("published") / "plain/model.safetensors"; }),
              HasSubstr("it holds no weights of a job"));
  EXPECT_THAT(refused(absl::StatusCode::kNotFound, [&](auto& r) { r.parameters = Folder("nowhere") / "x"; }), HasSubstr("nowhere"));
  EXPECT_THAT(refused(absl::StatusCode::kNotFound, [](auto& r) { r.settings.model.folder = "elsewhere"; }), HasSubstr("elsewhere"));
  EXPECT_THAT(refused(absl::StatusCode::kFailedPrecondition, [](auto& r) { r.data.model_sha256 = std::string(64, '0'); }), HasSubstr("has other bytes"));

  // A bit that is another than was written.
  std::string bytes = Bytes(trained.weights);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  std::ofstream(Folder("damaged") / "weights") << bytes;
  EXPECT_THAT(refused(absl::StatusCode::kDataLoss, [&](auto& r) { r.parameters = Folder("damaged") / "weights"; }), HasSubstr("SHA-256 differs"));

  ExportRequest there = ExportOf(request, trained.weights, 0, "there");
  std::ofstream(there.target) << "mine";
  EXPECT_EQ(ExportModel(there).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Bytes(there.target), "mine");
  std::filesystem::remove(there.target);
  there.target = Folder("exported") / "no" / "such" / "folder";
  EXPECT_EQ(ExportModel(there).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace

}  // namespace longreach::trainer
