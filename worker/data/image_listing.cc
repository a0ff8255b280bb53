#include "worker/data/image_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "proto/base/sha256.h"
#include "proto/base/text.h"
#include "worker/data/files.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxLabelFile = int64_t{1} << 30;

struct Entries {
  std::vector<fs::path> folders;
  std::vector<fs::path> files;
};

// What lies in a folder, ascending by name, without what is hidden. Links are followed: class folders are often links.
absl::StatusOr<Entries> EntriesOf(const fs::path& folder) {
  Entries entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with('.')) continue;
    std::error_code ignored;
    (entry->is_directory(ignored) ? entries.folders : entries.files).push_back(entry->path());
  }
  if (error) return SystemError("read the folder", folder, error.value());
  const auto by_name = [](const fs::path& path) { return path.filename().string(); };
  std::ranges::sort(entries.folders, {}, by_name);
  std::ranges::sort(entries.files, {}, by_name);
  return entries;
}

// A class's name stands on a line of its own in the data set's identity, and in JSON.
absl::Status CheckClass(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const bool good = std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{}: a class's name may have printable ASCII characters only; rename the folder", folder.string()));
}

// CLASS -> its images, below one folder.
using ByClass = std::map<std::string, std::vector<fs::path>>;

absl::StatusOr<ByClass> ClassFolders(const fs::path& folder) {
  ASSIGN_OR_RETURN(const Entries entries, EntriesOf(folder));
  if (!entries.files.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{} lies beside class folders; images lie in a folder of their class. Move it away", entries.files[0].string()));
  }
  ByClass classes;
  for (const fs::path& of_class : entries.folders) {
    RETURN_IF_ERROR(CheckClass(of_class));
    ASSIGN_OR_RETURN(const Entries images, EntriesOf(of_class));
    if (!images.folders.empty()) {
      return absl::InvalidArgumentError(fmt::format("{} is a folder within the class folder '{}'; classes have no folders in them",
                                                    images.folders[0].string(), of_class.filename().string()));
    }
    if (images.files.empty()) return absl::InvalidArgumentError(fmt::format("{}: a class folder without images", of_class.string()));
    classes[of_class.filename().string()] = images.files;
  }
  if (classes.empty()) return absl::InvalidArgumentError(fmt::format("{} has no class folders in it", folder.string()));
  return classes;
}

// A folder below `folder` with one of these names; nothing when there is none.
absl::StatusOr<std::optional<fs::path>> OneOf(const fs::path& folder, const std::vector<std::string>& names) {
  std::optional<fs::path> found;
  for (const std::string& name : names) {
    std::error_code ignored;
    if (!fs::is_directory(folder / name, ignored)) continue;
    if (found.has_value()) {
      return absl::InvalidArgumentError(fmt::format("both {} and {} are there; which are the validation images? Move one away",
                                                    found->string(), (folder / name).string()));
    }
    found = folder / name;
  }
  return found;
}

// FILE -> CLASS. A file's name counts with and without its extension, for label files leave it out at times.
absl::StatusOr<std::map<std::string, std::string>> ReadLabels(const fs::path& file, const std::vector<std::string>& classes) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMaxLabelFile));
  std::map<std::string, std::string> labels;
  int number = 0;
  for (const std::string& raw : Split(text, '\n')) {
    ++number;
    std::string line(Trim(raw));
    std::ranges::replace(line, ',', ' ');
    std::ranges::replace(line, '\t', ' ');
    if (line.empty() || (number == 1 && line.starts_with("ImageId "))) continue;  // The head of Kaggle's.
    const size_t blank = line.find(' ');
    const auto at = [&] { return fmt::format("{}, line {}", file.string(), number); };
    if (blank == std::string::npos) {
      return absl::InvalidArgumentError(
          fmt::format("{}: '{}' is not 'FILE CLASS'; numbers alone mean nothing without the list that they count in", at(), line));
    }
    const std::string image = line.substr(0, blank);
    // Kaggle's lines go on with boxes.
    std::string rest(Trim(std::string_view(line).substr(blank)));
    std::string name = rest.substr(0, rest.find(' '));
    // A number counts the classes, ascending by name, from 0.
    if (const std::optional<int64_t> index = ParseInteger(name); index.has_value() && !std::ranges::binary_search(classes, name)) {
      if (*index < 0 || *index >= std::ssize(classes)) {
        return absl::InvalidArgumentError(fmt::format("{}: class {} of {}; they count from 0", at(), *index, classes.size()));
      }
      name = classes[static_cast<size_t>(*index)];
    }
    if (!std::ranges::binary_search(classes, name)) {
      const std::string closest = ClosestWord(name, classes);
      return absl::InvalidArgumentError(fmt::format("{}: there is no class '{}' among the training images{}", at(), name,
                                                    closest.empty() ? "" : fmt::format("; '{}' is the nearest name", closest)));
    }
    const std::string stem = fs::path(image).stem().string();
    if (!labels.emplace(stem, name).second) return absl::InvalidArgumentError(fmt::format("{}: '{}' is there twice", at(), image));
  }
  return labels;
}

// Validation images in one folder, as they come from image-net.org.
absl::StatusOr<ByClass> FlatValid(const fs::path& folder, const Entries& entries, const fs::path& root, fs::path label_file,
                                  const std::vector<std::string>& classes) {
  std::vector<fs::path> images = entries.files;
  if (label_file.empty()) {
    for (const fs::path& candidate :
         {folder / "labels.txt", root / "val_labels.txt", root / "val.txt", root / "LOC_val_solution.csv", root / ".." / "LOC_val_solution.csv",
          root / ".." / ".." / ".." / "LOC_val_solution.csv"}) {
      std::error_code ignored;
      if (fs::is_regular_file(candidate, ignored)) {
        label_file = candidate.lexically_normal();
        break;
      }
    }
  }
  if (label_file.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{} has images without class folders, and there is no label file; name one with --valid-labels (lines of 'FILE CLASS'), "
                    "or move the images into class folders",
                    folder.string()));
  }
  std::erase_if(images, [&](const fs::path& path) { return path == label_file; });
  ASSIGN_OR_RETURN(const auto labels, ReadLabels(label_file, classes));
  ByClass by_class;
  std::set<std::string> stems;
  for (const fs::path& image : images) {
    const auto found = labels.find(image.stem().string());
    if (found == labels.end()) return absl::InvalidArgumentError(fmt::format("{} has no line for {}", label_file.string(), image.filename().string()));
    if (!stems.insert(found->first).second) {
      return absl::InvalidArgumentError(fmt::format("{}: there are two images of this name with different endings", image.string()));
    }
    by_class[found->second].push_back(image);
  }
  if (stems.size() != labels.size()) {
    const auto missing = std::ranges::find_if(labels, [&](const auto& label) { return !stems.contains(label.first); });
    return absl::InvalidArgumentError(fmt::format("{} has a line for '{}', and {} has no such image: was it unpacked to the end?",
                                                  label_file.string(), missing->first, folder.string()));
  }
  return by_class;
}

// Takes a share of each class away, by a hash that depends on nothing but the image's place.
ByClass TakeValid(ByClass& train, int percent) {
  ByClass valid;
  for (auto& [name, images] : train) {
    if (images.size() < 2) continue;  // Refused below, with its name.
    const size_t count = std::clamp<size_t>((images.size() * static_cast<size_t>(percent) + 50) / 100, 1, images.size() - 1);
    std::vector<std::pair<std::string, fs::path>> order;
    for (const fs::path& image : images) order.emplace_back(Sha256Of(name + "/" + image.filename().string()), image);
    std::ranges::sort(order);
    std::set<fs::path> taken;
    for (size_t i = 0; i < count; ++i) taken.insert(order[i].second);
    for (const fs::path& image : images) {
      if (taken.contains(image)) valid[name].push_back(image);
    }
    std::erase_if(images, [&](const fs::path& image) { return taken.contains(image); });
  }
  return valid;
}

std::vector<ListedImage> Listed(const ByClass& by_class, const std::vector<std::string>& classes) {
  std::vector<ListedImage> images;
  for (const auto& [name, files] : by_class) {
    const auto label = static_cast<uint32_t>(std::ranges::lower_bound(classes, name) - classes.begin());
    for (const fs::path& file : files) images.push_back({file, label});
  }
  return images;
}

}  // namespace

absl::StatusOr<ImageListing> ListImages(const fs::path& folder, const ListingOptions& options) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return error ? SystemError("open", folder, error.value())
                 : absl::InvalidArgumentError(fmt::format("{} is not a folder; images lie in a folder of class folders", folder.string()));
  }
  if (options.valid_percent < 1 || options.valid_percent > 99) {
    return absl::InvalidArgumentError(fmt::format("{} per cent of validation images; take 1 to 99", options.valid_percent));
  }
  ASSIGN_OR_RETURN(const std::optional<fs::path> train_folder, OneOf(folder, {"train"}));
  ASSIGN_OR_RETURN(const std::optional<fs::path> valid_folder, OneOf(folder, {"val", "valid", "validation"}));
  if (valid_folder.has_value() && !train_folder.has_value()) {
    return absl::InvalidArgumentError(fmt::format("{} is there, and {} is not", valid_folder->string(), (folder / "train").string()));
  }

  ASSIGN_OR_RETURN(ByClass train, ClassFolders(train_folder.value_or(folder)));
  ImageListing listing;
  for (const auto& [name, images] : train) listing.classes.push_back(name);
  ByClass valid;
  if (!valid_folder.has_value()) {
    valid = TakeValid(train, options.valid_percent);
    for (const auto& [name, images] : train) {
      if (!valid.contains(name)) {
        return absl::InvalidArgumentError(fmt::format("the class '{}' has one image; it takes one for training and one for validation", name));
      }
    }
  } else {
    ASSIGN_OR_RETURN(const Entries entries, EntriesOf(*valid_folder));
    if (entries.folders.empty() && !entries.files.empty()) {
      ASSIGN_OR_RETURN(valid, FlatValid(*valid_folder, entries, folder, options.valid_labels, listing.classes));
    } else {
      ASSIGN_OR_RETURN(valid, ClassFolders(*valid_folder));
    }
    for (const auto& [name, images] : valid) {
      if (!train.contains(name)) {
        return absl::InvalidArgumentError(fmt::format("the class '{}' has validation images and no training images", name));
      }
    }
  }
  listing.train = Listed(train, listing.classes);
  listing.valid = Listed(valid, listing.classes);
  return listing;
}

}  // namespace longreach::data
