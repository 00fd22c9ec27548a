#pragma once

#include <filesystem>

#include "engine/files/gguf.h"
#include "engine/files/mapped_file.h"

namespace offstage::engine {

// Whether a name ends in .gguf, in capitals or not.
bool has_gguf_ending(const std::filesystem::path& path);

// Whether a path names a GGUF file: by its ending, or by the file's first four bytes
// where that is another (.bin) or none (Ollama's blobs). What ends in .safetensors or
// .json is none.
bool is_gguf_path(const std::filesystem::path& path);

// A GGUF file, mapped, with its header. Movable: what points into the file stays good. Any
// thread.
class GgufFile {
  public:
    // Throws Error as MappedFile and parse_gguf() do.
    explicit GgufFile(const std::filesystem::path& path);

    const GgufHeader& header() const { return header_; }
    const GgufMetadata& metadata() const { return header_.metadata; }
    const MappedFile& file() const { return file_; }

  private:
    MappedFile file_;
    GgufHeader header_;
};

}  // namespace offstage::engine
