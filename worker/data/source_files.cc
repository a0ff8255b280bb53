#include "worker/data/source_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "proto/base/text.h"
#include "worker/data/files.h"

namespace longreach::data {
namespace {

constexpr size_t kMostLeftOut = 1000;

// What a file that begins so was packed with, so that its bytes are not the text's; "" of others.
std::string_view PackedBy(std::string_view beginning) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"\x1F\x8B", "gzip"}, {"BZh", "bzip2"}, {"\xFD" "7zXZ", "xz"}, {"\x28\xB5\x2F\xFD", "zstd"}, {"PAR1", "Parquet"}};
  for (const auto& [begin, kind] : kKinds) {
    if (beginning.starts_with(begin)) return kind;
  }
  return "";
}

absl::Status RefusePacked(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const std::string beginning, ReadBeginning(file, kTextHead));
  const std::string_view kind = PackedBy(beginning);
  if (kind.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} is a file of {}, not a text; unpack it, and import what was in it", file.string(), kind));
}

// Why a file of a folder is left out; "" where it is taken. The words go on in a line: "c.txt (a zero byte; UTF-16?)". Links to files are followed:
// the folders of Hugging Face's cache have nothing else.
absl::StatusOr<std::string_view> WhyLeftOut(const std::filesystem::directory_entry& entry, std::string_view also) {
  std::error_code ignored;  // What cannot be looked at is no regular file either.
  if (entry.is_symlink(ignored) && entry.is_directory(ignored)) return "a link to a folder";
  if (entry.is_symlink(ignored) && !entry.exists(ignored)) return "a link to nothing";
  if (!entry.is_regular_file(ignored)) return "not a regular file";
  ASSIGN_OR_RETURN(const std::string beginning, ReadBeginning(entry.path(), kTextHead));
  if (!also.empty() && beginning.starts_with(also)) return "";
  if (const std::string_view kind = PackedBy(beginning); !kind.empty()) return kind;
  if (beginning.find('\0') == beginning.npos) return "";
  return IsZip(entry.path()) ? "zip" : "a zero byte; UTF-16?";
}

// What is below a folder and not hidden, ascending by path.
struct FolderOfTexts {
  std::vector<std::filesystem::path> texts;
  std::vector<std::pair<std::filesystem::path, std::string>> others;  // With the reason.

  // "b.txt.gz (gzip)": the path from this folder on, or all of it where none is given.
  std::vector<std::string> OthersFrom(const std::filesystem::path& folder) const {
    std::vector<std::string> named;
    for (const auto& [path, why] : others) named.push_back(fmt::format("{} ({})", folder.empty() ? path.string() : path.lexically_relative(folder).string(), why));
    return named;
  }
};

// Leaves out links to files that `found` has anyway, themselves or through a link before. The texts are sorted.
absl::Status LeaveOutLinksAgain(const std::filesystem::path& folder, FolderOfTexts& found) {
  std::map<std::filesystem::path, std::filesystem::path> taken;  // By where they lie.
  std::set<std::filesystem::path> again;
  for (const bool links : {false, true}) {
    for (const std::filesystem::path& text : found.texts) {
      std::error_code error;
      if (std::filesystem::is_symlink(text, error) != links) continue;
      const std::filesystem::path real = std::filesystem::canonical(text, error);
      if (error) return SystemError("open", text, error.value());
      const auto [first, added] = taken.emplace(real, text);
      if (added || !links) continue;
      found.others.emplace_back(text, fmt::format("{} again", first->second.lexically_relative(folder).string()));
      again.insert(text);
    }
  }
  std::erase_if(found.texts, [&again](const std::filesystem::path& text) { return again.contains(text); });
  return absl::OkStatus();
}

absl::StatusOr<FolderOfTexts> TextsBelow(const std::filesystem::path& folder, std::string_view also) {
  FolderOfTexts found;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder, error);
  for (const std::filesystem::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    const bool hidden = entry->path().filename().string().starts_with('.');
    std::error_code ignored;
    const bool walked = entry->is_directory(ignored) && !entry->is_symlink(ignored);
    if (hidden && walked) entry.disable_recursion_pending();
    if (hidden || walked) continue;
    ASSIGN_OR_RETURN(const std::string_view why, WhyLeftOut(*entry, also));
    if (why.empty()) {
      found.texts.push_back(entry->path());
    } else {
      found.others.emplace_back(entry->path(), why);
    }
  }
  if (error) return SystemError("read the folder", folder, error.value());
  std::ranges::sort(found.texts, {}, [](const std::filesystem::path& path) { return path.string(); });
  RETURN_IF_ERROR(LeaveOutLinksAgain(folder, found));
  std::ranges::sort(found.others, {}, [](const auto& other) { return other.first.string(); });
  return found;
}

absl::Status CheckGivenOnce(const std::vector<std::filesystem::path>& files) {
  std::set<std::filesystem::path> seen;
  for (const std::filesystem::path& file : files) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(file, error);
    if (error) return SystemError("open", file, error.value());
    if (!seen.insert(real).second) return absl::InvalidArgumentError(fmt::format("{} is given twice; name it once", file.string()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SourceFiles> FindSourceFiles(const std::vector<std::filesystem::path>& sources, std::string_view also) {
  SourceFiles found;
  for (const std::filesystem::path& source : sources) {
    struct stat status {};
    if (stat(source.c_str(), &status) != 0) return SystemError("open", source, errno);
    // Before anything opens it: a pipe would be waited for.
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) return absl::InvalidArgumentError(fmt::format("{} is not a regular file", source.string()));
    if (!S_ISDIR(status.st_mode)) {
      RETURN_IF_ERROR(RefusePacked(source));
      found.files.push_back(source);
      found.of_source.push_back(1);
      continue;
    }
    ASSIGN_OR_RETURN(const FolderOfTexts below, TextsBelow(source, also));
    if (below.texts.empty()) {
      return absl::InvalidArgumentError(fmt::format("there is no text file in {}{}", source.string(),
                                                    below.others.empty() ? "" : fmt::format("; it has {}", JoinSome(below.OthersFrom(source)))));
    }
    found.files.insert(found.files.end(), below.texts.begin(), below.texts.end());
    found.of_source.push_back(below.texts.size());
    const std::vector<std::string> others = below.OthersFrom(sources.size() == 1 ? source : std::filesystem::path());
    found.left_out.insert(found.left_out.end(), others.begin(), others.end());
  }
  RETURN_IF_ERROR(CheckGivenOnce(found.files));
  return found;
}

absl::StatusOr<int64_t> SizeOfFiles(const std::vector<std::filesystem::path>& files) {
  int64_t total = 0;
  for (const std::filesystem::path& file : files) {
    std::error_code error;
    total += static_cast<int64_t>(std::filesystem::file_size(file, error));
    if (error) return SystemError("look at", file, error.value());
  }
  return total;
}

std::string SourceText(const std::vector<std::filesystem::path>& sources, const std::vector<std::filesystem::path>& test_sources) {
  std::vector<std::string> parts;
  for (const std::filesystem::path& source : sources) parts.push_back(source.string());
  for (const std::filesystem::path& source : test_sources) parts.push_back(source.string() + " (test)");
  return Join(parts, ", ");
}

std::vector<std::string> LeftOutInManifest(std::vector<std::string> left_out) {
  if (left_out.size() <= kMostLeftOut) return left_out;
  const size_t more = left_out.size() - kMostLeftOut;
  left_out.resize(kMostLeftOut);
  left_out.push_back(fmt::format("and {} more", more));
  return left_out;
}

bool IsZip(const std::filesystem::path& file) {
  const absl::StatusOr<std::string> beginning = ReadBeginning(file, 4);
  return beginning.ok() && (*beginning == "PK\3\4" || *beginning == "PK\5\6");
}

}  // namespace longreach::data
