// An executor beside the accelerator and the CPU, as another machine would be: the policy
// gives it its share, and no result changes.

#include <QtTest>

#include "engine/run/loaded_model.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

// Has every other expert, and computes with it at once.
class Neighbour final : public ElsewhereExecutor {
  public:
    struct Counts {
        int rows = 0, layers = 0;
        int strange = 0;  // experts that it does not have
    };
    Neighbour(LoadedModel& model, double us, Counts& counts) : model_(model), us_(us), counts_(counts) {}
    bool takes(std::int64_t layer, std::int64_t expert) const override { return (layer + expert) % 2 == 0; }
    double expert_us(offstage::kernels::WeightType, std::int64_t) const override { return us_; }
    double transfer_us(std::int64_t) const override { return us_; }
    void submit(LayerWork& work, std::span<const std::size_t> groups) override {
        calls_.clear();
        for (const std::size_t g : groups) {
            const RowGroup& group = work.rows.groups()[g];
            counts_.rows += static_cast<int>(group.n_rows);
            counts_.strange += takes(work.layer, group.expert) ? 0 : 1;
            calls_.push_back({model_.experts().on_host(work.layer, group.expert), group.first_row, group.n_rows});
        }
        if (groups.empty()) return;
        ++counts_.layers;
        model_.host().experts(calls_, work.inputs.get(), work.rows.host_row_token(), work.rows.outputs().host());
    }
    void complete(LayerWork& work, std::span<const std::size_t> groups) override { work.rows.upload(groups); }

  private:
    LoadedModel& model_;
    double us_;
    Counts& counts_;
    std::vector<ExpertCall> calls_;
};

LoadRequest partlyResident(const std::string& policy, const std::string& cache) {
    LoadRequest request;
    request.model = demoModel();
    request.device = "emulated:rtx-3060";
    request.vram_bytes = 12 << 20;
    request.dispatch = parse_dispatch(policy);
    request.cache_directory = cache;
    request.context = 256;
    request.cache = CacheKind::kStatic;
    request.prefetch = PrefetchMode::kOff;
    return request;
}

std::vector<float> logitsOf(LoadedModel& model) {
    KvSequence sequence = model.new_sequence();
    std::vector<TokenId> tokens;
    for (int i = 0; i < 24; ++i) tokens.push_back(5 + i * 37 % 900);
    std::span<const TokenId> next(tokens);
    std::vector<float> all;
    for (int i = 0; i < 12; ++i) {
        const Segment segment{&sequence, next};
        if (model.forward().step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) return {};
        const auto logits = model.forward().logits();
        all.insert(all.end(), logits.begin(), logits.end());
        tokens = {static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin())};
        next = tokens;
    }
    return all;
}

}  // namespace

class TestExecutors : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void neighbour_takesItsShare_andNoBitChanges_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<double>("us");
        QTest::addColumn<bool>("used");
        QTest::newRow("balanced, fast") << QStringLiteral("balanced") << 0.001 << true;
        QTest::newRow("threshold, fast") << QStringLiteral("threshold") << 0.001 << true;
        QTest::newRow("balanced, slow") << QStringLiteral("balanced") << 1e9 << false;
        QTest::newRow("static") << QStringLiteral("static") << 0.001 << false;
    }
    void neighbour_takesItsShare_andNoBitChanges() {
        QFETCH(QString, policy);
        QFETCH(double, us);
        QFETCH(bool, used);
        QTemporaryDir cache;
        const LoadRequest request = partlyResident(policy.toStdString(), cache.path().toStdString());
        const auto open = [&] {
            return std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{},
                                                 std::stop_token{});
        };
        const auto alone = open();
        const std::vector<float> expected = logitsOf(*alone);
        QVERIFY(!expected.empty());

        const auto model = open();
        Neighbour::Counts counts;
        model->forward().moe().add_executor(std::make_unique<Neighbour>(*model, us, counts));
        QVERIFY(logitsOf(*model) == expected);
        QCOMPARE(counts.rows > 0, used);
        QCOMPARE(counts.strange, 0);

        const DispatchTotals& totals = model->dispatcher().totals();
        const std::uint64_t here = totals.resident_calls + totals.copied_calls + totals.cpu_calls;
        QCOMPARE(here < totals.expert_calls, used);
    }
};

QTEST_GUILESS_MAIN(TestExecutors)
#include "tst_executors.moc"
