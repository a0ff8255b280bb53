// What is said of a merge that takes long: how far it is, now and then.
#pragma once

#include <functional>
#include <string>

#include "proto/base/clock.h"
#include "store/maintenance.h"

namespace longreach::service {

// "merging 'other.db': 512 of 1024 MB of files are here", and the same of jobs: at most every ten seconds, and of a merge that ends before that nothing.
// It keeps when it has said something last, so it is to be passed on by reference. `clock` outlives it.
store::TellMerge SayingHowFar(const Clock& clock, const std::string& path, std::function<void(const std::string&)> say);

}  // namespace longreach::service
