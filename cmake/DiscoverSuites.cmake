# Run after a test program is linked (cmake -P): writes what ctest includes, one test of ctest's for each suite of GoogleTest's in PROGRAM.
# gtest_discover_tests has a process for each single test, of which there are 2,800.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE _list ERROR_VARIABLE _errors RESULT_VARIABLE _status TIMEOUT 120)
if(NOT _status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests ended with ${_status}:\n${_list}${_errors}")
endif()
string(REGEX REPLACE " *#[^\n]*" "" _list "${_list}")  # Types and values of parameters, which may be any text.
string(REGEX MATCHALL "[A-Za-z0-9_/]+\\.\n" _suites "${_list}")
set(_script "")
set(_cost "")
if(COST)
  set(_cost " COST ${COST}")
endif()
foreach(_suite ${_suites})
  string(REGEX REPLACE "\\.\n$" "" _suite "${_suite}")
  # The longest suite takes two and a half minutes where nothing slows it down, and many times that under a sanitizer. One of which all tests
  # were skipped counts as skipped.
  string(APPEND _script "add_test([[${PREFIX}${_suite}]] [[${PROGRAM}]] [[--gtest_filter=${_suite}.*]] --gtest_brief=1)\n"
    "set_tests_properties([[${PREFIX}${_suite}]] PROPERTIES TIMEOUT 3600${_cost} SKIP_REGULAR_EXPRESSION \"PASSED  . 0 tests\")\n")
endforeach()
file(WRITE ${OUTPUT} "${_script}")
