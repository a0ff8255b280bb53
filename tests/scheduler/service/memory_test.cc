#include "scheduler/service/memory.h"

#include <new>

#include <gtest/gtest.h>

namespace longreach::service {
namespace {

TEST(MemoryTest, AProcessWithoutMemoryEndsAndSaysWhatToDo) {
  const auto run_out = [] {
    std::set_new_handler(EndWithoutMemory);
    try {
      std::get_new_handler()();  // As operator new does when it finds no memory.
    } catch (...) {
      _exit(2);  // As gRPC does around handlers: nobody must get the chance.
    }
  };

  EXPECT_EXIT(run_out(), ::testing::ExitedWithCode(1), "out of memory; what was answered is on disk");
}

}  // namespace
}  // namespace longreach::service
