# LibTorch 2.11 as CMake targets, without find_package(Torch): that one demands a CUDA toolkit even for CPU use.
#
# In:  LONGREACH_LIBTORCH (a folder with include/ and lib/; also from the environment), else .venv in the source folder.
# Out: longreach::torch (CPU) and longreach::torch_cuda (for the plugin).
if(NOT LONGREACH_LIBTORCH AND DEFINED ENV{LONGREACH_LIBTORCH})
  set(LONGREACH_LIBTORCH $ENV{LONGREACH_LIBTORCH})
endif()
if(NOT LONGREACH_LIBTORCH)
  file(GLOB _torch_found ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
  list(GET _torch_found 0 LONGREACH_LIBTORCH)
endif()
if(NOT EXISTS ${LONGREACH_LIBTORCH}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "No LibTorch in '${LONGREACH_LIBTORCH}'. Run deploy/setup.sh, or name its folder in LONGREACH_LIBTORCH, "
                      "or build without the trainer: -DLONGREACH_TRAINER=OFF")
endif()
get_filename_component(LONGREACH_NVIDIA "${LONGREACH_LIBTORCH}/../nvidia" ABSOLUTE)

set(_torch_link_paths "${LONGREACH_LIBTORCH}/lib:${LONGREACH_NVIDIA}/cu13/lib:${LONGREACH_NVIDIA}/cudnn/lib:${LONGREACH_NVIDIA}/nccl/lib:${LONGREACH_NVIDIA}/nvshmem/lib:${LONGREACH_NVIDIA}/cusparselt/lib")

# The wheel carries the headers of protobuf 3.13, which would hide Debian's 3.21: -I comes before -isystem.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/protobuf_first)
file(CREATE_LINK /usr/include/google ${CMAKE_BINARY_DIR}/protobuf_first/google SYMBOLIC)

add_library(longreach_torch INTERFACE)
add_library(longreach::torch ALIAS longreach_torch)
target_include_directories(longreach_torch INTERFACE ${CMAKE_BINARY_DIR}/protobuf_first)
target_include_directories(longreach_torch SYSTEM INTERFACE
  ${LONGREACH_LIBTORCH}/include ${LONGREACH_LIBTORCH}/include/torch/csrc/api/include)
target_link_libraries(longreach_torch INTERFACE ${LONGREACH_LIBTORCH}/lib/libtorch_cpu.so ${LONGREACH_LIBTORCH}/lib/libc10.so)
# The run path to LibTorch is CMake's own doing, so that it is left out of what is installed. It must be the old kind of
# tag, which counts for libraries that libraries ask for.
target_link_options(longreach_torch INTERFACE "LINKER:--disable-new-dtags" "LINKER:-rpath-link,${_torch_link_paths}")

add_library(longreach_torch_cuda INTERFACE)
add_library(longreach::torch_cuda ALIAS longreach_torch_cuda)
target_link_libraries(longreach_torch_cuda INTERFACE longreach_torch)
# The plugin asks for libcudart itself, which the wheels keep elsewhere.
target_link_options(longreach_torch_cuda INTERFACE "LINKER:-rpath,${LONGREACH_NVIDIA}/cu13/lib")
# Nothing names a symbol of libtorch_cuda: without --no-as-needed the linker would drop it.
target_link_options(longreach_torch_cuda INTERFACE "LINKER:--push-state,--no-as-needed"
  ${LONGREACH_LIBTORCH}/lib/libtorch_cuda.so ${LONGREACH_LIBTORCH}/lib/libc10_cuda.so "LINKER:--pop-state")
