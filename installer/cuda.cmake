# OFFSTAGE_CUDA: AUTO uses nvcc if a working one is found, ON requires it, OFF does not
# search. Sets OFFSTAGE_HAS_CUDA.
set(OFFSTAGE_HAS_CUDA OFF)
set(_values AUTO ON OFF)
if(NOT OFFSTAGE_CUDA IN_LIST _values)
  message(FATAL_ERROR "OFFSTAGE_CUDA is \"${OFFSTAGE_CUDA}\", but it must be AUTO, ON or OFF.")
endif()
if(OFFSTAGE_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: off (OFFSTAGE_CUDA=OFF)")
  return()
endif()

# NVIDIA's packages do not put nvcc on the PATH.
find_program(OFFSTAGE_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
mark_as_advanced(OFFSTAGE_NVCC)
set(_reason "nvcc was not found")
if(OFFSTAGE_NVCC OR CMAKE_CUDA_COMPILER OR DEFINED ENV{CUDACXX})
  if(OFFSTAGE_NVCC AND NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    set(ENV{CUDACXX} "${OFFSTAGE_NVCC}")  # check_language skips its check if a CMake variable is set
  endif()
  # Builds code for this machine's GPU. A machine without one builds code for the oldest
  # generation, and PTX of sm_80, from which the driver generates code for sm_80 and all
  # later GPUs at the first start. Each generation takes minutes to compile. Packages must
  # run on all machines and use -DCMAKE_CUDA_ARCHITECTURES=all-major. CMake reads its
  # default from the environment variable CUDAARCHS, which therefore has priority.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    file(GLOB gpus "/dev/nvidia[0-9]*")
    if(gpus OR (EXISTS /dev/dxg AND EXISTS /usr/lib/wsl/lib/libcuda.so.1))  # as has_gpu in common.sh
      set(CMAKE_CUDA_ARCHITECTURES native)
    else()
      set(CMAKE_CUDA_ARCHITECTURES 75-real 80-virtual)
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    # The build needs only cuBLAS's header; the program loads the library when it opens a
    # GPU.
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
  set(CMAKE_CUDA_STANDARD 17)  # the newest standard of nvcc 11
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)  # offstage-cuda.so needs the driver alone
  message(STATUS "CUDA: nvcc ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
elseif(OFFSTAGE_CUDA STREQUAL "ON")
  message(FATAL_ERROR
    "OFFSTAGE_CUDA is ON, but ${_reason}. Install the CUDA toolkit (NVIDIA's cuda-toolkit, or nvidia-cuda-toolkit from Debian's "
    "non-free section), or name the compiler with -DCMAKE_CUDA_COMPILER=.../nvcc, or build without: -DOFFSTAGE_CUDA=OFF.")
else()
  message(STATUS "CUDA: off (${_reason}; OFFSTAGE_CUDA=ON insists on it)")
endif()
