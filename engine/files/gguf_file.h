#pragma once

#include <filesystem>

#include "engine/files/gguf.h"
#include "engine/files/mapped_file.h"

namespace offstage::engine {

// Whether a name ends in .gguf, in upper or lower case.
bool has_gguf_ending(const std::filesystem::path& path);

// The same, or a name that ends in .bin or .ggml: endings of older files, which other
// files have too.
bool may_have_gguf_ending(const std::filesystem::path& path);

// Whether a path names a GGUF file: by its ending, or by the file's first four bytes if
// it has another ending (.bin) or none (Ollama's blobs). Names ending in .safetensors or
// .json never do.
bool is_gguf_path(const std::filesystem::path& path);

// A GGUF file, mapped, with its header. Movable: pointers into the file stay valid. Any
// thread.
class GgufFile {
  public:
    // Throws Error as MappedFile and parse_gguf() do.
    explicit GgufFile(const std::filesystem::path& path);

    const GgufHeader& header() const { return header_; }
    const GgufMetadata& metadata() const { return header_.metadata; }
    const MappedFile& file() const { return file_; }
    // Texts and lists of the metadata lie in the file: whoever has used them asks whether
    // all of it could be read (MappedFile).
    void require_nothing_lost() const { file_.require_nothing_lost(0); }

  private:
    MappedFile file_;
    GgufHeader header_;
};

}  // namespace offstage::engine
