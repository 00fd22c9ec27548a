// Blocks of files, decoded, against the sums of weights that
// tests/golden/make_block_golden.py has written.

#include <cmath>
#include <cstring>

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "kernels/blocks.h"
#include "kernels/types.h"
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
