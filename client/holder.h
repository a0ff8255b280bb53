// Who has a store that this command wants: whether its scheduler is there, and whose it is.
#pragma once

#include <string>

namespace longreach::client {

// Whether somebody takes connections at "unix:PATH".
bool Listens(const std::string& address);

// "'longreach store check --store b1.db' (process 1234)": the command of this machine whose own scheduler listens at "unix:PATH". Empty where that is none, or
// the system does not say.
std::string CommandAt(const std::string& address);

}  // namespace longreach::client
