// cuBLAS on the host, and the library loader that finds it (in the place of
// kernels/cuda/cublas_library.cu).
#include "kernels/cuda/cublas_library.cuh"
#include "kernels/types.h"
#include "tests/cuda_host/host_stream.h"

struct HostCublas {
    cudaStream_t stream = nullptr;
};

namespace {

float value_at(const void* data, cudaDataType_t type, std::int64_t index) {
    using offstage::kernels::Bf16;
    using offstage::kernels::F16;
    using offstage::kernels::to_float;
    if (type == CUDA_R_32F) return static_cast<const float*>(data)[index];
    if (type == CUDA_R_16F) return to_float(static_cast<const F16*>(data)[index]);
    return to_float(static_cast<const Bf16*>(data)[index]);
}

// c (m, n) = op(a) (m, k) * op(b) (k, n), all counted by columns.
void multiply(bool transpose_a, bool transpose_b, int m, int n, int k, const void* a, const void* b,
              cudaDataType_t type, int lda, int ldb, float* c, int ldc) {
    for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < m; ++i) {
            float sum = 0.0f;
            for (std::int64_t p = 0; p < k; ++p) {
                sum += value_at(a, type, transpose_a ? i * lda + p : p * lda + i) *
                       value_at(b, type, transpose_b ? p * ldb + j : j * ldb + p);
            }
            c[j * ldc + i] = sum;
        }
    }
}

}  // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
    if (cuda_host::enter("cublasCreate") != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
    *handle = new HostCublas;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    if (cuda_host::enter("cublasSetStream") != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void* workspace, std::size_t) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0;
    return aligned ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t operation_a, cublasOperation_t operation_b, int m,
                            int n, int k, const void* alpha, const void* a, cudaDataType_t type_a, int lda,
                            const void* b, cudaDataType_t type_b, int ldb, const void* beta, void* c,
                            cudaDataType_t type_c, int ldc, cublasComputeType_t, cublasGemmAlgo_t) {
    if (cuda_host::enter("cublasGemmEx") != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
    const bool transpose_a = operation_a == CUBLAS_OP_T;
    const bool transpose_b = operation_b == CUBLAS_OP_T;
    if (*static_cast<const float*>(alpha) != 1.0f || *static_cast<const float*>(beta) != 0.0f || m < 1 || n < 1 ||
        k < 1 || lda < (transpose_a ? k : m) || ldb < (transpose_b ? n : k) || ldc < m) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (type_a != type_b || type_c != CUDA_R_32F || (type_a == CUDA_R_16BF && cuda_host::compute_major() < 8)) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    cuda_host::enqueue(handle->stream, [=] {
        multiply(transpose_a, transpose_b, m, n, k, a, b, type_a, lda, ldb, static_cast<float*>(c), ldc);
    });
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t operation_a, cublasOperation_t operation_b,
                              int m, int n, int k, const float* alpha, const float* a, int lda, const float* b, int ldb,
                              const float* beta, float* c, int ldc) {
    return cublasGemmEx(handle, operation_a, operation_b, m, n, k, alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, beta,
                        c, CUDA_R_32F, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

namespace offstage::kernels::cuda {

std::unique_ptr<Cublas> Cublas::load() {
    if (!cuda_host::has_cublas()) return nullptr;
    std::unique_ptr<Cublas> cublas(new Cublas);
    CublasFunctions& functions = cublas->functions_;
    functions.create = cublasCreate_v2;
    functions.destroy = cublasDestroy_v2;
    functions.set_stream = cublasSetStream_v2;
    functions.set_workspace = cublasSetWorkspace_v2;
    functions.gemm_ex = cublasGemmEx;
    functions.sgemm = cublasSgemm_v2;
    if (functions.create(&cublas->handle_) != CUBLAS_STATUS_SUCCESS) return nullptr;
    cublas->version_ = "host";
    return cublas;
}

Cublas::~Cublas() {
    if (handle_ != nullptr) functions_.destroy(handle_);
}

}  // namespace offstage::kernels::cuda
