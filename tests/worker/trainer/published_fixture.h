// A data folder with published models and a corpus of their tokens, and jobs that read them.
#pragma once

#include <string>
#include <vector>

#include "tests/worker/trainer/llama/tiny.h"
#include "tests/worker/trainer/pack_fixture.h"
#include "worker/data/import_model.h"
#include "worker/data/import_tokens.h"
#include "worker/trainer/llama/folder.h"
#include "worker/trainer/llama/published.h"

namespace longreach::trainer {

// A text is its bytes, as ids below 50.
class Letters final : public tokenizer::Tokenizer {
 public:
  absl::StatusOr<std::vector<int64_t>> Encode(std::string_view text) override {
    std::vector<int64_t> ids;
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c) % 47 + 3);
    return ids;
  }
  absl::StatusOr<std::string> Decode(std::span<const int64_t>) override { return absl::UnimplementedError("there is no way back"); }
  int64_t vocabulary() const override { return 50; }
  std::optional<int64_t> bos() const override { return 1; }
  std::optional<int64_t> eos() const override { return 2; }
};

class PublishedModelTest : public PackTest {
 protected:
  void SetUp() override {
    PackTest::SetUp();
    LlamaModel model = TinyModel();
    model.head_factors = at::arange(8, at::kFloat).view({2, 4}) * 0.1 + 1;
    Publish("scaled", model, false);
    model.head_factors = Tensor();
    model.parameters = model.parameters.to(at::kBFloat16);
    Publish("plain", model, false);
    Publish("nope", model, true);
    unsigned next = 1;
    for (const int size : {400, 90, 30, 200}) {
      std::string text;
      for (int i = 0; i < size; ++i) text += static_cast<char>('a' + ((next = next * 1103515245u + 12345u) >> 16) % 20);
      std::ofstream(Folder("texts") / std::to_string(texts_.size())) << text;
      texts_.push_back(text);
    }
    Letters letters;
    data::NoProgress quiet;
    const auto made = data::ImportTokens({.folder = Folder("data"), .name = "letters", .sources = {Folder("texts")}, .split = {50, 50}}, &letters, quiet);
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_EQ(made->train.end, 1);
  }

  void Publish(const std::string& name, const LlamaModel& model, bool nope) {
    ASSERT_TRUE(WriteLlama(Folder("published") / name, model).ok());
    const absl::StatusOr<ModelFolder> checked = CheckModelFolder(Folder("published") / name);
    ASSERT_TRUE(checked.ok()) << checked.status();
    data::NoProgress quiet;
    const auto made = data::ImportModel({.folder = Folder("data"), .name = name, .source = Folder("published") / name, .files = checked->files,
                                         .description = checked->description, .nope = nope}, quiet);
    ASSERT_TRUE(made.ok()) << made.status();
  }

  PackRequest RequestOf(const std::string& model, const std::string& folder) {
    PackSettings settings;
    settings.experiment = "llama";
    settings.task = "tokens";
    settings.data = "letters";
    settings.encoding = model == "nope" ? "none" : "rope";
    settings.model = {.layers = 0, .embedding_dim = 0, .heads = 0, .mlp_dim = 0, .dropout = 0, .kv_heads = 0, .rope_theta = 0, .folder = model};
    settings.training.steps = 0;
    settings.evaluation = {.lengths = {12, 24}, .examples = 0, .stride = 5};
    PackRequest request = Request(settings, 1, folder);
    request.data.folder = Folder("data");
    return request;
  }
  std::string Refusal(const PackRequest& request) {
    RecordingObserver observer;
    const absl::StatusOr<PackResult> result = Train(request, observer);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
    return std::string(result.status().message());
  }

  static double LossOf(const PackResult& result, int length) {
    return ValueOf(result.results.at(0), "loss", length);
  }

  std::vector<std::string> texts_;
};

}  // namespace longreach::trainer
