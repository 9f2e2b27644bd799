# Runs monorun with ARGUMENTS on coherent memory and on adversarial memory with each of SEEDS: all must
# meet the reference, and their outputs must be the same bytes. Files go to FOLDER.
file(MAKE_DIRECTORY ${FOLDER})
set(modes fast)
foreach(seed ${SEEDS})
  list(APPEND modes adversarial:${seed})
endforeach()
foreach(mode ${modes})
  set(outputs ${FOLDER}/outputs.safetensors)
  execute_process(
    COMMAND ${MONORUN} ${ARGUMENTS} --coherence=${mode} --outputs=${outputs}
    COMMAND_ERROR_IS_FATAL ANY)
  file(SHA256 ${outputs} hash)
  if(mode STREQUAL "fast")
    set(expected ${hash})
  elseif(NOT hash STREQUAL expected)
    message(FATAL_ERROR "outputs under ${mode} differ from those on coherent memory")
  endif()
endforeach()
