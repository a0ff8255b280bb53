// Text for people: widths, units, and nothing that a terminal would obey.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longreach::client {

// How many bytes it begins with that are printable ASCII: each is shown as it is, in a column of its own. Mostly these are all, and going through
// a large sweep's texts by their code points takes longer than asking for them.
size_t PrintableAscii(std::string_view text);

// Valid UTF-8 without control characters.
bool IsPlainText(std::string_view text);

// `text` with control characters and broken UTF-8 written as \xNN: names come from files and from the
// network, and a terminal obeys escape sequences. With `keep_lines` line feeds and tabs stay.
std::string Printable(std::string_view text, bool keep_lines = false);

// Columns that a terminal uses for it: one for each code point, two for the wide ones of East Asia, none
// for accents.
int DisplayWidth(std::string_view text);

// At most `width` columns, with "…" at the end when something was cut.
std::string CutToWidth(std::string_view text, int width);

// Its words in lines of at most `width` columns, a longer word in a line of its own.
std::vector<std::string> WrapWords(std::string_view text, int width);

// Prose behind `lead`, in lines of at most `width` columns where that is not 0: the others stand below the beginning of the first. A longer word has a
// line of its own, and so has what stands between apostrophes, which is mostly a command: broken, it could not be copied. What has lines already
// keeps them, and those of them that are indented stay whole. Without a line feed at the end.
std::string Prose(std::string_view lead, std::string_view text, int width);

// Blanks after (or before) the text up to `width` columns.
std::string PadRight(std::string_view text, int width);
std::string PadLeft(std::string_view text, int width);

// A job's state for people, in one word with what 'status' and 'sweeps' count: the contract's "leased" is "running" for them.
std::string ShownState(std::string_view state);

// A number as it is written, without the minus of one that was rounded to zero: "0.0" of "-0.0".
std::string WithoutMinusOfZero(std::string number);
// A difference as it is written, with its sign: "+1.5" of "1.5". One that was rounded to zero has none, whichever side of zero it is on: "0.0".
std::string WithSign(std::string number);

std::string Thousands(int64_t number);      // 1234567 -> "1,234,567"
std::string HumanDuration(double seconds);  // "45 s", "12 min", "3 h 20 min", "2 d 4 h"
// The same, but "less than a second" where that would be 0 s or round up to 1 s.
std::string HumanDurationOrLess(double seconds);
std::string HumanBytes(double bytes);       // "1.2 GB"
std::string HumanFlops(double flops);       // "3.4 PFLOP"
std::string HumanRate(double per_second);   // "0.35", "12.1", "1,204"
std::string HumanTime(
    const google::protobuf::Timestamp& time);  // "2026-11-20 17:18:44Z", or "-" when not set.

// The first 8 digits of an id.
std::string ShortId(std::string_view id);

// "1 job", "2 jobs".
std::string Count(int64_t number, std::string_view singular);

}  // namespace longreach::client
