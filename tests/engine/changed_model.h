#pragma once
// A folder of a model, read whole, to be changed and written elsewhere.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "engine/model/checkpoint.h"
#include "tests/engine/checkpoint_writer.h"
#include "tests/engine/test_models.h"

namespace offstage::tests {

class ChangedModel {
  public:
    struct Tensor {
        QByteArray name, dtype;
        std::vector<std::int64_t> shape;
        std::vector<std::byte> bytes;
    };

    explicit ChangedModel(const std::string& folder)
        : config(test::readJson(QString::fromStdString(folder) + QStringLiteral("/config.json"))) {
        const auto checkpoint = engine::Checkpoint::open(folder);
        for (const engine::TensorView& tensor : checkpoint->tensors()) {
            tensors.push_back({QByteArray::fromStdString(tensor.name),
                               QByteArray::fromStdString(tensor.type_name),
                               tensor.shape,
                               {tensor.bytes.begin(), tensor.bytes.end()}});
        }
    }

    void set(const QJsonObject& keys) {
        for (auto key = keys.begin(); key != keys.end(); ++key) config[key.key()] = key.value();
    }
    Tensor* find(const QByteArray& name) {
        const auto found = std::ranges::find(tensors, name, &Tensor::name);
        return found == tensors.end() ? nullptr : &*found;
    }
    // Takes a tensor out.
    Tensor take(const QByteArray& name) {
        Tensor tensor = *find(name);
        std::erase_if(tensors, [&](const Tensor& other) { return other.name == name; });
        return tensor;
    }
    // Converts float32 values to the type of the model's other tensors.
    void add(const QByteArray& name, const std::vector<float>& values) {
        const QByteArray dtype = tensors.front().dtype;
        Tensor tensor{name, dtype, {std::ssize(values)}, {}};
        for (const float value : values) {
            const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
            tensor.bytes.insert(tensor.bytes.end(), bytes + (dtype == "F32" ? 0 : 2), bytes + 4);  // or its upper half
        }
        tensors.push_back(std::move(tensor));
    }

    bool write(const std::filesystem::path& folder) const {
        std::filesystem::create_directories(folder);
        const QString path = QString::fromStdString(folder.string());
        SafetensorsWriter writer;
        for (const Tensor& tensor : tensors) {
            QByteArrayList shape;
            for (const std::int64_t dim : tensor.shape) shape.append(QByteArray::number(dim));
            writer.add(tensor.name, tensor.dtype, "[" + shape.join(",") + "]", tensor.bytes);
        }
        return write_file(path + QStringLiteral("/config.json"), QJsonDocument(config).toJson()) &&
               write_file(path + QStringLiteral("/model.safetensors"), writer.file());
    }

    QJsonObject config;
    std::vector<Tensor> tensors;
};

}  // namespace offstage::tests
