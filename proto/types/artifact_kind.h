// What a file is that an attempt leaves: the words of v1::UploadHeader::kind, of v1::Input::artifact and of the table `artifacts`.
#pragma once

#include <optional>
#include <string_view>

namespace longreach {

enum class ArtifactKind { kCheckpoint, kWeights, kLog, kSeries, kFigure };
std::string_view Word(ArtifactKind kind);  // "checkpoint", "weights", "log", "series", "figure".
std::optional<ArtifactKind> ParseArtifactKind(std::string_view word);

// Both are asked of what was parsed: a word of another version, nothing, is neither.

// Without its file a result is not handed in. Without a checkpoint some steps are made again, without a log nothing is wrong.
bool IsOfAResult(std::optional<ArtifactKind> kind);
// Parameters are those of a whole pack, a row for each member; other files are of one job, or of the pack as one.
bool HasMemberAxis(std::optional<ArtifactKind> kind);

}  // namespace longreach
