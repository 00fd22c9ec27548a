// Any bytes as a message between a desktop and a node, in both directions: none, or one
// that keeps its guarantees.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/node_messages.h"

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
    offstage::engine::silence_protobuf();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string broken = offstage::tests::check_node_message({reinterpret_cast<const char*>(data), size});
    if (!broken.empty()) {
        std::fprintf(stderr, "broken promise: %s\n", broken.c_str());
        std::abort();
    }
    return 0;
}
