#pragma once
// Files for the tests of engine/model: a small safetensors writer.

#include <cstring>
#include <utility>
#include <vector>

#include <QByteArray>
#include <QFile>
#include <QString>
#include <QtTest>

#include "tests/engine/errors.h"

namespace offstage::tests {

inline QByteArray little_endian(quint64 value) {
    QByteArray bytes(8, '\0');
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
    return bytes;
}

// A file of any header text and any data, right or wrong.
inline QByteArray safetensors_file(const QByteArray& header, const QByteArray& data) {
    return little_endian(static_cast<quint64>(header.size())) + header + data;
}

// Writes a valid file, from tensors in the order in which they are added.
class SafetensorsWriter {
  public:
    template <typename T>
    SafetensorsWriter& add(const QByteArray& name, const QByteArray& dtype, const QByteArray& shape,
                           const std::vector<T>& values) {
        const QByteArray begin = QByteArray::number(data_.size());
        data_.append(reinterpret_cast<const char*>(values.data()), static_cast<qsizetype>(values.size() * sizeof(T)));
        parts_.append("\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[" +
                      begin + "," + QByteArray::number(data_.size()) + "]}");
        return *this;
    }
    SafetensorsWriter& add_metadata(const QByteArray& object) {
        parts_.append("\"__metadata__\":" + object);
        return *this;
    }
    // The data begins at a multiple of 8, as current writers do it, plus `shift`.
    QByteArray file(qsizetype shift = 0) const {
        QByteArray header = "{" + parts_.join(",") + "}";
        while (header.size() % 8 != shift) header.append(' ');
        return safetensors_file(header, data_);
    }

  private:
    QByteArrayList parts_;
    QByteArray data_;
};

inline bool write_file(const QString& path, const QByteArray& bytes) {
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size();
}

}  // namespace offstage::tests
