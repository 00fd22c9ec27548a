#include "kernels/cuda_part.h"

#include <dlfcn.h>
#include <filesystem>
#include <system_error>

namespace offstage::kernels {
namespace {

// Beside an installed program or one of a build tree, then beside one with its libraries
// in its own folder.
std::vector<std::string> places() {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    if (error) return {};
    return {folder.parent_path() / "lib/offstage/offstage-cuda.so", folder / "lib/offstage-cuda.so"};
}

const CudaPart& cuda_part() {
    static const CudaPart part = load_cuda_part("libcuda.so.1", places());
    return part;
}

CudaPart missing(CudaFault fault, const char* text = "", const std::string& detail = {}) {
    CudaPart part;
    part.none_because = {fault, text, detail};
    return part;
}

template <typename Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

}  // namespace

CudaPart load_cuda_part(const char* driver, const std::vector<std::string>& files) {
    if (dlopen(driver, RTLD_NOW | RTLD_LOCAL) == nullptr) return missing(CudaFault::kNoDriver);
    for (const std::string& file : files) {
        std::error_code error;
        if (!std::filesystem::exists(file, error)) continue;
        void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return missing(CudaFault::kPartDoesNotLoad, dlerror());
        const char* (*build)() = nullptr;
        CudaPart part;
        if (!find(library, "offstage_cuda_build", build)) return missing(CudaFault::kPartOfOtherBuild, "?", kCudaBuild);
        const std::string its_build = build();
        if (its_build != kCudaBuild || !find(library, "offstage_cuda_devices", part.devices) ||
            !find(library, "offstage_cuda_open", part.open)) {
            return missing(CudaFault::kPartOfOtherBuild, its_build.c_str(), kCudaBuild);
        }
        return part;
    }
    return missing(CudaFault::kPartNotInstalled);
}

CudaDevices cuda_devices() {
    CudaDevices found;
    const CudaPart& part = cuda_part();
    if (part.devices == nullptr) {
        found.none_because = part.none_because;
    } else {
        part.devices(found);
    }
    return found;
}

CudaOpening open_cuda_context(int ordinal) {
    CudaOpening opening;
    const CudaPart& part = cuda_part();
    if (part.open == nullptr) {
        opening.problem = CudaOpenProblem::kUnsupported;
        opening.reason = part.none_because;
    } else {
        part.open(ordinal, opening);
    }
    return opening;
}

}  // namespace offstage::kernels
