// News as a program is told of them (notifier.h): one line of JSON, and the same few in its environment.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/clock.h"
#include "scheduler/service/news.h"

namespace longreach::service {

// {"schema":"longreach/v1","event":"sweep_done","time":"2026-01-31T12:00:00Z","text":...,"sweep":...,"name":...,"jobs":...,...} and the end of the line.
// What the event does not have is left out. `news` has a notice.
std::string NoticeLine(const News& news, WallTime at);

// `inherited`, "NAME=value", and with it LONGREACH_EVENT, LONGREACH_TEXT, LONGREACH_SWEEP and LONGREACH_NAME in place of any that it has; empty where the
// event has none. Names are their users': in these a control character is a blank.
std::vector<std::string> NoticeEnvironment(const News& news, std::span<const std::string> inherited);

}  // namespace longreach::service
