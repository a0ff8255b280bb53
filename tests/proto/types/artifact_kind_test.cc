#include "proto/types/artifact_kind.h"

#include <gtest/gtest.h>

namespace longreach {
namespace {

using enum ArtifactKind;

constexpr ArtifactKind kKinds[] = {kCheckpoint, kWeights, kLog, kSeries, kFigure};

TEST(ArtifactKindTest, WordsReadBackAndOthersAreNone) {
  for (const ArtifactKind kind : kKinds) EXPECT_EQ(ParseArtifactKind(Word(kind)), kind);
  EXPECT_EQ(Word(kCheckpoint), "checkpoint");
  EXPECT_EQ(Word(kFigure), "figure");
  EXPECT_FALSE(ParseArtifactKind("").has_value());
  EXPECT_FALSE(ParseArtifactKind("Weights").has_value());
}

TEST(ArtifactKindTest, AResultNeedsItsWeightsAndSeriesAlone) {
  for (const ArtifactKind kind : kKinds) {
    EXPECT_EQ(IsOfAResult(kind), kind == kWeights || kind == kSeries) << Word(kind);
  }
  EXPECT_FALSE(IsOfAResult(ParseArtifactKind("of a later version")));
}

TEST(ArtifactKindTest, ParametersAloneAreOfAWholePack) {
  for (const ArtifactKind kind : kKinds) {
    EXPECT_EQ(HasMemberAxis(kind), kind == kWeights || kind == kCheckpoint) << Word(kind);
  }
  EXPECT_FALSE(HasMemberAxis(ParseArtifactKind("of a later version")));
}

}  // namespace
}  // namespace longreach
