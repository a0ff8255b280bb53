// A disk with a cache that loses its content with the power: what was synced is there afterwards; of everything else any part, torn
// at sector boundaries, in any order, or nothing.
//
// Names obey the same rule: making, renaming and removing one is on disk for certain once its folder was synced; before, each of
// these may or may not have happened. A rename is whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/faults/storage/trace.h"

namespace longreach::faults {

class DiskModel {
 public:
  // That was there before the trace.
  void AddFolder(const std::string& path);

  void Apply(const Step& step);

  // Writes what is left after the power went, into `target`, which exists. Pattern 0: nothing that was not synced; 1: all of it; 2: the
  // first part of it, in order; others: any part in any order.
  void LosePower(int pattern, std::mt19937_64& random, const std::filesystem::path& target) const;

 private:
  struct Change {
    bool truncate = false;
    int64_t offset = 0;  // Or the new size.
    std::string bytes = {};
  };
  struct File {
    std::string durable = {};
    std::vector<Change> pending = {};
  };
  struct NameChange {
    std::string path = {};  // Gets the file, or loses its own when `file` is 0.
    int64_t file = 0;
    std::string from = {};  // Of a rename: loses it.
  };
  using Names = std::map<std::string, int64_t>;

  static std::string FolderOf(const std::string& path);
  static void Change_(std::string& content, const Change& change);
  static void ChangeName(Names& names, const NameChange& change);
  int64_t Named(const std::string& path) const;
  std::string Survivor(const File& file, int pattern, std::mt19937_64& random) const;

  std::map<int64_t, File> files_;
  Names names_;                      // On disk.
  std::vector<NameChange> pending_;  // In order.
  std::vector<std::string> folders_;                  // On disk.
  std::vector<std::string> pending_folders_;
};

}  // namespace longreach::faults
