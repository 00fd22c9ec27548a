#pragma once
// Small GGUF files for the tests, right or wrong. Format: ggml's docs/gguf.md, version 3.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace offstage::tests {

// Pairs and tensors are written in the order in which they are added; a pair with an
// existing key replaces the old one. Numbers get the type of the value: integers of 8,
// 16, 32 or 64 bits with or without sign, float, double, bool, texts, and vectors of
// them.
class GgufWriter {
  public:
    template <typename T>
    GgufWriter& add(const std::string& key, const T& value) {
        std::string bytes = number(type_of<T>());
        append(bytes, value);
        put(pairs_, key, bytes);
        return *this;
    }
    GgufWriter& add(const std::string& key, const char* value) { return add(key, std::string(value)); }
    GgufWriter& remove(const std::string& key) {
        std::erase_if(pairs_, [&](const auto& pair) { return pair.first == key; });
        return *this;
    }

    GgufWriter& rename_keys(const std::string& from, const std::string& to) {
        for (auto& [key, value] : pairs_) {
            if (key.starts_with(from)) key = to + key.substr(from.size());
        }
        return *this;
    }

    // `shape`: row-major, the innermost dimension last. `type`: ggml's number. `data`:
    // any number of bytes.
    GgufWriter& add_tensor(const std::string& name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                           std::string_view data) {
        tensors_.push_back({name, shape, type, std::string(data)});
        return *this;
    }
    template <typename T>
    GgufWriter& add_tensor(const std::string& name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                           const std::vector<T>& values) {
        return add_tensor(name, shape, type,
                          std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
    }
    GgufWriter& add_floats(const std::string& name, const std::vector<std::uint64_t>& shape,
                           const std::vector<float>& values) {
        return add_tensor(name, shape, 0, values);
    }

    // For the tensors' data; other values than 32 are written as general.alignment.
    GgufWriter& set_alignment(std::uint32_t alignment) {
        alignment_ = alignment;
        return add("general.alignment", alignment);
    }
    GgufWriter& set_version(std::uint32_t version) {
        version_ = version;
        return *this;
    }

    std::string bytes() const {
        std::string file =
            "GGUF" + number(version_) + number<std::uint64_t>(tensors_.size()) + number<std::uint64_t>(pairs_.size());
        for (const auto& [key, value] : pairs_) {
            append(file, key);
            file += value;
        }
        std::string data;
        for (const Tensor& tensor : tensors_) {
            append(file, tensor.name);
            file += number(static_cast<std::uint32_t>(tensor.shape.size()));
            for (std::size_t i = tensor.shape.size(); i-- > 0;) file += number(tensor.shape[i]);
            file += number(tensor.type);
            pad(data);
            file += number<std::uint64_t>(data.size());
            data += tensor.data;
        }
        pad(file);
        pad(data);
        return file + data;
    }
    void write(const std::filesystem::path& path) const {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes();
    }

  private:
    struct Tensor {
        std::string name;
        std::vector<std::uint64_t> shape;
        std::uint32_t type = 0;
        std::string data;
    };
    using Pairs = std::vector<std::pair<std::string, std::string>>;

    template <typename T>
    struct IsVector : std::false_type {};
    template <typename T>
    struct IsVector<std::vector<T>> : std::true_type {};

    template <typename T>
    static constexpr std::uint32_t type_of() {
        if constexpr (IsVector<T>::value) {
            return 9;
        } else if constexpr (std::is_same_v<T, bool>) {
            return 7;
        } else if constexpr (std::is_convertible_v<T, std::string_view>) {
            return 8;
        } else if constexpr (std::is_floating_point_v<T>) {
            return sizeof(T) == 4 ? 6 : 12;
        } else {
            static_assert(std::is_integral_v<T>);
            constexpr std::uint32_t kUnsigned = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 2 : sizeof(T) == 4 ? 4 : 10;
            return kUnsigned + (std::is_signed_v<T> ? 1 : 0);
        }
    }

    template <typename T>
    static std::string number(T value) {
        std::string bytes(sizeof value, '\0');
        std::memcpy(bytes.data(), &value, sizeof value);
        return bytes;
    }
    template <typename T>
    static void append(std::string& out, const T& value) {
        if constexpr (IsVector<T>::value) {
            out += number(type_of<typename T::value_type>()) + number<std::uint64_t>(value.size());
            for (const typename T::value_type& item : value) append(out, item);
        } else if constexpr (std::is_convertible_v<T, std::string_view>) {
            const std::string_view text = value;
            out += number<std::uint64_t>(text.size());
            out += text;
        } else {
            out += number(value);
        }
    }
    static void put(Pairs& pairs, const std::string& key, const std::string& value) {
        for (auto& [name, old] : pairs) {
            if (name != key) continue;
            old = value;
            return;
        }
        pairs.emplace_back(key, value);
    }
    void pad(std::string& bytes) const {
        while (bytes.size() % alignment_ != 0) bytes += '\0';
    }

    Pairs pairs_;
    std::vector<Tensor> tensors_;
    std::uint32_t version_ = 3;
    std::uint32_t alignment_ = 32;
};

}  // namespace offstage::tests
