#pragma once
// The part of cuBLAS that Offstage uses, for the tests' host layer: see cuda_runtime.h.
// Plain loops on the stream's thread.

#include <cstddef>

#include "tests/cuda_host/cuda_runtime.h"

enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };
using cublasHandle_t = struct HostCublas*;

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t bytes);
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t operation_a, cublasOperation_t operation_b, int m,
                            int n, int k, const void* alpha, const void* a, cudaDataType_t type_a, int lda,
                            const void* b, cudaDataType_t type_b, int ldb, const void* beta, void* c,
                            cudaDataType_t type_c, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t operation_a, cublasOperation_t operation_b,
                              int m, int n, int k, const float* alpha, const float* a, int lda, const float* b, int ldb,
                              const float* beta, float* c, int ldc);
