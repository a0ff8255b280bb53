#include "scheduler/service/upload_parts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "proto/types/artifact_kind.h"
#include "store/attempts.h"

namespace longreach::service {
namespace {

// All that says which file of whom it is. Whoever has not got the same to say goes on with nobody's part.
std::string KeyOfPart(v1::UploadHeader header) {
  header.clear_from();
  header.clear_store();
  header.DiscardUnknownFields();
  return header.SerializeAsString();
}

}  // namespace

UploadParts::File::File(UploadParts& parts, std::string key, const v1::UploadHeader& header, store::ArtifactWriter writer)
    : parts_(parts),
      key_(std::move(key)),
      attempt_(static_cast<int64_t>(header.attempt())),
      is_of_a_result_(IsOfAResult(ParseArtifactKind(header.kind()))),
      making_(Making{.writer = std::move(writer), .admitted = nullptr}) {}

UploadParts::File::~File() {
  auto state = parts_.state_.Lock();
  const auto found = state->under_way.find(key_);
  // Another one of the same may have taken its place.
  if (found != state->under_way.end() && found->second.expired()) state->under_way.erase(found);
}

absl::StatusOr<std::shared_ptr<UploadParts::File>> UploadParts::Begin(const v1::UploadHeader& header) {
  std::string key = KeyOfPart(header);
  const auto bytes = static_cast<int64_t>(header.bytes());
  std::optional<store::ArtifactWriter> writer;
  if (header.from() > 0) {
    ASSIGN_OR_RETURN(store::UnfinishedFile part, Take(key, header));
    ASSIGN_OR_RETURN(store::ArtifactWriter behind_it, files_.GoOn(std::move(part), header.sha256(), bytes, static_cast<int64_t>(header.from())));
    writer.emplace(std::move(behind_it));
  } else {
    ASSIGN_OR_RETURN(store::ArtifactWriter anew, files_.Create(header.sha256(), bytes));
    writer.emplace(std::move(anew));
    DropPart(key);
  }
  auto file = std::make_shared<File>(*this, key, header, *std::move(writer));
  // One of the same that is under way goes on in a file of its own, and what comes of it is not kept.
  state_.Lock()->under_way.insert_or_assign(std::move(key), file);
  return file;
}

void UploadParts::Keep(const std::shared_ptr<File>& file) {
  Gone gone;
  std::optional<store::UnfinishedFile> part;
  {
    auto making = file->Lock();
    if (!making->writer) return;
    absl::StatusOr<store::UnfinishedFile> left = making->writer->Leave();
    making->writer.reset();
    making->admitted.reset();
    if (!left.ok() || left->bytes() == 0) return;
    part.emplace(*std::move(left));
  }
  auto state = state_.Lock();
  const auto found = state->under_way.find(file->key_);
  const bool is_the_last = found != state->under_way.end() && !found->second.owner_before(file) && !file.owner_before(found->second);
  if (!is_the_last) return;
  state->under_way.erase(found);
  Parts& parts = state->parts;
  if (const auto before = parts.find(file->key_); before != parts.end()) Remove(parts, before, gone);
  parts.emplace(file->key_, Part{.attempt = file->attempt_, .is_of_a_result = file->is_of_a_result_, .number = ++state->last, .file = *std::move(part)});
  const auto of_attempt = [attempt = file->attempt_](const Part& other) { return other.attempt == attempt; };
  if (std::ranges::count_if(parts, [&](const auto& entry) { return of_attempt(entry.second); }) > std::ptrdiff_t{kMostOfAttempt}) RemoveOldest(parts, of_attempt, gone);
  if (parts.size() > kMost) RemoveOldest(parts, [](const Part&) { return true; }, gone);
}

int64_t UploadParts::Find(const v1::UploadHeader& header) {
  const std::string key = KeyOfPart(header);
  if (const std::shared_ptr<File> under_way = FindUnderWay(key)) Keep(under_way);
  auto state = state_.Lock();
  const auto found = state->parts.find(key);
  return found == state->parts.end() ? 0 : found->second.file.bytes();
}

absl::StatusOr<store::UnfinishedFile> UploadParts::Take(const std::string& key, const v1::UploadHeader& header) {
  if (const std::shared_ptr<File> under_way = FindUnderWay(key)) Keep(under_way);
  auto state = state_.Lock();
  const auto found = state->parts.find(key);
  const int64_t there = found == state->parts.end() ? 0 : found->second.file.bytes();
  if (static_cast<double>(there) < header.from()) {
    return absl::OutOfRangeError(fmt::format("from: there are {} bytes of the file {}, and not {:.0f}; ask FindUpload again, or send the whole file", there,
                                             header.sha256(), header.from()));
  }
  store::UnfinishedFile part = std::move(found->second.file);
  state->parts.erase(found);
  return part;
}

void UploadParts::Drop(const v1::UploadHeader& header) {
  if (!empty()) DropPart(KeyOfPart(header));
}

void UploadParts::DropPart(const std::string& key) {
  Gone gone;
  auto state = state_.Lock();
  if (const auto found = state->parts.find(key); found != state->parts.end()) Remove(state->parts, found, gone);
}

absl::Status UploadParts::DropEnded(sql::Connection& db) {
  std::set<int64_t> attempts;
  {
    auto state = state_.Lock();
    for (const auto& [key, part] : state->parts) attempts.insert(part.attempt);
  }
  for (auto attempt = attempts.begin(); attempt != attempts.end();) {
    ASSIGN_OR_RETURN(const std::optional<store::AttemptRow> row, store::FindAttempt(db, *attempt));
    attempt = row.has_value() && !row->outcome ? attempts.erase(attempt) : std::next(attempt);
  }
  Gone gone;
  auto state = state_.Lock();
  for (const int64_t ended : attempts) {
    while (RemoveOldest(state->parts, [ended](const Part& part) { return part.attempt == ended; }, gone)) {
    }
  }
  return absl::OkStatus();
}

bool UploadParts::DropOldest() {
  Gone gone;
  auto state = state_.Lock();
  return RemoveOldest(state->parts, [](const Part&) { return true; }, gone);
}

void UploadParts::DropAll() {
  while (DropOldest()) {
  }
}

void UploadParts::KeepAtMost(double bytes) {
  const auto counts = [](const Part& part) { return !part.is_of_a_result; };
  Gone gone;
  auto state = state_.Lock();
  double all = 0;
  for (const auto& [key, part] : state->parts) all += counts(part) ? static_cast<double>(part.file.bytes()) : 0;
  while (all > bytes && RemoveOldest(state->parts, counts, gone)) all -= static_cast<double>(gone.back().bytes());
}

double UploadParts::bytes() {
  auto state = state_.Lock();
  double all = 0;
  for (const auto& [key, part] : state->parts) all += static_cast<double>(part.file.bytes());
  return all;
}

void UploadParts::Remove(Parts& parts, Parts::iterator part, Gone& gone) {
  gone.push_back(std::move(part->second.file));
  parts.erase(part);
}

bool UploadParts::RemoveOldest(Parts& parts, const std::function<bool(const Part&)>& which, Gone& gone) {
  auto oldest = parts.end();
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    if (which(part->second) && (oldest == parts.end() || part->second.number < oldest->second.number)) oldest = part;
  }
  if (oldest == parts.end()) return false;
  Remove(parts, oldest, gone);
  return true;
}

// Given back without the lock, which the last of its owners takes.
std::shared_ptr<UploadParts::File> UploadParts::FindUnderWay(const std::string& key) {
  auto state = state_.Lock();
  const auto found = state->under_way.find(key);
  return found == state->under_way.end() ? nullptr : found->second.lock();
}

}  // namespace longreach::service
