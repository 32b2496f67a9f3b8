# kgen_add_kernels: a library of kgen programs as a target.
#
#   find_package(kgen REQUIRED)          # cmake -Dkgen_DIR=$(python -m kgen --cmake-dir)
#   kgen_add_kernels(kernels axpy.k swiglu.k DTYPES f16 f32 ARCH sm_80 sm_90)
#   target_link_libraries(app kernels)   # and #include "kernels.h"
#
# docs/generated-code.md describes its options.
cmake_minimum_required(VERSION 3.20)

get_filename_component(_kgen_prefix "${CMAKE_CURRENT_LIST_DIR}/../../../../.." ABSOLUTE)
find_program(KGEN_EXECUTABLE kgen HINTS "${_kgen_prefix}/bin" DOC "kgen's command")
if(NOT KGEN_EXECUTABLE)
  set(kgen_FOUND FALSE)
  set(kgen_NOT_FOUND_MESSAGE "the command kgen is not on the PATH; set KGEN_EXECUTABLE to it")
  return()
endif()

# kgen_add_kernels(<target> <program>... [STATIC | SHARED] [DTYPE <text> | DTYPES <set>...] [LAYOUT <class>] [RANK <n>]
#                  [SHAPE <text>] [STRIDES <text>] [SCALAR <text>] [NAME <name>] [ARCH <arch>...] [FAST] [NO_FMAD])
function(kgen_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC;SHARED;FAST;NO_FMAD" "DTYPE;LAYOUT;RANK;SHAPE;STRIDES;SCALAR;NAME" "DTYPES;ARCH")
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kgen_add_kernels(${target}): no program is named")
  endif()

  set(options)
  foreach(name DTYPE LAYOUT RANK SHAPE STRIDES SCALAR NAME)
    if(DEFINED arg_${name})
      string(TOLOWER "--${name}" option)
      list(APPEND options "${option}" "${arg_${name}}")
    endif()
  endforeach()
  if(arg_DTYPES)
    # A semicolon would separate words of the command.
    string(REPLACE ";" "$<SEMICOLON>" sets "${arg_DTYPES}")
    list(APPEND options --dtypes "${sets}")
  endif()
  if(arg_FAST)
    list(APPEND options --fast)
  endif()
  if(arg_NO_FMAD)
    list(APPEND options --fmad off)
  endif()
  _kgen_architectures("${arg_ARCH}" archs)
  if(archs)
    list(APPEND options --arch "${archs}")
  endif()

  # The compilers of this project, where it has them.
  set(compilers)
  if(CMAKE_CXX_COMPILER)
    list(APPEND compilers "CXX=${CMAKE_CXX_COMPILER}")
  endif()
  if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA")
    list(APPEND compilers "CUDACXX=${CMAKE_CUDA_COMPILER}")
  endif()

  set(programs)
  foreach(program IN LISTS arg_UNPARSED_ARGUMENTS)
    get_filename_component(program "${program}" ABSOLUTE)
    list(APPEND programs "${program}")
  endforeach()
  set(kind SHARED)
  set(suffix so)
  if(arg_STATIC)
    set(kind STATIC)
    set(suffix a)
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.kgen")
  set(library "${folder}/lib${target}.${suffix}")
  file(MAKE_DIRECTORY "${folder}")
  # kgen leaves files alone that do not change. The library is then touched, or make would build it again each time;
  # what includes the header is not compiled again.
  add_custom_command(
    OUTPUT "${library}"
    BYPRODUCTS "${folder}/${target}.h"
    COMMAND "${CMAKE_COMMAND}" -E env ${compilers}
            "${KGEN_EXECUTABLE}" build ${programs} -o "${library}" --depfile "${library}.d" ${options}
    COMMAND "${CMAKE_COMMAND}" -E touch "${library}"
    DEPENDS ${programs}
    DEPFILE "${library}.d"
    COMMENT "Building kernels ${target}"
    VERBATIM)
  add_custom_target(${target}_build DEPENDS "${library}")

  add_library(${target} ${kind} IMPORTED GLOBAL)
  add_dependencies(${target} ${target}_build)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION "${library}"
    INTERFACE_INCLUDE_DIRECTORIES "${folder}")
  if(arg_STATIC)
    find_package(CUDAToolkit REQUIRED)
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES CUDA::cudart_static)
  endif()
endfunction()

# --arch of kgen: ``given``, else CMAKE_CUDA_ARCHITECTURES where it has numbers.
function(_kgen_architectures given result)
  if(NOT given AND CMAKE_CUDA_ARCHITECTURES MATCHES "^[0-9]+[af]?(-real|-virtual)?(;[0-9]+[af]?(-real|-virtual)?)*$")
    string(REGEX REPLACE "-(real|virtual)" "" given "${CMAKE_CUDA_ARCHITECTURES}")
    list(TRANSFORM given PREPEND sm_)
  endif()
  list(JOIN given "," joined)
  set(${result} "${joined}" PARENT_SCOPE)
endfunction()
