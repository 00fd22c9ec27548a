// Any bytes as a file of offstage-cli evaluate: an engine::Error, or tasks and logits
// that keep their contract.

#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/evaluation_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string broken = offstage::tests::check_evaluation_file({reinterpret_cast<const char*>(data), size});
    if (!broken.empty()) {
        std::fprintf(stderr, "broken promise: %s\n", broken.c_str());
        std::abort();
    }
    return 0;
}
