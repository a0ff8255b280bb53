// Runs a fuzz target without a fuzzer: over files and folders of inputs, then over N changed ones.
//
//   fuzz_canonical CORPUS... [--changed N] [--seed S]
//
// The changed inputs are drawn from the corpus by a fixed generator: the same N and S give the same inputs.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kMaxInput = 4096;

// SplitMix64.
uint64_t Next(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

void Run(const std::string& input) { LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size()); }

std::vector<std::string> ReadAll(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
  } else {
    files.push_back(path);
  }
  std::ranges::sort(files);
  std::vector<std::string> inputs;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return inputs;
}

std::string Changed(const std::vector<std::string>& corpus, uint64_t& state) {
  const auto below = [&state](size_t n) { return n == 0 ? 0 : static_cast<size_t>(Next(state) % n); };
  std::string input = corpus[below(corpus.size())];
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    const size_t at = below(input.size() + 1);
    switch (below(5)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 1: input.insert(at, 1, static_cast<char>(below(256))); break;
      case 2: input.erase(at, 1 + below(8)); break;
      case 3: {  // A piece of another input.
        const std::string& other = corpus[below(corpus.size())];
        const size_t from = below(other.size() + 1);
        input.insert(at, other, from, below(64));
        break;
      }
      default: input.insert(at, input, at, below(32));
    }
  }
  return input.substr(0, kMaxInput);
}

uint64_t NumberOf(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  std::fprintf(stderr, "'%.*s' is no number\n", static_cast<int>(text.size()), text.data());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> corpus;
  uint64_t changed = 0;
  uint64_t seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if ((argument == "--changed" || argument == "--seed") && i + 1 < argc) {
      (argument == "--seed" ? seed : changed) = NumberOf(argv[++i]);
    } else if (std::filesystem::exists(argument)) {
      std::ranges::move(ReadAll(argument), std::back_inserter(corpus));
    } else {
      std::fprintf(stderr, "there is no %s\nusage: %s CORPUS... [--changed N] [--seed S]\n", argv[i], argv[0]);
      return 2;
    }
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no inputs\n");
    return 2;
  }
  for (const std::string& input : corpus) Run(input);
  uint64_t state = seed;
  for (uint64_t i = 0; i < changed; ++i) Run(Changed(corpus, state));
  std::printf("%zu inputs of the corpus and %llu changed ones (seed %llu) ran\n", corpus.size(), static_cast<unsigned long long>(changed),
              static_cast<unsigned long long>(seed));
  return 0;
}
