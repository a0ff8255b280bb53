#include "store/artifacts_folder.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "proto/base/sha256.h"
#include "proto/base/shell_word.h"
#include "store/artifact_files.h"
#include "store/database_file.h"
#include "store/identity.h"

namespace longreach::store {
namespace {

// Behind the name of a store file: its folder of artifacts, unless another was named.
constexpr std::string_view kFolderSuffix = ".artifacts";

// A folder might be another store's, whose files would be removed as nobody's. One that was named for itself says whose it is, and of any
// other its name does.
constexpr const char* kNote = "store";

std::filesystem::path Real(std::filesystem::path folder) {
  std::error_code error;
  auto real = std::filesystem::weakly_canonical(std::filesystem::absolute(folder, error), error);
  return error ? folder : real;
}

bool IsFolder(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::vector<std::string> NamesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) names.push_back(entry->path().filename().string());
  return names;
}

// The first thing in a folder that no folder of artifacts has; empty: there is none, or no folder.
std::string ForeignIn(const std::filesystem::path& folder) {
  const auto is_of_hashes = [](const std::string& name) { return name.size() == 2 && name.find_first_not_of("0123456789abcdef") == name.npos; };
  const std::vector<std::string> names = NamesIn(folder);
  for (const std::string& name : names) {
    if (!is_of_hashes(name) && name != "tmp" && name != "inbox" && name != "lost+found") return name;
  }
  if (std::ranges::any_of(names, is_of_hashes)) return "";
  // Nothing but these: others have folders of such names, too.
  for (const std::string& name : NamesIn(folder / "tmp")) {
    if (!ArtifactFiles::IsUnfinishedName(name) && !IsSha256(name)) return "tmp/" + name;
  }
  for (const std::string& name : NamesIn(folder / "inbox")) return "inbox/" + name;
  return "";
}

// What a note says: three lines.
struct Note {
  std::string owner;     // The store's file.
  std::string folder;    // In the copy of a folder the note is the original's.
  std::string identity;  // The store's, which its copies have too. Empty in notes of before schema 8.
};

Note ReadNote(const std::filesystem::path& folder) {
  std::ifstream file(folder / kNote);
  Note note;
  std::getline(file, note.owner);
  std::getline(file, note.folder);
  std::getline(file, note.identity);
  return note;
}

// By the note, that of a copy does not count.
bool IsNoted(const Note& note, const std::filesystem::path& folder) {
  return !note.owner.empty() && (note.folder.empty() || note.folder == folder.string());
}

// The store that the folder belongs to; empty: none that is known.
std::filesystem::path OwnerOf(const std::filesystem::path& folder) {
  if (const Note note = ReadNote(folder); IsNoted(note, folder)) return note.owner;
  const std::string name = folder.string();
  return name.ends_with(kFolderSuffix) ? name.substr(0, name.size() - kFolderSuffix.size()) : "";
}

bool IsOwn(const std::filesystem::path& owner, const std::filesystem::path& store) {
  std::error_code error;
  return owner == store || std::filesystem::equivalent(owner, store, error);
}

// A store that is not there any more (it was moved) counts for nothing.
bool IsOfAnother(const std::filesystem::path& owner, const std::filesystem::path& store) {
  std::error_code error;
  return !IsOwn(owner, store) && std::filesystem::is_regular_file(owner, error);
}

// Of the row, which stores of before schema 8 do not have.
absl::StatusOr<std::string> FolderInRow(sql::Connection& db) {
  ASSIGN_OR_RETURN(const int64_t has, db.One<int64_t>("SELECT count(*) FROM pragma_table_info('identity') WHERE name = 'artifacts'"));
  if (has == 0) return std::string();
  return db.One<std::string>("SELECT artifacts FROM identity");
}

// The folder says by itself that it is this store's. A row alone proves nothing: the file may have come by mail, and in a folder of artifacts
// what is half-written is removed.
bool Agrees(const Note& note, const std::string& identity) { return !identity.empty() && note.identity == identity; }

// `to_own`: files will be removed from it, so it must not be that of another store now, with the same identity as a copy of this one.
absl::StatusOr<std::filesystem::path> FollowRow(const std::filesystem::path& named, const std::filesystem::path& store, bool to_own, sql::Connection& db) {
  ASSIGN_OR_RETURN(const std::string identity, Identity(db));
  const Note note = ReadNote(named);
  const bool is_of_another = IsNoted(note, named) && IsOfAnother(note.owner, store);
  if (IsNoted(note, named) && Agrees(note, identity) && !(to_own && is_of_another)) return named;
  const std::filesystem::path beside = Real(FolderBeside(store));
  if (Agrees(ReadNote(beside), identity)) return beside;
  return absl::FailedPreconditionError(
      fmt::format("the artifacts of the store '{}' are in '{}', {} Start 'longreach-scheduler --store {} --artifacts FOLDER' once with the folder that they are in now, "
                  "or put that beside the store as '{}'",
                  store.string(), named.string(),
                  is_of_another ? fmt::format("which belongs to the store '{}'.", note.owner) : "where no folder of this store is now: is its disk mounted?", ShellWord(store.string()),
                  FolderBeside(store).string()));
}

}  // namespace

std::filesystem::path FolderBeside(const std::filesystem::path& store) { return store.string() + std::string(kFolderSuffix); }

absl::StatusOr<ArtifactsFolder> FindFolder(const std::filesystem::path& given, const std::filesystem::path& store, sql::Connection* db) {
  const std::filesystem::path beside = Real(FolderBeside(store));
  ArtifactsFolder folder{.path = given.empty() ? beside : Real(given)};
  if (given.empty() && db != nullptr) {
    ASSIGN_OR_RETURN(const std::string named, FolderInRow(*db));
    if (!named.empty()) {
      ASSIGN_OR_RETURN(folder.path, FollowRow(named, store, /*to_own=*/true, *db));
    }
  }
  folder.beside = folder.path == beside;
  std::error_code error;
  if (std::filesystem::exists(folder.path, error) && !IsFolder(folder.path)) {
    return absl::FailedPreconditionError(fmt::format("the artifacts folder '{}' is a file; name a folder with --artifacts", folder.path.string()));
  }
  const std::filesystem::path owner = OwnerOf(folder.path);
  const bool has_note = std::filesystem::exists(folder.path / kNote, error);
  if (IsOfAnother(owner, store)) {
    return absl::FailedPreconditionError(fmt::format("the artifacts folder '{}' belongs to the store '{}', and '{}' would remove its files; name another folder "
                                                     "with --artifacts{}",
                                                     folder.path.string(), owner.string(), store.string(),
                                                     has_note ? fmt::format(", or remove '{}' if that is wrong", (folder.path / kNote).string()) : ""));
  }
  // What is half-written is removed from it, under names that others have, too: "tmp".
  if (!given.empty() && !folder.beside && !has_note) {
    if (const std::string foreign = ForeignIn(folder.path); !foreign.empty()) {
      return absl::FailedPreconditionError(fmt::format("the folder '{}' is no artifacts folder: it has '{}', which is none of a store's; name a new or an empty one with --artifacts",
                                                       folder.path.string(), foreign));
    }
  }
  // The files of a store that is gone count: a new store would come to need some of them, and remove them when it does not any more.
  if (db == nullptr && ArtifactFiles::OfOtherStore(folder.path)->HasAny()) {
    return absl::FailedPreconditionError(fmt::format("there is no store '{}', but files of one in its artifacts folder '{}'; if that store was moved, move the folder too "
                                                     "(NAME{}); if it was removed, remove the folder too",
                                                     store.string(), folder.path.string(), kFolderSuffix));
  }
  // A folder that has its name of the store needs no note, unless it has one, of a place where it lay before.
  folder.noted = !folder.beside || (!given.empty() && !IsOwn(owner, store)) || has_note;
  return folder;
}

// A folder that is there and has nothing in it, while the store names files in it, is most likely where a disk is to be mounted: jobs would begin
// anew, and their checkpoints would be forgotten. So is one that is not there and was named before: whoever keeps a scheduler names it at every
// start, and does not say by it that the files are to be done without.
absl::Status RefuseUnmounted(const ArtifactsFolder& folder, const std::filesystem::path& store, sql::Connection& db) {
  ASSIGN_OR_RETURN(const std::string before, FolderInRow(db));
  std::error_code error;
  const bool is_there = IsFolder(folder.path);
  const bool is_away = !is_there && before == folder.path.string();
  if (!is_away && !(is_there && std::filesystem::is_empty(folder.path, error))) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t named, db.One<int64_t>("SELECT EXISTS (SELECT 1 FROM artifacts)"));
  if (named == 0) return absl::OkStatus();
  const std::string_view how = folder.beside ? "remove the empty folder" : is_away ? "name another one with --artifacts" : "name one with --artifacts that is not there yet";
  return absl::FailedPreconditionError(fmt::format("the artifacts folder '{}' is {}, and the store '{}' has files there: is its disk mounted? To go on without them, {}",
                                                   folder.path.string(), is_away ? "not there" : "empty", store.string(), how));
}

absl::Status KeepFolder(const ArtifactsFolder& folder, const std::filesystem::path& store, sql::Connection& db) {
  if (folder.noted) {
    ASSIGN_OR_RETURN(const std::string identity, Identity(db));
    const std::string text = fmt::format("{}\n{}\n{}\n", store.string(), folder.path.string(), identity);
    std::error_code error;
    std::filesystem::create_directories(folder.path, error);
    std::ifstream in(folder.path / kNote);
    const std::string before(std::istreambuf_iterator<char>(in), {});
    if (before != text) {
      std::ofstream out(folder.path / kNote, std::ios::trunc);
      out << text;
      out.close();
      if (!out) return absl::FailedPreconditionError(fmt::format("cannot write '{}'; name another folder with --artifacts", (folder.path / kNote).string()));
    }
  }
  const std::string row = folder.beside ? "" : folder.path.string();
  ASSIGN_OR_RETURN(const std::string before, FolderInRow(db));
  if (row == before) return absl::OkStatus();
  return db.Run("UPDATE identity SET artifacts = ?", row).status();
}

absl::StatusOr<std::filesystem::path> FolderToRead(const std::filesystem::path& store, sql::Connection& db) {
  ASSIGN_OR_RETURN(const std::string named, FolderInRow(db));
  if (named.empty()) return FolderBeside(store);
  return FollowRow(named, store, /*to_own=*/false, db);
}

absl::Status ForgetFolder(sql::Connection& db) {
  ASSIGN_OR_RETURN(const std::string named, FolderInRow(db));
  if (named.empty()) return absl::OkStatus();
  return db.Run("UPDATE identity SET artifacts = ''").status();
}

}  // namespace longreach::store
