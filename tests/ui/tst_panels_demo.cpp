// The panels on the real engine: the demo model on an emulated device too small for its
// experts.
#include <QFile>
#include <QMenu>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "engine/plan/schedule.h"
#include "kernels/formats.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/panel_parts.h"
#include "tests/ui/window_fixture.h"
#include "ui/engine/engine_controller.h"
#include "ui/panels/cache_panel.h"
#include "ui/panels/dispatch_panel.h"
#include "ui/panels/expert_actions.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/selection.h"

using namespace offstage;
using namespace offstage::ui;
using State = EngineController::State;

class TestPanelsDemo : public QObject {
    Q_OBJECT

    static constexpr MessageId kMessage = 1;
    std::unique_ptr<EngineController> m_engine;
    std::unique_ptr<TokenLog> m_log;
    std::unique_ptr<Selection> m_selection;
    std::unique_ptr<ExpertsPanel> m_experts;
    std::unique_ptr<CachePanel> m_cache;
    std::unique_ptr<DispatchPanel> m_dispatch;
    QString m_text;

  private Q_SLOTS:
    void initTestCase() {
        const QString model = test::demoModel();
        if (!QFile::exists(model)) {
            QSKIP("the demo model is not in this tree");
        }
        m_engine = std::make_unique<EngineController>([] { return engine::Session::create(); });
        m_log = std::make_unique<TokenLog>(*m_engine);
        m_selection = std::make_unique<Selection>(*m_log);
        m_experts = std::make_unique<ExpertsPanel>(*m_engine);
        m_experts->setSelection(*m_selection);
        m_cache = std::make_unique<CachePanel>(*m_engine, *m_selection);
        m_dispatch = std::make_unique<DispatchPanel>(*m_engine, *m_selection);
        for (QWidget* panel : std::initializer_list<QWidget*>{m_experts.get(), m_cache.get(), m_dispatch.get()}) {
            panel->resize(360, 1000);
            panel->show();
        }
        connect(m_engine.get(), &EngineController::streamed, this, [this](quint64, const StreamedText& piece) {
            m_log->addTokens(kMessage, static_cast<int>(m_text.size()), piece);
            m_text += piece.text;
        });
        engine::LoadRequest request;
        request.model = model.toStdString();
        request.device = "emulated:rtx-3060-desktop";
        request.vram_bytes = 16U << 20;
        request.context = 512;
        m_engine->openModel(request);
        QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), State::Ready, 60'000);
        engine::GenerationRequest question;
        question.messages = {{engine::Role::kUser, "What is a mixture of experts?"}};
        question.sampler.temperature = 0;
        question.max_tokens = 60;
        QSignalSpy answered(m_engine.get(), &EngineController::answered);
        m_engine->generate(question);
        QTRY_COMPARE_WITH_TIMEOUT(answered.size(), 1, 60'000);
        QTRY_COMPARE(m_engine->state(), State::Ready);
        QTRY_COMPARE(m_dispatch->snapshot().revision, m_engine->snapshot()->revision);
    }

    void everyToken_hasItsLayersAndExperts() {
        const int count = m_log->tokenCount(kMessage);
        QVERIFY(count >= 10);
        QCOMPARE(m_log->lostEvents(), quint64(0));
        const auto& model = *m_engine->model();
        for (int i = 0; i < count; ++i) {
            const LoggedStep* step = m_log->step(m_log->token(kMessage, i)->step);
            QVERIFY(step != nullptr);
            QCOMPARE(static_cast<std::int64_t>(step->layers.size()), model.n_layers);
            if (i > 0) {
                QCOMPARE(static_cast<std::int64_t>(m_log->expertsOf(*m_log->token(kMessage, i)).size()),
                         model.n_layers * model.n_active);
            }
        }
    }

    // As many come to the device as the preview has said.
    void pinPreview_promisesWhatFits() {
        HeatMap& map = m_experts->map();
        const auto nThere = [this] {
            const std::vector<std::uint8_t> places = m_engine->snapshot()->experts.place;
            return std::count(places.begin(), places.begin() + 48, static_cast<std::uint8_t>(engine::Place::kDevice));
        };
        map.setArea(HeatMap::Area{0, 5, 0, 7});
        QTRY_COMPARE(m_experts->snapshot().revision, m_engine->snapshot()->revision);
        const auto before = nThere();
        QMenu* menu = test::find<QToolButton>(*m_experts, "Change the selected experts").menu();
        Q_EMIT menu->aboutToShow();
        menu->actions().at(0)->trigger();
        static const QRegularExpression form(
            QStringLiteral("^Pin 48 experts: (\\d+) are on the device, and it has places for (\\d+) more"));
        const QRegularExpressionMatch said = form.match(m_experts->notice());
        QVERIFY2(said.hasMatch(), qPrintable(m_experts->notice()));
        QCOMPARE(said.captured(1).toInt(), static_cast<int>(before));
        QTest::mouseClick(&test::find<QPushButton>(*m_experts, "Apply"), Qt::LeftButton);
        QTRY_VERIFY2_WITH_TIMEOUT(m_experts->notice().contains(QStringLiteral("are pinned")),
                                  qPrintable(m_experts->notice()), 60'000);
        QTRY_COMPARE(nThere() - before, said.captured(2).toLong());
        QTest::mouseClick(&test::find<QPushButton>(*m_experts, "Undo"), Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(nThere(), before, 60'000);
        map.setArea({});
    }

    void expertAndToken_leadToEachOther() {
        const int middle = m_log->tokenCount(kMessage) / 2;
        QVERIFY(m_selection->selectToken(kMessage, middle));
        const auto experts = m_selection->expertsOfToken();
        QCOMPARE(m_experts->map().highlighted().size(), experts.size());
        const TextRange text = m_log->token(kMessage, middle)->text;
        for (const ExpertId& expert : experts) {
            const auto ranges = m_log->textOf(expert).value(kMessage);
            QVERIFY(text.begin == text.end || std::any_of(ranges.begin(), ranges.end(), [&](const TextRange& range) {
                        return range.begin <= text.begin && text.end <= range.end;
                    }));
        }
        QVERIFY(!m_dispatch->timeline().spans().empty());
        m_dispatch->explain(0, std::nullopt);
        QVERIFY2(test::whyOf(*m_dispatch).contains(QStringLiteral("Expert ")), qPrintable(test::whyOf(*m_dispatch)));
        QVERIFY(m_dispatch->badge().contains(QStringLiteral("emulated")));
        test::showMeanOf(*m_dispatch, 256);
        const bool loads = m_dispatch->snapshot().totals.bytes_copied > 0;
        QCOMPARE(test::hiddenOf(*m_dispatch).startsWith(QStringLiteral("Hidden: ")), loads);
        QCOMPARE(m_dispatch->width(), 360);  // long names do not widen it
    }

    void cache_agreesWithTheEngine() {
        std::uint64_t tokens = 0, resident = 0;
        for (const LoggedStep& step : m_log->steps()) {
            for (const auto& event : step.layers) {
                for (const auto& a : step.assignmentsOf(event)) {
                    tokens += a.n_tokens;
                    resident += static_cast<engine::ExecutionTarget>(a.target) == engine::ExecutionTarget::kResident
                                    ? a.n_tokens
                                    : 0;
                }
            }
        }
        const engine::DispatchTotals& totals = m_cache->snapshot().totals;
        QCOMPARE(tokens, totals.routed_tokens);
        QCOMPARE(resident, totals.resident_tokens);
        QVERIFY(m_cache->hits().points(0).size() + 2 >= static_cast<size_t>(m_log->tokenCount(kMessage)));
        QVERIFY(totals.routed_tokens > 0);
        QVERIFY2(m_cache->cost().isEmpty(), qPrintable(m_cache->cost()));  // emulated: its tokens are not timed
    }

    void expert_givenFewerBits_isShown() {
        m_experts->setChannel(ExpertChannel::Precision);
        m_experts->actions().change(engine::ExpertChange::Kind::kFormat, {{1, 2}}, kernels::WeightType::kHqq4);
        QTRY_VERIFY_WITH_TIMEOUT(!m_experts->actions().isWatching(), 60'000);
        QVERIFY2(m_experts->notice().contains(QStringLiteral("4 bit")), qPrintable(m_experts->notice()));
        const auto at = static_cast<size_t>(m_engine->model()->n_experts + 2);
        QTRY_COMPARE(m_experts->snapshot().experts.format[at], static_cast<std::uint8_t>(kernels::WeightType::kHqq4));
    }

    // Experts that left for pins, or were evicted, are there again after Undo: before,
    // the device held one expert less, or others.
    void changes_undone_theDeviceHoldsWhatItHeld_data() {
        QTest::addColumn<bool>("pins");
        QTest::newRow("pinned") << true;
        QTest::newRow("evicted") << false;
    }
    void changes_undone_theDeviceHoldsWhatItHeld() {
        QFETCH(const bool, pins);
        const auto isThere = [this] {
            const std::vector<std::uint8_t> places = m_engine->snapshot()->experts.place;
            std::vector<bool> there;
            for (const std::uint8_t place : places) {
                there.push_back(static_cast<engine::Place>(place) == engine::Place::kDevice);
            }
            return there;
        };
        const std::vector<bool> before = isThere();
        const int columns = static_cast<int>(m_engine->model()->n_experts);
        std::vector<ExpertId> chosen;
        for (std::size_t i = 0; i < before.size() && chosen.size() < 4; ++i) {
            if (before[i] != pins) {
                chosen.push_back({static_cast<int>(i) / columns, static_cast<int>(i) % columns});
            }
        }
        QCOMPARE(chosen.size(), std::size_t(4));
        m_experts->actions().change(pins ? engine::ExpertChange::Kind::kPin : engine::ExpertChange::Kind::kEvict,
                                    chosen);
        QTRY_VERIFY_WITH_TIMEOUT(!m_experts->actions().isWatching(), 60'000);
        QTRY_VERIFY(isThere() != before);
        const std::vector<bool> after = isThere();
        const auto count = [](const std::vector<bool>& there) { return std::count(there.begin(), there.end(), true); };
        QCOMPARE(count(after), count(before) - (pins ? 0 : 4));
        QPushButton& undo = test::find<QPushButton>(*m_experts, "Undo");
        QTRY_VERIFY(undo.isEnabled());
        undo.setFocus();
        QTest::keyClick(&undo, Qt::Key_Space);
        QTRY_VERIFY_WITH_TIMEOUT(!m_experts->actions().isWatching(), 60'000);
        QTRY_COMPARE(m_experts->notice(), QStringLiteral("4 experts are as before."));
        QTRY_VERIFY(isThere() == before);
        const std::vector<std::uint8_t> pinned = m_engine->snapshot()->experts.pinned;
        QVERIFY(std::count(pinned.begin(), pinned.end(), 1) == 0);
    }

    // The neurons that a theta skips show in the experts and their times.
    void theta_isSeenInExpertsAndDispatch() {
        QVERIFY(!test::idleOf(*m_dispatch).contains(QStringLiteral("Skipped")));
        m_experts->setChannel(ExpertChannel::Active);
        QCOMPARE(m_experts->map().rows(), 0);
        QVERIFY(m_engine->setTheta(0.3));
        engine::GenerationRequest question;
        question.messages = {{engine::Role::kUser, "What is a mixture of experts?"}};
        question.sampler.temperature = 0;
        question.max_tokens = 20;
        QSignalSpy answered(m_engine.get(), &EngineController::answered);
        m_engine->generate(question);
        QTRY_COMPARE_WITH_TIMEOUT(answered.size(), 1, 60'000);
        QTRY_COMPARE(m_experts->map().rows(), static_cast<int>(m_engine->model()->n_layers));
        for (int layer = 0; layer < m_experts->map().rows(); ++layer) {
            const double share = m_experts->map().valueAt({layer, 0});
            QVERIFY2(share > 0 && share < 0.8, qPrintable(QString::number(share)));
            QCOMPARE(m_experts->map().valueAt({layer, 5}), share);
        }
        m_selection->selectToken(kMessage, m_log->tokenCount(kMessage) - 2);
        QTRY_VERIFY2(test::idleOf(*m_dispatch).contains(QStringLiteral("of the neurons")),
                     qPrintable(test::idleOf(*m_dispatch)));
        if (const QString folder = qEnvironmentVariable("OFFSTAGE_PICTURES"); !folder.isEmpty()) {
            QVERIFY(m_experts->grab().save(folder + QStringLiteral("/demo_experts_active.png")));
            QVERIFY(m_dispatch->grab().save(folder + QStringLiteral("/demo_dispatch_theta.png")));
        }
        QVERIFY(m_engine->setTheta(0));
    }

    void pictures() {
        const QString folder = qEnvironmentVariable("OFFSTAGE_PICTURES");
        if (folder.isEmpty()) {
            QSKIP("OFFSTAGE_PICTURES names no folder to keep pictures in");
        }
        m_experts->setChannel(ExpertChannel::Residency);
        m_selection->selectToken(kMessage, 9);
        QCoreApplication::processEvents();
        QVERIFY(m_experts->grab().save(folder + QStringLiteral("/demo_experts.png")));
        QVERIFY(m_cache->grab().save(folder + QStringLiteral("/demo_cache.png")));
        QVERIFY(m_dispatch->grab().save(folder + QStringLiteral("/demo_dispatch.png")));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestPanelsDemo)
#include "tst_panels_demo.moc"
