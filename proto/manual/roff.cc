#include "proto/manual/roff.h"

#include <cstdint>
#include <cstdio>

#include "proto/base/text.h"
#include "proto/base/utf8.h"

namespace longreach {
namespace {

// The characters of ASCII that roff or its fonts take for something else, or whose names alone are the same in a macro's argument.
std::string_view NameOf(char character) {
  switch (character) {
    case '\\': return "\\e";
    case '-': return "\\-";
    case '\'': return "\\(aq";
    case '`': return "\\(ga";
    case '^': return "\\(ha";
    case '~': return "\\(ti";
    case '"': return "\\(dq";
    default: return {};
  }
}

// A character beyond ASCII by its number: what encoding a page is read in is the reader's choice.
std::string ByNumber(int32_t code_point) {
  char name[16];
  std::snprintf(name, sizeof name, "\\[u%04X]", static_cast<unsigned>(code_point));
  return name;
}

}  // namespace

std::string RoffText(std::string_view text) {
  constexpr int32_t kDelete = 0x7f, kReplacement = 0xfffd;
  std::string out;
  while (!text.empty()) {
    const char first = text.front();
    const int32_t code_point = TakeCodePoint(text);
    if (code_point < 0) {
      out += ByNumber(kReplacement);
    } else if (code_point > kDelete) {
      out += ByNumber(code_point);
    } else if (code_point < ' ' || code_point == kDelete) {
      out += ' ';
    } else if (const std::string_view name = NameOf(first); !name.empty()) {
      out += name;
    } else {
      out += first;
    }
  }
  return out;
}

std::string RoffLine(std::string_view text) {
  // Only at the beginning of a line a '.' makes a request. A '\'', which would too, has been named.
  return Text(text.starts_with('.') ? "\\&" : "", RoffText(text), "\n");
}

std::string RoffMacro(std::string_view macro, std::string_view argument) { return Text(".", macro, " \"", RoffText(argument), "\"\n"); }

std::string RoffBold(std::string_view text) { return Text("\\fB", RoffText(text), "\\fR"); }

std::string RoffItalic(std::string_view text) { return Text("\\fI", RoffText(text), "\\fR"); }

}  // namespace longreach
