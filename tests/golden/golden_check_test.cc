// golden_check as a program: what it says and how it ends when vectors are wrong, missing or none at all.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace {

using ::testing::HasSubstr;

struct Ended {
  int code;
  std::string text;
};

Ended Check(const std::string& arguments) {
  FILE* pipe = popen((LONGREACH_GOLDEN_CHECK " " + arguments + " 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  for (size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) text.append(buffer.data(), n);
  return {WEXITSTATUS(pclose(pipe)), text};
}

class GoldenCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/golden_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Copies one file of a set.
  std::filesystem::path Take(const std::string& name, const std::string& set = LONGREACH_GOLDEN) {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::copy_file(std::filesystem::path(set) / name, file);
    std::filesystem::permissions(file, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    return file;
  }
  // Changes one float, counted from the end of the file.
  static void ChangeFloat(const std::filesystem::path& file, long from_end, float value) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(-4 * from_end, std::ios::end);
    stream.write(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  std::filesystem::path folder_;
};

TEST_F(GoldenCheckTest, PassesWhatIsRightAndNamesWhatIsAbsent) {
  Take("models/small_none.safetensors");
  Take("encodings/rope.safetensors");

  const Ended ended = Check(folder_.string());

  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("models/small_none.safetensors: passed"));
  EXPECT_THAT(ended.text, HasSubstr("encodings/alibi.safetensors: absent"));
  EXPECT_THAT(ended.text, HasSubstr("init_stats.json: absent"));
  EXPECT_THAT(ended.text, HasSubstr("2 passed, 0 failed"));
}

TEST_F(GoldenCheckTest, FailsOnAWrongNumberInAnEncoding) {
  ChangeFloat(Take("encodings/alibi.safetensors"), 20, 3.5f);

  const Ended ended = Check(folder_.string());

  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("encodings/alibi.safetensors: FAILED"));
  EXPECT_THAT(ended.text, HasSubstr("0 passed, 1 failed"));
}

TEST_F(GoldenCheckTest, FailsOnAParameterThatIsSlightlyOff) {
  const std::filesystem::path file = Take("models/small_none.safetensors");
  std::string bytes;
  {
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  // One weight of the output layer after three updates.
  const size_t entry = bytes.find("\"after3/out.w\"");
  ASSERT_NE(entry, std::string::npos);
  const size_t offsets = bytes.find("\"data_offsets\":", entry);
  const size_t begin = std::stoul(bytes.substr(bytes.find('[', offsets) + 1));
  size_t header = 0;
  for (size_t i = 0; i < 8; ++i) {
    header |= static_cast<size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  float value = 0;
  std::ifstream(file, std::ios::binary)
      .seekg(static_cast<std::streamoff>(8 + header + begin))
      .read(reinterpret_cast<char*>(&value), 4);
  ChangeFloat(file, static_cast<long>((bytes.size() - 8 - header - begin) / 4), value + 1e-5f);

  const Ended ended = Check(folder_.string());

  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("after3/out.w"));
}

TEST_F(GoldenCheckTest, FailsOnAFileThatIsDamagedOrLacksItsShare) {
  std::filesystem::resize_file(Take("models/small_shape.safetensors"), 1000);
  Take("models/small_rope.safetensors");  // Its parameters are those of small_none, which is not there.

  const Ended ended = Check(folder_.string());

  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("0 passed, 2 failed"));
}

TEST_F(GoldenCheckTest, RefusesFoldersAndArgumentsThatItDoesNotKnow) {
  EXPECT_EQ(Check("").code, 2);
  EXPECT_EQ(Check("a b").code, 2);
  EXPECT_EQ(Check("/nowhere").code, 2);
  const Ended empty = Check(folder_.string());
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.text, HasSubstr("no golden vectors of a known layout"));
}

// A set of LLaMA-type models with one case of it.
class GoldenNopeTest : public GoldenCheckTest {
 protected:
  void SetUp() override {
    GoldenCheckTest::SetUp();
    for (const char* file : {"manifest.json", "inputs/A.safetensors", "models/A/config.json", "models/A/generation_config.json",
                             "models/A/model.safetensors", "cases/A.nope_hs.safetensors"}) {
      Take(file, LONGREACH_GOLDEN_NOPE);
    }
  }
};

TEST_F(GoldenNopeTest, NamesFilesThatNoCheckReadsAndCountsThemApart) {
  std::ofstream(folder_ / "tokenizer.json") << "{}";

  const Ended ended = Check(folder_.string());

  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("cases/A.nope_hs.safetensors: passed"));
  EXPECT_THAT(ended.text, HasSubstr("generation.json: absent"));
  EXPECT_THAT(ended.text, HasSubstr("tokenizer.json: not covered"));
  EXPECT_THAT(ended.text, HasSubstr("3 passed, 0 failed, 1 not covered"));
}

TEST_F(GoldenNopeTest, FailsOnAWrongNumberInACase) {
  ChangeFloat(folder_ / "cases/A.nope_hs.safetensors", 1, 3.5f);

  const Ended ended = Check(folder_.string());

  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("cases/A.nope_hs.safetensors: FAILED"));
}

TEST_F(GoldenNopeTest, FailsOnAModelThatIsCutOff) {
  std::filesystem::resize_file(folder_ / "models/A/model.safetensors", 100000);

  const Ended ended = Check(folder_.string());

  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("models/A: FAILED"));
  EXPECT_THAT(ended.text, HasSubstr("its data lies outside of the file"));
}

TEST_F(GoldenNopeTest, FailsOnFilesThatAreNotLaidOutAsExpected) {
  std::ofstream(folder_ / "fit.json") << "[1, 2";
  std::ofstream(folder_ / "generation.json") << R"([{"case": "A.nope"}])";

  const Ended ended = Check(folder_.string());

  EXPECT_EQ(ended.code, 1) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("fit.json: FAILED"));
  EXPECT_THAT(ended.text, HasSubstr("generation.json: FAILED"));
  EXPECT_THAT(ended.text, HasSubstr("3 passed, 2 failed"));
}

}  // namespace
