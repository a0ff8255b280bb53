// A folder with an empty store in it, as long as this lives. It lies in memory (/dev/shm) where that can be.
#pragma once

#include <filesystem>

namespace longreach::simulation {

class StoreFolder {
 public:
  StoreFolder();
  ~StoreFolder();
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;

  std::filesystem::path file() const { return folder_ / "store.db"; }

 private:
  const std::filesystem::path folder_;
};

}  // namespace longreach::simulation
