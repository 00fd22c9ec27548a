#pragma once
// cuBLAS, found when a GPU is opened: the program starts without it, and on machines
// without CUDA.

#include <cublas_v2.h>
#include <memory>
#include <string>

namespace offstage::kernels::cuda {

// The functions that Offstage uses, by their names and signatures in cublas_v2.h.
struct CublasFunctions {
    decltype(&cublasCreate_v2) create = nullptr;
    decltype(&cublasDestroy_v2) destroy = nullptr;
    decltype(&cublasSetStream_v2) set_stream = nullptr;
    decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
    // Written out: cublas_v2.h overloads the name for old callers.
    cublasStatus_t (*gemm_ex)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void* alpha,
                              const void* a, cudaDataType_t, int lda, const void* b, cudaDataType_t, int ldb,
                              const void* beta, void* c, cudaDataType_t, int ldc, cublasComputeType_t,
                              cublasGemmAlgo_t) = nullptr;
    decltype(&cublasSgemm_v2) sgemm = nullptr;
};

// A loaded library and a handle of the current device.
class Cublas {
  public:
    // nullptr if there is no cuBLAS of the version that Offstage was built with, or if it
    // does not start.
    static std::unique_ptr<Cublas> load();
    ~Cublas();
    Cublas(const Cublas&) = delete;
    Cublas& operator=(const Cublas&) = delete;

    const CublasFunctions& functions() const { return functions_; }
    cublasHandle_t handle() const { return handle_; }
    const std::string& version() const { return version_; }  // "13.0"

  private:
    Cublas() = default;
    void* library_ = nullptr;
    CublasFunctions functions_;
    cublasHandle_t handle_ = nullptr;
    std::string version_;
};

}  // namespace offstage::kernels::cuda
