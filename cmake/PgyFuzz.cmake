# SPDX-License-Identifier: Apache-2.0
# Every tests/fuzz/<name>.c is one libFuzzer target fuzz.<name>, with a seed corpus in tests/fuzz/corpus/<name>/ if any.
# -fsanitize=fuzzer-no-link reaches all layers, so that coverage guides the search.
target_compile_options(pgy_settings INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
target_link_options(pgy_settings INTERFACE -fsanitize=address,undefined)
file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*.c)
file(GLOB_RECURSE fuzz_cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)
list(FILTER fuzz_cli_sources EXCLUDE REGEX "/main\\.c$")
foreach(file ${fuzzers})
  get_filename_component(name ${file} NAME_WE)
  add_executable(fuzz.${name} ${file})
  set_target_properties(fuzz.${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  pgy_link_layers(fuzz.${name} base tensor onnx data ops graph evaluate transform kernels engine runner backends compare)
  if(name STREQUAL "options")
    target_sources(fuzz.${name} PRIVATE ${fuzz_cli_sources})
  endif()
  target_link_options(fuzz.${name} PRIVATE -fsanitize=fuzzer)
endforeach()
