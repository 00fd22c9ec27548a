#include <QtTest>

#include "engine/error.h"
#include "engine/quant/weight_format.h"
#include "kernels/formats.h"
#include "tests/engine/errors.h"

using namespace offstage::engine;
using namespace offstage::tests;
using offstage::kernels::WeightType;

class TestWeightFormat : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void names_ofEveryFormat_areReadBack() {
        for (int i = 0; i < offstage::kernels::kWeightTypes; ++i) {
            const auto type = static_cast<WeightType>(i);
            if (format_row(type).kind != FormatRow::Kind::kOwn) {
                QVERIFY_THROWS_EXCEPTION(Error, parse_format(format_row(type).option));
            } else {
                QCOMPARE(parse_format(format_row(type).option), type);
            }
        }
    }

    void settings_wellFormed_areRead_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("experts");  // -1: nothing
        QTest::addColumn<int>("dense");
        const auto of = [](WeightType type) { return static_cast<int>(type); };
        QTest::newRow("both") << "experts=hqq3,dense=8" << of(WeightType::kHqq3) << of(WeightType::kInt8);
        QTest::newRow("other order") << "dense=4,experts=int8" << of(WeightType::kInt8) << of(WeightType::kHqq4);
        QTest::newRow("experts") << "experts=bf16" << of(WeightType::kBf16) << -1;
        QTest::newRow("dense") << "dense=16" << -1 << of(WeightType::kBf16);
    }
    void settings_wellFormed_areRead() {
        QFETCH(QString, text);
        QFETCH(int, experts);
        QFETCH(int, dense);
        const QuantSettings settings = parse_quant(text.toStdString());
        QCOMPARE(settings.experts ? static_cast<int>(*settings.experts) : -1, experts);
        QCOMPARE(settings.dense ? static_cast<int>(*settings.dense) : -1, dense);
    }

    void settings_malformed_nameThePart_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("message");
        QTest::newRow("empty") << ""
                               << "\"\" is not known; expected experts=FORMAT or dense=BITS";
        QTest::newRow("unknown part") << "experts=hqq3,attention=8"
                                      << "\"attention=8\"";
        QTest::newRow("unknown format") << "experts=q4_k"
                                        << "\"q4_k\"; expected f32, f16, bf16, int8, hqq4, hqq3";
        QTest::newRow("no value") << "experts"
                                  << "weight format \"\"";
        QTest::newRow("bits that dense weights do not have") << "dense=3"
                                                             << "\"3\" bits are not known; expected 16, 8 or 4";
        QTest::newRow("twice") << "dense=8,dense=8"
                               << "\"dense\" twice";
        QTest::newRow("a comma too many") << "dense=8,"
                                          << "\"\" is not known";
        QTest::newRow("a space") << "dense=8, experts=hqq3"
                                 << "\" experts=hqq3\"";
    }
    void settings_malformed_nameThePart() {
        QFETCH(QString, text);
        QFETCH(QString, message);
        QCOMPARE(mismatch(error_of([&] { parse_quant(text.toStdString()); }), ErrorKind::kInvalidInput, message),
                 QString());
    }
};

QTEST_GUILESS_MAIN(TestWeightFormat)
#include "tst_weight_format.moc"
