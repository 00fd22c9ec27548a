#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <vector>

#include "kernels/cuda/cublas_library.cuh"

namespace offstage::kernels::cuda {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

// The loader's own folders first, then those that NVIDIA's installers use without
// registering them with the loader.
std::vector<std::string> folders() {
    std::vector<std::string> all = {""};
    for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) {
        const char* const root = std::getenv(variable);
        if (root != nullptr && root[0] == '/') all.push_back(std::string(root) + "/lib64/");
    }
    const std::string version = std::to_string(CUBLAS_VER_MAJOR);
    for (const std::string& root : {std::string("/usr/local/cuda"), "/usr/local/cuda-" + version,
                                    "/usr/local/cuda-" + version + "." + std::to_string(CUBLAS_VER_MINOR)}) {
        all.push_back(root + "/lib64/");
    }
    all.push_back("/opt/cuda/lib64/");
    all.push_back("/usr/lib/wsl/lib/");
    return all;
}

}  // namespace

std::unique_ptr<Cublas> Cublas::load() {
    std::unique_ptr<Cublas> cublas(new Cublas);
    // Only the same major version has the same interface.
    const std::string file = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
    for (const std::string& folder : folders()) {
        cublas->library_ = dlopen((folder + file).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (cublas->library_ != nullptr) break;
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
