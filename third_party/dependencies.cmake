# How outside software is found. Nothing of ours, no fork and no binaries live in this folder.

# Debian keeps LLVM beside /usr, so its own llvm-config says where; the path is never written down.
find_program(MONO_LLVM_CONFIG NAMES llvm-config-22 llvm-config REQUIRED)
execute_process(COMMAND ${MONO_LLVM_CONFIG} --prefix OUTPUT_VARIABLE MONO_LLVM_PREFIX
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(APPEND CMAKE_PREFIX_PATH ${MONO_LLVM_PREFIX})

find_package(MLIR 22.1 REQUIRED CONFIG)
find_package(LLD 22.1 REQUIRED CONFIG)
find_package(fmt REQUIRED CONFIG)
find_package(GTest REQUIRED CONFIG)
find_package(benchmark REQUIRED CONFIG)
find_package(Threads REQUIRED)

# AddMLIR alone fails: its TableGen helpers call into AddLLVM.
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(GoogleTest)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS} ${LLD_INCLUDE_DIRS})

# Lets ccache take precompiled headers for what they contain instead of when they were made.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# Debian's default linker is an order of magnitude slower on MLIR's archives.
add_link_options(-fuse-ld=lld)

# LLVM comes as one shared library, MLIR as static archives (see docs/rationale.md): naming LLVM
# component archives beside it would register every command line option twice.
set(MONO_LLVM LLVM)

find_program(MONO_LIT NAMES lit-22 lit HINTS ${MONO_LLVM_PREFIX}/bin REQUIRED)
set(MONO_LLVM_TOOLS_DIR ${MONO_LLVM_PREFIX}/bin)

# Tests keep away from the compile cache of whoever runs them.
set(MONO_TEST_ENVIRONMENT "MONO_CACHE_DIR=set:${CMAKE_BINARY_DIR}/test-cache")

# mono_test(NAME sources... LIBS libs...): one GoogleTest program whose cases ctest sees one by one, with
# the program's name as their label.
function(mono_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 600 LABELS ${name} ENVIRONMENT_MODIFICATION "${MONO_TEST_ENVIRONMENT}")
endfunction()
