#include "tests/simulation/store_folder.h"

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "store/store.h"
#include "tests/support/temporary_folder.h"

namespace longreach::simulation {
namespace {

// An empty store, made once: copying it is faster than making its tables for every seed.
const std::string& EmptyStore() {
  static const std::string bytes = [] {
    const testing::TemporaryFolder folder;
    { (void)store::Store::Open((folder / "empty.db").string()); }
    std::ifstream in(folder / "empty.db", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  return bytes;
}

std::filesystem::path NewFolder() {
  static std::atomic<int> count = 0;
  const std::filesystem::path base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
  return base / fmt::format("longreach-simulation-{}-{}", getpid(), ++count);
}

}  // namespace

StoreFolder::StoreFolder() : folder_(NewFolder()) {
  std::filesystem::create_directories(folder_);
  std::ofstream(file(), std::ios::binary) << EmptyStore();
}

StoreFolder::~StoreFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace longreach::simulation
