#include "client/pause_news.h"

#include <utility>

#include "client/commands/suggestions.h"

namespace longreach::client {

std::string PauseNews::Of(const v1::SweepUpdate& update) {
  if (update.finished()) return "";
  const bool paused = update.sweep().state() == "paused";
  if (std::exchange(paused_, paused) == paused) return "";
  if (paused) return PausedSentence(update.sweep(), session_);
  // Else it was cancelled, which is told at its end.
  return update.sweep().state() == "live" ? "the sweep is resumed, and goes on" : "";
}

}  // namespace longreach::client
