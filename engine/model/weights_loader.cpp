// A checkpoint as a WeightSource: dense tensors copied row by row, experts packed neuron
// by neuron. The family says where each tensor lies.

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <vector>

#include "engine/error.h"
#include "engine/model/cold_reads.h"
#include "engine/model/families/family.h"
#include "engine/model/pack_neurons.h"
#include "engine/model/weights.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {
namespace {

using kernels::bytes_per_weight;
using kernels::WeightType;

// The rows of a part, in the order of ours: row i of the part is row source_row(i) of the
// tensor.
class PartRows {
  public:
    explicit PartRows(const TensorPart& part)
        : block_(part.block > 0 ? part.block : part.shape[0]),
          first_(part.first),
          count_(part.count > 0 ? part.count : block_ - part.first),
          interleaved_(part.interleaved),
          n_blocks_(part.shape[0] / block_) {}

    std::int64_t size() const { return n_blocks_ * count_; }
    std::int64_t n_blocks() const { return n_blocks_; }
    std::int64_t count() const { return count_; }
    bool in_order() const { return interleaved_ == 0; }
    std::int64_t source_row(std::int64_t row) const {
        const std::int64_t i = row % count_;
        const std::int64_t paired = i - (count_ - interleaved_);  // of the rows that pair as neighbours
        const std::int64_t half = interleaved_ / 2;
        const std::int64_t from =
            paired < 0 ? i : count_ - interleaved_ + (paired < half ? 2 * paired : 2 * (paired - half) + 1);
        return row / count_ * block_ + first_ + from;
    }

  private:
    std::int64_t block_, first_, count_, interleaved_, n_blocks_;
};

class CheckpointWeights final : public WeightSource, public ColdExperts {
  public:
    CheckpointWeights(std::unique_ptr<Checkpoint> checkpoint, const ModelSpec& spec, bool round_to_bf16,
                      kernels::ThreadPool& pool)
        : owner_(std::move(checkpoint)),
          checkpoint_(*owner_),
          spec_(spec),
          family_(*spec.family),
          round_to_bf16_(round_to_bf16),
          pool_(pool) {
        check_everything();
    }

    WeightType expert_type() const override { return expert_type_; }
    std::uint64_t dense_bytes() const override { return dense_bytes_; }

    void watch(BytesProgressFn progress, std::stop_token stop) override {
        progress_ = std::move(progress);
        stop_ = std::move(stop);
        bytes_done_ = 0;
    }

    DenseWeights load_dense(Arena& host) override {
        DenseWeights weights;
        for (const DenseTensor& tensor : dense_tensors(spec_)) {
            DenseWeight weight;
            weight.what = tensor;
            const std::vector<TensorPart> parts = family_.parts(spec_, tensor);
            switch (tensor.kind) {
                case DenseTensor::Kind::kVector:
                    weight.values = vector(parts);
                    break;
                case DenseTensor::Kind::kMatrix:
                    weight.matrix = matrix(host, tensor, parts);
                    break;
                case DenseTensor::Kind::kNetwork:
                    weight.matrix = network(host, tensor, parts);
                    break;
            }
            weights.tensors.push_back(std::move(weight));
        }
        return weights;
    }

    void pack_expert(LayerIndex layer, ExpertIndex expert, std::byte* block, kernels::ThreadPool& pool) override {
        const std::array<const TensorView*, 3> tensors = expert_tensors(layer.value, expert.value);
        for (const TensorView* tensor : tensors) checkpoint_.prefetch(tensor->bytes);
        for (const TensorView* tensor : tensors) checkpoint_.require_readable(tensor->bytes);
        pack_neurons(*tensors[0], *tensors[1], *tensors[2], expert_type_, block, pool);
        for (const TensorView* tensor : tensors) checkpoint_.release(tensor->bytes);
    }

    bool make_cold(LayerIndex layer, ExpertIndex expert) override {
        const auto* const disk = dynamic_cast<const ColdBytes*>(&checkpoint_);
        if (disk == nullptr) return false;
        for (const TensorView* tensor : expert_tensors(layer.value, expert.value)) disk->drop_cached(tensor->bytes);
        return true;
    }

    // Of the tensors as they lie in the file: a pass over them, but without transposing anything. Once: where experts
    // are read from a disk, whoever keeps copies of them in fewer bits reads no more than those from then on.
    std::optional<Fingerprint> expert_fingerprint(LayerIndex layer, ExpertIndex expert,
                                                  kernels::ThreadPool& pool) override {
        const auto index = static_cast<std::size_t>(layer.value * spec_.experts.n_experts + expert.value);
        {
            const std::lock_guard lock(fingerprint_mutex_);
            if (fingerprints_.empty()) {
                fingerprints_.resize(static_cast<std::size_t>(spec_.experts.size()));
            }
            if (fingerprints_[index] != Fingerprint{}) return fingerprints_[index];
        }
        std::array<Fingerprint, 6> parts{};
        for (std::size_t i = 0; const TensorView* tensor : expert_tensors(layer.value, expert.value)) {
            checkpoint_.require_readable(tensor->bytes);
            parts[i++] = fingerprint_of(tensor->bytes, pool);
            parts[i++] = {static_cast<std::uint64_t>(tensor->type), static_cast<std::uint64_t>(tensor->shape[0])};
            checkpoint_.release(tensor->bytes);
        }
        const Fingerprint fingerprint = combine(parts, static_cast<std::uint64_t>(expert_type_));
        const std::lock_guard lock(fingerprint_mutex_);
        fingerprints_[index] = fingerprint;
        return fingerprint;
    }

    std::optional<Fingerprint> model_fingerprint() override {
        constexpr std::size_t kLook = 4096;
        std::vector<Fingerprint> parts;
        for (std::int64_t l = 0; l < spec_.experts.n_layers; ++l) {
            for (std::int64_t e = 0; e < spec_.experts.n_experts; ++e) {
                for (const TensorView* tensor : expert_tensors(l, e)) {
                    const auto look = tensor->bytes.first(std::min(kLook, tensor->bytes.size()));
                    checkpoint_.require_readable(look);
                    parts.push_back(fingerprint_of(look));
                    parts.push_back({static_cast<std::uint64_t>(tensor->type), tensor->bytes.size()});
                }
            }
        }
        return combine(parts, static_cast<std::uint64_t>(spec_.hidden_dim));
    }

    void advance() override { report(3 * expert_tensors(0, 0)[0]->bytes.size()); }

  private:
    using Shape = std::vector<std::int64_t>;

    // Gate, up, down. Checked by check_everything().
    std::array<const TensorView*, 3> expert_tensors(std::int64_t layer, std::int64_t expert) const {
        const std::array<std::string, 3> names = family_.expert(spec_.layer_of(layer), expert);
        return {checkpoint_.find(names[0]), checkpoint_.find(names[1]), checkpoint_.find(names[2])};
    }

    // Finds what is wrong before the long work begins, and what memory the weights will take.
    void check_everything() {
        const ExpertGrid& grid = spec_.experts;
        const Shape in = {grid.ffn_dim, grid.hidden_dim};
        const Shape out = {grid.hidden_dim, grid.ffn_dim};
        bool first = true;
        for (std::int64_t l = 0; l < grid.n_layers; ++l) {
            for (std::int64_t e = 0; e < grid.n_experts; ++e) {
                const std::array<std::string, 3> names = family_.expert(spec_.layer_of(l), e);
                for (std::size_t i = 0; i < names.size(); ++i) {
                    const WeightType type = stored_type(checkpoint_.require(names[i], i == 2 ? out : in).type);
                    expert_type_ = first || type == expert_type_ ? type : WeightType::kF32;
                    first = false;
                }
            }
        }
        for (const DenseTensor& tensor : dense_tensors(spec_)) {
            dense_bytes_ += tensor.bytes(type_of(family_.parts(spec_, tensor)));
        }
        bytes_total_ = checkpoint_.total_bytes();
    }

    // The parts' type where they agree, else float32.
    WeightType type_of(const std::vector<TensorPart>& parts) const {
        WeightType type = WeightType::kF32;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const WeightType stored = stored_type(checkpoint_.require(parts[i].name, parts[i].shape).type);
            type = i == 0 || stored == type ? stored : WeightType::kF32;
        }
        return type;
    }

    WeightType stored_type(WeightType type) const { return round_to_bf16_ ? WeightType::kBf16 : type; }

    void done(std::span<const std::byte> bytes) {
        checkpoint_.release(bytes);
        report(bytes.size());
    }

    void report(std::uint64_t bytes) {
        bytes_done_ += bytes;
        if (stop_.stop_requested()) throw Error(ErrorKind::kCancelled, "Loading was cancelled.");
        if (progress_) progress_(std::min(bytes_done_, bytes_total_), bytes_total_);
    }

    const TensorView& readable(const TensorPart& part) const {
        const TensorView& tensor = checkpoint_.require(part.name, part.shape);
        checkpoint_.require_readable(tensor.bytes);
        return tensor;
    }

    std::vector<float> vector(const std::vector<TensorPart>& parts) {
        std::vector<float> values;
        for (const TensorPart& part : parts) {
            const TensorView& tensor = readable(part);
            const std::size_t begin = values.size();
            values.resize(begin + static_cast<std::size_t>(tensor.n_elements()));
            kernels::cpu_kernels().widen(tensor.bytes.data(), tensor.type, tensor.n_elements(), values.data() + begin);
            done(tensor.bytes);
        }
        return values;
    }

    Matrix matrix(Arena& host, const DenseTensor& what, const std::vector<TensorPart>& parts) {
        const WeightType type = type_of(parts);
        Matrix result(host, type, what.n_rows, what.n_cols, parts.front().name);
        std::int64_t first_row = 0;
        for (const TensorPart& part : parts) {
            const TensorView& tensor = readable(part);
            const PartRows rows(part);
            if (part.transposed) {
                copy_transposed(tensor, rows, type, result, first_row);
                first_row += rows.n_blocks() * tensor.shape[1];
            } else {
                copy_rows(tensor, rows, type, result, first_row);
                first_row += rows.size();
            }
            done(tensor.bytes);
        }
        return result;
    }

    void copy_rows(const TensorView& tensor, const PartRows& rows, WeightType type, Matrix& result,
                   std::int64_t first_row) {
        const std::int64_t n_cols = tensor.shape[1];
        const std::size_t row_bytes = static_cast<std::size_t>(n_cols) * bytes_per_weight(tensor.type);
        pool_.parallel_for(rows.size(), 16, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t row = begin; row < end; ++row) {
                convert_weights(tensor.bytes.data() + static_cast<std::size_t>(rows.source_row(row)) * row_bytes,
                                tensor.type, result.row(first_row + row), type, n_cols);
            }
        });
    }

    // Each block's choice (count, columns) becomes (columns, count).
    void copy_transposed(const TensorView& tensor, const PartRows& rows, WeightType type, Matrix& result,
                         std::int64_t first_row) {
        const std::int64_t n_cols = tensor.shape[1];
        const std::int64_t count = rows.count();
        const std::size_t in = bytes_per_weight(tensor.type);
        const std::size_t out = bytes_per_weight(type);
        pool_.parallel_for(rows.n_blocks() * n_cols, 16, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t row = begin; row < end; ++row) {
                std::byte* const to = result.row(first_row + row);
                for (std::int64_t i = 0; i < count; ++i) {
                    const std::int64_t from = rows.source_row(row / n_cols * count + i) * n_cols + row % n_cols;
                    convert_weights(tensor.bytes.data() + static_cast<std::size_t>(from) * in, tensor.type,
                                    to + static_cast<std::size_t>(i) * out, type, 1);
                }
            }
        });
    }

    Matrix network(Arena& host, const DenseTensor& what, const std::vector<TensorPart>& parts) {
        Matrix result(host, type_of(parts), what.n_rows, what.n_cols, parts.front().name);
        const TensorView& gate = readable(parts[0]);
        const TensorView& up = readable(parts[1]);
        const TensorView& down = readable(parts[2]);
        pack_neurons(gate, up, down, result.type, result.memory.data(), pool_);
        for (const TensorView* tensor : {&gate, &up, &down}) done(tensor->bytes);
        return result;
    }

    std::unique_ptr<Checkpoint> owner_;
    const Checkpoint& checkpoint_;
    const ModelSpec spec_;
    const Family& family_;
    bool round_to_bf16_;
    kernels::ThreadPool& pool_;
    BytesProgressFn progress_;
    std::stop_token stop_;
    WeightType expert_type_ = WeightType::kBf16;
    std::uint64_t dense_bytes_ = 0;
    std::uint64_t bytes_done_ = 0;
    std::uint64_t bytes_total_ = 0;
    std::mutex fingerprint_mutex_;
    std::vector<Fingerprint> fingerprints_;  // (n_layers, n_experts), zeros: not known yet; empty before the first
};

}  // namespace

WeightType expert_type_of(const Checkpoint& checkpoint, const ModelSpec& spec) {
    const ExpertGrid& grid = spec.experts;
    return checkpoint.require(spec.family->expert(spec.layer_of(0), 0)[0], std::array{grid.ffn_dim, grid.hidden_dim})
        .type;
}

std::unique_ptr<WeightSource> open_weights(std::unique_ptr<Checkpoint> checkpoint, const ModelSpec& spec,
                                           bool round_to_bf16, kernels::ThreadPool& pool) {
    return std::make_unique<CheckpointWeights>(std::move(checkpoint), spec, round_to_bf16, pool);
}

}  // namespace offstage::engine
