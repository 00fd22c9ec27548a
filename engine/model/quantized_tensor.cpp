#include "engine/model/quantized_tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/checkpoint.h"
#include "engine/model/model_messages.h"
#include "kernels/block_parts.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {

using Codes = QuantizedTensor::Codes;
using Scales = QuantizedTensor::Scales;

namespace {

// Sign, four bits of exponent, three of the fraction; no infinities. (OCP 8-bit floating
// point specification 1.0, E4M3)
std::array<float, 256> e4m3_values() {
    std::array<float, 256> values{};
    for (int code = 0; code < 256; ++code) {
        const int exponent = code >> 3 & 15, fraction = code & 7;
        float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                    : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
        if ((code & 127) == 127) value = std::numeric_limits<float>::quiet_NaN();
        values[static_cast<std::size_t>(code)] = code < 128 ? value : -value;
    }
    return values;
}
const std::array<float, 256> kE4m3 = e4m3_values();

constexpr std::array<float, 16> kE2m1 = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                         -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

bool is_half_byte(Codes codes) {
    return codes == Codes::kE2m1 || codes == Codes::kBiased4;
}

float value_of(Codes codes, std::uint8_t byte, bool upper) {
    const auto nibble = static_cast<std::uint8_t>(upper ? byte >> 4 : byte & 15);
    switch (codes) {
        case Codes::kE4m3:
            return kE4m3[byte];
        case Codes::kE2m1:
            return kE2m1[nibble];
        case Codes::kSigned8:
            return static_cast<float>(static_cast<std::int8_t>(byte));
        case Codes::kBiased8:
            return static_cast<float>(static_cast<int>(byte) - 128);
        case Codes::kBiased4:
            return static_cast<float>(static_cast<int>(nibble) - 8);
        default:  // blocks
            return 0;
    }
}

float binary16_at(const std::uint8_t* bytes) {
    return kernels::to_float(kernels::F16{static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8)});
}

// Each writes a block's weights.
void unpack_nvfp4(const std::uint8_t* block, float* out) {
    for (int part = 0; part < 4; ++part) {
        const std::uint8_t code = block[part] & 127;
        const float scale = code == 127 ? 0.0f : 0.5f * kE4m3[code];
        for (int i = 0; i < 8; ++i, ++out) {
            const std::uint8_t byte = block[4 + 8 * part + i];
            out[0] = scale * static_cast<float>(kernels::kMxfp4Values[byte & 15]);  // doubled
            out[8] = scale * static_cast<float>(kernels::kMxfp4Values[byte >> 4]);
        }
        out += 8;
    }
}

void unpack_tq1(const std::uint8_t* block, float* out) {
    const float scale = binary16_at(block + 52);
    // Bytes of a stretch hold their digits as a fraction of 243: each weight is the first
    // digit of the byte times a power of 3.
    const auto stretch = [&](int begin, int n_bytes, int n_digits) {
        for (int digit = 0, power = 1; digit < n_digits; ++digit, power *= 3) {
            for (int i = 0; i < n_bytes; ++i) {
                const int rest = block[begin + i] * power & 255;
                *out++ = scale * static_cast<float>((rest * 3 >> 8) - 1);
            }
        }
    };
    stretch(0, 32, 5);
    stretch(32, 16, 5);
    stretch(48, 4, 4);
}

void unpack_tq2(const std::uint8_t* block, float* out) {
    const float scale = binary16_at(block + 64);
    for (int begin = 0; begin < 64; begin += 32) {
        for (int shift = 0; shift < 8; shift += 2) {
            for (int i = 0; i < 32; ++i) {
                *out++ = scale * static_cast<float>((block[begin + i] >> shift & 3) - 1);
            }
        }
    }
}

struct BlockForm {
    Codes codes;
    std::uint32_t ggml_type;
    std::int64_t weights, bytes;
    void (*unpack)(const std::uint8_t*, float*);
};
constexpr BlockForm kBlockForms[] = {{Codes::kNvfp4Blocks, 40, 64, 36, unpack_nvfp4},
                                     {Codes::kTq1Blocks, 34, 256, 54, unpack_tq1},
                                     {Codes::kTq2Blocks, 35, 256, 66, unpack_tq2}};
const BlockForm* block_form(Codes codes) {
    const auto* const found = std::ranges::find(kBlockForms, codes, &BlockForm::codes);
    return found == std::end(kBlockForms) ? nullptr : found;
}

std::size_t bytes_of(Scales scales) {
    return scales == Scales::kF32 ? 4 : scales == Scales::kF16 || scales == Scales::kBf16 ? 2 : 1;
}

}  // namespace

std::optional<Codes> codes_of_ggml_type(std::uint32_t number) {
    const auto* const found = std::ranges::find(kBlockForms, number, &BlockForm::ggml_type);
    return found == std::end(kBlockForms) ? std::nullopt : std::optional(found->codes);
}

std::size_t QuantizedTensor::row_bytes() const {
    if (const BlockForm* const form = block_form(codes)) {
        return static_cast<std::size_t>(n_cols / form->weights * form->bytes);
    }
    return static_cast<std::size_t>(is_half_byte(codes) ? n_cols / 2 : n_cols);
}

std::int64_t QuantizedTensor::scale_row(std::int64_t row) const {
    return row / n_rows * scale_rows + row % n_rows / rows_of_scale;
}

float QuantizedTensor::scale(std::int64_t index) const {
    const std::byte* const at = scale_bytes.data() + static_cast<std::size_t>(index) * bytes_of(scales);
    std::uint32_t bits = 0;
    std::memcpy(&bits, at, bytes_of(scales));  // little-endian
    switch (scales) {
        case Scales::kF32:
            return factor * kernels::float_of_bits(bits);
        case Scales::kF16:
            return factor * kernels::to_float(kernels::F16{static_cast<std::uint16_t>(bits)});
        case Scales::kBf16:
            return factor * kernels::float_of_bits(bits << 16u);
        case Scales::kE4m3:
            return factor * kE4m3[bits];
        case Scales::kE8m0:
            return factor * std::ldexp(1.0f, static_cast<int>(bits) - 127);
    }
    return factor;
}

// Rows are whole blocks, so those of all rows follow each other.
void QuantizedTensor::read_blocks(std::int64_t first, std::int64_t n, kernels::Bf16* out) const {
    const BlockForm& form = *block_form(codes);
    std::array<float, 256> values;
    while (n > 0) {
        const std::int64_t block = first / form.weights, begin = first % form.weights;
        const std::int64_t count = std::min(n, form.weights - begin);
        form.unpack(reinterpret_cast<const std::uint8_t*>(code_bytes.data()) + block * form.bytes, values.data());
        kernels::cpu_kernels().narrow_bf16(values.data() + begin, count, out);
        out += count;
        first += count;
        n -= count;
    }
}

void QuantizedTensor::read(std::int64_t first, std::int64_t n, kernels::Bf16* out) const {
    if (block_form(codes) != nullptr) return read_blocks(first, n, out);
    std::array<float, 256> values;
    while (n > 0) {
        const std::int64_t row = first / n_cols, col = first % n_cols;
        const std::int64_t count =
            std::min({n, n_cols - col, cols_of_scale - col % cols_of_scale, static_cast<std::int64_t>(values.size())});
        const float s = scale(scale_row(row) * scale_cols + col / cols_of_scale);
        const auto* const bytes =
            reinterpret_cast<const std::uint8_t*>(code_bytes.data()) + static_cast<std::size_t>(row) * row_bytes();
        if (codes == Codes::kE4m3) {
            for (std::int64_t i = 0; i < count; ++i) {
                values[static_cast<std::size_t>(i)] = s * kE4m3[bytes[col + i]];
            }
        } else {
            const int shift = is_half_byte(codes) ? 1 : 0;
            for (std::int64_t i = 0; i < count; ++i) {
                const std::int64_t at = col + i;
                values[static_cast<std::size_t>(i)] = s * value_of(codes, bytes[at >> shift], at % 2 != 0);
            }
        }
        kernels::cpu_kernels().narrow_bf16(values.data(), count, out);
        out += count;
        first += count;
        n -= count;
    }
}

std::span<const std::byte> QuantizedTensor::codes_of(std::int64_t first_row, std::int64_t rows) const {
    return code_bytes.subspan(static_cast<std::size_t>(first_row) * row_bytes(),
                              static_cast<std::size_t>(rows) * row_bytes());
}

std::span<const std::byte> QuantizedTensor::scales_of(std::int64_t first_row, std::int64_t rows) const {
    if (scale_bytes.empty()) return {};
    const std::int64_t begin = scale_row(first_row) * scale_cols;
    const std::int64_t end = (scale_row(first_row + rows - 1) + 1) * scale_cols;
    return scale_bytes.subspan(static_cast<std::size_t>(begin) * bytes_of(scales),
                               static_cast<std::size_t>(end - begin) * bytes_of(scales));
}

namespace {

class QuantizedJoiner {
  public:
    QuantizedJoiner(std::vector<TensorView>& tensors, const Checkpoint& checkpoint)
        : tensors_(tensors), checkpoint_(checkpoint) {
        for (TensorView& tensor : tensors) by_name_.emplace(tensor.name, &tensor);
    }

    void join() {
        std::vector<std::pair<TensorView*, TensorView>> joined;
        for (TensorView& tensor : tensors_) {
            if (std::optional<TensorView> whole = joined_with(tensor)) joined.emplace_back(&tensor, *std::move(whole));
        }
        if (joined.empty()) return;
        for (auto& [codes, whole] : joined) *codes = std::move(whole);
        std::erase_if(tensors_, [&](const TensorView& tensor) { return used_.contains(&tensor); });
    }

  private:
    const TensorView* find(const std::string& name) const {
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : found->second;
    }

    // Nothing: no codes, or none that can be read; those stay as they are.
    std::optional<TensorView> joined_with(const TensorView& tensor) {
        const std::string& name = tensor.name;
        constexpr std::string_view kPacked = "_packed";
        if ((tensor.type_name == "I32" || tensor.type_name == "U8") && name.ends_with(kPacked)) {
            const std::string stem = name.substr(0, name.size() - kPacked.size());
            const TensorView* const scale = find(stem + "_scale");
            if (scale == nullptr) return {};
            if (const TensorView* const other = find(stem)) misfit(tensor, *other);
            if (tensor.type_name == "I32") return packed_integers(tensor, stem, *scale);
            const TensorView* const global = find(stem + "_global_scale");
            return four_bit_floats(tensor, stem, *scale, global, true);
        }
        if (tensor.type_name == "U8") {
            const TensorView* const scale = find(name + "_scale");
            const TensorView* const second = find(name + "_scale_2");
            if (scale == nullptr || second == nullptr) return {};
            return four_bit_floats(tensor, name, *scale, second, false);
        }
        if (tensor.type_name != "F8_E4M3" && tensor.type_name != "I8") return {};
        const TensorView* scale = find(name + "_scale_inv");
        const bool has_inverse = scale != nullptr;
        if (scale == nullptr) scale = find(name + "_scale");
        if (constexpr std::string_view kWeight = ".weight"; scale == nullptr && name.ends_with(kWeight)) {
            const std::string stem = name.substr(0, name.size() - kWeight.size());
            scale = find(stem + ".scale");
            if (scale == nullptr) scale = find(stem + ".qscale_weight");
        }
        if (scale == nullptr) return {};
        // Two codes a byte: as DeepSeek-V4 is published, their scales have no mantissa.
        const bool has_pairs = has_inverse || scale->type_name == "F8_E8M0";
        if (tensor.type_name == "I8" && has_pairs) return four_bit_floats(tensor, name, *scale, nullptr, false);
        return made(tensor, name, *scale, tensor.type_name == "I8" ? Codes::kSigned8 : Codes::kE4m3, tensor.shape,
                    tensor.type_name == "I8" ? "INT8" : tensor.type_name, 1);
    }

    std::optional<TensorView> packed_integers(const TensorView& tensor, const std::string& stem,
                                              const TensorView& scale) {
        for (const char* const other : {"_zero_point", "_g_idx"}) {
            if (const TensorView* const found = find(stem + other)) {
                throw Error(ErrorKind::kUnsupported,
                            messages::quantized_not_symmetric(checkpoint_.source(), in_quotes(found->name)));
            }
        }
        // Words of four or eight codes; the weight's shape decides.
        const TensorView* const shape = find(stem + "_shape");
        if (shape == nullptr || shape->bytes.size() < 8 || tensor.shape.empty()) misfit(tensor, scale);
        checkpoint_.require_readable(shape->bytes);
        std::int64_t n_cols = 0;
        if (shape->type_name == "I64" && shape->bytes.size() % 8 == 0) {
            std::memcpy(&n_cols, shape->bytes.data() + shape->bytes.size() - 8, 8);
        } else if (shape->type_name == "I32") {
            std::int32_t narrow = 0;
            std::memcpy(&narrow, shape->bytes.data() + shape->bytes.size() - 4, 4);
            n_cols = narrow;
        }
        std::vector<std::int64_t> weights = tensor.shape;
        const std::int64_t words = weights.back();
        if (n_cols == 0 && words <= std::numeric_limits<std::int64_t>::max() / 8) n_cols = 8 * words;  // a preview
        const bool four = n_cols % 8 == 0 && n_cols / 8 == words;
        if (n_cols <= 0 || (!four && (n_cols % 4 != 0 || n_cols / 4 != words))) misfit(tensor, *shape);
        weights.back() = n_cols;
        use(*shape);
        return made(tensor, stem, scale, four ? Codes::kBiased4 : Codes::kBiased8, std::move(weights),
                    four ? "INT4" : "INT8", 1);
    }

    std::optional<TensorView> four_bit_floats(const TensorView& tensor, const std::string& stem,
                                              const TensorView& scale, const TensorView* global, bool divides) {
        std::vector<std::int64_t> weights = tensor.shape;
        if (weights.empty() || weights.back() > std::numeric_limits<std::int64_t>::max() / 2) misfit(tensor, scale);
        weights.back() *= 2;
        if (scale.shape.empty() || scale.shape.back() * (global != nullptr ? 16 : 32) != weights.back()) {
            misfit(tensor, scale);  // of six bits, for example
        }
        float factor = 1;
        if (global != nullptr) {
            if (global->type_name != "F32" || global->bytes.size() != sizeof factor) misfit(tensor, *global);
            checkpoint_.require_readable(global->bytes);
            std::memcpy(&factor, global->bytes.data(), sizeof factor);
            // A preview of a file (HubPreview) has zeros.
            if (divides && factor != 0) factor = 1 / factor;
            if (!std::isfinite(factor)) misfit(tensor, *global);
            use(*global);
        }
        return made(tensor, stem, scale, Codes::kE2m1, std::move(weights), global != nullptr ? "NVFP4" : "MXFP4",
                    factor);
    }

    TensorView made(const TensorView& tensor, const std::string& name, const TensorView& scale, Codes codes,
                    std::vector<std::int64_t> shape, const std::string& type_name, float factor) {
        auto quantized = std::make_shared<QuantizedTensor>();
        quantized->codes = codes;
        quantized->scales = scales_of(tensor, scale);
        quantized->code_bytes = tensor.bytes;
        quantized->scale_bytes = scale.bytes;
        quantized->factor = factor;
        if (shape.size() < 2 || std::ranges::find(shape, 0) != shape.end()) misfit(tensor, scale);
        quantized->n_rows = shape[shape.size() - 2];
        quantized->n_cols = shape.back();
        fit_scales(tensor, scale, shape, *quantized);
        use(scale);
        // Scales of activations, which are not rounded here.
        for (const char* const other : {"_shape", "_global_scale"}) use_if_there(name + other);
        if (constexpr std::string_view kWeight = "weight"; name.ends_with(kWeight)) {
            const std::string stem = name.substr(0, name.size() - kWeight.size());
            for (const char* const other :
                 {"input_scale", "input_global_scale", "activation_scale", "qscale_act", "output_scale"}) {
                use_if_there(stem + other);
            }
        }
        TensorView whole;
        whole.name = name;
        whole.type = kernels::WeightType::kBf16;
        whole.shape = std::move(shape);
        whole.bytes = tensor.bytes;
        whole.type_name = type_name;
        whole.quantized = std::move(quantized);
        return whole;
    }

    Scales scales_of(const TensorView& tensor, const TensorView& scale) const {
        constexpr std::pair<std::string_view, Scales> kTypes[] = {
            {"F32", Scales::kF32},      {"F16", Scales::kF16},      {"BF16", Scales::kBf16},
            {"F8_E4M3", Scales::kE4m3}, {"F8_E8M0", Scales::kE8m0}, {"U8", Scales::kE8m0}};
        for (const auto& [name, scales] : kTypes) {
            if (scale.type_name == name) return scales;
        }
        misfit(tensor, scale);
    }

    // One scale, one for each matrix, or a grid; at its lower and right edges blocks may
    // be cut off.
    void fit_scales(const TensorView& tensor, const TensorView& scale, const std::vector<std::int64_t>& shape,
                    QuantizedTensor& quantized) const {
        std::int64_t n_matrices = 1;
        for (std::size_t i = 0; i + 2 < shape.size(); ++i) n_matrices *= shape[i];
        quantized.rows_of_scale = quantized.n_rows;
        quantized.cols_of_scale = quantized.n_cols;
        const std::int64_t n_scales = scale.n_elements();
        if (n_scales == n_matrices) return;
        if (n_scales == 1) {
            quantized.n_rows *= n_matrices;
            quantized.rows_of_scale = quantized.n_rows;
            return;
        }
        // A row's scale may be without the last dimension.
        std::vector<std::int64_t> grid = scale.shape;
        if (grid.size() + 1 == shape.size()) grid.push_back(1);
        if (grid.size() != shape.size() || !std::equal(grid.begin(), grid.end() - 2, shape.begin())) {
            misfit(tensor, scale);
        }
        constexpr std::int64_t kUsual = 128;
        const auto usual = [](std::int64_t weights) { return (weights + kUsual - 1) / kUsual; };
        const auto block_of = [&](std::int64_t weights, std::int64_t scales) {
            if (scales > 1 && usual(weights) == scales) return kUsual;
            if (scales < 1 || weights % scales != 0) misfit(tensor, scale);
            return weights / scales;
        };
        quantized.scale_rows = grid[grid.size() - 2];
        quantized.scale_cols = grid.back();
        // Nothing else fits: the shares of 8 or 4 machines (MiMo-V2.5), one below the
        // other, each with blocks that may be cut off.
        const bool is_whole = quantized.scale_rows > 0 && (usual(quantized.n_rows) == quantized.scale_rows ||
                                                           quantized.n_rows % quantized.scale_rows == 0);
        for (const std::int64_t n : {8, 4}) {
            if (is_whole || shape.size() != 2 || quantized.n_rows % n != 0 ||
                n * usual(quantized.n_rows / n) != quantized.scale_rows) {
                continue;
            }
            quantized.n_rows /= n;
            quantized.scale_rows /= n;
            break;
        }
        quantized.rows_of_scale = block_of(quantized.n_rows, quantized.scale_rows);
        quantized.cols_of_scale = block_of(quantized.n_cols, quantized.scale_cols);
    }

    [[noreturn]] void misfit(const TensorView& tensor, const TensorView& scale) const {
        throw Error(
            ErrorKind::kInvalidModel,
            messages::quantized_misfit(checkpoint_.source(), in_quotes(tensor.name), text_of_shape(tensor.shape),
                                       in_quotes(scale.name), scale.type_name, text_of_shape(scale.shape)));
    }

    void use(const TensorView& tensor) { used_.insert(&tensor); }
    void use_if_there(const std::string& name) {
        if (const TensorView* const found = find(name)) use(*found);
    }

    std::vector<TensorView>& tensors_;
    const Checkpoint& checkpoint_;
    std::unordered_map<std::string, TensorView*> by_name_;
    std::unordered_set<const TensorView*> used_;
};

}  // namespace

void join_quantized(std::vector<TensorView>& tensors, const Checkpoint& checkpoint) {
    const auto is_code = [](const TensorView& tensor) { return !tensor.supported_type; };
    if (std::ranges::none_of(tensors, is_code)) return;
    QuantizedJoiner(tensors, checkpoint).join();
}

}  // namespace offstage::engine
