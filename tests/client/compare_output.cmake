# Runs `PROGRAM reference` and compares its output with FILE.
execute_process(COMMAND ${PROGRAM} reference OUTPUT_VARIABLE output RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "'${PROGRAM} reference' ended with ${code}")
endif()
file(READ ${FILE} expected)
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "${FILE} is not what the program prints. Run: longreach reference > docs/reference/cli.md")
endif()
