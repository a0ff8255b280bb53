#include "worker/trainer/encodings/encoding.h"
#include "worker/trainer/encodings/in_some_layers.h"

namespace longreach::trainer {

std::unique_ptr<Encoding> MakeEncoding(const std::string& name, const EncodingConfig& config) {
#define X(id, ...) \
  if (name == #id) return InSomeLayers(Make_##id(config), config);
#include "proto/catalog/encodings.def"
#undef X
  return nullptr;
}

}  // namespace longreach::trainer
