#include "proto/manual/help_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string_view>
#include <vector>

#include "proto/base/text.h"
#include "proto/base/utf8.h"

namespace longreach {
namespace {

// What descriptions have at least, on the narrowest of terminals.
constexpr int kLeastRoom = 16;

int Columns(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, [](char byte) { return !IsWithinCharacter(byte); }));
}

// In lines of at most `width`, a longer word in a line of its own. What fits stays as it is.
std::vector<std::string> LinesOf(const std::string& text, int width) {
  if (Columns(text) <= width) return {text};
  std::vector<std::string> lines;
  for (const std::string& word : Split(text, ' ')) {
    if (word.empty()) continue;
    if (lines.empty() || Columns(lines.back()) + 1 + Columns(word) > width) lines.push_back(word);
    else lines.back() += " " + word;
  }
  return lines;
}

// Paragraphs with a line that is too wide are filled anew. An indented line is none of a paragraph.
std::string Filled(const std::string& text, int width) {
  std::string out;
  std::vector<std::string> paragraph;
  const auto end_paragraph = [&] {
    const bool fits = std::ranges::all_of(paragraph, [width](const std::string& line) { return Columns(line) <= width; });
    for (const std::string& line : fits ? paragraph : LinesOf(Join(paragraph, " "), width)) out += line + "\n";
    paragraph.clear();
  };
  for (const std::string& line : Split(text, '\n')) {
    if (!line.empty() && line.front() != ' ') {
      paragraph.push_back(line);
      continue;
    }
    end_paragraph();
    out += line + "\n";
  }
  end_paragraph();
  out.pop_back();  // Behind the last line there is an end only if the text had one.
  return out;
}

class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter(size_t column, int width) : width_(width) { column_width(std::min(column, static_cast<size_t>(width * 2 / 5))); }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return Entry(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override { return Entry(command->get_display_name(true), command->get_description()); }
  std::string make_description(const CLI::App* app) const override { return Filled(CLI::Formatter::make_description(app), width_); }
  std::string make_footer(const CLI::App* app) const override { return Filled(CLI::Formatter::make_footer(app), width_); }

 private:
  // A name, and what it is beside it, or below where the name is long.
  std::string Entry(const std::string& name, const std::string& description) const {
    const size_t column = get_column_width();
    std::string out = "  " + name;
    if (description.empty()) return out + "\n";
    if (out.size() < column) out.append(column - out.size(), ' ');
    else out += "\n" + std::string(column, ' ');
    bool is_first = true;
    for (const std::string& part : Split(description, '\n')) {
      for (const std::string& line : LinesOf(part, std::max(width_ - static_cast<int>(column), kLeastRoom))) {
        if (!is_first) out += std::string(column, ' ');
        is_first = false;
        out += line + "\n";
      }
    }
    return out;
  }

  int width_;
};

}  // namespace

std::string HelpText(const CLI::App& program, int width) {
  if (width <= 0) return program.help();
  const CLI::App* command = &program;
  std::string path = program.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  return HelpFormatter(command->get_formatter()->get_column_width(), width).make_help(command, path, CLI::AppFormatMode::Normal);
}

int HelpWidth() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return isatty(STDOUT_FILENO) != 0 ? kUsualHelpWidth : 0;
}

int ExitWithHelp(const CLI::App& program, const CLI::ParseError& asked) {
  const bool of_help = asked.get_name() == "CallForHelp";
  if (of_help) std::cout << HelpText(program, HelpWidth());
  const int code = of_help ? asked.get_exit_code() : program.exit(asked);
  std::cout.flush();
  return std::cout.good() ? code : 1;  // Nobody has read it: a full disk, say.
}

}  // namespace longreach
