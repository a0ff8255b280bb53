#include "worker/data/decode_png.h"

#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <string>

#include "worker/data/luma.h"

namespace longreach::data {
namespace {

// libpng leaves by longjmp; see decode_jpeg.cc for why all state is in members.
class PngDecoder {
 public:
  explicit PngDecoder(std::string_view bytes) : bytes_(bytes) {}
  PngDecoder(const PngDecoder&) = delete;
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }

  absl::StatusOr<GrayImage> Decode() {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &PngDecoder::OnError, [](png_structp, png_const_charp) {});
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) return absl::ResourceExhaustedError("PNG: out of memory");
    if (!Start()) return Broken();
    const int64_t pixels = int64_t{png_get_image_width(png_, info_)} * png_get_image_height(png_, info_);
    if (pixels > kMaxPixels) {
      return absl::ResourceExhaustedError(fmt::format("PNG of {} x {} pixels; at most {} in all", png_get_image_height(png_, info_),
                                                      png_get_image_width(png_, info_), kMaxPixels));
    }
    image_.rows = static_cast<int>(png_get_image_height(png_, info_));
    image_.cols = static_cast<int>(png_get_image_width(png_, info_));
    channels_ = png_get_channels(png_, info_);
    const size_t line = png_get_rowbytes(png_, info_);
    if ((channels_ != 1 && channels_ != 3) || line != size_t(image_.cols) * channels_) {
      return absl::DataLossError(fmt::format("PNG: {} channels in lines of {} bytes", channels_, line));
    }
    raw_.resize(line * static_cast<size_t>(image_.rows));
    for (size_t row = 0; row < static_cast<size_t>(image_.rows); ++row) lines_.push_back(raw_.data() + row * line);
    if (!Run()) return Broken();
    if (channels_ == 1) {
      image_.pixels = std::move(raw_);
    } else {
      image_.pixels.resize(raw_.size() / 3);
      for (size_t i = 0; i < image_.pixels.size(); ++i) image_.pixels[i] = Luma(raw_[3 * i], raw_[3 * i + 1], raw_[3 * i + 2]);
    }
    return std::move(image_);
  }

 private:
  [[noreturn]] static void OnError(png_structp png, png_const_charp text) {
    PngDecoder* self = static_cast<PngDecoder*>(png_get_error_ptr(png));
    self->what_ = text;
    std::longjmp(self->out_, 1);
  }
  static void Read(png_structp png, png_bytep to, size_t bytes) {
    PngDecoder* self = static_cast<PngDecoder*>(png_get_io_ptr(png));
    if (self->bytes_.size() - self->at_ < bytes) png_error(png, "the file ends before the image does");
    std::memcpy(to, self->bytes_.data() + self->at_, bytes);
    self->at_ += bytes;
  }
  absl::Status Broken() const { return absl::DataLossError(fmt::format("PNG: {}", what_)); }

  bool Start() {
    if (setjmp(out_) != 0) return false;
    png_set_read_fn(png_, this, &PngDecoder::Read);
    png_set_user_limits(png_, 1'000'000, 1'000'000);
    png_read_info(png_, info_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_palette_to_rgb(png_);
    // To whole bytes; for grays of 1, 2 and 4 bits.
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool Run() {
    if (setjmp(out_) != 0) return false;
    png_read_image(png_, lines_.data());
    png_read_end(png_, nullptr);
    return true;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf out_ = {};
  std::string what_;
  size_t channels_ = 0;
  GrayImage image_;
  std::vector<uint8_t> raw_;
  std::vector<png_bytep> lines_;
};

}  // namespace

absl::StatusOr<GrayImage> DecodePng(std::string_view bytes) { return PngDecoder(bytes).Decode(); }

}  // namespace longreach::data
