#include "engine/files/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <unordered_set>

#include "engine/base_messages.h"
#include "engine/error.h"
#include "engine/files/files_messages.h"
#include "engine/files/gguf_type.h"
#include "engine/json.h"

namespace offstage::engine {
namespace {

// Far above what files have, and low enough that a damaged count cannot fill the memory.
constexpr std::uint64_t kMostPairs = 1u << 16;
constexpr std::uint64_t kMostTensors = 1u << 15;
constexpr std::uint32_t kMostDims = 4;
constexpr std::uint64_t kMostListed = 1u << 22;    // in all lists together
constexpr std::uint64_t kLongestName = 1024;       // a key or a tensor, in bytes
constexpr std::uint64_t kLongestText = 64u << 20;  // a whole tokenizer.json may be one
constexpr int kMostDepth = 4;                      // lists in lists
constexpr std::uint64_t kLargestOffset = std::uint64_t{1} << 62;

enum class Kind : std::uint32_t {
    kUint8,
    kInt8,
    kUint16,
    kInt16,
    kUint32,
    kInt32,
    kFloat32,
    kBool,
    kText,
    kList,
    kUint64,
    kInt64,
    kFloat64,
};

// Bytes of one value; 0: of no fixed size; nothing: no such kind.
std::optional<std::size_t> bytes_of(Kind kind) {
    switch (kind) {
        case Kind::kUint8:
        case Kind::kInt8:
        case Kind::kBool:
            return 1;
        case Kind::kUint16:
        case Kind::kInt16:
            return 2;
        case Kind::kUint32:
        case Kind::kInt32:
        case Kind::kFloat32:
            return 4;
        case Kind::kUint64:
        case Kind::kInt64:
        case Kind::kFloat64:
            return 8;
        case Kind::kText:
        case Kind::kList:
            return 0;
    }
    return {};
}

}  // namespace

class GgufParser {
  public:
    GgufParser(std::span<const std::byte> file, const std::string& source) : file_(file), source_(source) {}

    GgufHeader parse() {
        header_.metadata.source_ = source_;
        read_front();
        const auto n_tensors = count(messages::number_of_tensors, kMostTensors, 4 + 8 + 8);
        const auto n_pairs = count(messages::number_of_metadata_pairs, kMostPairs, 8 + 4 + 1);
        for (std::uint64_t i = 0; i < n_pairs; ++i) read_pair();
        header_.alignment = alignment();
        for (std::uint64_t i = 0; i < n_tensors; ++i) read_tensor();
        header_.data_offset = (at_ + header_.alignment - 1) / header_.alignment * header_.alignment;
        for (GgufTensor& tensor : header_.tensors) place(tensor);
        check_end();
        return std::move(header_);
    }

  private:
    // The kind of file that begins with these bytes instead.
    static Message expected_instead_of(std::string_view magic) {
        if (magic == "vers") return messages::gguf_not_lfs_pointer;
        if (magic.starts_with('<')) return messages::gguf_not_web_page;
        if (magic == "ggml" || magic == "lmgg" || magic == "tjgg" || magic == "fmgg") return messages::gguf_not_older;
        return messages::gguf_not_other_file;
    }

    [[noreturn]] void fail(const MessageArgument& what, const MessageArgument& expected) const {
        throw Error(ErrorKind::kInvalidModel, messages::byte_rejected(source_, at_, what, expected));
    }

    // The file is at least `n` bytes longer than what was read.
    void need(std::uint64_t n) const {
        if (n > file_.size() - at_) {
            throw Error(ErrorKind::kInvalidModel, messages::file_header_incomplete(source_, file_.size(), at_ + n));
        }
    }
    std::span<const std::byte> take(std::uint64_t n) {
        need(n);
        const auto bytes = file_.subspan(at_, n);
        at_ += n;
        return bytes;
    }
    template <typename T>
    T number() {
        static_assert(std::endian::native == std::endian::little);
        T value;
        std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
        return value;
    }

    void read_front() {
        const auto magic = take(4);
        if (std::memcmp(magic.data(), "GGUF", 4) != 0) {
            at_ = 0;
            std::string found;
            for (const std::byte byte : magic) found += static_cast<char>(byte);
            fail(messages::file_begins_with(in_quotes(found)), expected_instead_of(found));
        }
        header_.version = number<std::uint32_t>();
        if (header_.version == 2 || header_.version == 3) return;
        const bool other_order = header_.version > 0xffff;  // a small number, its bytes the other way round
        throw Error(ErrorKind::kUnsupported, other_order ? messages::gguf_big_endian(source_)
                                                         : messages::gguf_version(source_, header_.version));
    }

    // Each counted item takes at least so many bytes. That alone is no bound: a hole in a
    // sparse file takes no space on the disk and reads as zeros.
    std::uint64_t count(const MessageArgument& what, std::uint64_t most, std::uint64_t bytes_each) {
        const auto n = number<std::uint64_t>();
        if (n > most) fail(messages::is_value(what, n), messages::no_more_than_file_holds(file_.size(), most));
        need(n * bytes_each);
        return n;
    }

    std::string_view text(const MessageArgument& what, std::uint64_t most = kLongestText) {
        const auto length = number<std::uint64_t>();
        if (length > most) {
            fail(messages::is_value(messages::length_of(what), length),
                 messages::no_more_than_file_holds(file_.size(), most));
        }
        const auto bytes = take(length);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    Kind kind(const MessageArgument& what) {
        const auto value = static_cast<Kind>(number<std::uint32_t>());
        if (!bytes_of(value)) {
            fail(messages::is_value(what, static_cast<std::uint32_t>(value)), messages::a_type_to_12);
        }
        return value;
    }

    static bool is_integer(Kind kind) {
        return kind != Kind::kFloat32 && kind != Kind::kFloat64 && kind != Kind::kText && kind != Kind::kList;
    }

    // One value that is a number or true or false; integers beyond 2^63 - 1 are clamped.
    std::int64_t integer(Kind kind) {
        switch (kind) {
            case Kind::kUint8:
            case Kind::kBool:
                return number<std::uint8_t>();
            case Kind::kInt8:
                return number<std::int8_t>();
            case Kind::kUint16:
                return number<std::uint16_t>();
            case Kind::kInt16:
                return number<std::int16_t>();
            case Kind::kUint32:
                return number<std::uint32_t>();
            case Kind::kInt32:
                return number<std::int32_t>();
            case Kind::kInt64:
                return number<std::int64_t>();
            default:
                return static_cast<std::int64_t>(
                    std::min<std::uint64_t>(number<std::uint64_t>(), std::numeric_limits<std::int64_t>::max()));
        }
    }
    double real(Kind kind) { return kind == Kind::kFloat32 ? static_cast<double>(number<float>()) : number<double>(); }

    GgufValue value(Kind kind, const MessageArgument& what) {
        if (kind == Kind::kText) return text(what);
        if (kind == Kind::kList) return list(what, 1);
        if (kind == Kind::kBool) return integer(kind) != 0;
        if (is_integer(kind)) return integer(kind);
        return real(kind);
    }

    GgufValue list(const MessageArgument& what, int depth) {
        const Kind of = kind(messages::type_of_items(what));
        const std::size_t each = std::max<std::size_t>(*bytes_of(of), of == Kind::kText   ? 8
                                                                      : of == Kind::kList ? 12
                                                                                          : 1);
        const auto n = count(messages::length_of(what), kMostListed - n_listed_, each);
        n_listed_ += n;
        if (of == Kind::kList) {
            if (depth == kMostDepth) fail(messages::list_of_lists_of_lists(what), messages::fewer_levels);
            for (std::uint64_t i = 0; i < n; ++i) list(what, depth + 1);
            return {};
        }
        if (of == Kind::kText) {
            std::vector<std::string_view> texts;
            texts.reserve(n);
            for (std::uint64_t i = 0; i < n; ++i) texts.push_back(text(what));
            return texts;
        }
        if (is_integer(of)) {
            std::vector<std::int64_t> integers;
            integers.reserve(n);
            for (std::uint64_t i = 0; i < n; ++i) integers.push_back(integer(of));
            return integers;
        }
        std::vector<double> numbers;
        numbers.reserve(n);
        for (std::uint64_t i = 0; i < n; ++i) numbers.push_back(real(of));
        return numbers;
    }

    void read_pair() {
        const std::string_view key = text(messages::a_metadata_key, kLongestName);
        const MessageArgument what = messages::the_metadata(in_quotes(key));
        GgufMetadata& metadata = header_.metadata;
        if (!metadata.by_key_.emplace(key, metadata.entries_.size()).second)
            fail(messages::is_there_twice(what), messages::each_once);
        const Kind of = kind(messages::metadata_type(in_quotes(key)));
        metadata.entries_.push_back({key, value(of, what)});
    }

    std::uint64_t alignment() const {
        const auto value = header_.metadata.integer("general.alignment", 1, 1 << 20, 32);
        if (!std::has_single_bit(static_cast<std::uint64_t>(value))) {
            header_.metadata.reject("general.alignment", messages::a_power_of_two);
        }
        return static_cast<std::uint64_t>(value);
    }

    void read_tensor() {
        GgufTensor tensor;
        tensor.name = text(messages::a_tensor_name, kLongestName);
        const auto what = [&]() -> MessageArgument { return messages::a_tensor(in_quotes(tensor.name)); };
        if (!names_.insert(tensor.name).second) fail(messages::is_there_twice(what()), messages::each_once);
        const auto n_dims = number<std::uint32_t>();
        if (n_dims > kMostDims) fail(messages::has_dimensions(what(), n_dims), messages::at_most_4);
        tensor.shape.reserve(n_dims);
        std::int64_t elements = 1;
        std::int64_t without_zeros = 1;  // so that no product of some of the dimensions overflows either
        for (std::uint32_t i = 0; i < n_dims; ++i) {
            const auto dim = number<std::uint64_t>();
            // So that no count of bytes overflows: a weight has at most 8.
            if (dim > (std::uint64_t{1} << 59) / static_cast<std::uint64_t>(without_zeros)) {
                fail(messages::has_a_dimension_of(what(), dim), messages::fewer_weights);
            }
            tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(dim));
            elements *= static_cast<std::int64_t>(dim);
            without_zeros *= std::max<std::int64_t>(static_cast<std::int64_t>(dim), 1);
        }
        tensor.type = number<std::uint32_t>();
        const GgufType type = gguf_type(tensor.type);
        const std::uint64_t columns = tensor.shape.empty() ? 1 : static_cast<std::uint64_t>(tensor.shape.back());
        if (type.weights > 0 && columns % type.weights != 0) {
            fail(messages::has_rows_of(what(), columns, type.name), messages::a_multiple_of(type.weights));
        }
        if (type.weights > 0) tensor.bytes = static_cast<std::uint64_t>(elements) / type.weights * type.bytes;
        tensor.offset = number<std::uint64_t>();
        header_.tensors.push_back(std::move(tensor));
    }

    void place(GgufTensor& tensor) const {
        if (tensor.offset % header_.alignment != 0) {
            throw Error(ErrorKind::kInvalidModel,
                        messages::tensor_alignment(source_, in_quotes(tensor.name), tensor.offset, header_.alignment));
        }
        if (tensor.offset > kLargestOffset) {  // the sums below stay within 64 bits
            throw Error(ErrorKind::kInvalidModel,
                        messages::tensor_begins_outside(source_, in_quotes(tensor.name), tensor.offset, file_.size()));
        }
        tensor.offset += header_.data_offset;
    }

    void check_end() const {
        const auto end_of = [](const GgufTensor& tensor) { return tensor.offset + tensor.bytes; };
        const auto last =
            std::max_element(header_.tensors.begin(), header_.tensors.end(),
                             [&](const GgufTensor& a, const GgufTensor& b) { return end_of(a) < end_of(b); });
        if (last == header_.tensors.end() || end_of(*last) <= file_.size()) return;
        throw Error(ErrorKind::kInvalidModel, messages::file_incomplete(source_, file_.size(), end_of(*last)));
    }

    std::span<const std::byte> file_;
    const std::string& source_;
    std::uint64_t at_ = 0;
    std::uint64_t n_listed_ = 0;
    GgufHeader header_;
    std::unordered_set<std::string_view> names_;
};

namespace {

// The values too, of a list with a number for each layer.
template <typename Number>
MessageArgument list_of_values(const std::vector<Number>& list) {
    constexpr std::size_t kMostShown = 128;
    if (list.empty() || list.size() > kMostShown) return messages::a_list_of(list.size());
    std::string values;
    for (const Number number : list) values += (values.empty() ? "" : ", ") + nlohmann::json(number).dump();
    return messages::a_list_of_values(list.size(), values);
}

template <typename Number>
bool all_equal(const std::vector<Number>& list) {
    return !list.empty() && std::ranges::count(list, list.front()) == std::ssize(list);
}

}  // namespace

MessageArgument describe(const GgufValue& value) {
    struct Describe {
        MessageArgument operator()(std::monostate) const { return messages::a_list_of_lists; }
        MessageArgument operator()(bool flag) const { return flag ? "true" : "false"; }
        MessageArgument operator()(std::int64_t number) const { return number; }
        MessageArgument operator()(double number) const { return engine::describe(nlohmann::json(number)); }
        MessageArgument operator()(std::string_view text) const { return in_quotes(text); }
        MessageArgument operator()(const std::vector<std::int64_t>& list) const { return list_of_values(list); }
        MessageArgument operator()(const std::vector<double>& list) const { return list_of_values(list); }
        MessageArgument operator()(const std::vector<std::string_view>& list) const {
            return messages::a_list_of(list.size());
        }
    };
    return std::visit(Describe(), value);
}

GgufValue one_number(const GgufValue& value) {
    if (const auto* const integers = std::get_if<std::vector<std::int64_t>>(&value)) {
        return all_equal(*integers) ? GgufValue(integers->front()) : value;
    }
    if (const auto* const numbers = std::get_if<std::vector<double>>(&value)) {
        return all_equal(*numbers) ? GgufValue(numbers->front()) : value;
    }
    return value;
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &entries_[found->second].value;
}

void GgufMetadata::reject(std::string_view key, const MessageArgument& expected) const {
    const GgufValue* const value = find(key);
    const std::string quoted = in_quotes(key);
    const std::string shown = quoted.substr(1, quoted.size() - 2);
    throw Error(ErrorKind::kInvalidModel, value == nullptr
                                              ? messages::field_missing(source_, shown, expected)
                                              : messages::field_rejected(source_, shown, describe(*value), expected));
}

std::int64_t GgufMetadata::integer(std::string_view key, std::int64_t low, std::int64_t high,
                                   std::optional<std::int64_t> fallback) const {
    const GgufValue* const value = find(key);
    if (value == nullptr && fallback) return *fallback;
    const GgufValue one = value == nullptr ? GgufValue() : one_number(*value);
    const auto* const number = std::get_if<std::int64_t>(&one);
    if (number == nullptr || *number < low || *number > high) {
        reject(key, messages::an_integer_in_range(low, high));
    }
    return *number;
}

double GgufMetadata::number(std::string_view key, std::optional<double> fallback) const {
    const GgufValue* const value = find(key);
    if (value == nullptr && fallback) return *fallback;
    if (value != nullptr) {
        const GgufValue one = one_number(*value);
        if (const auto* const number = std::get_if<double>(&one)) return *number;
        if (const auto* const integer = std::get_if<std::int64_t>(&one)) return static_cast<double>(*integer);
    }
    reject(key, messages::a_number);
}

bool GgufMetadata::flag(std::string_view key, bool fallback) const {
    const GgufValue* const value = find(key);
    if (value == nullptr) return fallback;
    if (const auto* const flag = std::get_if<bool>(value)) return *flag;
    reject(key, messages::true_or_false);
}

std::string_view GgufMetadata::text(std::string_view key, std::optional<std::string_view> fallback) const {
    const GgufValue* const value = find(key);
    if (value == nullptr && fallback) return *fallback;
    if (value != nullptr) {
        if (const auto* const text = std::get_if<std::string_view>(value)) return *text;
    }
    reject(key, messages::a_text);
}

namespace {

template <typename Item>
std::span<const Item> list_of(const GgufMetadata& metadata, std::string_view key, const MessageArgument& expected) {
    const GgufValue* const value = metadata.find(key);
    if (value == nullptr) return {};
    if (const auto* const list = std::get_if<std::vector<Item>>(value)) return *list;
    metadata.reject(key, expected);
}

}  // namespace

std::span<const std::string_view> GgufMetadata::texts(std::string_view key) const {
    return list_of<std::string_view>(*this, key, messages::a_list_of_texts);
}

std::span<const std::int64_t> GgufMetadata::integers(std::string_view key) const {
    return list_of<std::int64_t>(*this, key, messages::a_list_of_integers);
}

std::span<const double> GgufMetadata::numbers(std::string_view key) const {
    return list_of<double>(*this, key, messages::a_list_of_numbers);
}

GgufHeader parse_gguf(std::span<const std::byte> file, const std::string& source) {
    return GgufParser(file, source).parse();
}

}  // namespace offstage::engine
