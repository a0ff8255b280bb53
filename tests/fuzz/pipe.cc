// The pipe between agent and trainer child: any bytes, in any pieces, are messages or DATA_LOSS.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/must.h"
#include "worker/agent/pipe.h"

using longreach::fuzz::Must;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The first byte: how large the pieces are that arrive.
  const size_t piece = data[0] % 64 + 1;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  longreach::agent::FrameReader reader;
  size_t taken = 0;
  while (!bytes.empty()) {
    const std::string_view next = bytes.substr(0, piece);
    reader.Append(next);
    bytes.remove_prefix(next.size());
    while (true) {
      const auto frame = reader.Next();
      if (!frame.ok()) return 0;
      if (!frame->has_value()) break;
      taken += 4 + (*frame)->size();
      longreach::v1::FromTrainer from;
      if (from.ParseFromString(**frame)) {
        const std::string again = longreach::agent::Frame(from);
        longreach::agent::FrameReader other;
        other.Append(again);
        const auto read = other.Next();
        Must(read.ok() && read->has_value() && again.size() == 4 + (*read)->size() && !other.mid_frame(), "a message's frame is read as it was written");
      }
      longreach::v1::ToTrainer to;
      (void)to.ParseFromString(**frame);
    }
  }
  Must(taken <= size - 1, "no byte is taken twice");
  Must(reader.mid_frame() == (taken < size - 1), "what is left over is a frame that has begun");
  return 0;
}
