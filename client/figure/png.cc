#include "client/figure/png.h"

#include <fmt/format.h>
#include <png.h>

#include <csetjmp>

namespace longreach::client {
namespace {

// libpng leaves by longjmp, which runs no destructor: all state is in members, and the function that it leaves has no locals with one.
class Encoder {
 public:
  Encoder(const Canvas& canvas, const std::vector<std::pair<std::string, std::string>>& remarks) : canvas_(canvas), remarks_(remarks) {
    for (const Color& color : Palette()) palette_.push_back({color.red, color.green, color.blue});
    for (const auto& [keyword, text] : remarks_) {
      png_text& one = texts_.emplace_back();
      one.compression = PNG_TEXT_COMPRESSION_NONE;
      one.key = const_cast<char*>(keyword.c_str());  // Only read.
      one.text = const_cast<char*>(text.c_str());
      one.text_length = text.size();
    }
  }
  Encoder(const Encoder&) = delete;
  ~Encoder() { png_destroy_write_struct(&png_, &info_); }

  absl::StatusOr<std::string> Encode() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, &Encoder::OnError, [](png_structp, png_const_charp) {});
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) return absl::ResourceExhaustedError("PNG: out of memory");
    if (!Run()) return absl::ResourceExhaustedError(fmt::format("PNG: {}", what_));
    return std::move(bytes_);
  }

 private:
  [[noreturn]] static void OnError(png_structp png, png_const_charp text) {
    Encoder* self = static_cast<Encoder*>(png_get_error_ptr(png));
    self->what_ = text;
    std::longjmp(self->out_, 1);
  }
  static void Write(png_structp png, png_bytep from, size_t bytes) {
    static_cast<Encoder*>(png_get_io_ptr(png))->bytes_.append(reinterpret_cast<const char*>(from), bytes);
  }

  bool Run() {
    if (setjmp(out_) != 0) return false;
    png_set_write_fn(png_, this, &Encoder::Write, [](png_structp) {});
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(canvas_.width()), static_cast<png_uint_32>(canvas_.height()), 8,
                 PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_PLTE(png_, info_, palette_.data(), static_cast<int>(palette_.size()));
    if (!texts_.empty()) png_set_text(png_, info_, texts_.data(), static_cast<int>(texts_.size()));
    png_set_compression_level(png_, 9);
    png_set_filter(png_, 0, PNG_FILTER_NONE);
    png_write_info(png_, info_);
    for (row_ = 0; row_ < canvas_.height(); ++row_) png_write_row(png_, canvas_.Row(row_));
    png_write_end(png_, info_);
    return true;
  }

  const Canvas& canvas_;
  const std::vector<std::pair<std::string, std::string>>& remarks_;
  std::vector<png_color> palette_;
  std::vector<png_text> texts_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int row_ = 0;
  std::string bytes_;
  std::string what_;
  std::jmp_buf out_;
};

}  // namespace

absl::StatusOr<std::string> EncodePng(const Canvas& canvas, const std::vector<std::pair<std::string, std::string>>& remarks) {
  Encoder encoder(canvas, remarks);
  return encoder.Encode();
}

}  // namespace longreach::client
