// What longreach-tokenizer and the process that starts it say to each other, over the program's standard input and output.
//
// A frame is the length of its content (4 bytes) and the content; all numbers are little-endian, an id is 4 bytes, signed.
// `longreach-tokenizer FILE` sends a frame when it has read FILE, then one for each request, in their order. It ends with its input,
// with exit code 0; with 1 after it has refused FILE, or when a request is no frame of this kind.
//
//   at the start   kDone, the number of pieces, and the ids of BOS, EOS, UNK and PAD (-1: there is none)
//   kEncode, text  kDone, ids
//   kDecode, ids   kDone, text
//   kPieces        kDone, and of each piece its kind (1 byte), score (float32), the length of its text (4 bytes) and the text
//   any            kRefused, a message
//
// The program is one of its own because SentencePiece's library exports its own protobuf, and symbols named as Abseil's: they must not
// meet ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace longreach::tokenizer {

inline constexpr char kEncode = 'e', kDecode = 'd', kPieces = 'p';
inline constexpr char kDone = '+', kRefused = '-';

inline constexpr char kNormalPiece = 'n', kBytePiece = 'b', kControlPiece = 'c', kUnknownPiece = 'u', kUnusedPiece = 'x';

// A longer content is refused: a length that was never one would otherwise ask for gigabytes. Of a text, every byte may become an
// id, and SentencePiece takes 130 bytes of memory for each.
inline constexpr uint32_t kMostContent = 256u << 20;
inline constexpr uint32_t kMostText = 16u << 20;

inline constexpr size_t kNumberBytes = 4;

inline void AppendNumber(std::string& bytes, uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift & 0xff);
}

// `bytes` has 4 bytes from `at` on.
inline uint32_t NumberAt(std::string_view bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = kNumberBytes; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

}  // namespace longreach::tokenizer
