# SPDX-License-Identifier: Apache-2.0
# A layer is an object library made of every .c file under src/<layer>/ (subfolders included). New files need no
# second line. PGY_LAYER_USES_<layer> keeps what it may use, for the tests to link no more than that.
function(pgy_layer layer)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${layer}/*.c)
  if(NOT sources)
    set(sources ${CMAKE_SOURCE_DIR}/cmake/empty.c)
  endif()
  add_library(pgy_${layer} OBJECT ${sources})
  target_link_libraries(pgy_${layer} PUBLIC pgy_settings)
  if(layer MATCHES "^(ops|kernels)$" AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    # Elementwise loops of any length become vectors, which -O2 alone leaves scalar.
    target_compile_options(pgy_${layer} PRIVATE -ftree-vectorize -fvect-cost-model=dynamic)
  endif()
  if(layer STREQUAL kernels)
    # Nobody reads floating-point exception flags; with them loops with conditions stay scalar.
    target_compile_options(pgy_${layer} PRIVATE -fno-trapping-math)
  endif()
  if(PGY_COVERAGE OR PGY_SANITIZE)
    # Loops over elements take most of the tests' time, but with sanitizers -O1 takes three times as long to compile as -O0.
    # Only these files have loops in which the tests spend seconds.
    set(loops ${sources})
    set(kernels byte_loops "byte_pool\\.c" int_tile conv_flat conv_tile elementwise "matmul(_avx2|_avx512|_blocked|_half|_portable)?\\.c" vec_math conv_linear half int_conv
      forest_ "walk\\.c" "kernel\\.c")
    list(JOIN kernels "|" kernels)
    set(places "/tensor/" "/ops/(class_|vmath)" "/kernels/(${kernels})" "/viewer/layout/(order|simplex)\\.c" "/engine/program/(overlap|place)\\.c" "/compare/(select|stats)\\.c"
      "/base/(hash|sha256)\\.c" "/(rand|json_scan|half_data|half_weight|weights_reconstruct)\\.c")
    list(JOIN places "|" places)
    list(FILTER loops INCLUDE REGEX "${places}")
    set_source_files_properties(${loops} PROPERTIES COMPILE_OPTIONS -O1)
  endif()
  set(PGY_LAYER_USES_${layer} "${ARG_USES}" PARENT_SCOPE)
  if(PGY_SHARED_LAYERS)
    add_library(pgy_shared_${layer} SHARED $<TARGET_OBJECTS:pgy_${layer}>)
    list(TRANSFORM ARG_USES PREPEND pgy_shared_)
    target_link_libraries(pgy_shared_${layer} PRIVATE ${ARG_USES} pgy_settings)
    set_target_properties(pgy_shared_${layer} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/layers)
  endif()
endfunction()

# Links these layers into a test or fuzz target, whichever way is faster to build.
function(pgy_test_layers target)
  if(PGY_SHARED_LAYERS)
    list(TRANSFORM ARGN PREPEND pgy_shared_)
    target_link_libraries(${target} PRIVATE pgy_settings ${ARGN})
    if(TARGET pgy_sanitizer)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:pgy_sanitizer>)
    endif()
  else()
    pgy_link_layers(${target} ${ARGN})
  endif()
endfunction()

# Links the objects of these layers into an executable.
function(pgy_link_layers target)
  target_link_libraries(${target} PRIVATE pgy_settings)
  foreach(layer ${ARGN})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:pgy_${layer}>)
  endforeach()
endfunction()

function(pgy_library target)
  pgy_link_layers(${target} ${ARGN})
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  if(NOT (PGY_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL Clang)) # its sanitizers are in the executables alone
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

# For tests and fuzz targets; tools/check_layers holds it beside docs/layers.md.
set(PGY_ALL_LAYERS base tensor device onnx data ops graph evaluate transform gs kernels engine runner backends compare inspect tune perf precision debug where decode viewer trace)
