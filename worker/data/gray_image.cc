#include "worker/data/gray_image.h"

#include "worker/data/decode_jpeg.h"
#include "worker/data/decode_png.h"

namespace longreach::data {

absl::StatusOr<GrayImage> DecodeGray(std::string_view bytes) {
  if (bytes.empty()) return absl::DataLossError("the file is empty");
  if (bytes.starts_with("\xff\xd8\xff")) return DecodeJpeg(bytes);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return DecodePng(bytes);
  return absl::DataLossError("neither JPEG nor PNG");
}

}  // namespace longreach::data
