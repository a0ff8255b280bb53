// What the agent's ways of starting programs have in common.
#pragma once

#include <string>
#include <vector>

namespace longreach::agent {

// This process's environment, with `more` ("NAME=VALUE") in place of variables of the same names.
std::vector<std::string> EnvironmentWith(const std::vector<std::string>& more);

// As execve() takes them, for as long as `words` are not changed.
std::vector<char*> Pointers(std::vector<std::string>& words);

// Of what waitpid() says: "ended with exit code 1", "killed by SIGSEGV".
std::string HowItEnded(int status);

}  // namespace longreach::agent
