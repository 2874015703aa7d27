# SPDX-License-Identifier: Apache-2.0
# Every tests/unit/<layer>/<module>.c becomes the test <layer>.<module>. A test is a function
#     static void test_<module>__<case>(void **state)
# found by its name: tools/gen_test_main writes the table, so nothing is registered by hand.
find_library(CMOCKA_LIBRARY cmocka REQUIRED)
# An archive, so that a test takes only those helpers whose layers it links.
file(GLOB PGY_HARNESS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/harness/*.c)
if(NOT PGY_HARNESS)
  set(PGY_HARNESS ${CMAKE_SOURCE_DIR}/cmake/empty.c)
endif()
add_library(pgy_harness STATIC ${PGY_HARNESS})
target_link_libraries(pgy_harness PUBLIC pgy_settings)
target_include_directories(pgy_harness PRIVATE ${CMAKE_SOURCE_DIR}/tests)
if(PGY_COVERAGE OR PGY_SANITIZE)
  target_link_libraries(pgy_harness PRIVATE pgy_fast) # it compares millions of elements
endif()

if(PGY_SHARED_LAYERS)
  add_library(pgy_sanitizer OBJECT ${CMAKE_SOURCE_DIR}/src/base/sanitizer.c)
  target_link_libraries(pgy_sanitizer PRIVATE pgy_settings)
endif()

# Stand-ins for NVIDIA's driver and compiler, which tests find through POLYGRAPHY_CUDA_PATH.
foreach(library cuda nvrtc nccl)
  add_library(fake_${library} MODULE ${CMAKE_SOURCE_DIR}/tests/harness/cuda/lib${library}.c)
  set_target_properties(fake_${library} PROPERTIES PREFIX "" OUTPUT_NAME lib${library} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cuda)
  target_link_libraries(fake_${library} PRIVATE pgy_settings)
endforeach()
set_target_properties(fake_cuda PROPERTIES SUFFIX .so.1)
set_target_properties(fake_nvrtc PROPERTIES SUFFIX .so.13)
set_target_properties(fake_nccl PROPERTIES SUFFIX .so.2)
add_custom_target(fake_cuda_libraries DEPENDS fake_cuda fake_nvrtc fake_nccl)
# The same driver, which compiles kernels with GCC and runs them on the host. What the kernels share is compiled here, without sanitizers, as they are.
add_library(cuda_emulation MODULE ${CMAKE_SOURCE_DIR}/tests/harness/cuda/emulation.c)
set_target_properties(cuda_emulation PROPERTIES C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cuda_running)
target_compile_options(cuda_emulation PRIVATE -O2 -Wall -Wextra)
target_link_libraries(cuda_emulation PRIVATE -Wl,--no-as-needed m)
find_program(PGY_GCC NAMES gcc ${CMAKE_C_COMPILER} REQUIRED)
add_library(running_cuda MODULE ${CMAKE_SOURCE_DIR}/tests/harness/cuda/libcuda.c)
set_target_properties(running_cuda PROPERTIES PREFIX "" OUTPUT_NAME libcuda SUFFIX .so.1 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cuda_running)
target_compile_definitions(running_cuda PRIVATE FAKE_CUDA_RUNS="${PGY_GCC}" FAKE_CUDA_EMULATION="${CMAKE_SOURCE_DIR}/tests/harness/cuda/emulation.h"
  FAKE_CUDA_EMULATION_LIBRARY="$<TARGET_FILE:cuda_emulation>" FAKE_CUDA_OBJECTS="${CMAKE_SOURCE_DIR}/build/cuda_objects")
target_link_libraries(running_cuda PRIVATE pgy_settings)
foreach(library nvrtc.so.13 nccl.so.2)
  add_custom_command(TARGET running_cuda POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink ../cuda/lib${library}
    ${CMAKE_BINARY_DIR}/tests/cuda_running/lib${library})
endforeach()
# cuBLASLt only stands beside the driver that runs kernels: its products need memory that the host reaches.
add_library(fake_cublaslt MODULE ${CMAKE_SOURCE_DIR}/tests/harness/cuda/libcublaslt.c)
set_target_properties(fake_cublaslt PROPERTIES PREFIX "" OUTPUT_NAME libcublasLt SUFFIX .so.13 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cuda_running)
target_link_libraries(fake_cublaslt PRIVATE pgy_settings m)
add_dependencies(running_cuda cuda_emulation fake_nvrtc fake_nccl fake_cublaslt)

# Operators from outside, as a user would build them: the header is all they know.
file(GLOB plugins CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/operators/*.c ${CMAKE_SOURCE_DIR}/examples/hooks/*.c ${CMAKE_SOURCE_DIR}/tests/data/operators/*.c)
foreach(file ${plugins})
  get_filename_component(name ${file} NAME_WE)
  add_library(operators.${name} MODULE ${file})
  set_target_properties(operators.${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/operators)
  target_link_libraries(operators.${name} PRIVATE pgy_settings)
endforeach()

# The programs of examples/gs against the shared library, as a user would build them; test gs.examples runs them.
file(GLOB gs_examples CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/gs/*/*.c)
set(PGY_GS_EXAMPLES)
foreach(file ${gs_examples})
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  add_executable(example.gs.${name} ${file})
  set_target_properties(example.gs.${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples/gs)
  target_link_libraries(example.gs.${name} PRIVATE polygraphy pgy_settings)
  list(APPEND PGY_GS_EXAMPLES example.gs.${name})
endforeach()

# What the programs of a layer's tests have in common.
function(pgy_test_program target layer)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/tests/unit/${layer})
  target_compile_definitions(${target} PRIVATE TEST_SOURCE_DIR="${CMAKE_SOURCE_DIR}" TEST_BINARY_DIR="${CMAKE_BINARY_DIR}" TEST_COMPILER="${CMAKE_C_COMPILER}")
  if(layer STREQUAL cli)
    pgy_link_layers(${target} cli)
    pgy_test_layers(${target} ${PGY_ALL_LAYERS})
  else()
    pgy_test_layers(${target} ${layer} ${PGY_LAYER_USES_${layer}})
  endif()
  target_link_libraries(${target} PRIVATE pgy_harness ${CMOCKA_LIBRARY})
  if(PGY_LLD AND NOT PGY_SHARED_LAYERS)
    # The program contains its layers, whose lines would be a third of it. The builds that report lines, asan and tsan, share the layers. Two
    # links run at once, so one thread each is cheaper.
    target_link_options(${target} PRIVATE -Wl,--strip-debug,--threads=1,-O0)
  endif()
  if(layer STREQUAL kernels)
    if(PGY_COVERAGE OR PGY_SANITIZE)
      target_link_libraries(${target} PRIVATE pgy_fast) # they compare millions of elements
    endif()
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>) # quicker to compile, and nothing waits for their own code
  endif()
endfunction()

# A program for all files of a layer, because four hundred links would take longer than the compilation of the library. Its name chooses the file:
# tests/test.<layer>.<module> are links to it.
function(pgy_unit_tests layer)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/${layer}/*.c)
  set(mains)
  set(modules)
  foreach(file ${files})
    get_filename_component(module ${file} NAME_WE)
    set(name ${layer}.${module})
    set(main ${CMAKE_BINARY_DIR}/tests/${name}.main.c)
    set(function main)
    if(NOT name IN_LIST PGY_OWN_PROGRAM)
      set(function main_${module})
    endif()
    add_custom_command(OUTPUT ${main} COMMAND ${CMAKE_SOURCE_DIR}/tools/gen_test_main ${file} ${main} ${function}
      DEPENDS ${file} ${CMAKE_SOURCE_DIR}/tools/gen_test_main)
    if(name IN_LIST PGY_OWN_PROGRAM)
      add_executable(test.${name} ${main})
      pgy_test_program(test.${name} ${layer})
    else()
      list(APPEND mains ${main})
      list(APPEND modules ${module})
    endif()
    add_test(NAME ${name} COMMAND ${CMAKE_BINARY_DIR}/tests/test.${name} ${PGY_ARGUMENT_${name}})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS unit)
  endforeach()
  if(NOT mains)
    return()
  endif()
  set(table ${CMAKE_BINARY_DIR}/tests/${layer}.def)
  list(TRANSFORM modules REPLACE "(.+)" "TEST(\\1)\n" OUTPUT_VARIABLE lines)
  list(JOIN lines "" lines)
  file(CONFIGURE OUTPUT ${table} CONTENT "${lines}" @ONLY)
  add_executable(unit.${layer} ${CMAKE_SOURCE_DIR}/tests/unit/main.c ${mains})
  target_compile_definitions(unit.${layer} PRIVATE TESTS="${table}")
  pgy_test_program(unit.${layer} ${layer})
  list(JOIN modules " " modules)
  add_custom_command(TARGET unit.${layer} POST_BUILD WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/tests VERBATIM
    COMMAND sh -c "for module in ${modules}; do ln -f unit.${layer} test.${layer}.$module; done")
endfunction()

# Files that define what the library looks for (weak symbols, functions of the C library, a constructor): in a program of all files, every test
# would have it. And kernels.team, which the thread sanitizer's build needs without the other kernels' tests.
set(PGY_OWN_PROGRAM base.system kernels.int_amx kernels.team onnx.save_pair runner.registry where.passes)
# It compiles some hundred kernels, one after another: two tests share them.
set(PGY_ARGUMENT_kernels.cuda -test_cuda__convolutions*)
foreach(layer ${PGY_ALL_LAYERS} cli)
  pgy_unit_tests(${layer})
endforeach()

add_dependencies(unit.device fake_cuda_libraries)
add_dependencies(unit.engine fake_cuda_libraries)
add_dependencies(unit.kernels running_cuda)
add_test(NAME kernels.cuda_convolutions COMMAND ${CMAKE_BINARY_DIR}/tests/test.kernels.cuda test_cuda__convolutions*)
set_tests_properties(kernels.cuda kernels.cuda_convolutions PROPERTIES TIMEOUT 1500 LABELS unit)
# Long tests start first, so that no processor waits for the last of them.
set_tests_properties(kernels.cuda PROPERTIES COST 200)
set_tests_properties(kernels.cuda_convolutions kernels.conv kernels.int_conv kernels.half_adapter kernels.elementwise PROPERTIES COST 100)
set_tests_properties(kernels.bytes kernels.attention kernels.forest kernels.shapes kernels.nbits graph.infer transform.weights engine.peak engine.passes engine.select
  engine.program_place engine.fake_splits decode.decode compare.simple perf.bench cli.c_script viewer.serve viewer.layout_limits viewer.source_trace PROPERTIES COST 50)

# Which option a word is taken for, to be held beside the original (tests/parity/options.py).
add_executable(option_runner ${CMAKE_SOURCE_DIR}/tests/parity/option_runner.c)
set_target_properties(option_runner PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
pgy_link_layers(option_runner cli)
pgy_test_layers(option_runner ${PGY_ALL_LAYERS})

# The CUDA device on a GPU; tests/gpu/run --device-check runs it.
add_executable(gpu_device ${CMAKE_SOURCE_DIR}/tests/gpu/device.c)
set_target_properties(gpu_device PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
pgy_test_layers(gpu_device device base)

# A second program on src/cli; the test cli.second_program runs it.
add_executable(second_program ${CMAKE_SOURCE_DIR}/tests/second_program/latency.c)
set_target_properties(second_program PROPERTIES OUTPUT_NAME latency RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
pgy_link_layers(second_program cli)
pgy_test_layers(second_program ${PGY_ALL_LAYERS})
add_dependencies(unit.cli second_program polygraphy polygraphy_cli)

if(PGY_GS_EXAMPLES)
  add_dependencies(unit.gs ${PGY_GS_EXAMPLES})
endif()

# The tests of the engine, for the thread sanitizer: it takes minutes for those that search or rewrite graphs, in which it can find nothing, because
# they start no thread. Other builds make sure that they do not.
set(PGY_ONE_THREAD engine.calibrate engine.config engine.config_store engine.cuda engine.cuda_byte_attention engine.cuda_byte_passes
  engine.drop_taps engine.empty_loops engine.fake_faults engine.formats engine.fuse_bags engine.fuse_elementwise engine.fuse_gather_matmul
  engine.fuse_lookups engine.fuse_matmul_integer engine.fuse_nbits engine.fuse_quantized engine.import engine.join_branches engine.joins
  engine.limits engine.lower_classic engine.lower_gates engine.lower_nchwc engine.lower_others engine.lower_sequences engine.measure
  engine.narrow engine.network engine.network_flow engine.network_plain engine.omitted engine.output_views engine.patches_to_matmul engine.pbqp
  engine.peak engine.profile engine.program_parts engine.program_place engine.save_tactics engine.select engine.shape_inputs engine.split_concat)
set_tests_properties(${PGY_ONE_THREAD} PROPERTIES LABELS "unit;one_thread")
if(NOT PGY_SANITIZE)
  add_library(no_thread MODULE ${CMAKE_SOURCE_DIR}/tests/harness/threads/no_thread.c)
  set_target_properties(no_thread PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set_tests_properties(${PGY_ONE_THREAD} PROPERTIES ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:no_thread>)
  add_dependencies(unit.engine no_thread)
endif()
add_custom_target(engine-tests DEPENDS unit.engine test.kernels.team)

# The modules of the page: their types, and what they do without a browser.
add_test(NAME viewer.page_types COMMAND ${CMAKE_SOURCE_DIR}/tests/viewer/types)
set_tests_properties(viewer.page_types PROPERTIES SKIP_RETURN_CODE 77)
find_program(PGY_NODE NAMES node nodejs)
file(GLOB page_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/viewer/js/*.test.mjs)
if(PGY_NODE)
  foreach(file ${page_tests})
    string(REGEX REPLACE "^.*/([a-z_]+)\\.test\\.mjs$" "\\1" name ${file})
    add_test(NAME viewer.page.${name} COMMAND ${PGY_NODE} --test ${file})
  endforeach()
endif()
