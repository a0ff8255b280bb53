// Windows of both protocols of perplexity.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/trainer/llama/windows.h"

namespace longreach::trainer {

bool operator==(const Window& a, const Window& b) {
  return a.document == b.document && a.begin == b.begin && a.end == b.end && a.scored == b.scored;
}
void PrintTo(const Window& window, std::ostream* out) {
  *out << window.document << ": [" << window.begin << ", " << window.end << ") scores " << window.scored;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(WindowsTest, TheAuthorsStopBeforeTheEndOfADocument) {
  const std::vector<int64_t> lengths = {10, 4, 9, 8};

  // The window [4, 8) of a document of 8 tokens would end with it: it is not taken.
  EXPECT_THAT(NopeWindows(lengths, {.length = 4, .stride = 2}),
              ElementsAre(Window{0, 0, 4, 2}, Window{0, 2, 6, 2}, Window{0, 4, 8, 2}, Window{2, 0, 4, 2}, Window{2, 2, 6, 2},
                          Window{2, 4, 8, 2}, Window{3, 0, 4, 2}, Window{3, 2, 6, 2}));
}

TEST(WindowsTest, ShorterOnesMayEndWhereTheLongestDo) {
  // Windows of 4 that score what those of 6 do.
  const std::vector<int64_t> lengths = {9, 6, 7};
  const WindowRule longest{.length = 6, .stride = 2}, shorter{.length = 4, .stride = 2};
  std::vector<Window> found;
  for (size_t d = 0; d < lengths.size(); ++d) {
    for (int64_t n = 0; n < NopeWindowsIn(lengths[d], 2, 6); ++n) found.push_back(NopeWindow(static_cast<int64_t>(d), n, shorter, 6));
  }

  EXPECT_THAT(NopeWindows(lengths, longest), ElementsAre(Window{0, 0, 6, 2}, Window{0, 2, 8, 2}, Window{2, 0, 6, 2}));
  EXPECT_THAT(found, ElementsAre(Window{0, 2, 6, 2}, Window{0, 4, 8, 2}, Window{2, 2, 6, 2}));
}

TEST(WindowsTest, NoWindowBeginsOnceTheBudgetIsSpent) {
  const std::vector<int64_t> lengths = {100, 100};

  EXPECT_EQ(NopeWindows(lengths, {.length = 10, .stride = 4, .most_scored = 8}).size(), 2u);
  EXPECT_EQ(NopeWindows(lengths, {.length = 10, .stride = 4, .most_scored = 9}).size(), 3u);
}

TEST(WindowsTest, YarnScoresEveryTokenOnce) {
  const std::vector<int64_t> lengths = {9, 4, 0};

  EXPECT_THAT(YarnWindows(lengths, {.length = 6, .stride = 2}),
              ElementsAre(Window{0, 0, 6, 6}, Window{0, 2, 8, 2}, Window{0, 4, 9, 1}, Window{1, 0, 4, 4}));
  EXPECT_THAT(YarnWindows(lengths, {.length = 6, .stride = 2, .bos = true}),
              ElementsAre(Window{0, 0, 5, 5}, Window{0, 2, 7, 2}, Window{0, 4, 9, 2}, Window{1, 0, 4, 4}));
}

TEST(WindowsTest, TheFirstTokenIsPredictedOnlyBehindABos) {
  const Window whole{0, 0, 6, 6}, part{0, 2, 8, 2};

  EXPECT_EQ(whole.predicted(false), 5);
  EXPECT_EQ(whole.predicted(true), 6);
  EXPECT_EQ(part.predicted(false), 2);
}

TEST(WindowsTest, WindowsCountAlikeInPerplexity) {
  const std::vector<Window> windows = {{0, 0, 6, 6}, {0, 2, 8, 2}};
  const std::vector<double> losses = {1, 3};

  const Perplexity result = Summarize(windows, losses);

  EXPECT_EQ(result.mean_window_loss, 2);
  EXPECT_EQ(result.perplexity, std::exp(2.0));
  EXPECT_EQ(result.token_weighted_loss, 1.5);
  EXPECT_EQ(result.scored_tokens, 8);
  EXPECT_TRUE(std::isnan(Summarize({}, {}).perplexity));
}

TEST(WindowsTest, RefusesStridesThatDoNotFit) {
  EXPECT_TRUE(Validate(WindowRule{.length = 4, .stride = 4}).ok());
  for (const WindowRule& rule : {WindowRule{.length = 1, .stride = 1}, WindowRule{.length = 4, .stride = 0},
      WindowRule{.length = 4, .stride = 5}}) {
    EXPECT_EQ(Validate(rule).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(NopeWindows(std::vector<int64_t>{4}, {.length = 4, .stride = 1}), IsEmpty());
}

}  // namespace
}  // namespace longreach::trainer
