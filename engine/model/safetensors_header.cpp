#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "engine/base_messages.h"
#include "engine/error.h"
#include "engine/files/files_messages.h"
#include "engine/json.h"
#include "engine/model/checkpoint.h"
#include "engine/model/model_messages.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kMaxDims = 64;  // PyTorch's own limit

struct Dtype {
    std::string_view name;
    std::uint64_t bits;
    std::optional<kernels::WeightType> type;  // none: Offstage does not compute with it
};

// Every dtype of the format (safetensors 0.8).
constexpr std::array<Dtype, 22> kDtypes = {{
    {"BF16", 16, kernels::WeightType::kBf16},
    {"F16", 16, kernels::WeightType::kF16},
    {"F32", 32, kernels::WeightType::kF32},
    {"F64", 64, {}},
    {"I64", 64, {}},
    {"I32", 32, {}},
    {"I16", 16, {}},
    {"I8", 8, {}},
    {"U64", 64, {}},
    {"U32", 32, {}},
    {"U16", 16, {}},
    {"U8", 8, {}},
    {"BOOL", 8, {}},
    {"C64", 64, {}},
    {"F8_E4M3", 8, {}},
    {"F8_E5M2", 8, {}},
    {"F8_E4M3FNUZ", 8, {}},
    {"F8_E5M2FNUZ", 8, {}},
    {"F8_E8M0", 8, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"F4", 4, {}},
}};

const Dtype* find_dtype(std::string_view name) {
    const auto* found = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const Dtype& d) { return d.name == name; });
    return found == kDtypes.end() ? nullptr : found;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string out = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i > 0) out += ", ";
        out += std::to_string(shape[i]);
    }
    return out + "]";
}

// Receives the header's JSON piece by piece and accepts only the format's own structure.
// So the depth is bounded, and 100 MB of nested lists or numbers cost no memory, unlike a
// finished JSON document.
class HeaderReader {
  public:
    HeaderReader(const std::string& source, std::vector<SafetensorsEntry>& entries)
        : source_(source), entries_(entries) {}

    // The interface of nlohmann's SAX parsers.
    bool null() { return scalar("null"); }
    bool boolean(bool value) { return scalar(value ? "true" : "false"); }
    bool number_integer(json::number_integer_t value) { return scalar(std::to_string(value)); }
    bool number_float(json::number_float_t, const std::string& text) { return scalar(text); }
    bool binary(json::binary_t&) { return scalar(messages::binary_data); }

    bool number_unsigned(json::number_unsigned_t value) {
        switch (state_) {
            case State::kShape:
                if (!std::in_range<std::int64_t>(value)) wrong_value(std::to_string(value));
                if (entry_.shape.size() == kMaxDims) {
                    reject(messages::tensor_too_many_dims(source_, in_quotes(entry_.name), kMaxDims));
                }
                entry_.shape.push_back(static_cast<std::int64_t>(value));
                return true;
            case State::kOffsets:
                if (n_offsets_ == 2) wrong_value(messages::a_list_of_more_than_two);
                (n_offsets_++ == 0 ? entry_.begin : entry_.end) = value;
                return true;
            default:
                return scalar(std::to_string(value));
        }
    }

    bool string(std::string& value) {
        switch (state_) {
            case State::kDtype: {
                const Dtype* dtype = find_dtype(value);
                if (dtype == nullptr) {
                    throw Error(ErrorKind::kUnsupported,
                                messages::tensor_type_unknown(source_, in_quotes(entry_.name), in_quotes(value)));
                }
                bits_.push_back(dtype->bits);
                entry_.type_name = value;
                entry_.supported_type = dtype->type.has_value();
                entry_.type = dtype->type.value_or(kernels::WeightType::kF32);
                state_ = State::kFields;
                return true;
            }
            case State::kMetadataValue:
                state_ = State::kMetadata;
                return true;
            default:
                return scalar(in_quotes(value));
        }
    }

    bool key(std::string& name) {
        switch (state_) {
            case State::kNames:
                if (name == "__metadata__") {
                    if (std::exchange(has_metadata_, true)) reject(messages::metadata_twice(source_));
                    state_ = State::kMetadataStart;
                } else {
                    entry_ = {};
                    entry_.name = name;
                    has_dtype_ = has_shape_ = has_offsets_ = false;
                    state_ = State::kTensorStart;
                }
                return true;
            case State::kFields:
                field_ = name;
                if (name == "dtype") return begin_field(has_dtype_, State::kDtype);
                if (name == "shape") return begin_field(has_shape_, State::kShapeStart);
                if (name == "data_offsets") return begin_field(has_offsets_, State::kOffsetsStart);
                reject(messages::tensor_field_unknown(source_, in_quotes(entry_.name), in_quotes(name)));
            case State::kMetadata:
                field_ = name;
                if (!metadata_keys_.insert(name).second) {
                    reject(messages::metadata_key_twice(source_, in_quotes(name)));
                }
                state_ = State::kMetadataValue;
                return true;
            default:
                return scalar(messages::an_object);  // not reached: start_object refuses the other objects
        }
    }

    bool start_object(std::size_t) {
        switch (state_) {
            case State::kTop:
                state_ = State::kNames;
                return true;
            case State::kTensorStart:
                state_ = State::kFields;
                return true;
            case State::kMetadataStart:
                state_ = State::kMetadata;
                return true;
            default:
                return scalar(messages::an_object);
        }
    }

    bool end_object() {
        if (state_ == State::kFields) {
            if (!has_dtype_) reject(messages::tensor_without_dtype(source_, in_quotes(entry_.name)));
            if (!has_shape_) reject(messages::tensor_without_shape(source_, in_quotes(entry_.name)));
            if (!has_offsets_) reject(messages::tensor_without_offsets(source_, in_quotes(entry_.name)));
            entries_.push_back(std::move(entry_));
            entry_ = {};
        }
        state_ = state_ == State::kNames ? State::kEnd : State::kNames;
        return true;
    }

    bool start_array(std::size_t) {
        switch (state_) {
            case State::kShapeStart:
                state_ = State::kShape;
                return true;
            case State::kOffsetsStart:
                state_ = State::kOffsets;
                n_offsets_ = 0;
                return true;
            default:
                return scalar(messages::a_list);
        }
    }

    bool end_array() {
        if (state_ == State::kOffsets && n_offsets_ != 2) wrong_value(messages::a_list_of(n_offsets_));
        state_ = State::kFields;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const json::exception& error) {
        throw Error(ErrorKind::kInvalidModel, messages::safetensors_header_invalid(source_, position),
                    in_quotes(error.what()));
    }

    const std::vector<std::uint64_t>& bits() const { return bits_; }  // per element of entries_[i], in the same order

  private:
    // The allowed next tokens.
    enum class State {
        kTop,            // the outer {
        kNames,          // a tensor's name, "__metadata__", or the outer }
        kTensorStart,    // the { of a tensor
        kFields,         // a field's name, or the } of a tensor
        kDtype,          // a string
        kShapeStart,     // [
        kShape,          // an integer, or ]
        kOffsetsStart,   // [
        kOffsets,        // an integer, or ]
        kMetadataStart,  // {
        kMetadata,       // a key, or }
        kMetadataValue,  // a string
        kEnd,            // nothing
    };

    bool begin_field(bool& seen, State next) {
        if (std::exchange(seen, true))
            reject(messages::tensor_field_twice(source_, in_quotes(entry_.name), in_quotes(field_)));
        state_ = next;
        return true;
    }

    // A value of a kind that has no place here.
    bool scalar(const MessageArgument& found) { wrong_value(found); }

    [[noreturn]] void wrong_value(const MessageArgument& found) const {
        switch (state_) {
            case State::kTensorStart:
                reject(messages::tensor_no_object(source_, in_quotes(entry_.name), found));
            case State::kDtype:
                reject(messages::tensor_dtype_no_text(source_, in_quotes(entry_.name), found));
            case State::kShapeStart:
                reject(messages::tensor_shape_no_list(source_, in_quotes(entry_.name), found));
            case State::kShape:
                reject(messages::tensor_shape_value(source_, in_quotes(entry_.name), found));
            case State::kOffsetsStart:
            case State::kOffsets:
                reject(messages::tensor_offsets_invalid(source_, in_quotes(entry_.name), found));
            case State::kMetadataStart:
                reject(messages::metadata_no_object(source_, found));
            case State::kMetadataValue:
                reject(messages::metadata_value_no_text(source_, in_quotes(field_), found));
            case State::kTop:
            case State::kNames:
            case State::kFields:
            case State::kMetadata:
            case State::kEnd:
                break;
        }
        reject(messages::safetensors_header_no_object(source_, found));
    }

    [[noreturn]] static void reject(Message what) { throw Error(ErrorKind::kInvalidModel, std::move(what)); }

    const std::string& source_;
    std::vector<SafetensorsEntry>& entries_;
    std::vector<std::uint64_t> bits_;
    State state_ = State::kTop;
    SafetensorsEntry entry_;
    std::string field_;
    bool has_dtype_ = false;
    bool has_shape_ = false;
    bool has_offsets_ = false;
    bool has_metadata_ = false;
    int n_offsets_ = 0;
    std::unordered_set<std::string> metadata_keys_;
};

// Bytes of a tensor, or nothing if they (or the product of its dimensions other than 0)
// exceed 64 bits. Leaving out the zeros bounds every partial product that later code may
// form.
std::optional<std::uint64_t> tensor_bits(const std::vector<std::int64_t>& shape, std::uint64_t bits_per_element) {
    std::int64_t n_elements = 1;
    bool empty = false;
    for (const std::int64_t dim : shape) {
        if (dim == 0) {
            empty = true;
        } else if (__builtin_mul_overflow(n_elements, dim, &n_elements)) {
            return {};
        }
    }
    std::uint64_t bits = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(n_elements), bits_per_element, &bits)) return {};
    return empty ? 0 : bits;
}

// The same about a file of another kind that ends up under this name, by its first bytes.
Message with_format_of(std::string_view front, Message message) {
    if (front.starts_with("version ")) return messages::looks_like_lfs_pointer(std::move(message));
    if (front.starts_with("GGUF")) return messages::looks_like_gguf(std::move(message));
    if (front.starts_with("PK\x03\x04")) return messages::looks_like_pytorch(std::move(message));
    if (front.starts_with("<!DOCTYP") || front.starts_with("<html")) {
        return messages::looks_like_web_page(std::move(message));
    }
    return message;
}

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors_header(std::span<const std::byte> file, std::uint64_t file_bytes,
                                                       const std::string& source) {
    const auto reject = [](Message what) { throw Error(ErrorKind::kInvalidModel, std::move(what)); };
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());

    // 1. The end of the header. Every comparison subtracts from known sizes, so nothing
    // can wrap around.
    if (file_bytes < kLengthBytes || text.size() < kLengthBytes) {
        reject(
            messages::file_header_incomplete(source, std::min<std::uint64_t>(file_bytes, text.size()), kLengthBytes));
    }
    std::uint64_t header_bytes = 0;
    for (std::size_t i = kLengthBytes; i-- > 0;) header_bytes = header_bytes << 8 | static_cast<unsigned char>(text[i]);
    if (header_bytes > kMaxHeaderBytes) {
        reject(with_format_of(text, messages::safetensors_header_too_long(source, header_bytes, kMaxHeaderBytes)));
    }
    const std::uint64_t there = std::min<std::uint64_t>(file_bytes, text.size()) - kLengthBytes;
    if (header_bytes > there) {
        reject(messages::file_header_incomplete(source, kLengthBytes + there, kLengthBytes + header_bytes));
    }
    const std::string_view header = text.substr(kLengthBytes, static_cast<std::size_t>(header_bytes));
    if (!header.starts_with('{')) {
        reject(messages::safetensors_header_begins(source, in_quotes(header.substr(0, 1))));
    }
    // nlohmann's lexer takes a NUL byte for the end of the text and would not look behind
    // it.
    if (const std::size_t nul = header.find('\0'); nul != std::string_view::npos) {
        reject(messages::safetensors_header_nul_byte(source, nul));
    }

    // 2. The JSON.
    std::vector<SafetensorsEntry> entries;
    HeaderReader reader(source, entries);
    json::sax_parse(header.begin(), header.end(), &reader);

    // 3. Each tensor by itself: as many bytes as shape and dtype require; no name twice.
    std::unordered_set<std::string_view> names;
    names.reserve(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const SafetensorsEntry& entry = entries[i];
        const std::string tensor = in_quotes(entry.name);
        if (!names.insert(entry.name).second) reject(messages::tensor_twice(source, tensor));
        if (entry.end < entry.begin) {
            reject(messages::tensor_offsets_reversed(source, tensor, entry.begin, entry.end));
        }
        const std::optional<std::uint64_t> bits = tensor_bits(entry.shape, reader.bits()[i]);
        if (!bits) {
            reject(messages::tensor_too_many_bytes(source, tensor, shape_text(entry.shape)));
        } else if (*bits % 8 != 0) {
            reject(messages::tensor_no_whole_bytes(source, tensor, shape_text(entry.shape), entry.type_name));
        } else if (*bits / 8 != entry.end - entry.begin) {
            reject(messages::tensor_bytes_differ(source, tensor, entry.end - entry.begin, *bits / 8,
                                                 shape_text(entry.shape), entry.type_name));
        }
    }

    // 4. All of them together: side by side from the first data byte to the file's last.
    // Old writers sorted the header by name, so the order in the file has no meaning.
    std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    std::uint64_t end = 0;
    for (const SafetensorsEntry& entry : entries) {
        if (entry.begin != end) {
            const auto& what = entry.begin < end ? messages::tensor_overlaps : messages::tensor_leaves_hole;
            reject(what(source, in_quotes(entry.name), entry.begin, end));
        }
        end = entry.end;
    }
    const std::uint64_t data_begin = kLengthBytes + header_bytes;
    const std::uint64_t data_bytes = file_bytes - data_begin;
    if (end > data_bytes) {
        const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() - data_begin;
        reject(messages::file_incomplete(source, file_bytes, data_begin + std::min(end, most)));
    }
    if (end < data_bytes) {
        reject(messages::safetensors_data_left_over(source, data_bytes, end));
    }
    for (SafetensorsEntry& entry : entries) {
        entry.begin += data_begin;
        entry.end += data_begin;
    }
    return entries;
}

}  // namespace offstage::engine
