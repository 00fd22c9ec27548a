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

// What a Checkpoint over files can do besides (ask with dynamic_cast). Any thread.
class FileBytes {
  public:
    virtual ~FileBytes() = default;
    virtual std::vector<const RegularFile*> files() const = 0;
    // Where bytes of one tensor lie.
    virtual FileRange range_of(std::span<const std::byte> bytes) const = 0;
};

}  // namespace offstage::engine
