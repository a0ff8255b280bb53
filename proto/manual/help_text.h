// The --help of a program as a terminal shows it: no line is wider than that, where the parser's own are as long as their texts.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace longreach {

// Of the program, or of the command of it that was parsed, in lines of `width`. Names of options keep their column as far as there is room beside it.
// Examples stay as they are, to be copied. 0: as the parser writes it, which is what files and programs are given.
std::string HelpText(const CLI::App& program, int width);

// Of a terminal that does not say how wide it is.
inline constexpr int kUsualHelpWidth = 80;

// Columns of the terminal that standard output is; 0: it is none.
int HelpWidth();

// Ends a program whose parser was asked for --help or --version: prints it, and gives the exit code.
int ExitWithHelp(const CLI::App& program, const CLI::ParseError& asked);

}  // namespace longreach
