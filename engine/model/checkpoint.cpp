#include "engine/model/checkpoint.h"

#include <algorithm>
#include <new>
#include <system_error>

#include "engine/error.h"
#include "engine/files/files_messages.h"
#include "engine/files/gguf_file.h"
#include "engine/json.h"
#include "engine/model/gguf_model.h"
#include "engine/model/model_messages.h"
#include "engine/model/safetensors.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

// (1, n) is n: a gate of one row is a matrix to some writers and a vector to others.
std::span<const std::int64_t> without_leading_ones(std::span<const std::int64_t> shape) {
    while (shape.size() > 1 && shape.front() == 1) shape = shape.subspan(1);
    return shape;
}

bool is_there(const fs::path& path) {
    std::error_code ignored;
    // A link that leads nowhere counts: opening it gives the right message.
    return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
}

std::unique_ptr<Checkpoint> open_folder(const fs::path& folder) {
    if (const fs::path file = folder / "model.safetensors"; is_there(file)) return open_safetensors_file(file);
    if (const fs::path file = folder / "model.safetensors.index.json"; is_there(file))
        return open_safetensors_shards(file);

    std::vector<fs::path> found;
    std::error_code code;
    fs::directory_iterator entry(folder, code);
    for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
        if (entry->path().extension() == ".safetensors") found.push_back(entry->path());
    }
    if (code) throw Error(ErrorKind::kNotFound, messages::cannot_be_listed(folder.string(), code.message()));
    if (found.size() == 1) return open_safetensors_file(found.front());
    if (found.empty()) {
        const std::vector<fs::path> models = gguf_models_in(folder);
        if (models.empty()) throw Error(ErrorKind::kNotFound, messages::no_weights(folder.string()));
        throw Error(ErrorKind::kNotFound,
                    messages::many_gguf_models(folder.string(), models.size(),
                                               in_quotes(models.front().lexically_relative(folder).string())));
    }
    std::sort(found.begin(), found.end());
    throw Error(ErrorKind::kNotFound, messages::many_safetensors_no_index(
                                          folder.string(), found.size(), in_quotes(found.front().filename().string())));
}

std::unique_ptr<Checkpoint> open_path(const fs::path& path) {
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    if (status.type() == fs::file_type::not_found) {
        throw Error(ErrorKind::kNotFound, messages::no_such_checkpoint(path.string()));
    }
    if (!fs::exists(status)) {
        throw Error(ErrorKind::kNotFound, messages::cannot_be_examined(path.string(), code.message()));
    }
    if (fs::is_directory(status)) return open_folder(path);
    if (path.extension() == ".json") return open_safetensors_shards(path);
    if (is_gguf_path(path)) return open_gguf(path);
    return open_safetensors_file(path);
}

}  // namespace

std::string text_of_shape(std::span<const std::int64_t> shape) {
    std::string out = "(";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i > 0) out += ", ";
        out += std::to_string(shape[i]);
    }
    return out + ")";
}

std::int64_t TensorView::n_elements() const {
    std::int64_t n = 1;
    for (const std::int64_t dim : shape) n *= dim;  // fits: checked when the header was read
    return n;
}

std::unique_ptr<Checkpoint> Checkpoint::open(const fs::path& path) {
    try {
        return open_path(path);
    } catch (const std::bad_alloc&) {
        throw Error(ErrorKind::kOutOfMemory, messages::no_memory_for_tensor_list(path.string()));
    }
}

MessageArgument Checkpoint::readable_types() const {
    return messages::plain_types;
}

const TensorView& Checkpoint::require_shape(std::string_view name, std::span<const std::int64_t> shape) const {
    const TensorView* tensor = find(name);
    if (tensor == nullptr) {
        throw Error(ErrorKind::kInvalidModel,
                    messages::tensor_missing(source(), in_quotes(name), text_of_shape(shape)));
    }
    if (!std::ranges::equal(without_leading_ones(shape), without_leading_ones(tensor->shape))) {
        throw Error(ErrorKind::kInvalidModel,
                    messages::tensor_shape_differs(file_of(*tensor), in_quotes(name), text_of_shape(tensor->shape),
                                                   text_of_shape(shape)));
    }
    return *tensor;
}

const TensorView& Checkpoint::require(std::string_view name, std::span<const std::int64_t> shape) const {
    const TensorView& tensor = require_weights(name, shape);
    if (tensor.quantized != nullptr) {
        throw Error(ErrorKind::kInvalidModel, messages::tensor_dtype_differs(file_of(tensor), in_quotes(name),
                                                                             tensor.type_name, readable_types()));
    }
    return tensor;
}

const TensorView& Checkpoint::require_weights(std::string_view name, std::span<const std::int64_t> shape) const {
    // First of all: packed values have another shape too.
    if (const TensorView* const found = find(name); found != nullptr && !found->supported_type) {
        throw Error(ErrorKind::kInvalidModel, messages::tensor_dtype_differs(file_of(*found), in_quotes(name),
                                                                             found->type_name, readable_types()));
    }
    const TensorView& tensor = require_shape(name, shape);
    const std::size_t element_bytes =
        kernels::is_plain(tensor.type) && tensor.quantized == nullptr ? kernels::bytes_per_weight(tensor.type) : 1;
    if (reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % element_bytes != 0) {
        throw Error(ErrorKind::kInvalidModel,
                    messages::tensor_not_aligned(file_of(tensor), in_quotes(name), element_bytes));
    }
    return tensor;
}

const TensorView& Checkpoint::require_bytes(std::string_view name, std::span<const std::int64_t> shape) const {
    const TensorView& tensor = require_shape(name, shape);
    if (tensor.type_name != "U8") {
        throw Error(ErrorKind::kInvalidModel,
                    messages::tensor_not_u8(file_of(tensor), in_quotes(name), tensor.type_name));
    }
    return tensor;
}

const TensorView& Checkpoint::require_integers(std::string_view name, std::span<const std::int64_t> shape) const {
    const TensorView& tensor = require_shape(name, shape);
    if (!tensor.type_name.starts_with("I32") && !tensor.type_name.starts_with("I64")) {  // GGUF: "I32 (type 26)"
        throw Error(ErrorKind::kInvalidModel,
                    messages::tensor_dtype_differs(file_of(tensor), in_quotes(name), tensor.type_name, "I32, I64"));
    }
    return tensor;
}

}  // namespace offstage::engine
