#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/model/families/family.h"
#include "engine/model/weights.h"

namespace offstage::engine {

class PartRows;

// The dense tensors of a checkpoint: their formats in memory, and their weights, copied
// row by row from the parts that the family has for each. One thread, which loads.
class DenseLoader {
  public:
    // The referents must outlive this object.
    DenseLoader(const Checkpoint& checkpoint, ModelSpec& spec, bool round_to_bf16, kernels::ThreadPool& pool)
        : checkpoint_(checkpoint), spec_(spec), round_to_bf16_(round_to_bf16), pool_(pool) {}

    // The format in memory of weights that the file has in `type`.
    kernels::WeightType stored_type(kernels::WeightType type) const {
        return round_to_bf16_ && kernels::is_plain(type) ? kernels::WeightType::kBf16 : type;
    }
    // The n numbers that weights of a type are multiplied by: the tensor of that name;
    // none where the file does not have it. Throws Error as Checkpoint::require() does,
    // and kUnsupported for MXFP4.
    std::vector<float> factors(const std::string& scale, std::int64_t n, kernels::WeightType weights) const;
    // Completes the spec: which tensors stay in blocks. Returns the bytes of load()'s
    // result. Throws Error for a tensor that is missing, of a wrong shape or dtype.
    std::uint64_t check(kernels::WeightType expert_type);
    // After check(). `done` is called with each tensor's bytes in the file once they were
    // read, and may throw. Throws Error (kOutOfMemory, kInvalidModel).
    using Done = std::function<void(std::span<const std::byte> bytes)>;
    DenseWeights load(Arena& host, const Done& done) const;

  private:
    StoredTensor stored_as(const DenseTensor& tensor) const;
    std::vector<TensorPart> parts_of(const DenseTensor& tensor) const;
    kernels::WeightType type_of(const DenseTensor& tensor) const;
    // The part's tensor, which can be read, with quantized weights as numbers.
    struct ReadableTensor {
        TensorView tensor;
        std::span<const std::byte> in_file;
        std::vector<kernels::Bf16> values;
    };
    ReadableTensor readable(const TensorPart& part) const;
    bool is_missing(const TensorPart& part) const;
    float factor(const TensorPart& part) const;
    std::vector<float> vector(const std::vector<TensorPart>& parts, const Done& done) const;
    void append_integers(const TensorPart& part, std::vector<float>& values) const;
    Matrix matrix(Arena& host, const DenseTensor& what, const std::vector<TensorPart>& parts, const Done& done) const;
    Matrix network(Arena& host, const DenseTensor& what, const std::vector<TensorPart>& parts, const Done& done) const;
    void copy_rows(const TensorView& tensor, const PartRows& rows, kernels::WeightType type, Matrix& result,
                   std::int64_t first_row, float factor) const;
    void copy_transposed(const TensorView& tensor, const PartRows& rows, kernels::WeightType type, Matrix& result,
                         std::int64_t first_row) const;
    void copy_transposed_blocks(const TensorView& tensor, const PartRows& rows, Matrix& result,
                                std::int64_t first_row) const;

    const Checkpoint& checkpoint_;
    ModelSpec& spec_;
    const bool round_to_bf16_;
    kernels::ThreadPool& pool_;
};

}  // namespace offstage::engine
