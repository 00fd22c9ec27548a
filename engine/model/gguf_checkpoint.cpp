// GGUF files as a Checkpoint, and the parts of split ones.

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <unordered_set>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/gguf_model.h"
#include "engine/model/mapped_checkpoint.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;
using kernels::WeightType;

struct NumberedType {
    std::uint32_t number;
    GgufType type;
};

constexpr NumberedType ours(std::uint32_t number, WeightType type) {
    const kernels::FormatTraits& format = kernels::traits_of(type);
    const bool blocks = format.is_blocks();
    return {number,
            {format.name, blocks ? static_cast<std::uint64_t>(format.group) : 1,
             static_cast<std::uint64_t>(blocks ? format.block_bytes : format.bits / 8), true, type}};
}
constexpr NumberedType foreign(std::uint32_t number, const char* name, std::uint64_t weights, std::uint64_t bytes) {
    return {number, {name, weights, bytes, false, WeightType::kF32}};
}

// (ggml's enum ggml_type)
constexpr std::array kGgmlTypes = {
    ours(0, WeightType::kF32),     ours(1, WeightType::kF16),     ours(2, WeightType::kQ4_0),
    ours(3, WeightType::kQ4_1),    ours(6, WeightType::kQ5_0),    ours(7, WeightType::kQ5_1),
    ours(8, WeightType::kQ8_0),    ours(10, WeightType::kQ2K),    ours(11, WeightType::kQ3K),
    ours(12, WeightType::kQ4K),    ours(13, WeightType::kQ5K),    ours(14, WeightType::kQ6K),
    ours(16, WeightType::kIq2Xxs), ours(17, WeightType::kIq2Xs),  ours(18, WeightType::kIq3Xxs),
    ours(19, WeightType::kIq1S),   ours(20, WeightType::kIq4Nl),  ours(21, WeightType::kIq3S),
    ours(22, WeightType::kIq2S),   ours(23, WeightType::kIq4Xs),  ours(29, WeightType::kIq1M),
    ours(30, WeightType::kBf16),   ours(39, WeightType::kMxfp4),  foreign(9, "Q8_1", 32, 36),
    foreign(15, "Q8_K", 256, 292), foreign(24, "I8", 1, 1),       foreign(25, "I16", 1, 2),
    foreign(26, "I32", 1, 4),      foreign(27, "I64", 1, 8),      foreign(28, "F64", 1, 8),
    foreign(34, "TQ1_0", 256, 54), foreign(35, "TQ2_0", 256, 66), foreign(40, "NVFP4", 64, 36),
};

std::string readable_types() {
    std::string names;
    for (const NumberedType& row : kGgmlTypes) {
        if (row.type.supported) names += (names.empty() ? "" : ", ") + std::string(row.type.name);
    }
    return "one of " + names;
}

// NAME-00002-of-00005.gguf: NAME-, 2, 5.
struct SplitName {
    std::string stem;
    int number = 0;
    int count = 0;
};

std::optional<SplitName> split_name(const fs::path& file) {
    const std::string stem = file.stem().string();
    constexpr std::size_t kDigits = 5;
    constexpr std::size_t kTail = kDigits + 4 + kDigits;  // 00002-of-00005
    if (stem.size() <= kTail || stem.substr(stem.size() - kDigits - 4, 4) != "-of-") return {};
    const auto number = [&](std::size_t at) {
        int value = 0;
        const char* const begin = stem.data() + at;
        const auto [end, error] = std::from_chars(begin, begin + kDigits, value);
        return error == std::errc() && end == begin + kDigits ? value : 0;
    };
    SplitName name{stem.substr(0, stem.size() - kTail), number(stem.size() - kTail), number(stem.size() - kDigits)};
    if (name.number < 1 || name.count < name.number) return {};
    return name;
}

TensorView view_of(const GgufTensor& tensor, std::span<const std::byte> file, const std::string& source) {
    TensorView view;
    view.name = tensor.name;
    view.shape = tensor.shape;
    const GgufType type = gguf_type(tensor.type);
    view.type = type.type;
    view.supported_type = type.supported;
    view.type_name = type.weights > 0 ? type.name : "type number " + std::to_string(tensor.type);
    if (type.weights == 0) return view;  // how many bytes it has is not known
    const std::string what = source + ": tensor " + in_quotes(tensor.name);
    const auto n = static_cast<std::uint64_t>(view.n_elements());
    const std::uint64_t columns = view.shape.empty() ? 1 : static_cast<std::uint64_t>(view.shape.back());
    if (columns % type.weights != 0) {
        throw Error(ErrorKind::kInvalidModel, what + " has rows of " + std::to_string(columns) + " weights in " +
                                                  view.type_name + "; expected a multiple of " +
                                                  std::to_string(type.weights));
    }
    const std::uint64_t bytes = n / type.weights * type.bytes;
    if (bytes > file.size() - tensor.offset) {
        throw Error(ErrorKind::kInvalidModel, what + " needs bytes " + std::to_string(tensor.offset) + " to " +
                                                  std::to_string(tensor.offset + bytes) + ", but the file ends after " +
                                                  std::to_string(file.size()) +
                                                  "; expected a whole file; this one was cut short or is damaged");
    }
    view.bytes = file.subspan(tensor.offset, bytes);
    return view;
}

}  // namespace

GgufType gguf_type(std::uint32_t number) {
    const auto* const found = std::find_if(kGgmlTypes.begin(), kGgmlTypes.end(),
                                           [&](const NumberedType& row) { return row.number == number; });
    return found == kGgmlTypes.end() ? GgufType{"", 0, 0, false, WeightType::kF32} : found->type;
}

std::vector<fs::path> gguf_parts_of(const fs::path& file) {
    const std::optional<SplitName> name = split_name(file);
    if (!name) return {file};
    std::vector<fs::path> parts;
    for (int i = 1; i <= name->count; ++i) {
        const auto digits = [](int value) {
            const std::string text = std::to_string(value);
            return std::string(5 - text.size(), '0') + text;
        };
        parts.push_back(file.parent_path() / (name->stem + digits(i) + "-of-" + digits(name->count) + ".gguf"));
        std::error_code ignored;
        if (fs::symlink_status(parts.back(), ignored).type() == fs::file_type::not_found) {
            throw Error(ErrorKind::kNotFound, parts.back().string() + ": is missing; expected all " +
                                                  std::to_string(name->count) + " parts of this model in one folder");
        }
    }
    return parts;
}

std::string gguf_name(const fs::path& file) {
    const std::optional<SplitName> split = split_name(file);
    std::string name = split ? split->stem : file.stem().string();
    while (name.size() > 1 && name.ends_with('-')) name.pop_back();
    return name;
}

std::vector<fs::path> gguf_models_in(const fs::path& folder) {
    std::vector<fs::path> models;
    std::error_code code;
    fs::directory_iterator entry(folder, code);
    for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
        const fs::path& path = entry->path();
        if (path.extension() != ".gguf" || path.filename().string().starts_with("mmproj")) continue;
        const std::optional<SplitName> split = split_name(path);
        if (!split || split->number == 1) models.push_back(path);
    }
    std::sort(models.begin(), models.end());
    return models;
}

std::unique_ptr<Checkpoint> open_gguf(const fs::path& file) {
    const std::vector<fs::path> parts = gguf_parts_of(file);
    auto checkpoint = std::make_unique<MappedCheckpoint>(parts.front().string(), readable_types());
    std::unordered_set<std::string> names;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        MappedFile map(parts[i]);
        const std::string source = map.file().path();
        const GgufHeader header = parse_gguf(map.bytes(), source);
        const auto n_parts = static_cast<std::int64_t>(parts.size());
        const std::int64_t said = header.metadata.integer("split.count", 0, 1 << 16, n_parts == 1 ? 0 : n_parts);
        if (std::max<std::int64_t>(said, 1) != n_parts) {
            header.metadata.reject("split.count", n_parts == 1 ? "the name that this part had, -00001-of-" +
                                                                     std::to_string(said) +
                                                                     ".gguf at its end, with the others beside it"
                                                               : std::to_string(n_parts) + ", as its name says");
        }
        std::vector<TensorView> tensors;
        for (const GgufTensor& tensor : header.tensors) {
            tensors.push_back(view_of(tensor, map.bytes(), source));
            if (!names.insert(tensors.back().name).second) {
                throw Error(ErrorKind::kInvalidModel, source + ": tensor " + in_quotes(tensors.back().name) +
                                                          " is in another part of the model too; expected it once");
            }
        }
        checkpoint->add(std::move(map), std::move(tensors));
    }
    checkpoint->finish();
    return checkpoint;
}

}  // namespace offstage::engine
