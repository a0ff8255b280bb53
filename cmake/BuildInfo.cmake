# Run at every build (cmake -P): writes build_info.cc only when the commit or the state of the tree has changed.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE LONGREACH_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE _changes ERROR_QUIET)
if(NOT LONGREACH_COMMIT)
  set(LONGREACH_COMMIT "no commit")
elseif(_changes)
  string(APPEND LONGREACH_COMMIT "+")
endif()
configure_file(${SOURCE}/proto/base/build_info.cc.in ${OUTPUT} @ONLY)
