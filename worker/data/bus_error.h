// What is told of a file of a data set that cannot be read where it is mapped. Such files are read by millions of small steps, for which a call each would be too slow; the
// price is that a file which is cut off meanwhile, or a disk that fails, is no error there but the signal SIGBUS, which ends the process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace longreach::data {

// From now on a line on standard error says which file it was, before SIGBUS does what it does by itself. Once in a process, before any other handler of that signal.
void TellBusErrors();

// A file's bytes lie there now, and do so no more. Of the first 1024 at a time it can be told.
void NoteMapped(std::span<const uint8_t> bytes, const std::filesystem::path& file);
void NoteUnmapped(const uint8_t* begin);

// The file of which a byte lies there, as it may be printed; nullptr: none that is known. May be called by a handler of signals.
const char* MappedFileAt(const void* address);

}  // namespace longreach::data
