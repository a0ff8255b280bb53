# longreach_test(NAME SOURCES a.cc ... LIBRARIES x ... [RPC | TORCH | FAST] [DEFINITIONS d ... PREFIX p] [COST s]): one GoogleTest program; each
# of its suites is one of ctest's tests. Sources that are compiled twice, with other definitions, need a prefix to the names of their suites.
# Suites that take long begin first, or the processors would wait for the last one: COST is about how many seconds the longest takes. ctest
# knows by itself what it has run before in the same build folder.
#
# A third of a build is tests, and most of a test's compilation is headers and templates of others. So what most tests include is parsed
# once for all of them, with RPC (tests of what links longreach::proto) the services' headers too, with TORCH the trainer's; and code that
# runs once is not made fast, but with FAST: under a sanitizer optimising it took three quarters of the time.
if(LONGREACH_TESTS)
  find_package(GTest REQUIRED)

  set(longreach_test_options -O0)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/test_headers.cc CONTENT "")
  foreach(target test_headers rpc_test_headers)
    add_library(longreach_${target} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/generated/test_headers.cc)
    target_link_libraries(longreach_${target} PRIVATE longreach::options GTest::gtest GTest::gmock)
    target_compile_options(longreach_${target} PRIVATE ${longreach_test_options})
    longreach_precompile_headers(longreach_${target} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  endforeach()
  target_link_libraries(longreach_rpc_test_headers PRIVATE longreach::proto)
  longreach_precompile_headers(longreach_rpc_test_headers PRIVATE
    <grpcpp/grpcpp.h> <longreach/v1/api.grpc.pb.h> <longreach/v1/worker.grpc.pb.h>)
endif()

function(longreach_test name)
  cmake_parse_arguments(ARG "RPC;TORCH;FAST" "PREFIX;COST" "SOURCES;LIBRARIES;DEFINITIONS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE longreach::options ${ARG_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINITIONS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(ARG_TORCH)
    longreach_precompile_headers(${name} REUSE_FROM longreach_trainer)
    longreach_hot(${name})
  elseif(ARG_FAST)
    target_compile_options(${name} PRIVATE -O2)  # Whatever the build type.
  elseif(ARG_RPC)
    target_compile_options(${name} PRIVATE ${longreach_test_options})
    longreach_precompile_headers(${name} REUSE_FROM longreach_rpc_test_headers)
  else()
    target_compile_options(${name} PRIVATE ${longreach_test_options})
    longreach_precompile_headers(${name} REUSE_FROM longreach_test_headers)
  endif()
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
  set(discover ${CMAKE_SOURCE_DIR}/cmake/DiscoverSuites.cmake)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${discover})
  add_custom_command(TARGET ${name} POST_BUILD BYPRODUCTS ${suites} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}> -DPREFIX=${ARG_PREFIX} -DCOST=${ARG_COST} -DOUTPUT=${suites} -P ${discover})
  # A program that was not built is a test that fails.
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}_tests.cmake
    "if(EXISTS [[${suites}]])\n  include([[${suites}]])\nelse()\n  add_test(${name}_NOT_BUILT ${name}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}_tests.cmake)
endfunction()
