# How our own code is compiled: warnings are errors, ccache where there is one, mold where there is one.
add_library(longreach_options INTERFACE)
add_library(longreach::options ALIAS longreach_options)
target_include_directories(longreach_options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_options(longreach_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wnon-virtual-dtor;-Woverloaded-virtual;-Werror>)

find_program(CCACHE ccache)
if(CCACHE)
  # The base folder makes hits possible between clones; the sloppiness is what precompiled headers need.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
    ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# longreach_precompile_headers(TARGET PRIVATE <header> ... | REUSE_FROM other): target_precompile_headers, for GCC without the warnings
# of its optimizer: GCC 12 forgets which of a precompiled header's lines are the system's, and what it then says about std::string and
# std::vector is wrong. AddressSanitizer sees what these warnings look for.
function(longreach_precompile_headers target)
  target_precompile_headers(${target} ${ARGN})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-restrict;-Wno-maybe-uninitialized>)
endfunction()
