// Any bytes as a stored quantized block: refused, or a header that describes the
// requested block.

#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/quant_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string broken = offstage::tests::check_quant_file(std::as_bytes(std::span(data, size)));
    if (!broken.empty()) {
        std::fprintf(stderr, "broken promise: %s\n", broken.c_str());
        std::abort();
    }
    return 0;
}
