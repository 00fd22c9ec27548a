// Opens a damaged GGUF file as a model: metadata and tensors become a ModelSpec, and the
// places of its experts are looked up. Start it with the golden files of the engine's
// tests (tests/engine/data/gguf).

#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/error.h"
#include "engine/model/gguf_model.h"
#include "engine/model/weights.h"
#include "kernels/thread_pool.h"

using namespace offstage::engine;

namespace {

// A file that exists only in memory.
class MemoryFile {
  public:
    MemoryFile() : descriptor_(memfd_create("model.gguf", 0)), path_("/proc/self/fd/" + std::to_string(descriptor_)) {
        if (descriptor_ < 0) std::abort();
    }
    const std::string& path() const { return path_; }
    void write(const std::uint8_t* data, std::size_t size) const {
        if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0) std::abort();
        if (pwrite(descriptor_, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
    }

  private:
    int descriptor_;
    std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const MemoryFile file;
    static offstage::kernels::ThreadPool pool(1);
    file.write(data, size);
    try {
        ModelSpec spec = read_gguf_spec(file.path());
        if (open_weights(open_gguf(file.path()), spec, false, pool)->dense_bytes() == 0) std::abort();
    } catch (const Error& error) {
        if (std::string_view(error.what()).empty()) std::abort();
    }
    return 0;
}
