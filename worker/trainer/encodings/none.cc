#include "worker/trainer/encodings/encoding.h"

namespace longreach::trainer {

namespace {

// No encoding: the encoder cannot tell one order of the tokens from another.
class None final : public Encoding {
 public:
  PositionUse Use() const override { return PositionUse::kNothing; }
};

}  // namespace

std::unique_ptr<Encoding> Make_none(const EncodingConfig&) { return std::make_unique<None>(); }

}  // namespace longreach::trainer
