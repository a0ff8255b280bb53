# cmake --install FOLDER --prefix /opt/longreach [--component scheduler|client|worker]: the programs, and beside the
# worker, in lib/, the five files of LibTorch that it needs on a CPU.
foreach(component client scheduler worker)
  set(program longreach-${component})
  if(component STREQUAL "client")
    set(program longreach)
  endif()
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION bin COMPONENT ${component} OPTIONAL)
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "\$ORIGIN/../lib")
  endif()
endforeach()

if(LONGREACH_TRAINER)
  install(TARGETS longreach-tokenizer RUNTIME DESTINATION bin COMPONENT worker OPTIONAL)
  # Which of these there are depends on the LibTorch: the wheel for CPUs alone has no CUDA in it.
  foreach(library libc10.so libtorch_cpu.so libgomp.so.1)
    install(FILES ${LONGREACH_LIBTORCH}/lib/${library} DESTINATION lib COMPONENT worker OPTIONAL)
  endforeach()
  foreach(library libcudart.so.13 libcupti.so.13)
    install(FILES ${LONGREACH_NVIDIA}/cu13/lib/${library} DESTINATION lib COMPONENT worker OPTIONAL)
  endforeach()
endif()
