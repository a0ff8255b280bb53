// Which list of a sweep's jobs holds.
#pragma once

namespace longreach::client {

// A system's own stands for the sweep's; an empty one says nothing.
template <typename List>
const List& OwnListOr(const List& own, const List& sweeps) {
  return own.empty() ? sweeps : own;
}

}  // namespace longreach::client
