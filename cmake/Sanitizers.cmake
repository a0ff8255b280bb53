# LONGREACH_SANITIZE=address (with undefined behaviour), thread, or nothing. Only our own code is compiled with it: Debian's
# libraries and LibTorch are as they came.
set(LONGREACH_SANITIZE "" CACHE STRING "address (with undefined behaviour) or thread; empty for none")
if(LONGREACH_SANITIZE STREQUAL "address")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-sanitize-recover=undefined>")
  add_link_options(-fsanitize=address,undefined)
elseif(LONGREACH_SANITIZE STREQUAL "thread")
  # Boost.Asio's fences, which g++ warns of, stand beside a mutex that the sanitizer does see.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=thread;-Wno-tsan>")
  add_link_options(-fsanitize=thread)
  add_subdirectory(${CMAKE_SOURCE_DIR}/tests/support/tsan)
  link_libraries(tsan_locks)  # Into every program.
elseif(NOT LONGREACH_SANITIZE STREQUAL "")
  message(FATAL_ERROR "LONGREACH_SANITIZE is '${LONGREACH_SANITIZE}'; it must be address, thread or nothing")
endif()
if(LONGREACH_SANITIZE)
  # The standard library's own checks too: an index past the end of a vector is no report of the sanitizer's.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()

# longreach_hot(TARGET): what tests spend their time in. Under a sanitizer most code takes longer to optimise than to run; not this.
function(longreach_hot target)
  if(LONGREACH_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# Fuzzing: clang's libFuzzer counts the branches of our code; with its sanitizers, and its counts of lines.
if(LONGREACH_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "LONGREACH_FUZZ needs clang, not ${CMAKE_CXX_COMPILER_ID}. Run deploy/setup.sh --tests --faults, and use the preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
    -fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fsanitize=address,undefined -fprofile-instr-generate)
endif()
