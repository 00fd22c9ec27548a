// Any bytes as an expert popularity profile: an engine::Error or a value that keeps its
// contract.

#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/plan_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string broken = offstage::tests::check_popularity({reinterpret_cast<const char*>(data), size});
    if (!broken.empty()) {
        std::fprintf(stderr, "broken promise: %s\n", broken.c_str());
        std::abort();
    }
    return 0;
}
