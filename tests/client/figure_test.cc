// Figures: what is drawn where, and files that are not what they should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "client/figure/attention_figure.h"
#include "client/figure/attention_series.h"
#include "client/figure/entropy_series.h"
#include "client/figure/png.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

using Share = std::function<float(int layer, int query, int key)>;

nlohmann::json Header(int layers, int tape, int length) {
  const size_t bytes = static_cast<size_t>(layers) * static_cast<size_t>(tape) * static_cast<size_t>(tape) * sizeof(float);
  nlohmann::json header;
  header["__metadata__"] = {{"heads", "8"}, {"step", "12"}};
  header["attention/" + std::to_string(length)] = {{"dtype", "F32"}, {"shape", {layers, tape, tape}}, {"data_offsets", {0, bytes}}};
  return header;
}

std::string File(const nlohmann::json& header, const std::string& payload) {
  const std::string text = header.dump();
  const uint64_t size = text.size();
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes + text + payload;
}

std::string Payload(int layers, int tape, const Share& share) {
  std::string bytes;
  for (int layer = 0; layer < layers; ++layer) {
    for (int query = 0; query < tape; ++query) {
      for (int key = 0; key < tape; ++key) {
        const float value = share(layer, query, key);
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
      }
    }
  }
  return bytes;
}

AttentionSeries Series(int layers, int tape, const Share& share) {
  absl::StatusOr<AttentionSeries> series = AttentionSeries::Parse(File(Header(layers, tape, 7), Payload(layers, tape, share)), 7);
  EXPECT_TRUE(series.ok()) << series.status();
  return *std::move(series);
}

// The rectangle of pixels that show levels of the colour map, above the legend.
struct Box {
  int left = 1 << 30, top = 1 << 30, right = -1, bottom = -1;
};
Box PanelOf(const Canvas& canvas) {
  Box box;
  for (int y = 0; y < canvas.height() - 40; ++y) {
    for (int x = 0; x < canvas.width(); ++x) {
      if (canvas.At(x, y) >= kLevels) continue;
      box = {std::min(box.left, x), std::min(box.top, y), std::max(box.right, x), std::max(box.bottom, y)};
    }
  }
  return box;
}

TEST(AttentionSeriesTest, ReadsWhatTheWorkerWrites) {
  const AttentionSeries series = Series(2, 3, [](int layer, int query, int key) {
    return static_cast<float>(layer) * 0.5f + static_cast<float>(query) * 0.1f + static_cast<float>(key) * 0.01f;
  });
  EXPECT_EQ(series.layers(), 2);
  EXPECT_EQ(series.tape(), 3);
  EXPECT_EQ(series.heads(), "8");
  EXPECT_FLOAT_EQ(series.At(1, 2, 1), 0.71f);
}

TEST(AttentionSeriesTest, RefusesWhatDoesNotFitTogether) {
  const std::string payload = Payload(1, 2, [](int, int, int) { return 0.5f; });
  const auto refused = [&](nlohmann::json header, const std::string& bytes) {
    const absl::StatusOr<AttentionSeries> series = AttentionSeries::Parse(File(header, bytes), 7);
    EXPECT_FALSE(series.ok());
    return std::string(series.status().message());
  };
  EXPECT_THAT(refused(Header(1, 2, 8), payload), HasSubstr("no attention matrices of length 7"));
  EXPECT_THAT(refused(Header(1, 2, 7), payload.substr(1)), HasSubstr("lies outside of the file"));
  EXPECT_THAT(refused(Header(1, 2, 7), Payload(1, 2, [](int, int, int) { return 2.0f; })), HasSubstr("is no share"));
  EXPECT_THAT(refused(Header(1, 2, 7), Payload(1, 2, [](int, int, int) { return std::nanf(""); })), HasSubstr("is no share"));
  for (const auto& [key, value] : std::vector<std::pair<std::string, nlohmann::json>>{{"shape", {1, 2, 3}},
                                                                                      {"shape", {1 << 20, 1 << 20, 1 << 20}},
                                                                                      {"shape", {0, 2, 2}},
                                                                                      {"shape", {-1, 2, 2}},
                                                                                      {"shape", "1 2 2"},
                                                                                      {"dtype", "F64"},
                                                                                      {"data_offsets", {16, 0}},
                                                                                      {"data_offsets", {4, 20}},
                                                                                      {"data_offsets", {0}}}) {
    nlohmann::json header = Header(1, 2, 7);
    header["attention/7"][key] = value;
    EXPECT_THAT(refused(header, payload), HasSubstr("cannot be read")) << key << " " << value;
  }
  for (const std::string& bytes : {std::string(), std::string("12345678"), std::string("\x02\0\0\0\0\0\0\0{]", 10)}) {
    EXPECT_EQ(AttentionSeries::Parse(bytes, 7).status().code(), absl::StatusCode::kDataLoss);
  }
}

// Of two layers of one head in three bins.
nlohmann::json EntropyHeader() {
  nlohmann::json header;
  header["__metadata__"] = {{"bin_width", "128"}};
  header["attention_entropy"] = {{"dtype", "F64"}, {"shape", {2, 1, 3}}, {"data_offsets", {0, 48}}};
  return header;
}

std::string SixDoubles() {
  std::string bytes;
  for (const double value : {0.5, 1.5, 2.5, 3.5, 4.5, 5.5}) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

TEST(EntropySeriesTest, ReadsWhatTheWorkerWrites) {
  const absl::StatusOr<EntropySeries> series = EntropySeries::Parse(File(EntropyHeader(), SixDoubles()));
  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_EQ(series->layers(), 2);
  EXPECT_EQ(series->heads(), 1);
  EXPECT_EQ(series->bins(), 3);
  EXPECT_EQ(series->bin_width(), 128);
  EXPECT_EQ(series->At(0, 0, 0), 0.5);
  EXPECT_EQ(series->At(1, 0, 2), 5.5);
}

TEST(EntropySeriesTest, RefusesWhatDoesNotFitTogether) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, nlohmann::json>>{
           {"dtype", "I64"}, {"shape", {2, 3}}, {"shape", {2, 1, 4}}, {"shape", {0, 1, 3}}, {"data_offsets", {8, 56}}}) {
    nlohmann::json header = EntropyHeader();
    header["attention_entropy"][key] = value;
    const absl::Status refused = EntropySeries::Parse(File(header, SixDoubles())).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << key << " " << value;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("cannot be read"));
  }
  for (const char* const width : {"0", "-1", "12.5", "", "4611686018427387904"}) {
    nlohmann::json header = EntropyHeader();
    header["__metadata__"]["bin_width"] = width;
    EXPECT_EQ(EntropySeries::Parse(File(header, SixDoubles())).status().code(), absl::StatusCode::kDataLoss) << width;
  }
  // Attention matrices are another file.
  EXPECT_EQ(EntropySeries::Parse(File(Header(1, 2, 7), Payload(1, 2, [](int, int, int) { return 0.5f; }))).status().code(), absl::StatusCode::kNotFound);
}

TEST(AttentionFigureTest, QueriesGoDownwardsAndKeysToTheRight) {
  const AttentionSeries series = Series(1, 4, [](int, int query, int key) { return query == 3 && key == 1 ? 1.0f : 0.0f; });

  const Canvas canvas = DrawAttention(series, {.title = "a figure", .most = 1.0});

  const Box panel = PanelOf(canvas);
  const int pair = (panel.right - panel.left + 1) / 4;
  ASSERT_EQ(panel.bottom - panel.top + 1, 4 * pair);
  for (int query = 0; query < 4; ++query) {
    for (int key = 0; key < 4; ++key) {
      const int expected = query == 3 && key == 1 ? kLevels - 1 : 0;
      EXPECT_EQ(canvas.At(panel.left + key * pair + pair / 2, panel.top + query * pair + pair / 2), expected) << query << " " << key;
    }
  }
}

TEST(AttentionFigureTest, OfALongTapeAPixelShowsTheLargestOfItsPairs) {
  const AttentionSeries series = Series(1, 1024, [](int, int query, int key) { return query == 700 && key == 701 ? 1.0f : 0.25f; });

  const Canvas canvas = DrawAttention(series, {.title = "", .most = 1.0});

  const Box panel = PanelOf(canvas);
  EXPECT_EQ(panel.right - panel.left + 1, 512);
  EXPECT_EQ(canvas.At(panel.left + 350, panel.top + 350), kLevels - 1);
  EXPECT_EQ(canvas.At(panel.left + 351, panel.top + 350), LevelOf(0.25));
}

TEST(AttentionFigureTest, APanelsOwnScaleLeavesOutTheFewThatAreFarBeyond) {
  // As of a decoder: the first token has only itself to look at.
  const AttentionSeries series = Series(1, 64, [](int, int query, int key) { return query + key == 0 ? 1.0f : key > query ? 0.0f : 0.01f; });

  const Canvas canvas = DrawAttention(series, {.title = ""});

  const Box panel = PanelOf(canvas);
  EXPECT_EQ(canvas.At(panel.left + 4, panel.bottom - 4), kLevels - 1);  // 0.01 is the end of the scale.
  EXPECT_EQ(canvas.At(panel.right - 4, panel.top + 4), 0);
}

TEST(AttentionFigureTest, ManyLayersFitIntoOneFigure) {
  const Canvas canvas = DrawAttention(Series(100, 2, [](int, int, int) { return 0.5f; }), {.title = "many"});
  EXPECT_LT(canvas.width(), 2000);
  EXPECT_LT(canvas.height(), 10'000);
}

// How light a colour looks: L* of CIELAB.
double Lightness(const Color& color) {
  const auto linear = [](uint8_t channel) {
    const double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  const double y = 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
  return 116 * std::cbrt(y) - 16;
}

TEST(PaletteTest, EqualStepsLookEqual) {
  const std::vector<Color> palette = Palette();
  ASSERT_EQ(palette.size(), 252u);
  const double first = Lightness(palette[0]), last = Lightness(palette[kLevels - 1]);
  EXPECT_LT(first, 20);
  EXPECT_GT(last, 85);
  for (int level = 1; level < kLevels; ++level) {
    const double even = first + (last - first) * level / (kLevels - 1);
    EXPECT_NEAR(Lightness(palette[static_cast<size_t>(level)]), even, 3) << level;
    EXPECT_GE(Lightness(palette[static_cast<size_t>(level)]), Lightness(palette[static_cast<size_t>(level - 1)]) - 0.1) << level;
  }
}

TEST(CanvasTest, LettersAreDrawnWhereTheyBelongAndNothingOutside) {
  Canvas canvas(40, 12);
  canvas.Text(2, 1, "l1", 1);
  canvas.Text(37, 1, "mm", 1);
  canvas.Text(-3, -3, "x", 1);
  int black = 0;
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) black += canvas.At(x, y) == kBlack ? 1 : 0;
  }
  EXPECT_GT(black, 15);
  EXPECT_EQ(canvas.At(4, 1), kBlack);   // The stem of the l.
  EXPECT_EQ(canvas.At(2, 5), kWhite);
}

TEST(PngTest, TheSameDrawingGivesTheSameBytes) {
  Canvas canvas(20, 10);
  canvas.Fill(3, 3, 5, 5, LevelOf(0.5));
  const absl::StatusOr<std::string> once = EncodePng(canvas, {{"Title", "a figure"}}), again = EncodePng(canvas, {{"Title", "a figure"}});
  ASSERT_TRUE(once.ok()) << once.status();
  EXPECT_EQ(*once, *again);
  EXPECT_EQ(once->substr(1, 3), "PNG");
  EXPECT_THAT(*once, HasSubstr("a figure"));
}

}  // namespace
}  // namespace longreach::client
