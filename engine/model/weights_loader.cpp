// A checkpoint as a WeightSource: experts packed neuron by neuron, from separate tensors
// or parts of larger ones; the family gives the place of each. DenseLoader has the dense
// tensors.

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/cold_reads.h"
#include "engine/model/dense_loader.h"
#include "engine/model/expert_strips.h"
#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/model/pack_neurons.h"
#include "engine/model/prediction_layer.h"
#include "engine/model/quantized_tensor.h"
#include "engine/model/weights.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {
namespace {

using kernels::bytes_per_weight;
using kernels::WeightType;

// While an object exists, the system reads no pages around those that are touched.
class ScatteredReads {
  public:
    explicit ScatteredReads(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {
        checkpoint_.expect_scattered_reads(true);
    }
    ~ScatteredReads() { checkpoint_.expect_scattered_reads(false); }
    ScatteredReads(const ScatteredReads&) = delete;
    ScatteredReads& operator=(const ScatteredReads&) = delete;

  private:
    const Checkpoint& checkpoint_;
};

class CheckpointWeights final : public WeightSource, public ColdExperts, public FileExperts {
  public:
    CheckpointWeights(std::unique_ptr<Checkpoint> checkpoint, ModelSpec& spec, bool round_to_bf16,
                      kernels::ThreadPool& pool, TiedCheck tied)
        : owner_(std::move(checkpoint)),
          checkpoint_(*owner_),
          spec_(spec),
          family_(*spec.family),
          round_to_bf16_(round_to_bf16),
          dense_(checkpoint_, spec_, round_to_bf16, pool) {
        spec_.experts.file_layouts.clear();
        spec_.experts.file_formats.clear();
        spec_.split_qkv.clear();
        spec_.stored.clear();
        const std::uint64_t n_lost = checkpoint_.n_lost();
        if (family_.look != nullptr) family_.look(checkpoint_, spec_);
        check_experts();
        if (spec_.tied_embeddings && !spec_.predicts) check_head(tied);
        dense_bytes_ = dense_.check(expert_type_);
        checkpoint_.require_nothing_lost(n_lost);
        bytes_total_ = checkpoint_.total_bytes();
        spec = spec_;
    }

    WeightType expert_type() const override { return expert_type_; }
    std::uint64_t dense_bytes() const override { return dense_bytes_; }

    void watch(BytesProgressFn progress, std::stop_token stop) override {
        progress_ = std::move(progress);
        stop_ = std::move(stop);
        bytes_done_ = 0;
    }

    DenseWeights load_dense(Arena& host) override {
        const std::uint64_t n_lost = checkpoint_.n_lost();
        DenseWeights weights = dense_.load(host, [this](std::span<const std::byte> bytes) {
            checkpoint_.release(bytes);
            report(bytes.size());
        });
        checkpoint_.require_nothing_lost(n_lost);
        return weights;
    }

    void pack_expert(LayerIndex layer, ExpertIndex expert, std::byte* block, kernels::ThreadPool& pool) override {
        const kernels::ExpertLayout layout = spec_.experts.layout(spec_.experts.stored(expert_type_, layer.value));
        const std::vector<Piece> pieces = expert_pieces(layer.value, expert.value);
        for (const Piece& piece : pieces) prefetch(piece);
        const std::uint64_t n_lost = checkpoint_.n_lost();
        for (const Piece& piece : pieces) require_readable(piece);
        std::array<NeuronMatrix, 3> matrices;
        bool plain = true;
        auto* bias = reinterpret_cast<float*>(block + layout.bias_offset());
        for (const Piece& piece : pieces) {
            if (piece.is_bias()) {
                bias = widen_bias(piece, bias);
            } else {
                matrices[static_cast<std::size_t>(piece.place)] = piece.matrix;
                plain = plain && piece.quantized == nullptr;
            }
        }
        if (plain) pack_matrices(matrices, layout, block, pool);
        for (const Piece& piece : pieces) {
            if (!plain && !piece.is_bias()) pack_piece(piece, layout, block, pool);
        }
        checkpoint_.require_nothing_lost(n_lost);
        for (const Piece& piece : pieces) release(piece);
    }

    bool make_cold(LayerIndex layer, ExpertIndex expert) override {
        const auto* const disk = dynamic_cast<const ColdBytes*>(&checkpoint_);
        if (disk == nullptr) return false;
        for (const Piece& piece : expert_pieces(layer.value, expert.value)) {
            disk->drop_cached(piece.bytes);
            disk->drop_cached(piece.exponents);
        }
        return true;
    }

    std::vector<const RegularFile*> files() const override {
        const auto* const files = dynamic_cast<const FileBytes*>(&checkpoint_);
        return files == nullptr ? std::vector<const RegularFile*>() : files->files();
    }

    std::vector<ExpertStrip> expert_strips(LayerIndex layer, ExpertIndex expert,
                                           std::uint64_t most_bytes) const override {
        const auto* const files = dynamic_cast<const FileBytes*>(&checkpoint_);
        if (files == nullptr) return {};
        std::vector<StripSource> sources;
        for (const Piece& piece : expert_pieces(layer.value, expert.value)) {
            if (piece.quantized != nullptr) return {};
            const NeuronMatrix& m = piece.matrix;
            StripSource& source = sources.emplace_back();
            source.part = {piece.place, m.type, m.neuron_stride, m.hidden_stride, m.neuron_stride >= m.hidden_stride};
            source.part.factor = m.factor;
            source.part.end = source.part.by_neurons ? piece.n_neurons : piece.n_hidden;
            source.weights = files->range_of(piece.bytes);
            if (!piece.exponents.empty()) source.exponents = files->range_of(piece.exponents);
        }
        return cut_into_strips(sources, most_bytes);
    }

    // The fingerprint of the matrices as the file stores them: one pass, without
    // transposing. Computed once: experts that are read from a disk later find their
    // quantized copies in the cache without reading the originals again.
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
        const std::uint64_t n_lost = checkpoint_.n_lost();
        for (const Piece& piece : pieces) {
            if (piece.is_bias()) continue;
            const auto i = static_cast<std::size_t>(piece.place);
            require_readable(piece);
            parts[2 * i] = fingerprint_of(piece.bytes, pool);
            if (!piece.exponents.empty()) {
                const std::array<Fingerprint, 2> both = {parts[2 * i], fingerprint_of(piece.exponents, pool)};
                parts[2 * i] = combine(both, 0);
            }
            const std::int64_t rows =
                piece.matrix.hidden_stride == 1 ? spec_.experts.ffn_dim : spec_.experts.hidden_dim;
            parts[2 * i + 1] = {type_and_factor(piece), static_cast<std::uint64_t>(rows)};
            release(piece);
        }
        checkpoint_.require_nothing_lost(n_lost);
        const Fingerprint fingerprint = combine(parts, static_cast<std::uint64_t>(expert_type_));
        const std::lock_guard lock(fingerprint_mutex_);
        fingerprints_[index] = fingerprint;
        return fingerprint;
    }

    // The beginning of each of the experts' matrices. A disk has thousands of places to
    // read then: all are requested before the first is awaited.
    std::optional<Fingerprint> model_fingerprint() override {
        constexpr std::size_t kLook = 4096;
        const ScatteredReads scattered(checkpoint_);
        std::vector<std::span<const std::byte>> looks;
        std::vector<Fingerprint> shapes, parts;
        for (std::int64_t l = 0; l < spec_.experts.n_layers; ++l) {
            for (std::int64_t e = 0; e < spec_.experts.n_experts; ++e) {
                for (const Piece& piece : expert_pieces(l, e)) {
                    looks.push_back(piece.bytes.first(std::min(kLook, piece.bytes.size())));
                    checkpoint_.prefetch(looks.back());
                    shapes.push_back({type_and_factor(piece), piece.bytes.size()});
                }
            }
        }
        const std::uint64_t n_lost = checkpoint_.n_lost();
        for (std::size_t i = 0; i < looks.size(); ++i) {
            checkpoint_.require_readable(looks[i]);
            parts.push_back(fingerprint_of(looks[i]));
            parts.push_back(shapes[i]);
        }
        checkpoint_.require_nothing_lost(n_lost);
        return combine(parts, static_cast<std::uint64_t>(spec_.hidden_dim));
    }

    std::vector<RoleTypes> types() const override { return types_by_role(checkpoint_, spec_); }
    std::vector<UnusedTensors> unused() const override { return unused_tensors(checkpoint_, spec_); }
    std::vector<Message> notes() const override { return notes_; }

    std::unique_ptr<PredictionLayer> open_prediction_layer(kernels::ThreadPool& pool) override {
        std::unique_ptr<Checkpoint> tensors = prediction_tensors(checkpoint_, spec_);
        if (tensors == nullptr) return nullptr;
        auto layer = std::make_unique<PredictionLayer>();
        layer->spec = prediction_spec(spec_);
        layer->weights = open_weights(std::move(tensors), layer->spec, round_to_bf16_, pool);
        return layer;
    }

    void advance() override { report(expert_file_bytes_); }

  private:
    // A part of an expert: its bytes in the file, from its first weight to its last,
    // including any bytes between them.
    struct Piece {
        NeuronMatrix matrix;
        std::int64_t n_neurons = 0;  // 1: a bias for each hidden value
        std::int64_t n_hidden = 0;   // 1: a bias for each neuron
        std::span<const std::byte> bytes;
        std::span<const std::byte> exponents = {};   // see ExpertPart; the scales of quantized weights
        const QuantizedTensor* quantized = nullptr;  // the matrix is then its weights from `first` on
        std::int64_t first = 0;
        int place = 0;  // gate, up, down, and then the biases of the three

        bool is_bias() const { return place >= 3; }
    };

    void prefetch(const Piece& piece) const {
        checkpoint_.prefetch(piece.bytes);
        if (!piece.exponents.empty()) checkpoint_.prefetch(piece.exponents);
    }
    void require_readable(const Piece& piece) const {
        checkpoint_.require_readable(piece.bytes);
        if (!piece.exponents.empty()) checkpoint_.require_readable(piece.exponents);
    }
    void release(const Piece& piece) const {
        checkpoint_.release(piece.bytes);
        if (!piece.exponents.empty()) checkpoint_.release(piece.exponents);
    }

    Piece piece_of(const ExpertPart& part, std::int64_t n_neurons, std::int64_t n_hidden) const {
        const TensorView& tensor = *checkpoint_.find(part.name);
        const std::int64_t n =
            (n_neurons - 1) * part.neuron_stride + (n_hidden - 1) * part.hidden_stride + 1;  // elements
        if (!part.exponents.empty()) {
            const auto of = [&](const TensorView& whole, std::int64_t weights) {
                return whole.bytes.subspan(static_cast<std::size_t>(part.first / weights),
                                           static_cast<std::size_t>(n / weights));
            };
            const auto codes = of(tensor, 2);
            const auto exponents = of(*checkpoint_.find(part.exponents), 32);
            return {{codes.data(), WeightType::kMxfp4, part.neuron_stride, part.hidden_stride, exponents.data()},
                    n_neurons,
                    n_hidden,
                    codes,
                    exponents};
        }
        if (const QuantizedTensor* const quantized = tensor.quantized.get()) {
            const std::int64_t row = part.first / quantized->n_cols;
            const std::int64_t rows = (part.first + n - 1) / quantized->n_cols + 1 - row;
            const auto codes = quantized->codes_of(row, rows);
            return {{codes.data(), tensor.type, part.neuron_stride, part.hidden_stride},
                    n_neurons,
                    n_hidden,
                    codes,
                    quantized->scales_of(row, rows),
                    quantized,
                    part.first};
        }
        const auto bytes =
            tensor.bytes.subspan(kernels::row_bytes(tensor.type, part.first), kernels::row_bytes(tensor.type, n));
        return {{bytes.data(), tensor.type, part.neuron_stride, part.hidden_stride}, n_neurons, n_hidden, bytes};
    }

    // For fingerprints: the type alone where the factor is 1.
    static std::uint64_t type_and_factor(const Piece& piece) {
        const NeuronMatrix& matrix = piece.matrix;
        const float factor = piece.quantized == nullptr ? matrix.factor : matrix.factor * piece.quantized->factor;
        const auto codes =
            piece.quantized == nullptr ? 0 : std::uint64_t{1} + static_cast<std::uint64_t>(piece.quantized->codes);
        return static_cast<std::uint64_t>(matrix.type) | codes << 8u |
               std::uint64_t{kernels::bits_of(factor) ^ kernels::bits_of(1.0f)} << 32u;
    }

    // Some rows are read as bfloat16 and packed, then the next ones.
    static void pack_piece(const Piece& piece, const kernels::ExpertLayout& layout, std::byte* block,
                           kernels::ThreadPool& pool) {
        NeuronMatrix matrix = piece.matrix;
        const int index = piece.place;
        const bool by_neurons = matrix.neuron_stride >= matrix.hidden_stride;
        const std::int64_t n_rows = by_neurons ? piece.n_neurons : piece.n_hidden;
        const std::int64_t n_cols = by_neurons ? piece.n_hidden : piece.n_neurons;
        if (piece.quantized == nullptr) return pack_rows_of(matrix, {index, by_neurons, 0, n_rows}, layout, block);
        std::int64_t& row_stride = by_neurons ? matrix.neuron_stride : matrix.hidden_stride;
        std::int64_t& col_stride = by_neurons ? matrix.hidden_stride : matrix.neuron_stride;
        const std::int64_t row_step = std::exchange(row_stride, n_cols);
        const std::int64_t col_step = std::exchange(col_stride, 1);
        constexpr std::int64_t kRows = 32;
        pool.parallel_for(n_rows, kRows, [&](std::int64_t begin, std::int64_t end, int) {
            std::vector<kernels::Bf16> rows(static_cast<std::size_t>(kRows * n_cols));
            NeuronMatrix some = matrix;
            some.data = reinterpret_cast<const std::byte*>(rows.data());
            for (std::int64_t row = begin; row < end; row += kRows) {
                const std::int64_t last = std::min(end, row + kRows);
                const std::int64_t together = col_step == 1 ? n_cols : 1;
                for (std::int64_t i = 0; i < (last - row) * n_cols; i += together) {
                    piece.quantized->read(piece.first + (row + i / n_cols) * row_step + i % n_cols * col_step, together,
                                          rows.data() + i);
                }
                pack_rows_of(some, {index, by_neurons, row, last}, layout, block);
            }
        });
    }

    // Gate (if there is one), up, down; their biases. Checked by check_experts().
    std::vector<Piece> expert_pieces(std::int64_t layer, std::int64_t expert) const {
        const ExpertGrid& grid = spec_.experts;
        const ExpertParts parts = family_.expert(spec_, spec_.layer_of(layer), expert);
        std::vector<Piece> pieces;
        const auto add = [&](int place, const ExpertPart& part, std::int64_t n_neurons, std::int64_t n_hidden) {
            pieces.push_back(piece_of(part, n_neurons, n_hidden));
            pieces.back().place = place;
        };
        for (int i = grid.expert.first_matrix(); i < 3; ++i) {
            const auto at = static_cast<std::size_t>(i);
            add(i, parts.matrices[at], grid.ffn_dim, grid.hidden_dim);
            const std::vector<float>& factors = factors_[static_cast<std::size_t>(layer)][at];
            if (!factors.empty()) pieces.back().matrix.factor = factors[static_cast<std::size_t>(expert)];
        }
        if (!grid.expert.biases) return pieces;
        for (const int i : {0, 1}) add(3 + i, parts.biases[static_cast<std::size_t>(i)], grid.ffn_dim, 1);
        add(5, parts.biases[2], 1, grid.hidden_dim);
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

    using Types = std::array<WeightType, 3>;  // gate (that of up, if there is none), up, down

    // The types of an expert's matrices; one type for all of them, in all layers, unless
    // file blocks are among them.
    Types check_expert(std::int64_t layer, std::int64_t expert) {
        const ExpertGrid& grid = spec_.experts;
        const ExpertParts parts = family_.expert(spec_, spec_.layer_of(layer), expert);
        Types types{};
        std::uint64_t file_bytes = 0;
        for (auto i = static_cast<std::size_t>(grid.expert.first_matrix()); i < types.size(); ++i) {
            const ExpertPart& part = parts.matrices[i];
            const WeightType in_file = type_of(part);
            types[i] = dense_.stored_type(in_file);
            if (expert == 0) factors_.back()[i] = dense_.factors(part.scale, grid.n_experts, in_file);
            file_bytes += kernels::row_bytes(in_file, grid.ffn_dim * grid.hidden_dim);
            // Blocks run along a product's inputs.
            const std::int64_t inputs = i < 2 ? part.hidden_stride : part.neuron_stride;
            const std::int64_t outputs = i < 2 ? part.neuron_stride : part.hidden_stride;
            const std::int64_t multiple = kernels::row_multiple(in_file);
            const std::int64_t width = i < 2 ? grid.hidden_dim : grid.ffn_dim;
            if (kernels::is_blocks(in_file) && (inputs != 1 || outputs % multiple != 0 || width % multiple != 0)) {
                throw Error(ErrorKind::kUnsupported,
                            messages::tensor_blocks_split(checkpoint_.source(), part.name, multiple, width));
            }
        }
        if (!grid.expert.has_gate()) types[0] = types[1];
        if (expert_file_bytes_ == 0) expert_file_bytes_ = file_bytes;
        for (const ExpertPart& part : parts.biases) {
            if (grid.expert.biases) checkpoint_.require(part.name, part.shape);
        }
        return types;
    }

    WeightType type_of(const ExpertPart& part) const {
        if (part.exponents.empty()) return checkpoint_.require_weights(part.name, part.shape).type;
        checkpoint_.require_bytes(part.name, part.shape);
        checkpoint_.require_bytes(part.exponents, part.exponents_shape);
        return WeightType::kMxfp4;
    }

    // Finds errors before the long work begins.
    void check_experts() {
        ExpertGrid& grid = spec_.experts;
        std::vector<Types> layers;
        bool has_blocks = false;
        bool alike = true;
        for (std::int64_t l = 0; l < grid.n_layers; ++l) {
            const std::int64_t n_apart = experts_apart(spec_, spec_.layer_of(l));
            factors_.emplace_back();
            for (std::int64_t e = 0; e < n_apart; ++e) {
                const Types types = check_expert(l, e);
                if (e == 0) layers.push_back(types);
                for (std::size_t i = 0; i < types.size(); ++i) {
                    has_blocks |= kernels::is_blocks(types[i]);
                    alike &= types[i] == layers[0][0];
                    if (types[i] != layers.back()[i] && (has_blocks || kernels::is_blocks(layers.back()[i]))) {
                        throw Error(ErrorKind::kUnsupported,
                                    messages::expert_formats_differ(checkpoint_.source(), spec_.layer_of(l),
                                                                    kernels::name_of(layers.back()[i]),
                                                                    kernels::name_of(types[i])));
                    }
                }
            }
        }
        expert_type_ = alike ? layers[0][0] : WeightType::kF32;
        if (!has_blocks) return;
        constexpr auto kFirst = static_cast<std::size_t>(WeightType::kFile1);
        constexpr auto kMost = static_cast<std::size_t>(kernels::kWeightTypes) - kFirst;
        for (const Types& types : layers) {
            kernels::ExpertLayout layout;
            layout.hidden_dim = grid.hidden_dim;
            layout.ffn_dim = grid.ffn_dim;
            layout.gate = types[0];
            layout.up = types[1];
            layout.down = types[2];
            layout.spec = grid.expert;
            layout.down_rows_are_outputs = true;
            const auto found = std::find(grid.file_layouts.begin(), grid.file_layouts.end(), layout);
            const auto index = static_cast<std::size_t>(found - grid.file_layouts.begin());
            if (index == kMost) {
                throw Error(ErrorKind::kUnsupported, messages::too_many_format_mixes(checkpoint_.source(), kMost));
            }
            if (found == grid.file_layouts.end()) grid.file_layouts.push_back(layout);
            grid.file_formats.push_back(static_cast<WeightType>(kFirst + index));
        }
        expert_type_ = grid.file_formats.front();
    }

    // For a model whose embedding and head are one tensor. transformers uses a separate
    // head with other values if there is one, and uses the head for both if only that
    // exists.
    void check_head(TiedCheck tied) {
        const auto part_of = [&](TensorRole role) {
            DenseTensor tensor;
            tensor.role = role;
            tensor.n_rows = spec_.vocab_size;
            tensor.n_cols = spec_.hidden_dim;
            return family_.parts(spec_, tensor).front();
        };
        const TensorPart head_part = part_of(TensorRole::kHead), embedding_part = part_of(TensorRole::kEmbedding);
        const TensorView* const head = checkpoint_.find(head_part.name);
        const TensorView* const embedding = checkpoint_.find(embedding_part.name);
        if (head == nullptr) return;
        spec_.safetensors.head_alone = embedding == nullptr;
        if (embedding == nullptr || are_equal(*head, *embedding, tied)) return;
        spec_.tied_embeddings = false;
        notes_.push_back(messages::tied_head_differs(checkpoint_.source(), in_quotes(head_part.name),
                                                     in_quotes(embedding_part.name)));
    }

    bool are_equal(const TensorView& a, const TensorView& b, TiedCheck tied) const {
        if (a.type_name != b.type_name || a.bytes.size() != b.bytes.size()) return false;
        if (a.quantized != nullptr || b.quantized != nullptr) return false;  // codes are not values
        const auto are_equal_at = [&](std::size_t at, std::size_t n) {
            const auto of_a = a.bytes.subspan(at, std::min(n, a.bytes.size() - at));
            const auto of_b = b.bytes.subspan(at, of_a.size());
            checkpoint_.require_readable(of_a);
            checkpoint_.require_readable(of_b);
            return std::ranges::equal(of_a, of_b);
        };
        constexpr std::size_t kPlaces = 64, kPlaceBytes = 64, kPieceBytes = std::size_t{1} << 22;
        for (std::size_t i = 0; i < kPlaces; ++i) {
            if (!are_equal_at(a.bytes.size() / kPlaces * i, kPlaceBytes)) return false;
        }
        if (tied == TiedCheck::kPlaces) return true;
        for (std::size_t at = 0; at < a.bytes.size(); at += kPieceBytes) {
            if (!are_equal_at(at, kPieceBytes)) return false;
            for (const TensorView* const tensor : {&a, &b}) {
                checkpoint_.release(tensor->bytes.subspan(at, std::min(kPieceBytes, a.bytes.size() - at)));
            }
        }
        return true;
    }

    void report(std::uint64_t bytes) {
        bytes_done_ += bytes;
        if (stop_.stop_requested()) throw Error(ErrorKind::kCancelled, messages::loading_cancelled);
        if (progress_) progress_(std::min(bytes_done_, bytes_total_), bytes_total_);
    }

    std::unique_ptr<Checkpoint> owner_;
    const Checkpoint& checkpoint_;
    ModelSpec spec_;
    const Family& family_;
    const bool round_to_bf16_;
    DenseLoader dense_;
    BytesProgressFn progress_;
    std::stop_token stop_;
    std::vector<Message> notes_;
    WeightType expert_type_ = WeightType::kBf16;
    std::uint64_t expert_file_bytes_ = 0;  // the first one's matrices
    // (n_layers): for gate, up and down a factor of each expert's weights; empty: all 1.
    std::vector<std::array<std::vector<float>, 3>> factors_;
    std::uint64_t dense_bytes_ = 0;
    std::uint64_t bytes_done_ = 0;
    std::uint64_t bytes_total_ = 0;
    std::mutex fingerprint_mutex_;
    std::vector<Fingerprint> fingerprints_;  // (n_layers, n_experts), zeros: not known yet; empty before the first use
};

}  // namespace

std::unique_ptr<WeightSource> open_weights(std::unique_ptr<Checkpoint> checkpoint, ModelSpec& spec, bool round_to_bf16,
                                           kernels::ThreadPool& pool, TiedCheck tied) {
    return std::make_unique<CheckpointWeights>(std::move(checkpoint), spec, round_to_bf16, pool, tied);
}

}  // namespace offstage::engine
