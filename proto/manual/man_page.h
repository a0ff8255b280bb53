// Manual pages of a program, made of its options as its --help is: there is no second text that could say something else.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace longreach {

struct ManPage {
  // As `man` is told: "longreach-run".
  std::string name;
  // In roff, with the macros of man(7). Of the same program and environment always the same bytes: no page has a date.
  std::string text;
};

// The page of a program or of a command of it, with all that is below it. `see_also` are names of other pages, all of section 1.
ManPage ManPageOf(const CLI::App& app, const std::vector<std::string>& see_also);

// The page of a program that only lists its commands, and a page for each of them, as git has them: `man longreach run` finds its own.
std::vector<ManPage> ManPagesOf(const CLI::App& program, const std::vector<std::string>& see_also);

// Has `program --man` print its page. Not in the --help: it is for who installs the program. `program` must outlive the parsing.
void AddManFlag(CLI::App& program, const std::vector<std::string>& see_also);

}  // namespace longreach
