#include <cmath>

#include <QtTest>

#include "engine/plan/cost_model.h"

using namespace offstage::engine;
namespace kernels = offstage::kernels;

namespace {

CostTable table() {
    CostTable t;
    t.weight_copy_us = 100;
    t.activation_copy = {{1, 1}, {101, 101}};
    t.gpu_expert = {{1, 10}, {4, 16}, {16, 16}};
    t.cpu_expert = {{1, 50}, {2, 60}, {4, 100}};
    return t;
}

}  // namespace

class TestCostModel : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void time_betweenAndBeyondPoints_isLinear_data() {
        QTest::addColumn<qint64>("tokens");
        QTest::addColumn<double>("cpu");
        QTest::addColumn<double>("gpu");
        QTest::newRow("none") << qint64{0} << 0.0 << 0.0;
        QTest::newRow("a point") << qint64{2} << 60.0 << 12.0;
        QTest::newRow("between") << qint64{3} << 80.0 << 14.0;
        QTest::newRow("the last") << qint64{4} << 100.0 << 16.0;
        QTest::newRow("beyond the CPU's last") << qint64{14} << 300.0 << 16.0;
        QTest::newRow("beyond both") << qint64{104} << 2100.0 << 16.0;
    }
    void time_betweenAndBeyondPoints_isLinear() {
        QFETCH(qint64, tokens);
        QFETCH(double, cpu);
        QFETCH(double, gpu);
        const CostModel model(table());
        QCOMPARE(model.cpu_us(tokens), cpu);
        QCOMPARE(model.gpu_us(tokens), gpu);
        QCOMPARE(model.weight_copy_us(), 100.0);
    }

    void time_beyondAFallingSegment_staysAtTheLastPoint() {
        CostTable t = table();
        t.cpu_expert = {{1, 50}, {2, 49}};
        QCOMPARE(CostModel(t).cpu_us(1000), 49.0);
        t.cpu_expert = {{4, 50}};
        QCOMPARE(CostModel(t).cpu_us(1), 50.0);
        QCOMPARE(CostModel(t).cpu_us(1000), 50.0);
        t.cpu_expert = {};
        QCOMPARE(CostModel(t).cpu_us(1), 0.0);
    }

    // With a theta the CPU reads w1 and a part of the rest; a copy needs the CPU's part
    // and less of the bus.
    void costs_ofActiveNeurons() {
        CostModel model(table());
        const auto whole = model.expert_costs({}, 1, model.master());
        QCOMPARE(whole.cpu_us, 50.0);
        QCOMPARE(whole.copy_us, 100.0);
        QCOMPARE(whole.preparing_us, 0.0);
        QCOMPARE(model.active_share(0, 1), 1.0);
        model.set_theta(0.25, SparseLoading::kAuto, 0);
        QCOMPARE(model.active_share(3, 1), kUnknownActiveShare);
        model.set_theta(0.25, SparseLoading::kAuto, 0.4);
        QCOMPARE(model.active_share(3, 1), 0.4);
        QVERIFY(std::abs(model.active_share(3, 2) - (1 - 0.36)) < 1e-12);
        const auto costs = model.expert_costs({}, 1, model.master());
        QCOMPARE(costs.cpu_us, 50.0);  // nothing was measured, so that nothing is gained
        QVERIFY(std::abs(costs.copy_us - (0.5 + 0.4 * 99.5)) < 1e-12 && std::abs(costs.gpu_us - 4) < 1e-12);
        QVERIFY(std::abs(costs.preparing_us - (50.0 / 3 + 0.4 * 2 * 50)) < 1e-9);
        QVERIFY(std::abs(model.cross_over(model.master()) - 99.5 / 199.5) < 1e-12);
        // Counts replace the guess, layer by layer, and older ones count less.
        model.add_active(3, 1000, 200);
        QCOMPARE(model.active_share(3, 1), 0.2);
        QCOMPARE(model.active_share(2, 1), 0.4);
        QCOMPARE(model.active_share(-1, 1), 0.2);
        for (int i = 0; i < 200; ++i) model.add_active(3, 1000, 600);
        QVERIFY(std::abs(model.active_share(3, 1) - 0.6) < 0.01);
        // Many rows, a prompt's steps and files' blocks are computed or copied whole.
        QCOMPARE(model.expert_costs({}, 9, model.master()).cpu_us, model.cpu_us(9));
        QCOMPARE(model.expert_costs({2, true}, 1, model.master()).copy_us, 100.0);
        QVERIFY(!model.copies_sparse(2, 1, kernels::WeightType::kQ4K));
        // So is an expert whose neurons take longer to find than its copy takes.
        for (int i = 0; i < 100; ++i) model.correct_choosing(1, 8);
        QVERIFY(!model.copies_sparse(2, 1, model.master()));
        QCOMPARE(model.expert_costs({2, false}, 1, model.master()).preparing_us, 0.0);
        model.set_theta(0.25, SparseLoading::kAlways, 0.4);
        QVERIFY(model.copies_sparse(2, 1, model.master()) && !model.copies_sparse(2, 8, model.master()));
        for (int i = 0; i < 100; ++i) model.correct_gathering(1, 6);
        QVERIFY(model.cross_over(model.master()) < 0.2);
        // Another theta leaves out other neurons; without one everything is as before.
        model.set_theta(0.1, SparseLoading::kOff, 0);
        QCOMPARE(model.active_share(3, 1), kUnknownActiveShare);
        QCOMPARE(model.expert_costs({}, 1, model.master()).copy_us, 100.0);
        // Neurons that are present are not copied; and layers with counts have separate
        // shares.
        const std::vector<double> of_layers = {0.2, 0.6};
        model.set_theta(0.3, SparseLoading::kAlways, 0.4, of_layers);
        QCOMPARE(model.active_share(0, 1), 0.2);
        QCOMPARE(model.active_share(1, 1), 0.6);
        QCOMPARE(model.active_share(2, 1), 0.4);
        QCOMPARE(model.active_share(-1, 1), 0.4);
        const auto format = model.master();
        const CostModel::ExpertCosts none = model.expert_costs({1, false}, 1, format);
        const CostModel::ExpertCosts half = model.expert_costs({1, false}, 1, format, 0.5);
        QCOMPARE(none.copied_share, 0.6);
        QCOMPARE(half.copied_share, 0.3);
        QVERIFY(half.copy_us < none.copy_us && half.preparing_us < none.preparing_us);
        QCOMPARE(half.gpu_us, none.gpu_us);
        model.add_active(1, 100, 10);
        QCOMPARE(model.active_share(1, 1), 0.1);
        model.set_theta(0, SparseLoading::kAuto, 0.4);
        QCOMPARE(model.expert_costs({}, 1, model.master()).cpu_us, 50.0);
        QCOMPARE(model.active_share(3, 1), 1.0);
    }

    // As measured with some shares of the neurons, between them and beyond; for each
    // format separately.
    void costs_ofActiveNeurons_areTheMeasuredOnes() {
        using offstage::kernels::WeightType;
        CostTable t = table();
        t.sparse_cpu = {{0.2, 0.8}, {0.6, 1.0}};
        CostModel model(t);
        const auto factor = [&](double share, WeightType format) {
            model.set_theta(0.25, SparseLoading::kOff, share);
            return model.expert_costs({}, 1, format).cpu_us / model.cpu_us(1, format);
        };
        const auto near = [](double a, double b) { return std::abs(a - b) < 1e-12; };
        QVERIFY(near(factor(0.2, model.master()), 0.8));
        QVERIFY(near(factor(0.4, model.master()), 0.9));
        QVERIFY(near(factor(0.8, model.master()), 1.1));  // a loss is shown as a loss
        QVERIFY(near(factor(0.1, model.master()), 0.75));
        model.set_table(WeightType::kHqq4, table());
        QCOMPARE(factor(0.2, WeightType::kHqq4), 1.0);
        t.sparse_cpu = {{0.5, 0.2}, {0.6, 0.9}};
        model.set_table(WeightType::kHqq4, t);
        QVERIFY(near(factor(0.1, WeightType::kHqq4), 1.0 / 3));  // w1 is read in any case
        QCOMPARE(model.expert_costs({}, 9, WeightType::kHqq4).cpu_us, model.cpu_us(9, WeightType::kHqq4));
    }

    // Work that takes twice as long is predicted so after some layers, for its group of
    // token counts only.
    void correction_ofASteadyError_learnsIt_data() {
        QTest::addColumn<double>("factor");
        for (const double factor : {0.5, 2.0, 7.0}) QTest::addRow("%g", factor) << factor;
    }
    void correction_ofASteadyError_learnsIt() {
        QFETCH(double, factor);
        CostModel model(table());
        for (int i = 0; i < 100; ++i) model.correct(CostModel::Side::kCpu, 3, model.cpu_us(3), 80 * factor);
        QVERIFY(std::abs(model.cpu_us(3) / (80 * factor) - 1) < 0.01);
        QVERIFY(std::abs(model.cpu_us(8) / (180 * factor) - 1) < 0.01);  // the same group
        QCOMPARE(model.cpu_us(1), 50.0);
        QCOMPARE(model.cpu_us(9), 200.0);
        QCOMPARE(model.gpu_us(3), 14.0);
    }

    void correction_ofOneOutlier_movesLittle() {
        CostModel model(table());
        model.correct(CostModel::Side::kGpu, 1, 10, 1000);
        const double factor = model.gpu_us(1) / CostModel(table()).gpu_us(1);
        QVERIFY(factor < 1.6);
        QVERIFY(factor > 1.5);
    }

    void correction_withoutEnd_staysInBounds() {
        CostModel model(table());
        for (int i = 0; i < 1000; ++i) {
            model.correct(CostModel::Side::kGpu, 1, 1, 1e9);
            model.correct(CostModel::Side::kCpu, 1, 1e9, 1);
        }
        QCOMPARE(model.gpu_us(1), 8 * CostModel(table()).gpu_us(1));
        QCOMPARE(model.cpu_us(1), CostModel(table()).cpu_us(1) / 8);
    }

    void correction_ofNothing_isIgnored() {
        CostModel model(table());
        model.correct(CostModel::Side::kCpu, 1, 0, 5);
        model.correct(CostModel::Side::kCpu, 1, 5, 0);
        model.correct(CostModel::Side::kCpu, 1, 5, std::nan(""));
        model.correct(CostModel::Side::kCpu, 1, 5, std::numeric_limits<double>::infinity());
        QCOMPARE(model.cpu_us(1), 50.0);
    }

    void time_ofAnotherFormat_isItsOwnTables_elseScaledByBytes() {
        using offstage::kernels::WeightType;
        CostTable t = table();
        t.expert_bytes = 1000;
        t.disk = {700, 40};
        CostModel model(t);
        model.set_expert_bytes(WeightType::kHqq4, 250);
        QCOMPARE(model.cpu_us(2, WeightType::kHqq4), 15.0);
        QCOMPARE(model.gpu_us(1, WeightType::kHqq4), 2.5);
        QCOMPARE(model.weight_copy_us(WeightType::kHqq4), 25.0);
        QCOMPARE(model.disk_read(WeightType::kHqq4).us, 175.0);
        QCOMPARE(model.disk_read(WeightType::kHqq4).cpu_us, 10.0);
        QCOMPARE(model.cpu_us(2), 60.0);
        CostTable own = table();
        own.expert_bytes = 200;
        own.cpu_expert = {{1, 33}};
        model.set_table(WeightType::kHqq4, own);
        QCOMPARE(model.cpu_us(2, WeightType::kHqq4), 33.0);
        QCOMPARE(model.disk_read(WeightType::kHqq4).us, 140.0);  // not measured for that format: by its bytes
        // A correction applies to the side, for every format.
        for (int i = 0; i < 100; ++i) model.correct(CostModel::Side::kCpu, 1, 50, 100);
        QCOMPARE(model.cpu_us(1, WeightType::kHqq4) / 33, model.cpu_us(1) / 50);
    }

    void denseTime_growsWithTokensAndWithWhatIsBefore() {
        DenseCosts dense;
        QVERIFY(!dense.known());
        QCOMPARE(dense.step_us(5, 100), 0.0);
        dense.step = {{1, 100}, {2, 110}, {4, 130}};
        dense.past = {{100, 50}, {200, 60}};
        dense.pairs = {{8, 4}};
        QVERIFY(dense.known());
        QCOMPARE(dense.step_us(1, 0), 100.0);
        QCOMPARE(dense.step_us(1, 50), 125.0);
        QCOMPARE(dense.step_us(1, 150), 155.0);
        QCOMPARE(dense.step_us(1, 400), 180.0);
        QCOMPARE(dense.step_us(4, 0), 130.0);
        QCOMPARE(dense.step_us(4, 10), 150.0);
        // 4, 4 and 2 tokens, with 0, 4 and 8 before them
        QCOMPARE(dense.prompt_us(10, 4), 130.0 + 138.0 + 118.0);
    }

    void correction_ofCopies_isOneForAllTokenCounts() {
        CostModel model(table());
        for (int i = 0; i < 200; ++i) model.correct(CostModel::Side::kCopy, 500, model.weight_copy_us(), 150);
        QVERIFY(std::abs(model.weight_copy_us() - 150) < 0.1);
    }
};

QTEST_GUILESS_MAIN(TestCostModel)
#include "tst_cost_model.moc"
