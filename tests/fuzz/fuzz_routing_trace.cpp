// Any bytes as a routing trace: an engine::Error, or a trace that a replay takes.

#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/trace_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string broken = offstage::tests::check_trace({reinterpret_cast<const char*>(data), size});
    if (!broken.empty()) {
        std::fprintf(stderr, "broken promise: %s\n", broken.c_str());
        std::abort();
    }
    return 0;
}
