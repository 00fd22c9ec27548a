// Reads the body of a request to the local server, as each endpoint does.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/serve/api_error.h"
#include "engine/serve/api_request.h"

using namespace offstage::engine;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    for (ApiRequest (*const parse)(std::string_view) : {parse_chat_request, parse_completion_request}) {
        try {
            const ApiRequest request = parse(body);
            if (request.prompts.empty()) std::abort();
        } catch (const ApiError&) {
        }
    }
    return 0;
}
