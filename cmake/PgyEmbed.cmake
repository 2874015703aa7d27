# SPDX-License-Identifier: Apache-2.0
# Texts as C arrays, so that programs carry them: cmake -DINPUT=FILE -DSYMBOL=NAME -DOUTPUT=FILE -P PgyEmbed.cmake
# writes `const char NAME[]`, terminated. Included, it has pgy_embed(), which makes such a file for each source.
if(CMAKE_SCRIPT_MODE_FILE AND DEFINED INPUT)
  file(READ ${INPUT} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],){16})" "\\1\n    " bytes "${bytes}")
  file(WRITE ${OUTPUT} "/* Made from ${SYMBOL}'s source. */\nextern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] = {\n    ${bytes}0};\n")
  return()
endif()

# Sets `out` to the C files made from `sources`; the array of x.cu is <prefix>x.
function(pgy_embed out prefix)
  set(made)
  foreach(source ${ARGN})
    get_filename_component(name ${source} NAME_WE)
    set(file ${CMAKE_BINARY_DIR}/embedded/${prefix}${name}.c)
    add_custom_command(OUTPUT ${file} COMMAND ${CMAKE_COMMAND} -DINPUT=${source} -DSYMBOL=${prefix}${name} -DOUTPUT=${file}
      -P ${CMAKE_SOURCE_DIR}/cmake/PgyEmbed.cmake DEPENDS ${source} ${CMAKE_SOURCE_DIR}/cmake/PgyEmbed.cmake)
    list(APPEND made ${file})
  endforeach()
  set(${out} ${made} PARENT_SCOPE)
endfunction()
