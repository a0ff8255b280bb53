// A folder with an empty store in it, as long as this lives. It lies in memory (/dev/shm) where that can be.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "store/identity.h"
#include "store/store.h"
#include "tests/support/temporary_folder.h"

namespace longreach::store {

// The file of an empty store of the newest version. Its tables are made once in a process, as migrations make them: copying it is much faster.
// Each one that is asked for has an identity of its own, which stands in the file as text. Empty where no store can be made: who opens it sees why.
inline std::string EmptyStore() {
  struct Made {
    std::string bytes;
    std::string identity;
  };
  static const Made made = [] {
    const longreach::testing::TemporaryFolder folder;
    Made one;
    if (const auto store = Store::Open((folder / "empty.db").string()); store.ok()) one.identity = Identity((*store)->writer_connection()).value_or("");
    std::ifstream in(folder / "empty.db", std::ios::binary);
    one.bytes.assign(std::istreambuf_iterator<char>(in), {});
    return one;
  }();
  std::string bytes = made.bytes;
  const size_t at = made.identity.empty() ? std::string::npos : bytes.find(made.identity);
  if (at == std::string::npos) return {};
  std::random_device random;
  std::string drawn;
  while (drawn.size() < made.identity.size()) drawn += "0123456789abcdef"[random() % 16];
  return bytes.replace(at, drawn.size(), drawn);
}

class StoreFolder {
 public:
  StoreFolder() { std::ofstream(file(), std::ios::binary) << EmptyStore(); }

  std::filesystem::path file() const { return folder_ / "store.db"; }

 private:
  const longreach::testing::TemporaryFolder folder_{longreach::testing::InMemory()};
};

}  // namespace longreach::store
