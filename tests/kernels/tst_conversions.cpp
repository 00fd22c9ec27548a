// Widening and narrowing over every 16-bit pattern, against definitions made from the
// formats' fields alone.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <QTest>

#include "kernels/cpu_kernels.h"
#include "test_buffer.h"
#include "test_data.h"

using namespace offstage::kernels;
using namespace offstage::kernels::test;

namespace {

// sign * 1.mantissa * 2^(exponent - bias), subnormals and infinities by the format's
// rules (IEEE 754-2008, 3.4).
double value_of(std::uint16_t bits, int exponent_bits, int mantissa_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1) {
        return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    }
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

bool same(float got, double want) {
    if (std::isnan(want)) return std::isnan(got);
    return static_cast<double>(got) == want && std::signbit(got) == std::signbit(want);
}

std::vector<std::uint16_t> all_patterns() {
    std::vector<std::uint16_t> patterns(65536);
    for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
    return patterns;
}

}  // namespace

class TestConversions : public QObject {
    Q_OBJECT

  private slots:
    void widen_is_exact_for_every_pattern_data();
    void widen_is_exact_for_every_pattern();
    void narrow_returns_every_widened_bf16_data() { add_instruction_set_rows(); }
    void narrow_returns_every_widened_bf16();
    void narrow_rounds_to_nearest_even_data() { add_instruction_set_rows(); }
    void narrow_rounds_to_nearest_even();
    void conversions_stay_in_bounds_for_any_length_data() { add_instruction_set_rows(); }
    void conversions_stay_in_bounds_for_any_length();
};

void TestConversions::widen_is_exact_for_every_pattern_data() {
    QTest::addColumn<int>("set");
    QTest::addColumn<int>("type");
    for (const InstructionSet set : available_instruction_sets()) {
        for (const WeightType type : {WeightType::kF16, WeightType::kBf16}) {
            QTest::addRow("%s %s", name_of(set).data(), name_of(type))
                << static_cast<int>(set) << static_cast<int>(type);
        }
    }
}

void TestConversions::widen_is_exact_for_every_pattern() {
    QFETCH(int, set);
    QFETCH(int, type);
    const auto weight_type = static_cast<WeightType>(type);
    const std::vector<std::uint16_t> patterns = all_patterns();
    std::vector<float> widened(patterns.size());
    cpu_kernels(static_cast<InstructionSet>(set)).widen(patterns.data(), weight_type, 65536, widened.data());
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        const double want =
            weight_type == WeightType::kF16 ? value_of(patterns[i], 5, 10) : value_of(patterns[i], 8, 7);
        if (!same(widened[i], want)) QFAIL(qPrintable(QString("pattern %1: %2").arg(i, 4, 16).arg(widened[i])));
    }
}

void TestConversions::narrow_returns_every_widened_bf16() {
    QFETCH(int, set);
    const std::vector<std::uint16_t> patterns = all_patterns();
    std::vector<float> widened(patterns.size());
    std::vector<Bf16> narrowed(patterns.size());
    const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
    kernels.widen(patterns.data(), WeightType::kBf16, 65536, widened.data());
    kernels.narrow_bf16(widened.data(), 65536, narrowed.data());
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        if (std::isnan(widened[i])) {
            QVERIFY(std::isnan(to_float(narrowed[i])));
        } else if (narrowed[i].bits != patterns[i]) {
            QFAIL(qPrintable(QString("pattern %1 became %2").arg(i, 4, 16).arg(narrowed[i].bits, 4, 16)));
        }
    }
}

void TestConversions::narrow_rounds_to_nearest_even() {
    QFETCH(int, set);
    // Around every bf16 value: just above, just below, at and beside the middle to the
    // next; and random bit patterns.
    std::vector<std::uint32_t> bits;
    for (std::uint32_t high = 0; high < 65536; high += 7) {
        for (const std::uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
            bits.push_back(high << 16 | low);
    }
    std::mt19937 generator(5);
    for (int i = 0; i < 100001; ++i) bits.push_back(static_cast<std::uint32_t>(generator()));
    std::vector<float> values;
    for (const std::uint32_t pattern : bits) values.push_back(std::bit_cast<float>(pattern));
    std::vector<Bf16> narrowed(values.size());
    cpu_kernels(static_cast<InstructionSet>(set))
        .narrow_bf16(values.data(), static_cast<std::int64_t>(values.size()), narrowed.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isnan(values[i])) {
            QVERIFY(std::isnan(to_float(narrowed[i])));
            continue;
        }
        // By the definition: the nearer neighbour, on a tie the one with an even last
        // bit.
        const std::uint32_t down = bits[i] >> 16;
        const std::uint32_t rest = bits[i] & 0xffffu;
        const bool up = rest > 0x8000u || (rest == 0x8000u && (down & 1u) != 0);
        if (narrowed[i].bits != static_cast<std::uint16_t>(down + (up ? 1u : 0u))) {
            QFAIL(qPrintable(QString("%1 became %2").arg(bits[i], 8, 16).arg(narrowed[i].bits, 4, 16)));
        }
    }
}

void TestConversions::conversions_stay_in_bounds_for_any_length() {
    QFETCH(int, set);
    const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
    for (std::int64_t n = 0; n <= 70; ++n) {
        for (const std::size_t slack : {0, 4, 12, 64}) {
            TestBuffer<Bf16> narrow(n, slack);
            TestBuffer<float> wide(n, slack);
            for (std::int64_t i = 0; i < n; ++i) narrow[i] = to_bf16(static_cast<float>(i) - 3.5f);
            kernels.widen(narrow.data(), WeightType::kBf16, n, wide.data());
            QVERIFY(wide.guards_intact());
            for (std::int64_t i = 0; i < n; ++i) QCOMPARE(wide[i], static_cast<float>(i) - 3.5f);
            for (std::int64_t i = 0; i < n; ++i) narrow[i] = {};
            kernels.narrow_bf16(wide.data(), n, narrow.data());
            QVERIFY(narrow.guards_intact());
            for (std::int64_t i = 0; i < n; ++i) QCOMPARE(narrow[i].bits, to_bf16(wide[i]).bits);
            TestBuffer<float> copy(n, slack);
            kernels.widen(wide.data(), WeightType::kF32, n, copy.data());
            QVERIFY(copy.guards_intact());
            QVERIFY(std::equal(copy.span().begin(), copy.span().end(), wide.span().begin()));
        }
    }
}

QTEST_GUILESS_MAIN(TestConversions)
#include "tst_conversions.moc"
