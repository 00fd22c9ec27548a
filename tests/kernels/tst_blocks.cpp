// Blocks of files, decoded, against the sums of weights that
// tests/golden/make_block_golden.py has written.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "kernels/blocks.h"
#include "kernels/cpu_kernels.h"
#include "kernels/scaled_weights.h"
#include "kernels/types.h"
#include "packed_data.h"
#include "test_buffer.h"

namespace offstage::kernels::test {

namespace {

// As in make_block_golden.py.
constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;
constexpr std::int64_t kGroup = 16;
constexpr std::int64_t kGroups = 64;

std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

std::uint32_t bits_of_number(float weight) {
    return std::isnan(weight) ? 0x7fc00000u : bits_of(weight);
}

QJsonObject golden() {
    QFile file(QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/kernels/data/blocks_golden.json"));
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(file.readAll()).object();
}

QString hex(std::uint64_t value, int digits) {
    return QStringLiteral("%1").arg(value, digits, 16, QLatin1Char('0'));
}

}  // namespace

class BlocksTest : public QObject {
    Q_OBJECT

  private slots:
    void weights_as_the_reference_has_them_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("seed");
        int seed = 0;
        for (const FormatTraits& format : kFormats) {
            if (format.is_blocks()) QTest::newRow(format.name) << static_cast<int>(format.type) << seed++;
        }
    }
    void weights_as_the_reference_has_them() {
        QFETCH(int, type);
        QFETCH(int, seed);
        const FormatTraits& format = traits_of(static_cast<WeightType>(type));
        const QJsonObject expected = golden().value(QLatin1String(format.name)).toObject();
        QCOMPARE(expected.value(QStringLiteral("sums")).toArray().size(), kGroups);

        const std::int64_t n_weights = kGroup * format.group;
        const std::int64_t group_bytes = kGroup * format.block_bytes;
        TestBuffer<std::byte> blocks(kGroups * group_bytes);
        for (std::int64_t i = 0; i < kGroups * group_bytes; ++i) {
            const std::uint64_t place =
                (static_cast<std::uint64_t>(seed) << 32) + static_cast<std::uint64_t>(i / 8 + 1);
            blocks.data()[i] = static_cast<std::byte>(mix(place * kGolden) >> (i % 8 * 8) & 255u);
        }
        std::vector<float> weights(static_cast<std::size_t>(n_weights));
        for (int group = 0; group < kGroups; ++group) {
            unpack_blocks(format.type, blocks.data() + group * group_bytes, 0, n_weights, weights.data());
            const QJsonArray first = expected.value(QStringLiteral("first")).toArray();
            for (int i = 0; group == 0 && i < first.size(); ++i) {
                QCOMPARE(hex(bits_of_number(weights[static_cast<std::size_t>(i)]), 8), first[i].toString());
            }
            std::uint64_t sum = 0;
            for (std::size_t i = 0; i < weights.size(); ++i) {
                sum += mix(bits_of_number(weights[i]) + (std::uint64_t{i} << 32));
            }
            QCOMPARE(hex(sum, 16), expected.value(QStringLiteral("sums")).toArray()[group].toString());
        }
    }

    void multiplied_rows_data() {
        QTest::addColumn<int>("type");
        for (const FormatTraits& format : kFormats) {
            if ((format.is_blocks() && format.type != WeightType::kMxfp4) || format.is_plain()) {
                QTest::newRow(format.name) << static_cast<int>(format.type);
            }
        }
    }
    void multiplied_rows() {
        QFETCH(int, type);
        const FormatTraits& format = traits_of(static_cast<WeightType>(type));
        const std::int64_t n = format.is_blocks() ? 3 * format.group : 77;
        const auto bytes = static_cast<std::int64_t>(row_bytes(format.type, n));
        TestBuffer<std::byte> row(bytes), multiplied(bytes);
        std::mt19937 generator(5);
        if (format.is_blocks()) {
            fill_block_row(format.type, n, generator, 64.0f, row.data());  // far from the smallest scales
        } else {
            for (std::int64_t i = 0; i < n; ++i) {
                const float weight = uniform(generator, -0.5f, 0.5f);
                const std::uint32_t bits = format.type == WeightType::kF32   ? bits_of(weight)
                                           : format.type == WeightType::kF16 ? to_f16_truncated(weight).bits
                                                                             : to_bf16(weight).bits;
                std::memcpy(row.data() + i * bytes / n, &bits, static_cast<std::size_t>(bytes / n));
            }
        }
        const auto weights_of = [&](const TestBuffer<std::byte>& of) {
            std::vector<float> weights(static_cast<std::size_t>(n));
            cpu_kernels().widen(of.data(), format.type, n, weights.data());
            return weights;
        };
        const std::vector<float> before = weights_of(row);
        const float largest = std::abs(*std::ranges::max_element(before, {}, [](float w) { return std::abs(w); }));
        for (const float factor : {0.25f, -2.0f, 0.7f, 13.3f, 0.0f}) {
            std::memcpy(multiplied.data(), row.data(), static_cast<std::size_t>(bytes));
            multiply_weights(format.type, multiplied.data(), n, factor);
            const std::vector<float> after = weights_of(multiplied);
            const bool is_exact = factor == 0.25f || factor == -2.0f || factor == 0.0f;
            // Half a digit of 11, with a minimum of such a scale beside it; bf16 has 8.
            const float most = std::abs(factor) * largest *
                               (is_exact                           ? 0.0f
                                : format.type == WeightType::kBf16 ? 0x1p-8f
                                : format.type == WeightType::kF32  ? 0x1p-24f
                                                                   : 0x1p-10f);
            for (std::size_t i = 0; i < before.size(); ++i) {
                const float error = std::abs(after[i] - factor * before[i]);
                QVERIFY2(error <= most,
                         qPrintable(QStringLiteral("weight %1 times %2: %3").arg(i).arg(factor).arg(error)));
            }
        }
    }
    // Every binary16 number: the product is the nearest one.
    void multiplied_halves_areRoundedToNearest() {
        const auto value = [](unsigned bits) { return double{to_float(F16{static_cast<std::uint16_t>(bits)})}; };
        for (const float factor : {0.3f, 1e-4f, 3.7f, 1.0f, 2e3f}) {
            for (unsigned bits = 0; bits < 0x7c00u; ++bits) {
                std::uint16_t half = static_cast<std::uint16_t>(bits);
                multiply_weights(WeightType::kF16, reinterpret_cast<std::byte*>(&half), 1, factor);
                const double product = double{static_cast<float>(value(bits)) * factor};
                if (product >= 65520) {
                    QCOMPARE(half, std::uint16_t{0x7c00});
                    continue;
                }
                const double error = std::abs(value(half) - product);
                QVERIFY(half == 0 || error <= std::abs(value(half - 1u) - product));
                QVERIFY(half == 0x7bff || error <= std::abs(value(half + 1u) - product));
                if (half % 2 == 1) QVERIFY(error < std::abs(value(half - 1u) - product));  // ties to even
            }
        }
    }

    void any_part_of_a_row_data() { weights_as_the_reference_has_them_data(); }
    void any_part_of_a_row() {
        QFETCH(int, type);
        const FormatTraits& format = traits_of(static_cast<WeightType>(type));
        const std::int64_t n_cols = 3 * format.group;
        TestBuffer<std::byte> row(static_cast<std::int64_t>(row_bytes(format.type, n_cols)));
        for (std::int64_t i = 0; i < 3 * format.block_bytes; ++i) row.data()[i] = static_cast<std::byte>(7 * i % 101);
        std::vector<float> whole(static_cast<std::size_t>(n_cols));
        unpack_blocks(format.type, row.data(), 0, n_cols, whole.data());
        for (std::int64_t begin = 0; begin < n_cols; begin += 5) {
            for (const std::int64_t n : {std::int64_t{1}, std::int64_t{19}, n_cols - begin}) {
                if (begin + n > n_cols) continue;
                TestBuffer<float> part(n);
                unpack_blocks(format.type, row.data(), begin, n, part.data());
                QCOMPARE(std::memcmp(part.data(), whole.data() + begin, static_cast<std::size_t>(n) * sizeof(float)),
                         0);
            }
        }
    }
};

}  // namespace offstage::kernels::test

QTEST_GUILESS_MAIN(offstage::kernels::test::BlocksTest)
#include "tst_blocks.moc"
