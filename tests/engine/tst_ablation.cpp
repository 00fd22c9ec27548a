// The gain of each part of leaving neurons out, on a device with accounted times.

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/eval/ablation.h"
#include "tests/engine/errors.h"

using namespace offstage::engine;
namespace tests = offstage::tests;

class TestAblation : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void rows_addOneThingAfterTheOther() {
        LoadRequest request = dry();
        request.theta = 0.25;
        request.active_share = 0.45;
        std::vector<std::string> lines;
        const AblationReport report =
            measure_ablation(request, {32, 16, 2}, [&](const std::string& line) { lines.push_back(line); }, {});
        QCOMPARE(report.rows.size(), std::size_t{5});
        QCOMPARE(lines.size(), std::size_t{5});
        QVERIFY(report.accounted);
        const AblationRow& demand = report.rows[0];
        const AblationRow& sparse = report.rows[1];
        QCOMPARE(demand.gain, 1.0);
        QCOMPARE(demand.hit_rate, 0.0);
        QCOMPARE(demand.copy_bytes_saved_per_token, 0.0);
        QCOMPARE(demand.active_share, 1.0);
        QVERIFY(std::abs(sparse.active_share - 0.45) < 0.01);
        // As many experts, without the neurons left out.
        QVERIFY(std::abs(sparse.copied_bytes_per_token / demand.copied_bytes_per_token - 0.45) < 0.01);
        QVERIFY(std::abs((sparse.copied_bytes_per_token + sparse.copy_bytes_saved_per_token) /
                             demand.copied_bytes_per_token -
                         1) < 1e-6);
        for (std::size_t i = 1; i < report.rows.size(); ++i) {
            QVERIFY2(report.rows[i].tokens_per_s > report.rows[i - 1].tokens_per_s, report.rows[i].name.c_str());
        }
        QVERIFY(report.rows[3].hit_rate > 0.15);
        const nlohmann::ordered_json json = to_json(report);
        QCOMPARE(json["rows"][3]["paper_gain"].get<double>(), 2.07);
        QVERIFY(json["rows"][4]["paper_gain"].is_null());
        QCOMPARE(QString::fromStdString(to_text(report)).count(QLatin1Char('\n')), 7);
        // Copies ahead of demand are what computing hides behind.
        QVERIFY(report.rows[2].hidden_computing > report.rows[1].hidden_computing);
        QVERIFY(report.rows[2].hidden_computing <= 1);
        QCOMPARE(json["rows"][2]["hidden_computing"].get<double>(), report.rows[2].hidden_computing);
    }

    // The longer the answer, the less the prompt weighs: the gain of the whole approaches
    // that of decoding.
    void wholeAnswers_gainByTheirLength() {
        LoadRequest request = dry();
        request.theta = 0.25;
        request.active_share = 0.45;
        std::vector<AblationReport> reports;
        for (const std::int64_t decode : {4, 32}) {
            reports.push_back(measure_ablation(request, {64, decode, 2}, {}, {}));
            for (const AblationRow& row : reports.back().rows) {
                QVERIFY(row.whole_tokens_per_s > 0 && row.whole_tokens_per_s < row.tokens_per_s);
            }
            QCOMPARE(reports.back().rows.front().whole_gain, 1.0);
        }
        const AblationRow& few = reports[0].rows[3];
        const AblationRow& many = reports[1].rows[3];
        QVERIFY2(std::abs(many.whole_gain - many.gain) < std::abs(few.whole_gain - few.gain),
                 qPrintable(QStringLiteral("%1 of %2, %3 of %4")
                                .arg(many.whole_gain)
                                .arg(many.gain)
                                .arg(few.whole_gain)
                                .arg(few.gain)));
        QCOMPARE(to_json(reports[1])["rows"][3]["whole_gain"].get<double>(), many.whole_gain);
        const QStringList lines = QString::fromStdString(gains_by_length(reports)).split(u'\n');
        QCOMPARE(lines.size(), 1 + 1 + 5 + 1);
        QVERIFY(lines[1].simplified() == QStringLiteral("4 32"));
        QVERIFY2(lines[5].endsWith(QString::number(many.whole_gain, 'f', 2)), qPrintable(lines[5]));
    }

    // Fewer bits for the experts that are called least, in the same memory.
    void mixedPrecision_isARowOfItsOwn() {
        LoadRequest request = dry();
        request.theta = 0.25;
        request.active_share = 0.45;
        const AblationReport report = measure_ablation(request, {32, 16, 2, 3}, {}, {});
        QCOMPARE(report.rows.size(), std::size_t{6});
        const AblationRow& kept = report.rows[3];
        const AblationRow& mixed = report.rows[4];
        QCOMPARE(mixed.name, std::string("+ mixed precision"));
        QVERIFY2(mixed.mean_bits >= 3 && mixed.mean_bits < kept.mean_bits - 0.5,
                 qPrintable(QStringLiteral("%1 of %2").arg(mixed.mean_bits).arg(kept.mean_bits)));
        QVERIFY(mixed.copied_bytes_per_token < kept.copied_bytes_per_token);
        QVERIFY(mixed.tokens_per_s > kept.tokens_per_s);
        QCOMPARE(report.rows[5].mean_bits, mixed.mean_bits);
        QCOMPARE(to_json(report)["rows"][4]["mean_bits"].get<double>(), mixed.mean_bits);
    }

    void wrongRequests_sayWhatIsExpected() {
        LoadRequest request = dry();
        const auto complaint = [&](const char* part, const AblationSettings& settings = {}) {
            return tests::mismatch(tests::error_of([&] { measure_ablation(request, settings, {}, {}); }),
                                   ErrorKind::kInvalidInput, part);
        };
        QCOMPARE(complaint("Theta is 0"), QString());
        request.theta = 0.25;
        QCOMPARE(complaint("expected 0 to 7", {8, 8, 8}), QString());
        request.device = "cpu";
        request.dry = false;
        request.model = OFFSTAGE_SOURCE_DIR "/resources/demo-model";
        QCOMPARE(complaint("where the experts are"), QString());
    }

  private:
    LoadRequest dry() const {
        LoadRequest request;
        request.model = "synthetic:mixtral-8x7b?layers=4";
        request.device = "emulated:rtx-3060-desktop";
        request.quant = parse_quant("experts=hqq4");
        request.dry = true;
        request.dry_repeat = 0.3;
        request.dry_guess_recall = 0.85;
        request.cache_directory = cache_.path().toStdString();
        request.checks_costs = false;
        request.times_product = [](offstage::kernels::TrialProduct) { return 100.0; };  // nothing is measured
        return request;
    }

    QTemporaryDir cache_;
};

QTEST_GUILESS_MAIN(TestAblation)
#include "tst_ablation.moc"
