#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/types.h"

namespace offstage::engine {

// One tensor of a checkpoint; the memory belongs to the Checkpoint (a read-only map of a file).
struct TensorView {
    std::string name;
    kernels::WeightType type = kernels::WeightType::kF32;
    std::vector<std::int64_t> shape;  // row-major
    std::span<const std::byte> bytes;

    std::int64_t n_elements() const;
};

// Where a model's bytes lie: safetensors, one file or shards with an index (https://github.com/huggingface/safetensors,
// "Format"). Memory-mapped; nothing is read before it is used.
//
// open() enforces the format: header at most 100 MB and valid JSON with unique names; offsets inside the file, in order,
// without overlap or hole; byte counts equal to shape x dtype (computed without overflow); shards named in the index
// present, relative, inside the folder, and holding the tensors that the index says. Throws Error naming file and tensor.
class Checkpoint {
  public:
    // `path`: a folder (model.safetensors.index.json or model.safetensors, or the only *.safetensors there) or a file.
    static std::unique_ptr<Checkpoint> open(const std::filesystem::path& path);
    virtual ~Checkpoint() = default;

    virtual std::span<const TensorView> tensors() const = 0;
    // nullptr when there is none.
    virtual const TensorView* find(std::string_view name) const = 0;
    // Throws Error (kInvalidModel) when missing, of another shape, or of a dtype other than BF16, F16, F32.
    const TensorView& require(std::string_view name, std::span<const std::int64_t> shape) const;

    // Tells the system that these bytes will not be needed again soon: their pages are dropped from this process
    // (madvise MADV_DONTNEED on whole pages inside). Reading them again later is allowed. Any thread.
    virtual void release(std::span<const std::byte> bytes) const = 0;
    // Asks the system to read these bytes ahead.
    virtual void prefetch(std::span<const std::byte> bytes) const = 0;

    virtual std::uint64_t total_bytes() const = 0;
    virtual std::string source() const = 0;  // path, for messages
};

// The header of a safetensors file, parsed and checked against file_bytes. Apart, so that it can be fuzzed.
// `header_and_rest`: at least the 8 length bytes and the header; tensors point into it only by offset.
struct SafetensorsEntry {
    std::string name;
    kernels::WeightType type = kernels::WeightType::kF32;
    bool supported_type = true;  // false: a dtype that Offstage does not read (I64, F8 ...); shape and offsets are checked
    std::string type_name;       // as in the file
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;     // from the start of the file, in bytes
    std::uint64_t end = 0;
};
std::vector<SafetensorsEntry> parse_safetensors_header(std::span<const std::byte> file, std::uint64_t file_bytes,
                                                       const std::string& source);

}  // namespace offstage::engine
