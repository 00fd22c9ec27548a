// GGUF files as a Checkpoint, and the parts of split ones.

#include <algorithm>
#include <charconv>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "engine/error.h"
#include "engine/files/gguf_file.h"
#include "engine/files/gguf_type.h"
#include "engine/json.h"
#include "engine/model/gguf_model.h"
#include "engine/model/gguf_tensor_names.h"
#include "engine/model/mapped_checkpoint.h"
#include "engine/model/model_messages.h"
#include "engine/model/quantized_tensor.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

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

TensorView view_of(const GgufTensor& tensor, std::string name, std::span<const std::byte> file) {
    TensorView view;
    view.name = std::move(name);
    view.shape = tensor.shape;
    const GgufType type = gguf_type(tensor.type);
    view.type = type.type;
    view.supported_type = type.supported;
    view.type_name = gguf_type_name(tensor.type);
    view.bytes = file.subspan(tensor.offset, tensor.bytes);
    if (const auto codes = codes_of_ggml_type(tensor.type)) {
        auto quantized = std::make_shared<QuantizedTensor>();
        quantized->codes = *codes;
        quantized->code_bytes = view.bytes;
        quantized->n_rows = tensor.shape.size() > 1 ? tensor.shape[tensor.shape.size() - 2] : 1;
        quantized->n_cols = tensor.shape.back();  // rows are whole blocks
        view.quantized = std::move(quantized);
    }
    return view;
}

}  // namespace

std::vector<fs::path> gguf_parts_of(const fs::path& file) {
    const std::optional<SplitName> name = split_name(file);
    if (!name) return {file};
    std::vector<fs::path> parts;
    for (int i = 1; i <= name->count; ++i) {
        const auto digits = [](int value) {
            const std::string text = std::to_string(value);
            return std::string(5 - text.size(), '0') + text;
        };
        parts.push_back(file.parent_path() /
                        (name->stem + digits(i) + "-of-" + digits(name->count) + file.extension().string()));
        std::error_code ignored;
        if (fs::symlink_status(parts.back(), ignored).type() == fs::file_type::not_found) {
            throw Error(ErrorKind::kNotFound, messages::part_missing(parts.back().string(), name->count));
        }
    }
    return parts;
}

std::string gguf_name(const fs::path& file) {
    const std::optional<SplitName> split = split_name(file);
    std::string name = split ? split->stem : (may_have_gguf_ending(file) ? file.stem() : file.filename()).string();
    while (name.size() > 1 && name.ends_with('-')) name.pop_back();
    return name;
}

bool is_gguf_companion(const fs::path& file) {
    std::string name = file.filename().string();
    for (char& letter : name) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + ('a' - 'A'));
    }
    return name.find("mmproj") != std::string::npos;
}

std::vector<fs::path> gguf_models_in(const fs::path& folder) {
    constexpr int kFoldersDown = 2;
    std::vector<fs::path> models, below;
    const auto look_in = [&](const fs::path& place) {
        std::error_code code;
        fs::directory_iterator entry(place, code);
        for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
            const fs::path& path = entry->path();
            std::error_code ignored;
            if (fs::is_directory(path, ignored)) {
                if (!path.filename().string().starts_with('.')) below.push_back(path);
                continue;
            }
            if (!may_have_gguf_ending(path) || is_gguf_companion(path) || !is_gguf_path(path)) continue;
            const std::optional<SplitName> split = split_name(path);
            if (!split || split->number == 1) models.push_back(path);
        }
    };
    look_in(folder);
    for (int down = 0; down < kFoldersDown && models.empty(); ++down) {
        std::ranges::for_each(std::exchange(below, {}), look_in);
    }
    std::sort(models.begin(), models.end());
    return models;
}

std::unique_ptr<Checkpoint> open_gguf(const fs::path& file) {
    const std::vector<fs::path> parts = gguf_parts_of(file);
    auto checkpoint = std::make_unique<MappedCheckpoint>(parts.front().string(), readable_gguf_types());
    std::unordered_set<std::string> names;
    const GgufNamedFamily* family = nullptr;  // from the first part
    for (std::size_t i = 0; i < parts.size(); ++i) {
        MappedFile map(parts[i]);
        const std::string source = map.file().path();
        const GgufHeader header = parse_gguf(map.bytes(), source);
        const auto n_parts = static_cast<std::int64_t>(parts.size());
        const std::int64_t said = header.metadata.integer("split.count", 0, 1 << 16, n_parts == 1 ? 0 : n_parts);
        if (std::max<std::int64_t>(said, 1) != n_parts) {
            header.metadata.reject("split.count",
                                   n_parts == 1 ? messages::a_part_name(said) : messages::as_its_name_says(n_parts));
        }
        if (i == 0) family = find_gguf_family(header.metadata);
        std::vector<TensorView> tensors;
        for (const GgufTensor& tensor : header.tensors) {
            tensors.push_back(view_of(tensor, gguf_tensor_name(family, tensor.name), map.bytes()));
            if (!names.insert(tensors.back().name).second) {
                throw Error(ErrorKind::kInvalidModel,
                            messages::tensor_in_two_parts(source, in_quotes(tensors.back().name)));
            }
        }
        checkpoint->add(std::move(map), std::move(tensors));
    }
    checkpoint->finish();
    return checkpoint;
}

}  // namespace offstage::engine
