#include "client/output/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <initializer_list>
#include <utility>

#include "proto/base/text.h"
#include "proto/base/utf8.h"

namespace longreach::client {
namespace {

int WidthOf(int32_t point) {
  if (point < 0) return 1;
  const bool combining = (point >= 0x300 && point < 0x370) || point == 0x200b || point == 0x200d ||
                         (point >= 0xfe00 && point < 0xfe10);
  if (combining) return 0;
  const bool wide = (point >= 0x1100 && point < 0x1160) || (point >= 0x2e80 && point < 0xa4d0) ||
                    (point >= 0xac00 && point < 0xd7a4) || (point >= 0xf900 && point < 0xfb00) ||
                    (point >= 0xfe30 && point < 0xfe70) || (point >= 0xff00 && point < 0xff61) ||
                    (point >= 0x1f300 && point < 0x1fb00) || (point >= 0x20000 && point < 0x40000);
  return wide ? 2 : 1;
}

// On the narrowest of terminals.
constexpr int kLeastProse = 16;

size_t EndAtBlank(std::string_view text, size_t at) { return std::min(text.find(' ', at), text.size()); }

// Where the word at `at` ends: behind its last byte, or behind what stands between apostrophes, if it begins so.
size_t EndOfWord(std::string_view text, size_t at) {
  constexpr std::string_view kBefore = "([", kBehind = ".,;:!?)]";
  const size_t open = text.find_first_not_of(kBefore, at);
  const size_t end = EndAtBlank(text, at);
  if (open >= end || text[open] != '\'') return end;
  for (size_t until = end;; until = EndAtBlank(text, until + 1)) {
    const size_t last = text.substr(0, until).find_last_not_of(kBehind);
    if (last > open && text[last] == '\'') return until;
    if (until == text.size()) return end;  // It is an apostrophe.
  }
}

// Words in lines of at most `width` columns, a longer one in a line of its own.
std::vector<std::string> Wrap(std::string_view text, int width, size_t (*end_of_word)(std::string_view text, size_t at)) {
  std::vector<std::string> lines;
  for (size_t at = text.find_first_not_of(' '); at < text.size(); at = text.find_first_not_of(' ', at)) {
    const size_t end = end_of_word(text, at);
    const std::string word(text.substr(at, end - at));
    if (lines.empty() || DisplayWidth(lines.back()) + 1 + DisplayWidth(word) > width) lines.push_back(word);
    else lines.back() += " " + word;
    at = end;
  }
  return lines;
}

std::string WithUnit(double value, double base, std::initializer_list<const char*> units) {
  if (!std::isfinite(value)) return "-";
  const char* const* unit = units.begin();
  while (std::abs(value) >= base && unit + 1 != units.end()) {
    value /= base;
    ++unit;
  }
  const bool whole = unit == units.begin() || std::abs(value) >= 100;
  return whole ? fmt::format("{:.0f} {}", value, *unit) : fmt::format("{:.1f} {}", value, *unit);
}

}  // namespace

size_t PrintableAscii(std::string_view text) {
  return static_cast<size_t>(std::ranges::find_if(text, [](char c) { return c < 0x20 || c >= 0x7f; }) - text.begin());  // Bytes above 0x7f, too.
}

bool IsPlainText(std::string_view text) {
  text.remove_prefix(PrintableAscii(text));
  while (!text.empty()) {
    if (IsControl(TakeCodePoint(text))) return false;
  }
  return true;
}

std::string Printable(std::string_view text, bool keep_lines) {
  const size_t plain = PrintableAscii(text);
  std::string out(text.substr(0, plain));
  if (plain == text.size()) return out;
  return out + Escaped(text.substr(plain), [keep_lines](int32_t point) { return !IsControl(point) || (keep_lines && (point == '\n' || point == '\t')); });
}

int DisplayWidth(std::string_view text) {
  const size_t plain = PrintableAscii(text);
  text.remove_prefix(plain);
  int width = static_cast<int>(plain);
  while (!text.empty()) width += WidthOf(TakeCodePoint(text));
  return width;
}

std::string CutToWidth(std::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  std::string out;
  int used = 0;
  while (!text.empty()) {
    std::string_view rest = text;
    const int next = WidthOf(TakeCodePoint(rest));
    if (used + next > width - 1) break;
    out += text.substr(0, text.size() - rest.size());
    used += next;
    text = rest;
  }
  return width > 0 ? out + "…" : "";
}

std::vector<std::string> WrapWords(std::string_view text, int width) { return Wrap(text, width, EndAtBlank); }

std::string Prose(std::string_view lead, std::string_view text, int width) {
  std::string out(lead);
  const int before = DisplayWidth(lead);
  bool is_first = true;
  for (const std::string& line : Split(text, '\n')) {
    if (!is_first) out += '\n';
    const int indent = is_first ? before : 0;
    is_first = false;
    const bool is_whole = width <= 0 || line.starts_with(' ') || indent + DisplayWidth(line) <= width;
    out += is_whole ? line : Join(Wrap(line, std::max(width - indent, kLeastProse), EndOfWord), "\n" + PadRight("", indent));
  }
  return out;
}

std::string PadRight(std::string_view text, int width) {
  const int missing = width - DisplayWidth(text);
  return std::string(text) + std::string(missing > 0 ? missing : 0, ' ');
}

std::string PadLeft(std::string_view text, int width) {
  const int missing = width - DisplayWidth(text);
  return std::string(missing > 0 ? missing : 0, ' ') + std::string(text);
}

std::string ShownState(std::string_view state) { return state == "leased" ? "running" : Printable(state); }

std::string WithoutMinusOfZero(std::string number) {
  if (number.starts_with('-') && number.find_first_not_of("0.", 1) == std::string::npos) number.erase(0, 1);
  return number;
}

std::string WithSign(std::string number) {
  number = WithoutMinusOfZero(std::move(number));
  const bool has_none = number.starts_with('-') || number == "nan" || number.find_first_not_of("0.") == std::string::npos;
  return has_none ? number : "+" + number;
}

std::string Thousands(int64_t number) {
  std::string digits = fmt::format("{}", number);
  const size_t start = number < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > start + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string HumanDuration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds < 99.5) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<int64_t>(std::min(seconds / 60 + 0.5, 1e12));
  if (minutes < 120) return fmt::format("{} min", minutes);
  if (minutes < 48 * 60) return fmt::format("{} h {} min", minutes / 60, minutes % 60);
  return fmt::format("{} d {} h", Thousands(minutes / (24 * 60)), minutes / 60 % 24);
}

std::string HumanDurationOrLess(double seconds) {
  return seconds >= 0 && seconds < 1 ? "less than a second" : HumanDuration(seconds);
}

std::string HumanBytes(double bytes) {
  return WithUnit(bytes, 1000, {"bytes", "kB", "MB", "GB", "TB", "PB"});
}

std::string HumanFlops(double flops) {
  return WithUnit(flops, 1000,
                  {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP", "ZFLOP", "YFLOP"});
}

std::string HumanRate(double per_second) {
  if (!std::isfinite(per_second) || per_second < 0) return "-";
  if (per_second < 9.995) return fmt::format("{:.2f}", per_second);
  if (per_second < 99.95) return fmt::format("{:.1f}", per_second);
  return Thousands(std::llround(std::min(per_second, 1e18)));
}

std::string HumanTime(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return "-";
  const std::time_t seconds = time.seconds();
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "-";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string ShortId(std::string_view id) { return Printable(id.substr(0, 8)); }

std::string Count(int64_t number, std::string_view singular) {
  return fmt::format("{} {}{}", Thousands(number), singular, number == 1 ? "" : "s");
}

}  // namespace longreach::client
