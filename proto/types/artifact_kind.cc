#include "proto/types/artifact_kind.h"

#include <algorithm>
#include <array>

namespace longreach {
namespace {

// As the schema's CHECK has them.
constexpr std::array<std::string_view, 5> kWords = {"checkpoint", "weights", "log", "series", "figure"};

}  // namespace

std::string_view Word(ArtifactKind kind) { return kWords[static_cast<size_t>(kind)]; }

std::optional<ArtifactKind> ParseArtifactKind(std::string_view word) {
  const auto found = std::ranges::find(kWords, word);
  if (found == kWords.end()) return std::nullopt;
  return static_cast<ArtifactKind>(found - kWords.begin());
}

bool IsOfAResult(std::optional<ArtifactKind> kind) { return kind == ArtifactKind::kWeights || kind == ArtifactKind::kSeries; }

bool HasMemberAxis(std::optional<ArtifactKind> kind) { return kind == ArtifactKind::kWeights || kind == ArtifactKind::kCheckpoint; }

}  // namespace longreach
