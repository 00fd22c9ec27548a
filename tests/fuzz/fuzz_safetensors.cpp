// Any bytes as a safetensors file: an engine::Error or a value that keeps its contract.

#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/model_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string broken = offstage::tests::check_safetensors({reinterpret_cast<const std::byte*>(data), size});
    if (!broken.empty()) {
        std::fprintf(stderr, "broken promise: %s\n", broken.c_str());
        std::abort();
    }
    return 0;
}
