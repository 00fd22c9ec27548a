// The panels that the batched product reads, on every instruction set.

#include <algorithm>
#include <cstdint>

#include <QTest>

#include "kernels/cpu/pack.h"
#include "test_buffer.h"
#include "test_data.h"

using namespace offstage::kernels;
using namespace offstage::kernels::test;

class TestPack : public QObject {
    Q_OBJECT

  private slots:
    void panels_hold_every_weight_in_its_place_data();
    void panels_hold_every_weight_in_its_place();
};

void TestPack::panels_hold_every_weight_in_its_place_data() {
    QTest::addColumn<int>("set");
    QTest::addColumn<int>("type");
    for (const InstructionSet set : available_instruction_sets()) {
        for (const WeightType type : {WeightType::kF32, WeightType::kF16, WeightType::kBf16}) {
            QTest::addRow("%s %s", name_of(set).data(), name_of(type))
                << static_cast<int>(set) << static_cast<int>(type);
        }
    }
}

void TestPack::panels_hold_every_weight_in_its_place() {
    QFETCH(int, set);
    QFETCH(int, type);
    const PackKernels& pack = pack_kernels(static_cast<InstructionSet>(set));
    constexpr std::int64_t kWidth = 2 * kPanelGrain;
    for (const std::int64_t n_out : {1, 15, 64, 65, 100, 128}) {
        for (const std::int64_t n_in : {1, 2, 7, 16, 31, 32, 33, 64, 257, 300}) {
            const std::int64_t padded_in = (n_in + 1) / 2 * 2;
            for (const bool rows_are_outputs : {true, false}) {
                const std::int64_t n_rows = rows_are_outputs ? n_out : n_in;
                const std::int64_t n_cols = rows_are_outputs ? n_in : n_out;
                const std::int64_t stride = n_cols + 3;
                const RandomWeights weights(static_cast<WeightType>(type), n_rows * stride, 1);
                const WeightView view{weights.data(), weights.type(), n_rows, n_cols,
                                      static_cast<std::size_t>(stride) * bytes_per_weight(weights.type())};
                const PanelSource source{view, 0, n_rows, 0, n_cols};
                TestBuffer<float> wide(n_in * kWidth, 4);
                TestBuffer<Bf16> pairs(padded_in * kWidth, 4);
                (rows_are_outputs ? pack.transpose_f32 : pack.copy_f32)(source, kWidth, wide.data());
                (rows_are_outputs ? pack.transpose_bf16_pairs : pack.interleave_bf16_pairs)(source, kWidth,
                                                                                            pairs.data());
                QVERIFY(wide.guards_intact());
                QVERIFY(pairs.guards_intact());
                for (std::int64_t o = 0; o < n_out; ++o) {
                    for (std::int64_t i = 0; i < padded_in; ++i) {
                        const Bf16 pair = pairs[(i / 2 * kWidth + o) * 2 + i % 2];
                        if (i >= n_in) {
                            QCOMPARE(pair.bits, std::uint16_t{0});
                            continue;
                        }
                        const float want = weights[rows_are_outputs ? o * stride + i : i * stride + o];
                        if (wide[i * kWidth + o] != want || pair.bits != to_bf16(want).bits) {
                            QFAIL(qPrintable(QString("output %1 input %2").arg(o).arg(i)));
                        }
                    }
                }
            }
        }
    }
}

QTEST_GUILESS_MAIN(TestPack)
#include "tst_pack.moc"
