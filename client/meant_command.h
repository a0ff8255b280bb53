// Which command is meant by a word that is none.
#pragma once

#include <CLI/CLI.hpp>

#include <span>
#include <string>
#include <string_view>

namespace longreach::client {

// What other programs call something, and our command for it.
struct ForeignWord {
  std::string_view word;
  std::string_view answer;
};

std::span<const ForeignWord> ForeignWords();

// What to write in place of `word`, which is no command of `root`: it is another program's word, or a command below one of ours ("merge"). A
// part of a hint, or "".
std::string CommandMeant(const CLI::App& root, std::string_view word);

// The same of a `word` that is none below one of them, as of 'list': it is a command of `root` itself ("sweeps").
std::string CommandAbove(const CLI::App& root, std::string_view word);

}  // namespace longreach::client
