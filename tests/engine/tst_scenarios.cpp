// The scenarios' bookkeeping on a scripted model with a scripted clock.

#include <nlohmann/json.hpp>

#include <QtTest>

#include "engine/error.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/eval/scenario_report.h"
#include "engine/eval/scenarios.h"
#include "test_models.h"
#include "tests/engine/errors.h"

using namespace offstage::engine;
using namespace offstage::tests;

namespace {

// Feeding takes 10 us a token. Advancing takes step_us[policy] per sequence, and 5 times
// that in every 10th step. Every call routes one token per expert; the CPU is called for
// half, and 100 bytes are copied per step.
class ScriptedModel final : public StepModel {
  public:
    std::int64_t vocab_size() const override { return 50; }
    std::int64_t context() const override { return 4096; }
    std::int64_t max_step() const override { return 16; }
    double now_us() override { return now_us_; }
    void set_policy(const DispatchSettings& settings) override {
        policy_ = settings.decode;
        if (settings.prefill == settings.decode) turns.push_back(policy_);
    }
    DispatchTotals totals() const override { return totals_; }
    void reset_totals() override { totals_ = {}; }
    void restart() override {
        runs += 1;
        fed = 0;
        live_ = 1;
        steps_ = 0;
        first_tokens.push_back(-1);
    }
    void feed(std::span<const TokenId> tokens, std::int64_t, bool wants_logits, const std::stop_token& stop) override {
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, from_outside("Stopped."));
        QVERIFY(static_cast<std::int64_t>(tokens.size()) <= max_step());
        if (fed == 0) first_tokens.back() = tokens[0];
        fed += static_cast<std::int64_t>(tokens.size());
        largest_fed = std::max(largest_fed, fed);
        now_us_ += 10 * static_cast<double>(tokens.size());
        count(static_cast<std::uint64_t>(tokens.size()));
        if (wants_logits) make_logits();
    }
    void advance(std::span<const BeamSearch::Branch> branches, const std::stop_token& stop) override {
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, from_outside("Stopped."));
        for (const auto& branch : branches) QVERIFY(branch.parent >= 0 && branch.parent < live_);
        live_ = static_cast<std::int64_t>(branches.size());
        widest = std::max(widest, live_);
        steps_ += 1;
        const double slow = steps_ % 10 == 0 ? 5 : 1;
        const double drift = drifts ? 100.0 * runs : 0;
        now_us_ += slow * (step_us[static_cast<std::size_t>(policy_)] + drift) * static_cast<double>(live_);
        count(static_cast<std::uint64_t>(live_));
        make_logits();
    }
    std::span<const float> logits() const override { return logits_; }
    std::span<const std::int32_t> routing() const override { return {}; }

    std::array<double, 5> step_us = {100, 200, 300, 400, 500};
    bool drifts = false;
    std::vector<PolicyKind> turns;
    std::vector<TokenId> first_tokens;
    int runs = 0;
    std::int64_t fed = 0, largest_fed = 0, widest = 0;

  private:
    void count(std::uint64_t n) {
        totals_.steps += 1;
        totals_.routed_tokens += 4 * n;
        totals_.resident_tokens += n;
        totals_.bytes_copied += 100;
    }
    void make_logits() {
        logits_.clear();
        for (std::int64_t row = 0; row < live_; ++row) {
            for (int i = 0; i < 50; ++i) logits_.push_back(static_cast<float>((i * 7 + row * 3 + steps_) % 50) / 10);
        }
    }

    double now_us_ = 5000;
    PolicyKind policy_ = PolicyKind::kBalanced;
    DispatchTotals totals_;
    std::int64_t live_ = 1, steps_ = 0;
    std::vector<float> logits_;
};

ScenarioPolicy policy(PolicyKind kind, const char* name) {
    return {name, {kind, kind, false}};
}

ScenarioRequest small_request() {
    ScenarioRequest request;
    request.policies = {policy(PolicyKind::kThreshold, "threshold"), policy(PolicyKind::kBalanced, "balanced")};
    request.decode_in = {40};
    request.decode_out = {1, 41, 21};
    request.prefill_in = {100};
    request.beam_in = {20};
    request.beam_out = {6};
    request.beam_widths = {4};
    request.repeats = 3;
    return request;
}

const ScenarioRow* find(const std::vector<ScenarioRow>& rows, ScenarioKind kind, const char* policy, std::int64_t out) {
    for (const ScenarioRow& row : rows) {
        if (row.kind == kind && row.policy == policy && row.out == out) return &row;
    }
    return nullptr;
}

}  // namespace

class TestScenarios : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void decode_figuresAreTheClocks() {
        ScriptedModel model;
        const auto rows = run_scenarios(model, small_request(), {}, {});
        QCOMPARE(rows.size(), std::size_t{(3 + 1 + 1) * 2});
        const ScenarioRow* row = find(rows, ScenarioKind::kDecode, "threshold", 41);
        QVERIFY(row != nullptr);
        QCOMPARE(row->ttft_us, 400.0);        // 40 tokens
        QCOMPARE(row->itl_median_us, 100.0);  // 40 steps, 4 of them slow
        QCOMPARE(row->itl_p95_us, 500.0);     // rank 38 of 40
        QCOMPARE(row->total_us, 400.0 + 36 * 100 + 4 * 500);
        QCOMPARE(row->tokens_per_s, 41e6 / 6000);
        QCOMPARE(row->hit_rate, 0.25);
        QCOMPARE(row->bytes_copied, 100.0 * (3 + 40));  // pieces of 16, 16 and 8 tokens, then 40 steps
        QCOMPARE(row->repeats, 3);

        // The shorter answers are the beginnings of the longest.
        row = find(rows, ScenarioKind::kDecode, "balanced", 21);
        QVERIFY(row != nullptr);
        QCOMPARE(row->itl_median_us, 200.0);
        QCOMPARE(row->itl_p95_us, 1000.0);
        QCOMPARE(row->total_us, 400.0 + 18 * 200 + 2 * 1000);
        row = find(rows, ScenarioKind::kDecode, "balanced", 1);
        QVERIFY(row != nullptr);
        QCOMPARE(row->total_us, row->ttft_us);
        QCOMPARE(row->itl_median_us, 0.0);
        QCOMPARE(row->bytes_copied, 300.0);
    }

    void prefill_isTheFirstToken() {
        ScriptedModel model;
        const auto rows = run_scenarios(model, small_request(), {}, {});
        const ScenarioRow* row = find(rows, ScenarioKind::kPrefill, "balanced", 1);
        QVERIFY(row != nullptr);
        QCOMPARE(row->in, 100);
        QCOMPARE(row->ttft_us, 1000.0);
        QCOMPARE(row->tokens_per_s, 1e5);
    }

    void beam_advancesItsWidth() {
        ScriptedModel model;
        ScenarioRequest request = small_request();
        request.kinds = {ScenarioKind::kBeam};
        request.beam_widths = {4, 16};
        const auto rows = run_scenarios(model, request, {}, {});
        QCOMPARE(rows.size(), std::size_t{4});
        QCOMPARE(model.widest, 16);
        const ScenarioRow* row = find(rows, ScenarioKind::kBeam, "threshold", 6);
        QVERIFY(row != nullptr);
        QCOMPARE(row->width, 4);
        QCOMPARE(row->itl_median_us, 400.0);
        QCOMPARE(row->tokens_per_s, 6e6 / (200 + 5 * 400));
        QCOMPARE(rows[3].width, 16);
        QCOMPARE(rows[3].itl_median_us, 16 * 200.0);
    }

    void policies_takeTurns_onTheSameTokens() {
        ScriptedModel model;
        ScenarioRequest request = small_request();
        request.kinds = {ScenarioKind::kDecode};
        run_scenarios(model, request, {}, {});
        const auto t = PolicyKind::kThreshold, b = PolicyKind::kBalanced;
        QCOMPARE(model.turns, (std::vector<PolicyKind>{t, b, /* repeats */ t, b, b, t, t, b}));
        QCOMPARE(model.first_tokens.size(), std::size_t{8});
        for (std::size_t i = 3; i < 8; ++i) QCOMPARE(model.first_tokens[i], model.first_tokens[2]);
    }

    // A machine that grows slower run by run: medians over rotating turns distinguish the
    // policies nevertheless. Each repeat takes another text that is long enough, all
    // policies the same one.
    void promptsOfTexts_areTheirBeginnings() {
        ScriptedModel model;
        ScenarioRequest request = small_request();
        request.kinds = {ScenarioKind::kDecode};
        request.sequences = {std::vector<TokenId>(40, 7), std::vector<TokenId>(39, 8), std::vector<TokenId>(90, 9)};
        run_scenarios(model, request, {}, {});
        QCOMPARE(model.first_tokens, (std::vector<TokenId>{7, 7, 7, 7, 9, 9, 7, 7}));
        request.decode_in = {91};
        const auto error = error_of([&] { run_scenarios(model, request, {}, {}); });
        QVERIFY(error.has_value());
        QVERIFY2(QString(error->what()).contains(QStringLiteral("91 tokens; the longest has 90")), error->what());
    }

    void machineThatGrowsSlower_favoursNoPolicy() {
        ScriptedModel model;
        model.drifts = true;
        model.step_us = {1000, 1000, 1000, 1000, 1000};
        ScenarioRequest request = small_request();
        request.kinds = {ScenarioKind::kDecode};
        request.decode_out = {21};
        request.repeats = 4;
        const auto rows = run_scenarios(model, request, {}, {});
        QCOMPARE(rows.size(), std::size_t{2});
        QCOMPARE(rows[0].itl_median_us, rows[1].itl_median_us);
    }

    void stop_endsInCancelled() {
        ScriptedModel model;
        std::stop_source stop;
        int lines = 0;
        const auto log = [&](const std::string&) {
            if (++lines == 2) stop.request_stop();
        };
        QCOMPARE(mismatch(error_of([&] { run_scenarios(model, small_request(), log, stop.get_token()); }),
                          ErrorKind::kCancelled),
                 QString());
        QCOMPARE(lines, 2);
    }

    void request_outOfRange_isRefused_data() {
        QTest::addColumn<QString>("what");
        QTest::addColumn<QString>("says");
        QTest::newRow("no policy") << "policy"
                                   << "policy";
        QTest::newRow("no scenario") << "kind"
                                     << "scenario";
        QTest::newRow("no prompt") << "in"
                                   << "prompt length";
        QTest::newRow("prompt of nothing") << "zero"
                                           << "prompt length 0";
        QTest::newRow("too wide") << "wide"
                                  << "beam width 17";
        QTest::newRow("no repeats") << "repeats"
                                    << "repeat";
    }
    void request_outOfRange_isRefused() {
        QFETCH(QString, what);
        QFETCH(QString, says);
        ScenarioRequest request = small_request();
        if (what == QLatin1String("policy")) request.policies.clear();
        if (what == QLatin1String("kind")) request.kinds.clear();
        if (what == QLatin1String("in")) request.prefill_in.clear();
        if (what == QLatin1String("zero")) request.decode_in = {32, 0};
        if (what == QLatin1String("wide")) request.beam_widths = {4, 17};
        if (what == QLatin1String("repeats")) request.repeats = 0;
        QCOMPARE(mismatch(error_of([&] { validate(request); }), ErrorKind::kInvalidInput, says), QString());
    }

    void lengthsBeyondTheContext_areLeftOut_andSaid() {
        ScenarioRequest request;
        request.policies = {policy(PolicyKind::kStatic, "static")};
        QCOMPARE(fit_to_context(request, 4096), std::string());
        QCOMPARE(request.prefill_in.size(), std::size_t{4});
        const std::string said = fit_to_context(request, 600);
        QCOMPARE(request.prefill_in, std::vector<std::int64_t>{512});
        QCOMPARE(request.decode_in, (std::vector<std::int64_t>{32, 64, 128, 256}));
        QCOMPARE(request.decode_out, (std::vector<std::int64_t>{64, 128, 256}));
        QVERIFY2(said.find("prefill prompt 4096") != std::string::npos && said.find("600") != std::string::npos,
                 said.c_str());
        QVERIFY(context_of(request) >= 512);
        try {
            fit_to_context(request, 100);
            QFAIL("no error");
        } catch (const Error& error) {
            QVERIFY2(QString::fromUtf8(error.what()).contains(QLatin1String("--in")), error.what());
        }
    }

    // 32 shared tokens fill no whole block: each of 16 beams may need two blocks of 64.
    void contextOfBeams_countsTheirOwnBlocks() {
        ScenarioRequest request;
        request.policies = {policy(PolicyKind::kStatic, "static")};
        request.kinds = {ScenarioKind::kBeam};
        QCOMPARE(context_of(request), 16 * 2 * 64);
        request.beam_in = {130};
        QCOMPARE(context_of(request), 128 + 16 * 2 * 64);
    }

    // fiddler-env1 accounts the host as well: a run's results depend on the model and the
    // profile alone.
    void accountedMachine_givesTheSameFiguresTwice_andBalancedKeepsUp() {
        QTemporaryDir cache;
        ScenarioRequest request;
        for (const PolicyKind kind :
             {PolicyKind::kBalanced, PolicyKind::kStatic, PolicyKind::kThreshold, PolicyKind::kTransfer}) {
            request.policies.push_back(policy(kind, std::string(name_of(kind)).c_str()));
        }
        request.decode_in = {24};
        request.decode_out = {8, 16};
        request.prefill_in = {200, 700};
        request.beam_out = {8};
        request.beam_widths = {4, 16};
        request.repeats = 1;
        LoadRequest load;
        load.model = offstage::test::demoModel();
        load.compute = ComputeMode::kF32;
        load.n_threads = 2;
        load.device = "emulated:fiddler-env1";
        load.vram_bytes = std::uint64_t{28} << 20;
        load.context = context_of(request);
        load.learn_placement = false;
        load.cache_directory = cache.path().toStdString();
        std::vector<ScenarioRow> runs[2];
        for (auto& rows : runs) {
            LoadedModel model(load, LoadedModel::Text::kNotNeeded, {}, {});
            QVERIFY(model.summary().emulated_host);
            QVERIFY(model.summary().resident_experts > 0 && model.summary().resident_experts < 64);
            LoadedStepModel steps(model);
            rows = run_scenarios(steps, request, {}, {});
            QVERIFY(model.device().memory().usage().high_water_bytes <= load.vram_bytes);
        }
        QCOMPARE(runs[0].size(), std::size_t{4 * (2 + 2 + 2)});
        for (std::size_t i = 0; i < runs[0].size(); ++i) {
            const ScenarioRow &a = runs[0][i], &b = runs[1][i];
            QCOMPARE(a.policy, b.policy);
            QCOMPARE(a.hit_rate, b.hit_rate);
            if (a.policy == "static" || a.policy == "transfer") {  // the others decide by corrected costs
                QCOMPARE(a.total_us, b.total_us);
                QCOMPARE(a.bytes_copied, b.bytes_copied);
            }
            QVERIFY(qAbs(a.total_us - b.total_us) < 0.01 * a.total_us);
        }
        for (std::size_t i = 0; i < runs[0].size(); i += 4) {
            double best = runs[0][i].total_us;
            for (std::size_t p = 1; p < 4; ++p) best = std::min(best, runs[0][i + p].total_us);
            // Experts of the demo model take microseconds, as long as a launch: a few
            // percent up or down are chance.
            QVERIFY2(runs[0][i].total_us <= 1.10 * best,
                     qPrintable(QStringLiteral("%1, in %2, width %3: %4 us, best %5")
                                    .arg(QString::fromStdString(std::string(name_of(runs[0][i].kind))))
                                    .arg(runs[0][i].in)
                                    .arg(runs[0][i].width)
                                    .arg(runs[0][i].total_us)
                                    .arg(best)));
        }
    }

    void report_saysWhatItIs() {
        ScriptedModel model;
        ScenarioReport report;
        report.rows = run_scenarios(model, small_request(), {}, {});
        report.model.name = "mixtral-8x7b";
        report.model.device = "emulated:rtx-6000";
        report.model.device_name = "Quadro RTX 6000 (emulated)";
        report.model.emulated = true;
        report.model.resident_experts = 56;
        report.model.total_experts = 256;
        report.bus_gbps = 12.5;
        const std::string markdown = to_markdown(report);
        QVERIFY2(markdown.find("emulated Quadro RTX 6000: accounted time, not a measurement") != std::string::npos,
                 markdown.c_str());
        QVERIFY2(markdown.find("bus 12.5 GB/s (accounted)") != std::string::npos, markdown.c_str());
        QVERIFY2(
            markdown.find("| 40 | 41 | 1 | threshold | 0.40 | 0.100 | 0.500 | 6833.33 | 25.0 % |") != std::string::npos,
            markdown.c_str());
        const nlohmann::ordered_json json = to_json(report);
        QCOMPARE(json["rows"].size(), report.rows.size());
        QVERIFY(json["emulated"].get<bool>());
        QCOMPARE(json["rows"][0]["scenario"].get<std::string>(), std::string("decode"));
        QCOMPARE(json["rows"][0]["ttft_s"].get<double>(), 400e-6);

        report.model.emulated = false;
        report.model.device_name = "NVIDIA H200";
        QVERIFY(to_markdown(report).find("accounted") == std::string::npos);
        QCOMPARE(to_json(report)["notice"].get<std::string>(), std::string());
    }
};

QTEST_GUILESS_MAIN(TestScenarios)
#include "tst_scenarios.moc"
