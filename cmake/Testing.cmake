# longreach_test(NAME SOURCES a.cc ... LIBRARIES x ...): one GoogleTest program; each of its tests is one of ctest's.
if(LONGREACH_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

function(longreach_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE longreach::options ${ARG_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600)
endfunction()
