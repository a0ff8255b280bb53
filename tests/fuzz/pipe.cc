// The pipe between agent and trainer child: any bytes, in any pieces, are messages or DATA_LOSS.
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/must.h"
#include "worker/agent/pipe.h"

using longreach::fuzz::Must;

namespace {

// The child's end, over a real socket: messages until the agent is gone, or garbage.
void ReceiveAll(std::string_view bytes) {
  int ends[2];
  Must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "there are sockets");
  Must(write(ends[0], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "an input fits into a socket");
  longreach::agent::ChildPipe pipe(ends[1]);
  Must(pipe.Receive(false).ok() || !bytes.empty(), "nothing to read is no error");
  close(ends[0]);
  for (size_t i = 0; i <= bytes.size(); ++i) {
    const auto message = pipe.Receive(true);
    if (!message.ok()) break;
    Must(message->has_value(), "who waits gets a message or an error");
  }
  Must(!pipe.Send(longreach::v1::FromTrainer()).ok(), "nobody is there to send to");
  close(ends[1]);
}

}  // namespace

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
  ReceiveAll({reinterpret_cast<const char*>(data) + 1, size - 1});
  Must(taken <= size - 1, "no byte is taken twice");
  Must(reader.mid_frame() == (taken < size - 1), "what is left over is a frame that has begun");
  return 0;
}
