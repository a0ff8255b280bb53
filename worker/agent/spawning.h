// What starting a program takes.
#pragma once

#include <string>
#include <vector>

namespace longreach::agent {

// As execve() takes them, for as long as `words` are not changed.
std::vector<char*> Pointers(std::vector<std::string>& words);

// Of what waitpid() says: "ended with exit code 1", "killed by SIGSEGV".
std::string HowItEnded(int status);

}  // namespace longreach::agent
