#include "worker/data/decode_jpeg.h"

#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE.
#include <string>

#include <jpeglib.h>
// After jpeglib.h:
#include <jerror.h>

#include "worker/data/luma.h"

namespace longreach::data {
namespace {

// libjpeg leaves by longjmp. All that changes between setjmp and longjmp is a member, so nothing is lost in a register, and
// no destructor is jumped over.
class JpegDecoder {
 public:
  explicit JpegDecoder(std::string_view bytes) : bytes_(bytes) {
    jpeg_.err = jpeg_std_error(&errors_);
    jpeg_.client_data = this;
    errors_.error_exit = [](j_common_ptr jpeg) {
      JpegDecoder* self = static_cast<JpegDecoder*>(jpeg->client_data);
      self->Note(jpeg);
      std::longjmp(self->out_, 1);
    };
    // Level -1 is a warning. libjpeg goes on after them with made-up pixels where data is missing or wrong; that is a
    // broken image. Oddities that cost no pixel are let pass.
    errors_.emit_message = [](j_common_ptr jpeg, int level) {
      if (level >= 0) return;
      switch (jpeg->err->msg_code) {
        case JWRN_EXTRANEOUS_DATA:
        case JWRN_ADOBE_XFORM:
        case JWRN_JFIF_MAJOR:
        case JWRN_NOT_SEQUENTIAL:
        case JWRN_TOO_MUCH_DATA:
        case JWRN_BOGUS_PROGRESSION: return;
        default: jpeg->err->error_exit(jpeg);
      }
    };
    errors_.output_message = [](j_common_ptr) {};
  }
  JpegDecoder(const JpegDecoder&) = delete;

  ~JpegDecoder() {
    if (created_) jpeg_destroy_decompress(&jpeg_);
  }

  absl::StatusOr<GrayImage> Decode() {
    if (!Start()) return Broken();
    const int64_t pixels = int64_t{jpeg_.image_width} * jpeg_.image_height;
    if (pixels > kMaxPixels) {
      return absl::ResourceExhaustedError(
          fmt::format("JPEG of {} x {} pixels; at most {} in all", jpeg_.image_height, jpeg_.image_width, kMaxPixels));
    }
    image_.rows = static_cast<int>(jpeg_.image_height);
    image_.cols = static_cast<int>(jpeg_.image_width);
    image_.pixels.resize(static_cast<size_t>(pixels));
    line_.resize(size_t{jpeg_.image_width} * 4);
    if (!Run()) return Broken();
    return std::move(image_);
  }

 private:
  void Note(j_common_ptr jpeg) {
    char text[JMSG_LENGTH_MAX] = {};
    jpeg->err->format_message(jpeg, text);
    what_ = text;
  }
  absl::Status Broken() const { return absl::DataLossError(fmt::format("JPEG: {}", what_)); }

  bool Start() {
    if (setjmp(out_) != 0) return false;
    jpeg_create_decompress(&jpeg_);
    created_ = true;
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&jpeg_, TRUE);
    switch (jpeg_.jpeg_color_space) {
      case JCS_GRAYSCALE: jpeg_.out_color_space = JCS_GRAYSCALE; break;
      case JCS_CMYK:
      case JCS_YCCK: jpeg_.out_color_space = JCS_CMYK; break;
      default: jpeg_.out_color_space = JCS_RGB;
    }
    return true;
  }

  bool Run() {
    if (setjmp(out_) != 0) return false;
    jpeg_start_decompress(&jpeg_);
    while (jpeg_.output_scanline < jpeg_.output_height) {
      uint8_t* gray = image_.pixels.data() + size_t{jpeg_.output_scanline} * jpeg_.output_width;
      JSAMPROW line = jpeg_.output_components == 1 ? gray : line_.data();
      jpeg_read_scanlines(&jpeg_, &line, 1);
      if (jpeg_.output_components == 3) GrayOfRgb(gray);
      if (jpeg_.output_components == 4) GrayOfCmyk(gray);
    }
    jpeg_finish_decompress(&jpeg_);
    return true;
  }

  void GrayOfRgb(uint8_t* gray) const {
    for (size_t i = 0; i < jpeg_.output_width; ++i) gray[i] = Luma(line_[3 * i], line_[3 * i + 1], line_[3 * i + 2]);
  }
  // Adobe's CMYK is inverted: 255 is no ink. A colour is then what its ink and the black leave: K - (255 - C) K / 255.
  void GrayOfCmyk(uint8_t* gray) const {
    for (size_t i = 0; i < jpeg_.output_width; ++i) {
      const uint32_t black = line_[4 * i + 3];
      uint32_t rgb[3];
      for (size_t c = 0; c < 3; ++c) {
        const uint32_t product = (255u - line_[4 * i + c]) * black + 128;
        const uint32_t taken = ((product >> 8) + product) >> 8;
        rgb[c] = taken > black ? 0 : black - taken;
      }
      gray[i] = Luma(rgb[0], rgb[1], rgb[2]);
    }
  }

  std::string_view bytes_;
  jpeg_error_mgr errors_ = {};
  jpeg_decompress_struct jpeg_ = {};
  std::jmp_buf out_ = {};
  bool created_ = false;
  std::string what_;
  GrayImage image_;
  std::vector<uint8_t> line_;
};

}  // namespace

absl::StatusOr<GrayImage> DecodeJpeg(std::string_view bytes) { return JpegDecoder(bytes).Decode(); }

}  // namespace longreach::data
