#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/message.h"
#include "kernels/types.h"

namespace offstage::engine {

class QuantizedTensor;

// One tensor of a checkpoint; the Checkpoint owns the memory (a read-only map of a file).
// The numbers are little-endian. The format promises no alignment: only the result of
// Checkpoint::require is aligned to its element.
struct TensorView {
    std::string name;
    kernels::WeightType type = kernels::WeightType::kF32;
    std::vector<std::int64_t> shape;  // row-major; empty for a scalar; a 0 among them: a tensor without elements
    std::span<const std::byte> bytes;
    bool supported_type = true;  // false: `type` means nothing, see type_name
    std::string type_name;       // as in the file: "BF16", "I64", "F8_E4M3" ...
    // If not nullptr, `bytes` are codes, and this reads them as numbers of `type` (BF16).
    std::shared_ptr<const QuantizedTensor> quantized = {};

    std::int64_t n_elements() const;
};

// "(2, 3)"
std::string text_of_shape(std::span<const std::int64_t> shape);

// A model's tensors in files: safetensors, one file or shards with an index
// (https://github.com/huggingface/safetensors, "Format"), or GGUF, one file or all parts
// of a split one. Memory-mapped; nothing is read before it is used.
//
// open() enforces the format; of safetensors: header at most 100 MB and valid JSON with
// unique names; offsets inside the file, in order, without overlap or hole; byte counts
// equal to shape x dtype (computed without overflow); shards named in the index present,
// relative, inside the folder, and holding the tensors listed in the index. Throws Error
// with file and tensor.
class Checkpoint {
  public:
    // `path`: a folder (model.safetensors, or else model.safetensors.index.json, or else
    // the only *.safetensors there: the order of transformers) or one of these files.
    // With an index, only the tensors that it names belong to the checkpoint. A *.gguf:
    // that file, or with -00002-of-00005 in its name all five. kNotFound, kInvalidModel
    // or kUnsupported (a dtype that safetensors does not define).
    static std::unique_ptr<Checkpoint> open(const std::filesystem::path& path);
    virtual ~Checkpoint() = default;

    virtual std::span<const TensorView> tensors() const = 0;
    // nullptr when there is none.
    virtual const TensorView* find(std::string_view name) const = 0;
    // Throws Error (kInvalidModel) when missing, of another shape (leading ones apart),
    // of a dtype other than BF16, F16, F32 and the blocks of GGUF, or at an address that
    // is not a multiple of the element's size. Any thread.
    const TensorView& require(std::string_view name, std::span<const std::int64_t> shape) const;
    // The same, but quantized tensors are accepted.
    const TensorView& require_weights(std::string_view name, std::span<const std::int64_t> shape) const;

    // A tensor of bytes (U8), with any meaning. Throws as require() does.
    const TensorView& require_bytes(std::string_view name, std::span<const std::int64_t> shape) const;

    // Integers (I32, I64). Throws as require() does.
    const TensorView& require_integers(std::string_view name, std::span<const std::int64_t> shape) const;

    // Tells the system that these bytes will not be needed again soon: their pages are
    // dropped from this process (madvise MADV_DONTNEED on whole pages inside). Reading
    // them again later is allowed. Ignores bytes that are not part of this checkpoint.
    // Any thread.
    virtual void release(std::span<const std::byte> bytes) const = 0;
    // Asks the system to read these bytes ahead; returns at once. Any thread.
    virtual void prefetch(std::span<const std::byte> bytes) const = 0;
    // Reads these bytes into memory. Throws Error (kInvalidModel) naming the file and the
    // reason: a read error, a file cut short. Any thread.
    virtual void require_readable(std::span<const std::byte> bytes) const = 0;
    // What becomes unreadable after that reads as zeros (LostPages). Whoever uses bytes
    // asks before them how often that happened, and then for no more: throws as
    // require_readable(). Any thread.
    virtual std::uint64_t n_lost() const { return 0; }
    virtual void require_nothing_lost(std::uint64_t /*before*/) const {}
    // Whether reads will be far apart (MappedFile). Any thread.
    virtual void expect_scattered_reads(bool) const {}

    virtual std::uint64_t total_bytes() const = 0;  // all tensors
    virtual std::string source() const = 0;         // path, for messages

  protected:
    // The file that holds this tensor, for messages.
    virtual std::string file_of(const TensorView&) const { return source(); }
    // The types that require() accepts, for messages.
    virtual MessageArgument readable_types() const;

  private:
    const TensorView& require_shape(std::string_view name, std::span<const std::int64_t> shape) const;
};

// One tensor of a safetensors header.
struct SafetensorsEntry {
    std::string name;
    kernels::WeightType type = kernels::WeightType::kF32;
    bool supported_type = true;  // false: a dtype that Offstage does not compute with (I64, F8 ...)
    std::string type_name;       // as in the file
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;  // from the start of the file, in bytes
    std::uint64_t end = 0;
};

// The header of a safetensors file, parsed and checked against file_bytes. Separate, so
// that it can be fuzzed.
//
//   byte 0      8 bytes   header_bytes, little-endian
//   byte 8      ...       header: JSON in UTF-8, from '{', at most 100 MB, padded at the
//   end with spaces:
//                         {"NAME": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0,
//                         12]}, ...,
//                          "__metadata__": {"text": "text", ...}}
//   after it    ...       data; data_offsets count from here, and the tensors fill it
//   without overlap or hole
//
// `file`: the file's front, at least the 8 length bytes and the header; data bytes are
// not read. Returns the tensors in the order of their data. Throws Error (kInvalidModel;
// kUnsupported for an unknown dtype).
std::vector<SafetensorsEntry> parse_safetensors_header(std::span<const std::byte> file, std::uint64_t file_bytes,
                                                       const std::string& source);

}  // namespace offstage::engine
