#include "tests/faults/storage/faulty_memory.h"

#include <sqlite3.h>

#include <cstdlib>

#include "tests/faults/storage/injector.h"

namespace longreach::faults {
namespace {

sqlite3_mem_methods real;

void* Malloc(int bytes) { return Strike(Layer::kMemory) ? nullptr : real.xMalloc(bytes); }
void* Realloc(void* old, int bytes) { return Strike(Layer::kMemory) ? nullptr : real.xRealloc(old, bytes); }

}  // namespace

void UseFaultyMemory() {
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real) != SQLITE_OK) std::abort();
  sqlite3_mem_methods ours = real;
  ours.xMalloc = Malloc;
  ours.xRealloc = Realloc;
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &ours) != SQLITE_OK) std::abort();
  if (sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK) std::abort();
}

}  // namespace longreach::faults
