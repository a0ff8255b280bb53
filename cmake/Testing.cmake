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
  # Without the values of parameters in their names, which may be addresses.
  set(labels)
  if(ARG_LABELS)
    set(labels LABELS "${ARG_LABELS}")
  endif()
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 600 ${labels})
endfunction()
