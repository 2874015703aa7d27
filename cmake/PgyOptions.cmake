# SPDX-License-Identifier: Apache-2.0
# Build options, the warnings everything is compiled with, and sanitizers.
option(PGY_TESTS "build the unit tests" ON)
option(PGY_BENCH "build the benchmarks" ON)
option(PGY_FUZZ "build the libFuzzer targets (clang)" OFF)
option(PGY_COVERAGE "instrument for line coverage (clang)" OFF)
option(PGY_WERROR "warnings are errors" OFF)
set(PGY_SANITIZE "" CACHE STRING "sanitizers, e.g. address,undefined")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Tests with sanitizers and fuzz targets are many and large: much of the time would go into linking the same objects.
if(PGY_FUZZ OR (PGY_SANITIZE AND PGY_TESTS))
  set(PGY_SHARED_LAYERS ON)
else()
  set(CMAKE_C_VISIBILITY_PRESET hidden)
endif()
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
# Where lines are needed for reports only, variables would make objects and links several times as large. The preset debug has them.
if(PGY_TESTS)
  set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1")
endif()
if(PGY_FUZZ AND NOT PGY_SANITIZE)
  set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1")
elseif(PGY_SANITIZE OR PGY_COVERAGE)
  set(CMAKE_C_FLAGS_DEBUG "-g1")
endif()
find_program(PGY_CCACHE ccache)
if(PGY_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${PGY_CCACHE})
  # Coverage maps name the folder of the source: whatever the user's cache is told, it may not lend them to another folder.
  if(PGY_COVERAGE)
    set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR= CCACHE_HASHDIR=1 ${PGY_CCACHE})
  endif()
endif()

# There are some four hundred tests and fuzz targets: lld links one in half the time.
find_program(PGY_LLD ld.lld)
if(PGY_LLD AND PGY_TESTS)
  add_link_options(-fuse-ld=lld)
endif()

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)

# -ffp-contract=off: a result must not depend on whether the compiler fused a multiply and an add.
add_library(pgy_settings INTERFACE)
target_include_directories(pgy_settings INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(pgy_settings INTERFACE _GNU_SOURCE)
target_compile_options(pgy_settings INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wno-missing-field-initializers
  -ffp-contract=off -fno-math-errno $<$<BOOL:${PGY_WERROR}>:-Werror>)
target_link_libraries(pgy_settings INTERFACE Threads::Threads ZLIB::ZLIB m ${CMAKE_DL_LIBS})
if(PGY_SANITIZE)
  target_compile_options(pgy_settings INTERFACE -fsanitize=${PGY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(pgy_settings INTERFACE -fsanitize=${PGY_SANITIZE})
endif()
if(CMAKE_C_COMPILER_ID STREQUAL Clang)
  target_compile_options(pgy_settings INTERFACE -Wno-unknown-pragmas -Wno-bitwise-conditional-parentheses)
endif()
if(PGY_SANITIZE MATCHES address AND CMAKE_C_COMPILER_ID STREQUAL Clang)
  target_compile_definitions(pgy_settings INTERFACE __SANITIZE_ADDRESS__=1) # GCC's word for it
  # The sanitizer finds the throw that it replaces when a program starts; ONNX Runtime, which throws, is opened later.
  target_link_options(pgy_settings INTERFACE -Wl,--push-state,--no-as-needed -lstdc++ -Wl,--pop-state)
endif()
if(PGY_COVERAGE)
  # Clang's: a process merges its counters into one file for each library. gcov has a file for each source, and writing a thousand of them
  # took most of the time of a short process.
  set(counters -fprofile-instr-generate=${CMAKE_BINARY_DIR}/profile/%m.profraw)
  target_compile_options(pgy_settings INTERFACE ${counters} -fcoverage-mapping)
  target_link_options(pgy_settings INTERFACE ${counters})
endif()
# For tests of loops, after pgy_settings.
add_library(pgy_fast INTERFACE)
target_compile_options(pgy_fast INTERFACE -O1)
