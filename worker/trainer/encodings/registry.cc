#include "worker/trainer/encodings/encoding.h"

namespace longreach::trainer {

std::unique_ptr<Encoding> MakeEncoding(const std::string& name, const EncodingConfig& config) {
#define X(id, ...) \
  if (name == #id) return Make_##id(config);
#include "proto/catalog/encodings.def"
#undef X
  return nullptr;
}

}  // namespace longreach::trainer
