// Text as roff, the language of manual pages: it comes out as it is, and nothing of it is taken for a request.
#pragma once

#include <string>
#include <string_view>

namespace longreach {

// Text within a line, or in a macro's argument. '-' and quotes are written so that what somebody copies from the page is what a shell
// takes: by themselves roff makes a hyphen and curved quotes of them. A control character, and so the end of a line, becomes a blank.
std::string RoffText(std::string_view text);

// A line of text, or of an example, with its end.
std::string RoffLine(std::string_view text);

// `.MACRO "ARGUMENT"`, a heading for example.
std::string RoffMacro(std::string_view macro, std::string_view argument);

// In bold or italics.
std::string RoffBold(std::string_view text);
std::string RoffItalic(std::string_view text);

}  // namespace longreach
