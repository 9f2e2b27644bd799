# Runs SCHEDULE with TOKENS and RANKS on coherent memory and on adversarial memory with SEED: both must
# meet the reference, and their outputs must be the same bytes. Files go to FOLDER.
file(MAKE_DIRECTORY ${FOLDER})
foreach(mode fast adversarial:${SEED})
  string(REPLACE ":" "_" name ${mode})
  execute_process(
    COMMAND ${MONORUN} ${SCHEDULE} -D S=${TOKENS} -D TP=${RANKS} --verify --coherence=${mode}
            --outputs=${FOLDER}/${name}.safetensors
    COMMAND_ERROR_IS_FATAL ANY)
  file(SHA256 ${FOLDER}/${name}.safetensors hash_${name})
endforeach()
if(NOT hash_fast STREQUAL hash_adversarial_${SEED})
  message(FATAL_ERROR "outputs of seed ${SEED} differ from those on coherent memory")
endif()
