#include <dlfcn.h>

#include "kernels/cuda/cublas_library.cuh"

namespace offstage::kernels::cuda {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

}  // namespace

std::unique_ptr<Cublas> Cublas::load() {
    std::unique_ptr<Cublas> cublas(new Cublas);
    // The same major version alone keeps its interface.
    const std::string file = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
    cublas->library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (cublas->library_ == nullptr) {  // NVIDIA's installer does not always tell the loader
        cublas->library_ = dlopen(("/usr/local/cuda/lib64/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    void* library = cublas->library_;
    CublasFunctions& functions = cublas->functions_;
    if (library == nullptr || !find(library, "cublasCreate_v2", functions.create) ||
        !find(library, "cublasDestroy_v2", functions.destroy) ||
        !find(library, "cublasSetStream_v2", functions.set_stream) ||
        !find(library, "cublasSetWorkspace_v2", functions.set_workspace) ||
        !find(library, "cublasGemmEx", functions.gemm_ex) || !find(library, "cublasSgemm_v2", functions.sgemm)) {
        return nullptr;
    }
    if (functions.create(&cublas->handle_) != CUBLAS_STATUS_SUCCESS) {
        cublas->handle_ = nullptr;
        return nullptr;
    }
    cublas->version_ = std::to_string(CUBLAS_VER_MAJOR) + "." + std::to_string(CUBLAS_VER_MINOR);
    return cublas;
}

Cublas::~Cublas() {
    if (handle_ != nullptr) functions_.destroy(handle_);
    if (library_ != nullptr) dlclose(library_);
}

}  // namespace offstage::kernels::cuda
