#pragma once
// A GGUF file taken apart, to be written again with something changed.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/files/gguf.h"
#include "engine/files/gguf_type.h"
#include "engine/files/mapped_file.h"
#include "tests/engine/gguf_writer.h"
#include "tests/engine/test_models.h"

namespace offstage::tests {

inline std::string ggufModel(const QString& name) {
    return test::sourcePath(QStringLiteral("tests/engine/data/gguf/%1.gguf").arg(name)).toStdString();
}

struct GgufParts {
    engine::MappedFile map;
    engine::GgufHeader header;

    explicit GgufParts(const std::string& path) : map(path), header(engine::parse_gguf(map.bytes(), path)) {}
    explicit GgufParts(const QString& name) : GgufParts(ggufModel(name)) {}  // one of the tiny models

    // Without lists of texts.
    GgufWriter pairs() const {
        GgufWriter writer;
        for (const engine::GgufMetadata::Entry& entry : header.metadata.entries()) {
            const std::string key(entry.key);
            std::visit(
                [&](const auto& value) {
                    using Value = std::decay_t<decltype(value)>;
                    if constexpr (std::is_same_v<Value, std::string_view>) {
                        writer.add(key, std::string(value));
                    } else if constexpr (!std::is_same_v<Value, std::monostate> &&
                                         !std::is_same_v<Value, std::vector<std::string_view>>) {
                        writer.add(key, value);
                    }
                },
                entry.value);
        }
        return writer;
    }
    static std::vector<std::uint64_t> shapeOf(const engine::GgufTensor& tensor) {
        return {tensor.shape.begin(), tensor.shape.end()};
    }
    std::string_view bytesOf(const engine::GgufTensor& tensor) const {
        std::int64_t n = 1;
        for (const std::int64_t dim : tensor.shape) n *= dim;
        const engine::GgufType type = engine::gguf_type(tensor.type);
        const auto bytes =
            map.bytes().subspan(tensor.offset, static_cast<std::uint64_t>(n) / type.weights * type.bytes);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    // Tensors [first, last), unchanged except for names that `rename` changes; an empty
    // name leaves one out.
    using Rename = std::function<std::string(std::string name)>;
    void copy(
        GgufWriter& writer, std::size_t first, std::size_t last,
        const Rename& rename = [](std::string name) { return name; }) const {
        for (std::size_t i = first; i < last; ++i) {
            const engine::GgufTensor& tensor = header.tensors[i];
            const std::string name = rename(std::string(tensor.name));
            if (!name.empty()) writer.add_tensor(name, shapeOf(tensor), tensor.type, bytesOf(tensor));
        }
    }
    std::size_t n() const { return header.tensors.size(); }
};

}  // namespace offstage::tests
