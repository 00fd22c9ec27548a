// Thresholds of each expert: the greedy choice is optimal, the choice holds on the text
// and is better than one theta, it is stored and read, and every place computes by each
// expert's own.

#include <cmath>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/eval/theta_scorer.h"
#include "engine/eval/threshold_choice.h"
#include "engine/run/local_session.h"
#include "engine/run/model_shape.h"
#include "engine/run/moe_layer.h"
#include "tests/engine/errors.h"
#include "tests/engine/keep_costs.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace kernels = offstage::kernels;
namespace tests = offstage::tests;

namespace {

std::unique_ptr<LoadedModel> open(const LoadRequest& request) {
    return std::make_unique<LoadedModel>(request, LoadedModel::Text::kWanted, LoadProgressFn{}, std::stop_token{});
}

using Rows = std::vector<std::vector<float>>;

Rows inSteps(LoadedModel& model, std::span<const TokenId> tokens, std::size_t step_size) {
    KvSequence sequence = model.new_sequence();
    Rows rows;
    while (!tokens.empty()) {
        const std::size_t n = std::min(step_size, tokens.size());
        const Segment segment{&sequence, tokens.first(n)};
        if (model.forward().step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) return {};
        const auto logits = model.forward().logits();
        rows.emplace_back(logits.begin(), logits.end());
        tokens = tokens.subspan(n);
    }
    return rows;
}

}  // namespace

class TestThresholdChoice : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void initTestCase() { demo_ = copyOfDemo(); }

    void steps_areThoseOfTheMostPairs() {
        QVERIFY(threshold_step(0) < 1e-3f && threshold_step(kThresholdSteps - 1) > 10);
        // Two experts: everything at 1 a pair; and 10 pairs for nothing, of which the
        // rest costs a lot.
        LeftOutCurve even, steep;
        for (int i = 0; i < kThresholdSteps; ++i) {
            even.pairs.push_back(i);
            even.worth.push_back(i);
            steep.pairs.push_back(10 * i);
            steep.worth.push_back(i <= 20 ? 0.01 * i : 0.2 + 1000.0 * (i - 20));
        }
        const LeftOutCurve curves[] = {even, steep};
        const std::vector<int> none = choose_steps(curves, 0);
        QVERIFY(none[0] == 0 && none[1] == 0);
        const std::vector<int> cheap = choose_steps(curves, 0.2);
        QVERIFY(cheap[0] == 0 && cheap[1] == 20);
        const std::vector<int> some = choose_steps(curves, 100);
        QCOMPARE(some[1], 20);
        QVERIFY2(some[0] == 0, "a hull of one slope is taken whole or not at all");
        const std::vector<int> all = choose_steps(curves, 1e9);
        QVERIFY(all[0] == kThresholdSteps - 1 && all[1] == kThresholdSteps - 1);
    }

    void chosen_costLessThanOneTheta() {
        const auto model = open(request());
        const std::vector<TokenId> tokens = text(80);
        std::vector<std::string> lines;
        const auto chosen = choose_thresholds(*model, tokens, {64, 48}, {0.005, 0.005},
                                              [&](const std::string& line) { lines.push_back(line); }, {});
        QCOMPARE(chosen.size(), std::size_t{1});
        QCOMPARE(lines.size(), std::size_t{1});
        QCOMPARE(chosen[0].loss, 0.005);
        QCOMPARE(model->forward().moe().thetas(), ExpertThetas());
        const ThetaReport report = measure_thetas(*model, tokens, {{64, 48}, {0.1, 0.2, 0.3}, 0, chosen}, {}, {}, {});
        QCOMPARE(report.rows.size(), std::size_t{5});
        for (std::size_t i = 0; i < 1; ++i) {
            const ThetaRow& row = report.rows[4 + i];
            QVERIFY2(chosen[i].mean_kl <= chosen[i].loss && chosen[i].mean_kl > 0.7 * chosen[i].loss,
                     qPrintable(QString::number(chosen[i].mean_kl)));
            // The same text again: the same figures.
            QCOMPARE(row.mean_kl, chosen[i].mean_kl);
            QCOMPARE(row.active_share, chosen[i].active_share);
            QCOMPARE(row.loss, chosen[i].loss);
            QCOMPARE(chosen[i].thetas.size(), std::size_t(8 * 8));
            QVERIFY(std::adjacent_find(chosen[i].thetas.begin(), chosen[i].thetas.end(), std::not_equal_to<>()) !=
                    chosen[i].thetas.end());
            const double one = share_of_one_theta(report, row.mean_kl);
            QVERIFY2(one > row.active_share + 0.01, qPrintable(QStringLiteral("%1 %2").arg(one).arg(row.active_share)));
        }
        NeuronThresholds kept = thresholds_of(report);
        QCOMPARE(kept.rows.size(), std::size_t{3});
        for (ChosenThresholds each : chosen) {
            each.text = "a.txt";
            add_chosen(kept, each);
        }
        write_neuron_thresholds(kept, neuron_thresholds_file(demo_));
        QVERIFY(read_neuron_thresholds(neuron_thresholds_file(demo_)).chosen == kept.chosen);
        QCOMPARE(thresholds_for(kept, 0.05)->loss, 0.005);
        QVERIFY(thresholds_for(kept, 0.001) == nullptr);
    }

    // An expert's place, and the kind of copy, change no bit; and each has its own theta.
    void places_changeNoBit() {
        writeThresholds([](int layer, int expert) { return 0.02f * static_cast<float>(1 + layer + expert); });
        LoadRequest asked = request();
        asked.theta_loss = 0.5;
        const auto cpu = open(asked);
        QCOMPARE(cpu->summary().theta_loss, 0.5);
        QVERIFY(std::abs(cpu->summary().theta - 0.16) < 1e-6);
        const std::vector<TokenId> tokens = text(14);
        for (const char* const policy : {"static", "transfer"}) {
            LoadRequest elsewhere = asked;
            elsewhere.device = "emulated:rtx-3060";
            elsewhere.dispatch = parse_dispatch(policy);
            elsewhere.sparse_loading = SparseLoading::kAlways;
            elsewhere.prefetch = PrefetchMode::kAlways;
            elsewhere.cache = CacheKind::kStatic;
            const auto whole = open(keepCosts(elsewhere));
            const Plan& plan = whole->plan();
            elsewhere.vram_bytes = plan.dense_bytes + plan.kv_bytes + plan.workspace_bytes + 4096 +
                                   24 * whole->experts().expert_bytes(whole->experts().format(0));
            const auto emulated = open(elsewhere);
            for (const std::size_t step_size : {1u, 3u, 14u}) {
                QCOMPARE(inSteps(*emulated, tokens, step_size), inSteps(*cpu, tokens, step_size));
            }
            const DispatchTotals totals = emulated->dispatcher().recorder().all_totals();
            QVERIFY(totals.resident_calls > 0);
            if (elsewhere.dispatch.decode == PolicyKind::kTransfer) QVERIFY(totals.sparse_copies > 0);
        }
        // All alike is one theta; an expert's own is not.
        const Rows own = inSteps(*cpu, tokens, 1);
        cpu->forward().moe().set_theta(ExpertThetas(std::vector<float>(64, 0.16f), 8));
        const Rows alike = inSteps(*cpu, tokens, 1);
        cpu->forward().moe().set_theta(0.16);
        QCOMPARE(inSteps(*cpu, tokens, 1), alike);
        QVERIFY(own != alike);
    }

    // Thresholds that leave out what the others of the layer keep: counted by expert.
    void counts_areOfEachExpertsOwn() {
        writeThresholds([](int layer, int expert) { return layer == 2 && expert % 2 == 0 ? 1e6f : 0.0f; });
        LoadRequest asked = request();
        asked.theta_loss = 0.5;
        const auto model = open(asked);
        static_cast<void>(inSteps(*model, text(30), 30));
        const Recorder& recorder = model->dispatcher().recorder();
        for (std::uint64_t i = 0; i < recorder.n_events(); ++i) {
            const LayerEvent& event = recorder.event(i);
            QCOMPARE(event.neurons > 0, event.layer == 2);
            QVERIFY(event.active_neurons == 0);
        }
    }

    void session_opensWithThem_untilAnotherIsSet() {
        writeThresholds([](int layer, int expert) { return 2.0f + 0.1f * static_cast<float>(layer + expert); });
        LoadRequest asked = request();
        asked.theta_loss = 0.5;
        LocalSession session;
        QCOMPARE(session.load(asked, {}, {}).theta_loss, 0.5);
        GenerationRequest question;
        question.messages = {{Role::kUser, "Tell me a story."}};
        question.sampler.temperature = 0;
        question.max_tokens = 10;
        const auto answer = [&] {
            session.reset_conversation();
            return session.generate(question, {}, {}).text;
        };
        const std::string own = answer();
        session.set_theta(0);
        const std::string dense = answer();
        QVERIFY(own != dense);
        asked.theta_loss = 0;
        session.load(asked, {}, {});
        QCOMPARE(answer(), dense);
    }

    // Set while the model is loaded they equal those at opening; a loss without stored
    // thresholds is refused.
    void session_setsThem_asOpeningDoes() {
        writeThresholds([](int layer, int expert) { return 0.2f + 0.02f * static_cast<float>(layer + expert); });
        LocalSession session;
        GenerationRequest question;
        question.messages = {{Role::kUser, "Tell me a story."}};
        question.sampler.temperature = 0;
        question.max_tokens = 10;
        const auto answer = [&] {
            session.reset_conversation();
            session.generate(question, {}, {});
            const auto logits = session.model()->forward().logits();
            return std::vector<float>(logits.begin(), logits.end());
        };
        LoadRequest asked = request();
        asked.theta_loss = 0.5;
        session.load(asked, {}, {});
        const std::vector<float> opened = answer();
        session.load(request(), {}, {});
        const std::vector<float> dense = answer();
        session.set_theta(ThetaChoice::for_loss(0.5));
        QVERIFY(answer() == opened && opened != dense);
        QVERIFY(session.model()->theta() == ThetaChoice::for_loss(0.5));
        // For another loss the same thresholds, as the largest stored up to it.
        session.set_theta(ThetaChoice::for_loss(0.7));
        QVERIFY(answer() == opened);
        const auto set = [&](const ThetaChoice& choice) { return tests::error_of([&] { session.set_theta(choice); }); };
        QCOMPARE(tests::mismatch(set(ThetaChoice::for_loss(0.1)), ErrorKind::kInvalidInput, "kept: 0.5"), QString());
        QCOMPARE(tests::mismatch(set(ThetaChoice::for_loss(-1)), ErrorKind::kInvalidInput, "loss of -1"), QString());
        QVERIFY(answer() == opened);  // a refusal changes nothing
        session.set_theta(0);
        QVERIFY(answer() == dense);
    }

    // Formats and neurons within one floor: bit by bit the result of the same settings
    // made by hand.
    void floorOfNats_isWhatByHandWouldBe() {
        NeuronThresholds kept = written([](int, int) { return 0.2f; });
        kept.chosen[0].mean_kl = 0.01;
        kept.chosen[0].active_share = 0.3;
        kept.formats = {{kernels::WeightType::kInt8, 0.002, "t", 1}};
        write_neuron_thresholds(kept, neuron_thresholds_file(demo_));
        QVERIFY(read_neuron_thresholds(neuron_thresholds_file(demo_)).formats == kept.formats);
        LoadRequest asked = request();
        asked.device = "emulated:rtx-3060-desktop";  // whose costs are the same on every machine
        asked.vram_bytes = std::uint64_t{14} << 20;  // not all experts find room there
        asked.quality.max_kl = 0.02;
        const std::vector<TokenId> tokens = text(12);
        const auto traded = open(asked);
        QCOMPARE(traded->summary().theta_loss, 0.5);
        QCOMPARE(traded->plan().neuron_kl, 0.01);
        QVERIFY(std::abs(traded->plan().format_kl - 0.002) < 1e-9);
        QVERIFY(std::any_of(traded->summary().notes.begin(), traded->summary().notes.end(), [](const Message& note) {
            return note.english().find("0.012 in sum") != std::string::npos;
        }));
        LoadRequest by_hand = asked;
        by_hand.quality = {};
        by_hand.quant.experts = kernels::WeightType::kInt8;
        by_hand.theta_loss = 0.5;
        const auto set = open(by_hand);
        QVERIFY(traded->plan().formats == set->plan().formats);
        QVERIFY(inSteps(*traded, tokens, 5) == inSteps(*set, tokens, 5));
        // Below what either costs nothing is given up.
        asked.quality.max_kl = 1e-9;
        const auto whole = open(asked);
        QVERIFY(whole->summary().theta_loss == 0 && whole->summary().theta == 0);
        by_hand.quant = {};
        by_hand.theta_loss = 0;
        QVERIFY(inSteps(*whole, tokens, 5) == inSteps(*open(by_hand), tokens, 5));
    }

    // A re-plan keeps the thresholds, and subtracts their loss from the floor; a preview
    // may choose them.
    void replan_ofAFloorOfNats_keepsTheta() {
        NeuronThresholds kept = written([](int, int) { return 0.2f; });
        kept.chosen[0].mean_kl = 0.01;
        kept.chosen[0].active_share = 0.3;
        kept.formats = {{kernels::WeightType::kInt8, 0.002, "t", 1}};
        write_neuron_thresholds(kept, neuron_thresholds_file(demo_));
        LoadRequest asked = request();
        asked.device = "emulated:rtx-3060-desktop";
        asked.vram_bytes = std::uint64_t{14} << 20;  // not all experts find room there
        asked.quality.max_loss = 1e-12;              // measures the formats' costs and gives up nothing
        LocalSession session;
        session.load(asked, {}, {});
        ReplanRequest wanted;
        wanted.quality = QualityFloor{.max_kl = 0.02};
        const ReplanPreview fixed = session.preview(wanted);
        QVERIFY(fixed.plan.theta == ThetaChoice());
        QVERIFY(fixed.plan.formats == std::vector<FormatId>(64, kernels::WeightType::kInt8));
        wanted.chooses_theta = true;
        const ReplanPreview chosen = session.preview(wanted);
        QVERIFY(chosen.plan.theta == ThetaChoice::for_loss(0.5));
        QVERIFY(chosen.after.decode_tokens_per_s > fixed.after.decode_tokens_per_s);
        // As a user applies it: with these thresholds, the plan is the same.
        wanted.chooses_theta = false;
        wanted.theta = chosen.plan.theta;
        const ReplanPreview applied = session.preview(wanted);
        QVERIFY(applied.plan.theta == chosen.plan.theta && applied.plan.formats == chosen.plan.formats &&
                applied.plan.places == chosen.plan.places);
        // And what costs more than the floor is refused.
        wanted.quality->max_kl = 0.005;
        QCOMPARE(tests::mismatch(tests::error_of([&] { session.preview(wanted); }), ErrorKind::kInvalidInput,
                                 "more than the floor of 0.005"),
                 QString());
    }

    void wrongOnes_areNamed() {
        LoadRequest asked = request();
        asked.theta_loss = 1e-7;
        writeThresholds([](int, int) { return 0.1f; });
        QCOMPARE(tests::mismatch(tests::error_of([&] { open(asked); }), ErrorKind::kInvalidInput, "kept: 0.5"),
                 QString());
        asked.theta_loss = -1;
        QCOMPARE(tests::mismatch(tests::error_of([&] { open(asked); }), ErrorKind::kInvalidInput, "loss of -1"),
                 QString());
        asked.theta_loss = 0.5;
        NeuronThresholds other = written([](int, int) { return 0.1f; });
        other.chosen[0].n_experts = 4;
        other.chosen[0].layer_shares.assign(16, 0.5);
        write_neuron_thresholds(other, neuron_thresholds_file(demo_));
        QCOMPARE(tests::mismatch(tests::error_of([&] { open(asked); }), ErrorKind::kInvalidInput, "16 layers of 4"),
                 QString());

        const std::string head =
            R"({"format": "offstage-neuron-thresholds", "version": 1, "n_tokens": 1, "perplexity": 1, "rows": [], "chosen": )";
        const auto row = [](const char* loss, const char* layers, const char* thetas) {
            return std::string(R"({"loss": )") + loss +
                   R"(, "n_tokens": 1, "active_share": 1, "perplexity": 1, "mean_kl": 0, "same_top": 1, "layers": )" +
                   layers + R"(, "thetas": )" + thetas + "}";
        };
        QCOMPARE(
            parse_neuron_thresholds(head + "[" + row("0.1", "[1, 0.5]", "[[0.1], [0.2]]") + "]}", "f").chosen[0].thetas,
            (std::vector<float>{0.1f, 0.2f}));
        const std::pair<std::string, std::string> damaged[] = {
            {head + "3}", "a list of at most 16"},
            {head + "[3]}", "a list of at most 16"},
            {head + "[" + row("0.1", "[1]", "[[1]]") + "," + row("0.1", "[1]", "[[1]]") + "]}", "ascends"},
            {head + "[" + row("0.1", "[2]", "[[1]]") + "]}", "a share from 0 to 1"},
            {head + "[" + row("0.1", "[]", "[[1]]") + "]}", "a share from 0 to 1"},
            {head + "[" + row("0.1", "[1]", "[[1], [1]]") + "]}", "chosen[0].thetas"},
            {head + "[" + row("0.1", "[1, 1]", "[[1], [1, 2]]") + "]}", "chosen[0].thetas"},
            {head + "[" + row("0.1", "[1]", "[[-1]]") + "]}", "chosen[0].thetas"},
            {head + "[" + row("0.1", "[1]", "[[\"1\"]]") + "]}", "chosen[0].thetas"}};
        const std::string rows = head.substr(0, head.find("\"chosen\"")) + "\"formats\": ";
        const std::string hqq4 = R"({"format": "hqq4", "mean_kl": 0.5, "n_tokens": 3})";
        QCOMPARE(parse_neuron_thresholds(rows + "[" + hqq4 + "]}", "f").formats.at(0).mean_kl, 0.5);
        const std::pair<std::string, std::string> damaged_formats[] = {
            {rows + "3}", "a list of objects"},
            {rows + "[3]}", "a list of objects"},
            {rows + "[" + hqq4 + "," + hqq4 + "]}", "each format once"},
            {rows + R"([{"format": "hqq9", "mean_kl": 0.5, "n_tokens": 3}]})", "formats[0].format"},
            {rows + R"([{"format": "hqq4", "mean_kl": -1, "n_tokens": 3}]})", "formats[0].mean_kl"}};
        for (const auto& [text, told] : damaged_formats) {
            QCOMPARE(tests::mismatch(tests::error_of([&] { parse_neuron_thresholds(text, "f"); }),
                                     ErrorKind::kInvalidModel, told.c_str()),
                     QString());
        }
        for (const auto& [text, told] : damaged) {
            QCOMPARE(tests::mismatch(tests::error_of([&] { parse_neuron_thresholds(text, "f"); }),
                                     ErrorKind::kInvalidModel, told.c_str()),
                     QString());
        }
        NeuronThresholds many;
        for (int i = 1; i <= 20; ++i) {
            ChosenThresholds chosen = written([](int, int) { return 0.1f; }).chosen[0];
            chosen.loss = 0.01 * (i * 7 % 20 + 1);  // in no order
            add_chosen(many, chosen);
            add_chosen(many, chosen);
        }
        QCOMPARE(many.chosen.size(), kMostChosen);
        QCOMPARE(thresholds_for(many, 0.1055)->loss, 0.1);
        QVERIFY(thresholds_for(many, 0.01) == nullptr);
        QVERIFY(std::is_sorted(many.chosen.begin(), many.chosen.end(),
                               [](const auto& a, const auto& b) { return a.loss < b.loss; }));
    }

  private:
    template <typename ThetaOf>
    static NeuronThresholds written(const ThetaOf& theta_of) {
        NeuronThresholds kept{"demo", "t", "BF16", 1, 1, {}, {}, {}};
        ChosenThresholds chosen;
        chosen.loss = 0.5;
        chosen.n_tokens = 1;
        chosen.n_experts = 8;
        chosen.layer_shares.assign(8, 0.5);
        for (int i = 0; i < 64; ++i) chosen.thetas.push_back(theta_of(i / 8, i % 8));
        kept.chosen.push_back(chosen);
        return kept;
    }
    template <typename ThetaOf>
    void writeThresholds(const ThetaOf& theta_of) const {
        write_neuron_thresholds(written(theta_of), neuron_thresholds_file(demo_));
    }
    // Links to its files: thresholds are stored beside the links.
    std::string copyOfDemo() const {
        const std::filesystem::path from = demoModel();
        const std::filesystem::path to = folder_.filePath(QStringLiteral("demo")).toStdString();
        std::filesystem::create_directory(to);
        for (const auto& entry : std::filesystem::directory_iterator(from)) {
            const std::string name = entry.path().filename().string();
            if (name == "neuron_thresholds.json" || entry.is_directory()) continue;
            std::filesystem::create_symlink(std::filesystem::canonical(entry.path()), to / name);
        }
        return to.string();
    }
    LoadRequest request() const {
        LoadRequest request;
        request.model = demo_;
        request.compute = ComputeMode::kF32;
        request.context = 160;
        request.n_threads = 1;
        request.cache_directory = cache_.path().toStdString();
        request.checks_costs = false;
        request.prefetch = PrefetchMode::kOff;
        request.learn_placement = false;
        return request;
    }
    static std::vector<TokenId> text(std::size_t n) {
        const auto golden = readJson(sourcePath(QStringLiteral("tests/engine/data/demo_golden.json")));
        std::vector<TokenId> tokens;
        while (tokens.size() < n) {
            for (const QJsonValue& each : golden[QLatin1String("cases")].toArray()) {
                for (const TokenId token : tokensOf(each[QLatin1String("tokens")].toArray())) tokens.push_back(token);
            }
        }
        tokens.resize(n);
        return tokens;
    }

    QTemporaryDir folder_, cache_;
    std::string demo_;
};

QTEST_GUILESS_MAIN(TestThresholdChoice)
#include "tst_threshold_choice.moc"
