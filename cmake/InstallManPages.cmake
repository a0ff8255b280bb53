# Part of the installation of `program`, which was built in `build`: the manual pages that it makes of its options go into share/man/man1,
# where man looks for those of the programs in bin/.
if(NOT EXISTS "${program}")
  return()  # Nor is the program installed.
endif()
string(RANDOM LENGTH 12 number)  # One build may be installed twice at the same time.
set(pages "${build}/man-${number}")
file(MAKE_DIRECTORY "${pages}")
cmake_path(GET program FILENAME name)
# Whoever reads the pages has another home than who installs them.
set(anybody ${CMAKE_COMMAND} -E env --unset=LONGREACH_DATA --unset=XDG_DATA_HOME --unset=XDG_STATE_HOME HOME=~)
if(name STREQUAL "longreach")
  execute_process(COMMAND ${anybody} "${program}" reference --man "${pages}" RESULT_VARIABLE code)
else()
  execute_process(COMMAND ${anybody} "${program}" --man OUTPUT_FILE "${pages}/${name}.1" RESULT_VARIABLE code)
endif()
file(GLOB made "${pages}/*.1")
if(code EQUAL 0)
  file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/share/man/man1" TYPE FILE FILES ${made})
endif()
file(REMOVE_RECURSE "${pages}")
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${program} does not print its manual page (${code}); 'make build' builds it anew")
endif()
