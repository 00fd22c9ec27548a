#include <QtTest>

#include "engine/error.h"
#include "engine/run/session.h"
#include "tests/engine/errors.h"

using namespace offstage::engine;
using namespace offstage::tests;

class TestDispatchSettings : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void text_isParsedAndDescribed_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("prefill");
        QTest::addColumn<int>("decode");
        QTest::addColumn<bool>("measured");
        QTest::addColumn<QString>("description");
        const auto row = [](const char* text, PolicyKind prefill, PolicyKind decode, bool measured, const char* words) {
            QTest::newRow(text) << text << int(prefill) << int(decode) << measured << words;
        };
        using enum PolicyKind;
        row("auto", kBalanced, kBalanced, true, "balanced (measured)");
        row("balanced", kBalanced, kBalanced, false, "balanced");
        row("static", kStatic, kStatic, false, "static");
        row("prefill=transfer,decode=static", kTransfer, kStatic, false, "prefill transfer, decode static");
        row("decode=layers,prefill=threshold", kThreshold, kLayers, false, "prefill threshold, decode layers");
        row("prefill=transfer", kTransfer, kBalanced, true, "prefill transfer, decode balanced (measured)");
        row("decode=static,prefill=auto", kBalanced, kStatic, false, "prefill balanced, decode static");
    }
    void text_isParsedAndDescribed() {
        QFETCH(QString, text);
        const DispatchSettings settings = parse_dispatch(text.toStdString());
        QTEST(int(settings.prefill), "prefill");
        QTEST(int(settings.decode), "decode");
        QTEST(settings.measured, "measured");
        QTEST(QString::fromStdString(describe(settings)), "description");
    }

    void text_thatIsNoPolicy_isRefused_data() {
        QTest::addColumn<QString>("text");
        for (const char* text : {"", "fast", "prefill=", "prefill=fast", "prefill=static,prefill=static", "x=static",
                                 "prefill=static,", "prefill=static,decode", "=static", "Auto", "decode=static=auto"}) {
            QTest::newRow(text[0] != 0 ? text : "nothing") << text;
        }
    }
    void text_thatIsNoPolicy_isRefused() {
        QFETCH(QString, text);
        QCOMPARE(mismatch(error_of([&] { parse_dispatch(text.toStdString()); }), ErrorKind::kInvalidInput), QString());
    }
};

QTEST_GUILESS_MAIN(TestDispatchSettings)
#include "tst_dispatch_settings.moc"
