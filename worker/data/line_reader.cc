#include "worker/data/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace longreach::data {

absl::StatusOr<std::optional<std::string_view>> LineReader::Next() {
  constexpr uint64_t kPiece = 1 << 20;
  size_t looked_at = begin_;
  while (true) {
    const size_t end = buffer_.find('\n', looked_at);
    const size_t bytes = std::min(end, buffer_.size()) - begin_;
    if (bytes > most_) return absl::ResourceExhaustedError(fmt::format("a line of more than {} bytes", most_));
    if (end != std::string::npos) return Give(end, end + 1);
    if (read_ == file_.bytes()) return bytes == 0 ? std::nullopt : std::optional(Give(buffer_.size(), buffer_.size()));
    buffer_.erase(0, begin_);
    begin_ = 0;
    looked_at = buffer_.size();
    buffer_.resize(looked_at + static_cast<size_t>(std::min(kPiece, file_.bytes() - read_)));
    const std::span<char> piece = std::span(buffer_).subspan(looked_at);
    RETURN_IF_ERROR(file_.Read(read_, piece));
    read_ += piece.size();
  }
}

std::string_view LineReader::Give(size_t end, size_t next) {
  const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
  given_ += static_cast<int64_t>(next - begin_);
  begin_ = next;
  return line;
}

}  // namespace longreach::data
