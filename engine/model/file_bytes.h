#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace offstage::engine {

class RegularFile;

// Bytes of one of a model's files.
struct FileRange {
    std::size_t file = 0;  // index into files()
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

// Optional interface of a Checkpoint over files (use dynamic_cast). Any thread.
class FileBytes {
  public:
    virtual ~FileBytes() = default;
    virtual std::vector<const RegularFile*> files() const = 0;
    // The place of one tensor's bytes.
    virtual FileRange range_of(std::span<const std::byte> bytes) const = 0;
};

}  // namespace offstage::engine
