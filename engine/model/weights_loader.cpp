// A checkpoint as a WeightSource: dense tensors copied row by row, experts packed neuron
// by neuron, from tensors of their own or parts of larger ones. The family says where
// each lies.

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
        const kernels::ExpertLayout layout = spec_.experts.layout(expert_type_);
        const std::vector<Piece> pieces = expert_pieces(layer.value, expert.value);
        for (const Piece& piece : pieces) checkpoint_.prefetch(piece.bytes);
        for (const Piece& piece : pieces) checkpoint_.require_readable(piece.bytes);
        pack_neurons(pieces[0].matrix, pieces[1].matrix, pieces[2].matrix, layout, block, pool);
        auto* bias = reinterpret_cast<float*>(block + layout.bias_offset());
        for (std::size_t i = 3; i < pieces.size(); ++i) bias = widen_bias(pieces[i], bias);
        for (const Piece& piece : pieces) checkpoint_.release(piece.bytes);
    }

    bool make_cold(LayerIndex layer, ExpertIndex expert) override {
        const auto* const disk = dynamic_cast<const ColdBytes*>(&checkpoint_);
        if (disk == nullptr) return false;
        for (const Piece& piece : expert_pieces(layer.value, expert.value)) disk->drop_cached(piece.bytes);
        return true;
    }

    // Of the matrices as they lie in the file: a pass over them, but without transposing
    // anything. Once: where experts are read from a disk, whoever keeps copies of them in
    // fewer bits reads no more than those from then on.
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
        const std::vector<Piece> pieces = expert_pieces(layer.value, expert.value);
        for (std::size_t i = 0; i < 3; ++i) {
            const Piece& piece = pieces[i];
            checkpoint_.require_readable(piece.bytes);
            parts[2 * i] = fingerprint_of(piece.bytes, pool);
            const std::int64_t rows =
                piece.matrix.hidden_stride == 1 ? spec_.experts.ffn_dim : spec_.experts.hidden_dim;
            parts[2 * i + 1] = {static_cast<std::uint64_t>(piece.matrix.type), static_cast<std::uint64_t>(rows)};
            checkpoint_.release(piece.bytes);
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
                for (const Piece& piece : expert_pieces(l, e)) {
                    const auto look = piece.bytes.first(std::min(kLook, piece.bytes.size()));
                    checkpoint_.require_readable(look);
                    parts.push_back(fingerprint_of(look));
                    parts.push_back({static_cast<std::uint64_t>(piece.matrix.type), piece.bytes.size()});
                }
            }
        }
        return combine(parts, static_cast<std::uint64_t>(spec_.hidden_dim));
    }

    void advance() override { report(expert_file_bytes_); }

  private:
    // A part of an expert: what of it lies in the file, from its first weight to its
    // last, with what may lie between them.
    struct Piece {
        NeuronMatrix matrix;
        std::int64_t n_neurons = 0;  // 1: a bias for each hidden value
        std::int64_t n_hidden = 0;   // 1: a bias for each neuron
        std::span<const std::byte> bytes;
    };

    Piece piece_of(const ExpertPart& part, std::int64_t n_neurons, std::int64_t n_hidden) const {
        const TensorView& tensor = *checkpoint_.find(part.name);
        const std::size_t size = bytes_per_weight(tensor.type);
        const std::int64_t n =
            (n_neurons - 1) * part.neuron_stride + (n_hidden - 1) * part.hidden_stride + 1;  // elements
        const auto bytes =
            tensor.bytes.subspan(static_cast<std::size_t>(part.first) * size, static_cast<std::size_t>(n) * size);
        return {{bytes.data(), tensor.type, part.neuron_stride, part.hidden_stride}, n_neurons, n_hidden, bytes};
    }

    // Gate, up, down; their biases. Checked by check_everything().
    std::vector<Piece> expert_pieces(std::int64_t layer, std::int64_t expert) const {
        const ExpertGrid& grid = spec_.experts;
        const ExpertParts parts = family_.expert(spec_, spec_.layer_of(layer), expert);
        std::vector<Piece> pieces;
        for (const ExpertPart& part : parts.matrices) pieces.push_back(piece_of(part, grid.ffn_dim, grid.hidden_dim));
        if (!grid.expert.biases) return pieces;
        for (const std::size_t i : {0, 1}) pieces.push_back(piece_of(parts.biases[i], grid.ffn_dim, 1));
        pieces.push_back(piece_of(parts.biases[2], 1, grid.hidden_dim));
        return pieces;
    }

    // Returns where the next bias begins.
    static float* widen_bias(const Piece& bias, float* to) {
        const NeuronMatrix& from = bias.matrix;
        const std::int64_t stride = bias.n_hidden == 1 ? from.neuron_stride : from.hidden_stride;
        const std::int64_t n = bias.n_neurons * bias.n_hidden;
        for (std::int64_t i = 0; i < n; ++i) {
            convert_weights(from.data + static_cast<std::size_t>(i * stride) * bytes_per_weight(from.type), from.type,
                            reinterpret_cast<std::byte*>(to + i), WeightType::kF32, 1);
        }
        return to + n;
    }

    // Finds what is wrong before the long work begins, and what memory the weights will take.
    void check_everything() {
        const ExpertGrid& grid = spec_.experts;
        bool first = true;
        for (std::int64_t l = 0; l < grid.n_layers; ++l) {
            for (std::int64_t e = 0; e < grid.n_experts; ++e) {
                const ExpertParts parts = family_.expert(spec_, spec_.layer_of(l), e);
                for (const ExpertPart& part : parts.matrices) {
                    const WeightType in_file = checkpoint_.require(part.name, part.shape).type;
                    const WeightType type = stored_type(in_file);
                    if (first) expert_file_bytes_ = grid.expert_weights() * bytes_per_weight(in_file);
                    expert_type_ = first || type == expert_type_ ? type : WeightType::kF32;
                    first = false;
                }
                for (const ExpertPart& part : parts.biases) {
                    if (grid.expert.biases) checkpoint_.require(part.name, part.shape);
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
        const std::int64_t hidden = what.n_cols;
        const kernels::ExpertLayout layout = kernels::expert_layout(result.type, hidden, what.n_rows / 3);
        const auto rows = [hidden](const TensorView& tensor, const TensorPart& part) {
            const auto skipped = static_cast<std::size_t>(part.first * hidden) * bytes_per_weight(tensor.type);
            return NeuronMatrix{tensor.bytes.data() + skipped, tensor.type, hidden, 1};
        };
        pack_neurons(rows(gate, parts[0]), rows(up, parts[1]), {down.bytes.data(), down.type, 1, layout.ffn_dim},
                     layout, result.memory.data(), pool_);
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
    std::uint64_t expert_file_bytes_ = 0;  // of the first one's matrices
    std::uint64_t dense_bytes_ = 0;
    std::uint64_t bytes_done_ = 0;
    std::uint64_t bytes_total_ = 0;
    std::mutex fingerprint_mutex_;
    std::vector<Fingerprint> fingerprints_;  // (n_layers, n_experts), zeros: not known yet; empty before the first
};

}  // namespace

WeightType expert_type_of(const Checkpoint& checkpoint, const ModelSpec& spec) {
    const ExpertPart gate = spec.family->expert(spec, spec.layer_of(0), 0).matrices[0];
    return checkpoint.require(gate.name, gate.shape).type;
}

std::unique_ptr<WeightSource> open_weights(std::unique_ptr<Checkpoint> checkpoint, const ModelSpec& spec,
                                           bool round_to_bf16, kernels::ThreadPool& pool) {
    return std::make_unique<CheckpointWeights>(std::move(checkpoint), spec, round_to_bf16, pool);
}

}  // namespace offstage::engine
