#include "engine/model/dense_loader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/expert_strips.h"
#include "engine/model/model_messages.h"
#include "engine/model/pack_neurons.h"
#include "engine/model/quantized_tensor.h"
#include "kernels/cpu_kernels.h"
#include "kernels/scaled_weights.h"

namespace offstage::engine {

using kernels::bytes_per_weight;
using kernels::WeightType;

// The rows of a part, in the order of ours: row i of the part is row source_row(i) of the
// tensor.
class PartRows {
  public:
    explicit PartRows(const TensorPart& part)
        : block_(part.block > 0 ? part.block : n_rows(part)),
          first_(part.first),
          count_(part.count > 0 ? part.count : block_ - part.first),
          interleaved_(part.interleaved),
          first_interleaved_(part.interleaved_first ? 0 : count_ - interleaved_),
          n_blocks_(n_rows(part) / block_) {}

    std::int64_t size() const { return n_blocks_ * count_; }
    std::int64_t n_blocks() const { return n_blocks_; }
    std::int64_t count() const { return count_; }
    bool in_order() const { return interleaved_ == 0; }
    std::int64_t source_row(std::int64_t row) const {
        const std::int64_t i = row % count_;
        const std::int64_t paired = i - first_interleaved_;  // of the rows that pair as neighbours
        const std::int64_t half = interleaved_ / 2;
        const std::int64_t from = paired < 0 || paired >= interleaved_
                                      ? i
                                      : first_interleaved_ + (paired < half ? 2 * paired : 2 * (paired - half) + 1);
        return row / count_ * block_ + first_ + from;
    }

  private:
    // For a list: each value is a row. All dimensions but the last one count rows.
    static std::int64_t n_rows(const TensorPart& part) {
        std::int64_t n = part.shape.front();
        for (std::size_t i = 1; i + 1 < part.shape.size(); ++i) n *= part.shape[i];
        return n;
    }

    std::int64_t block_, first_, count_, interleaved_, first_interleaved_, n_blocks_;
};

namespace {

float changed(float x, const TensorPart& part) {
    if (part.change == TensorPart::Change::kPlusOne) x = 1.0f + x;
    if (part.change == TensorPart::Change::kMinusExp) x = -std::exp(x);
    return x * part.factor;
}

}  // namespace

std::vector<float> DenseLoader::factors(const std::string& scale, std::int64_t n, WeightType weights) const {
    if (scale.empty() || checkpoint_.find(scale) == nullptr) return {};
    const TensorView& tensor = checkpoint_.require(scale, std::array{n});
    if (weights == WeightType::kMxfp4) {
        throw Error(ErrorKind::kUnsupported,
                    messages::tensor_unread(checkpoint_.source(), in_quotes(scale), in_quotes(spec_.architecture)));
    }
    checkpoint_.require_readable(tensor.bytes);
    std::vector<float> values(static_cast<std::size_t>(n));
    kernels::cpu_kernels().widen(tensor.bytes.data(), tensor.type, n, values.data());
    return values;
}

bool DenseLoader::is_missing(const TensorPart& part) const {
    return part.is_optional && checkpoint_.find(part.name) == nullptr;
}

float DenseLoader::factor(const TensorPart& part) const {
    const std::vector<float> number = factors(part.scale, 1, checkpoint_.find(part.name)->type);
    return number.empty() ? 1.0f : number.front();
}

// Computes the memory for the dense weights, and which of them stay in blocks.
std::uint64_t DenseLoader::check(WeightType expert_type) {
    std::uint64_t dense_bytes = 0;
    bool has_blocks = false;
    std::vector<std::uint8_t> split(spec_.layers.size());
    for (const DenseTensor& tensor : dense_tensors(spec_)) {
        const std::vector<TensorPart> parts = parts_in_checkpoint(spec_, tensor);
        bool blocks = false;
        for (const TensorPart& part : parts) {
            if (is_missing(part)) continue;
            if (part.integers_below > 0) {
                checkpoint_.require_integers(part.name, part.shape);
                continue;
            }
            blocks |= kernels::is_blocks(checkpoint_.require_weights(part.name, part.shape).type);
            static_cast<void>(factor(part));
        }
        has_blocks |= blocks && tensor.kind != DenseTensor::Kind::kVector;
        if (!blocks || tensor.role != TensorRole::kQkv || parts.size() != 3) continue;
        for (const TensorPart& part : parts) {
            if (checkpoint_.find(part.name)->type != checkpoint_.find(parts[0].name)->type) {
                split[static_cast<std::size_t>(tensor.layer)] = 1;
            }
        }
    }
    // If experts are in blocks, their type does not apply to the other tensors.
    if (has_blocks || kernels::traits_of(expert_type).is_of_file()) {
        spec_.split_qkv = std::move(split);
        for (const DenseTensor& tensor : dense_tensors(spec_)) spec_.stored.push_back(stored_as(tensor));
    }
    for (const DenseTensor& tensor : dense_tensors(spec_)) {
        dense_bytes += tensor.stored ? tensor.stored_bytes(WeightType::kF32) : tensor.bytes(type_of(tensor));
    }
    return dense_bytes;
}

DenseWeights DenseLoader::load(Arena& host, const Done& done) const {
    DenseWeights weights;
    for (const DenseTensor& tensor : dense_tensors(spec_)) {
        DenseWeight weight;
        weight.what = tensor;
        const std::vector<TensorPart> parts = parts_of(tensor);
        switch (tensor.kind) {
            case DenseTensor::Kind::kVector:
                weight.values = vector(parts, done);
                break;
            case DenseTensor::Kind::kMatrix:
                weight.matrix = matrix(host, tensor, parts, done);
                break;
            case DenseTensor::Kind::kNetwork:
                weight.matrix = network(host, tensor, parts, done);
                break;
        }
        weights.tensors.push_back(std::move(weight));
    }
    return weights;
}

StoredTensor DenseLoader::stored_as(const DenseTensor& tensor) const {
    if (tensor.kind == DenseTensor::Kind::kVector) return {WeightType::kF32, {}};
    if (tensor.kind == DenseTensor::Kind::kMatrix) return {type_of(tensor), {}};
    const std::vector<TensorPart> parts = parts_of(tensor);
    kernels::ExpertLayout layout = tensor.network_layout(WeightType::kF32);
    std::array<WeightType*, 3> matrices = {&layout.gate, &layout.up, &layout.down};
    StoredTensor stored{WeightType::kF32, {}};
    const std::size_t first = matrices.size() - parts.size();
    for (std::size_t i = first; i < matrices.size(); ++i) {
        *matrices[i] = stored_type(checkpoint_.find(parts[i - first].name)->type);
        layout.down_rows_are_outputs |= kernels::is_blocks(*matrices[i]);
        if (i == first || kernels::is_plain(stored.type)) stored.type = *matrices[i];
    }
    if (!layout.spec.has_gate()) layout.gate = layout.up;
    if (layout.down_rows_are_outputs) {
        stored.network = layout;
    } else {
        stored.type = type_of(tensor);
    }
    return stored;
}

// A query's rows, where the family has one tensor for queries, keys and values.
std::vector<TensorPart> DenseLoader::parts_of(const DenseTensor& tensor) const {
    if (tensor.role < TensorRole::kQuery || tensor.role > TensorRole::kValue) {
        return parts_in_checkpoint(spec_, tensor);
    }
    DenseTensor whole = tensor;
    whole.role = TensorRole::kQkv;
    const auto i = static_cast<std::size_t>(tensor.role) - static_cast<std::size_t>(TensorRole::kQuery);
    return {spec_.family->parts(spec_, whole)[i]};
}

// The parts' type if they agree, otherwise float32. Blocks that are transposed become
// plain.
WeightType DenseLoader::type_of(const DenseTensor& tensor) const {
    const std::vector<TensorPart> parts = parts_of(tensor);
    WeightType type = WeightType::kF32;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (is_missing(parts[i]) || parts[i].integers_below > 0) return WeightType::kF32;
        WeightType stored = stored_type(checkpoint_.require_weights(parts[i].name, parts[i].shape).type);
        if (kernels::is_blocks(stored) && parts[i].transposed) stored = WeightType::kF32;
        type = i == 0 || stored == type ? stored : WeightType::kF32;
    }
    return type;
}

DenseLoader::ReadableTensor DenseLoader::readable(const TensorPart& part) const {
    ReadableTensor read{checkpoint_.require_weights(part.name, part.shape), {}, {}};
    TensorView& tensor = read.tensor;
    read.in_file = tensor.bytes;
    checkpoint_.require_readable(tensor.bytes);
    if (tensor.quantized == nullptr) return read;
    checkpoint_.require_readable(tensor.quantized->scale_bytes);
    read.values.resize(static_cast<std::size_t>(tensor.n_elements()));
    const std::int64_t n_cols = tensor.shape.back();
    pool_.parallel_for(tensor.n_elements() / n_cols, 16, [&](std::int64_t begin, std::int64_t end, int) {
        tensor.quantized->read(begin * n_cols, (end - begin) * n_cols, read.values.data() + begin * n_cols);
    });
    tensor.bytes = std::as_bytes(std::span(read.values));
    return read;
}

std::vector<float> DenseLoader::vector(const std::vector<TensorPart>& parts, const Done& done) const {
    std::vector<float> values;
    for (const TensorPart& part : parts) {
        if (is_missing(part)) {
            values.resize(values.size() + static_cast<std::size_t>(part.shape[0]));
            continue;
        }
        if (part.integers_below > 0) {
            append_integers(part, values);
            done(checkpoint_.find(part.name)->bytes);
            continue;
        }
        const ReadableTensor readable_part = readable(part);
        const TensorView& tensor = readable_part.tensor;
        std::vector<float> read(static_cast<std::size_t>(tensor.n_elements()));
        kernels::cpu_kernels().widen(tensor.bytes.data(), tensor.type, tensor.n_elements(), read.data());
        for (float& value : read) value = changed(value, part);
        if (part.interleaved > 0 || part.count > 0) {
            const PartRows rows(part);
            for (std::int64_t i = 0; i < rows.size(); ++i) {
                values.push_back(read[static_cast<std::size_t>(rows.source_row(i))]);
            }
        } else {
            values.insert(values.end(), read.begin(), read.end());
        }
        done(readable_part.in_file);
    }
    return values;
}

void DenseLoader::append_integers(const TensorPart& part, std::vector<float>& values) const {
    const TensorView& tensor = checkpoint_.require_integers(part.name, part.shape);
    checkpoint_.require_readable(tensor.bytes);
    const std::size_t size = tensor.type_name.starts_with("I64") ? 8 : 4;
    for (std::size_t at = 0; at < tensor.bytes.size(); at += size) {
        std::int32_t narrow = 0;
        std::int64_t value = 0;
        std::memcpy(&narrow, tensor.bytes.data() + at, sizeof narrow);
        std::memcpy(&value, tensor.bytes.data() + at, size);
        if (size == sizeof narrow) value = narrow;
        if (value < 0 || value >= part.integers_below) {
            throw Error(
                ErrorKind::kInvalidModel,
                messages::integer_out_of_range(checkpoint_.source(), in_quotes(part.name), value, part.integers_below));
        }
        values.push_back(static_cast<float>(value));
    }
}

Matrix DenseLoader::matrix(Arena& host, const DenseTensor& what, const std::vector<TensorPart>& parts,
                           const Done& done) const {
    const WeightType type = type_of(what);
    Matrix result(host, type, what.n_rows, what.n_cols, parts.front().name);
    std::int64_t first_row = 0;
    for (const TensorPart& part : parts) {
        const ReadableTensor read = readable(part);
        const TensorView& tensor = read.tensor;
        const PartRows rows(part);
        if (part.transposed) {
            copy_transposed(tensor, rows, type, result, first_row);
            first_row += rows.n_blocks() * tensor.shape.back();
        } else {
            copy_rows(tensor, rows, type, result, first_row, factor(part));
            first_row += rows.size();
        }
        done(read.in_file);
    }
    return result;
}

void DenseLoader::copy_rows(const TensorView& tensor, const PartRows& rows, WeightType type, Matrix& result,
                            std::int64_t first_row, float factor) const {
    const std::int64_t n_cols = tensor.shape.back();
    const std::size_t row_bytes = kernels::row_bytes(tensor.type, n_cols);
    pool_.parallel_for(rows.size(), 16, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t row = begin; row < end; ++row) {
            convert_weights(tensor.bytes.data() + static_cast<std::size_t>(rows.source_row(row)) * row_bytes,
                            tensor.type, result.row(first_row + row), type, n_cols);
            if (factor != 1.0f) kernels::multiply_weights(type, result.row(first_row + row), n_cols, factor);
        }
    });
}

// Each block's choice (count, columns) becomes (columns, count).
void DenseLoader::copy_transposed(const TensorView& tensor, const PartRows& rows, WeightType type, Matrix& result,
                                  std::int64_t first_row) const {
    const std::int64_t n_cols = tensor.shape.back();
    const std::int64_t count = rows.count();
    if (kernels::is_blocks(tensor.type)) {
        copy_transposed_blocks(tensor, rows, result, first_row);
        return;
    }
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

// The result is float32.
void DenseLoader::copy_transposed_blocks(const TensorView& tensor, const PartRows& rows, Matrix& result,
                                         std::int64_t first_row) const {
    const std::int64_t n_cols = tensor.shape.back();
    const std::int64_t count = rows.count();
    std::vector<float> row(static_cast<std::size_t>(n_cols));
    for (std::int64_t i = 0; i < rows.size(); ++i) {
        const std::byte* const from = tensor.bytes.data() + static_cast<std::size_t>(rows.source_row(i)) *
                                                                kernels::row_bytes(tensor.type, n_cols);
        kernels::cpu_kernels().widen(from, tensor.type, n_cols, row.data());
        for (std::int64_t c = 0; c < n_cols; ++c) {
            reinterpret_cast<float*>(result.row(first_row + i / count * n_cols + c))[i % count] =
                row[static_cast<std::size_t>(c)];
        }
    }
}

Matrix DenseLoader::network(Arena& host, const DenseTensor& what, const std::vector<TensorPart>& parts,
                            const Done& done) const {
    const kernels::ExpertLayout layout =
        what.stored ? what.stored_network(WeightType::kF32) : what.network_layout(type_of(what));
    Matrix result(host, layout, parts.front().name);
    const std::int64_t hidden = what.n_cols;
    std::array<ReadableTensor, 3> read;
    std::array<NeuronMatrix, 3> matrices;
    const std::size_t first = matrices.size() - parts.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const TensorPart& part = parts[i];
        read[i] = readable(part);
        const TensorView& tensor = read[i].tensor;
        const bool is_down = i + 1 == parts.size();
        const std::size_t skipped = is_down ? 0 : kernels::row_bytes(tensor.type, part.first * hidden);
        matrices[first + i] = {tensor.bytes.data() + skipped, tensor.type, is_down ? 1 : hidden,
                               is_down ? layout.ffn_dim : 1,  nullptr,     factor(part)};
    }
    pack_matrices(matrices, layout, result.memory.data(), pool_);
    for (std::size_t i = 0; i < parts.size(); ++i) done(read[i].in_file);
    return result;
}

}  // namespace offstage::engine
