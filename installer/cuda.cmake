# OFFSTAGE_CUDA: AUTO takes nvcc when there is one that works, ON insists, OFF does not look. Sets OFFSTAGE_HAS_CUDA.
set(OFFSTAGE_HAS_CUDA OFF)
set(_values AUTO ON OFF)
if(NOT OFFSTAGE_CUDA IN_LIST _values)
  message(FATAL_ERROR "OFFSTAGE_CUDA is \"${OFFSTAGE_CUDA}\", but it must be AUTO, ON or OFF.")
endif()
if(OFFSTAGE_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: off (OFFSTAGE_CUDA=OFF)")
  return()
endif()

# NVIDIA's own packages do not put nvcc on the PATH.
find_program(OFFSTAGE_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
mark_as_advanced(OFFSTAGE_NVCC)
set(_reason "nvcc was not found")
if(OFFSTAGE_NVCC OR CMAKE_CUDA_COMPILER OR DEFINED ENV{CUDACXX})
  if(OFFSTAGE_NVCC AND NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    set(ENV{CUDACXX} "${OFFSTAGE_NVCC}")  # a variable would keep check_language from checking
  endif()
  # Code for the GPU in this machine. Without one: for the oldest generation, and PTX of sm_80, from which the driver
  # makes code for that one and any later when it first starts. Each generation is minutes of work; packages, which go
  # to all kinds of machines, are built with -DCMAKE_CUDA_ARCHITECTURES=all-major. The variable CUDAARCHS of the
  # environment is CMake's own: another default.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    if(EXISTS /dev/nvidia0)
      set(CMAKE_CUDA_ARCHITECTURES native)
    else()
      set(CMAKE_CUDA_ARCHITECTURES 75-real 80-virtual)
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    # cuBLAS itself is looked for when a GPU is opened; the build needs its header alone.
    find_path(OFFSTAGE_CUBLAS_INCLUDE_DIR cublas_v2.h HINTS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
    mark_as_advanced(OFFSTAGE_CUBLAS_INCLUDE_DIR)
    if(OFFSTAGE_CUBLAS_INCLUDE_DIR)
      set(OFFSTAGE_HAS_CUDA ON)
    else()
      set(_reason "the CUDA toolkit lacks cuBLAS's header, cublas_v2.h")
    endif()
  else()
    set(_reason "nvcc does not compile a test program with this C++ compiler")
  endif()
endif()

if(OFFSTAGE_HAS_CUDA)
  set(CMAKE_CUDA_STANDARD 17)  # what nvcc 11 knows, too
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)  # so that the program starts on machines without CUDA
  message(STATUS "CUDA: nvcc ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
elseif(OFFSTAGE_CUDA STREQUAL "ON")
  message(FATAL_ERROR
    "OFFSTAGE_CUDA is ON, but ${_reason}. Install the CUDA toolkit (NVIDIA's cuda-toolkit, or nvidia-cuda-toolkit from Debian's "
    "non-free section), or name the compiler with -DCMAKE_CUDA_COMPILER=.../nvcc, or build without: -DOFFSTAGE_CUDA=OFF.")
else()
  message(STATUS "CUDA: off (${_reason}; OFFSTAGE_CUDA=ON insists on it)")
endif()
