// Panels beside and below the conversation in a window that fills a screen of 1280 x 800
// below its title, and in one of 560 x 420: in no usual state a panel scrolls in the large
// one, no panel or table scrolls sideways in any, a forecast moves nothing, and columns
// keep their widths.

#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QPushButton>
#include <QRegularExpression>
#include <QScopeGuard>
#include <QScrollBar>
#include <QStyleOptionComboBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>
#include <QTranslator>

#include "tests/ui/drag_edge.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/geometry.h"
#include "tests/ui/no_machines.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/language.h"
#include "ui/chat/persona_bar.h"
#include "ui/engine/device_choice.h"
#include "ui/load/quality_levels.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_form.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/cache_panel.h"
#include "ui/panels/comparison_view.h"
#include "ui/panels/expert_actions.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/left_out_edit.h"
#include "ui/panels/what_if_panel.h"
#include "ui/settings/sampling_panel.h"
#include "ui/widgets/panel_area.h"
#include "ui/widgets/value_slider.h"
#include "ui/window/panel_docks.h"
#include "ui/window/side_columns.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

constexpr QSize kWindow{1280, 800 - 32};  // of a screen of 1280 x 800, without its title

QString nameOfArea(const QWidget& area) {
    const auto* label = area.findChild<QLabel*>();
    return area.accessibleName().isEmpty() ? label != nullptr ? label->text().left(60) : QString()
                                           : area.accessibleName();
}

// What scrolls of the dock; a line for each. A list may be longer than its place.
QStringList scrolled(const QDockWidget& dock, bool alsoDown = true) {
    QStringList lines;
    for (const QAbstractScrollArea* area : dock.findChildren<QAbstractScrollArea*>()) {
        const bool isPart = qobject_cast<const PanelArea*>(area) != nullptr;
        if (!area->isVisible() || (!isPart && qobject_cast<const QTableView*>(area) == nullptr)) {
            continue;
        }
        if (isPart && alsoDown && area->verticalScrollBar()->maximum() > 0) {
            lines << QStringLiteral("%1: %2 pixels too high in %3")
                         .arg(nameOfArea(*area))
                         .arg(area->verticalScrollBar()->maximum())
                         .arg(area->viewport()->height());
        }
        if (area->horizontalScrollBar()->maximum() > 0) {
            lines << QStringLiteral("%1: %2 too wide in %3")
                         .arg(nameOfArea(*area))
                         .arg(area->horizontalScrollBar()->maximum())
                         .arg(area->viewport()->width());
        }
    }
    return lines;
}

}  // namespace

#define COMPARE_ROOM(dock, ...) \
    QTRY_VERIFY2(scrolled(dock, ##__VA_ARGS__).isEmpty(), qPrintable(scrolled(dock, ##__VA_ARGS__).join(u'\n')))

class TestPanelRoom : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;
    std::unique_ptr<MainWindow> m_window;

    // The demo model, which has answered once.
    void open(const QString& language, bool onCpu) {
        speak(*qApp, language);
        MainWindow::Options options;
        options.theme = Theme::Light;
        auto network = std::make_shared<NoMachines>();
        network->m_paired = {{"cupboard", "cupboard:7420", "0123456789abcdef"}};
        options.machines = network;
        m_window = std::make_unique<MainWindow>([] { return engine::Session::create(); }, options);
        m_window->resize(kWindow);
        m_window->show();
        QApplication::setActiveWindow(m_window.get());
        engine::LoadRequest request;
        request.model = demoModel().toStdString();
        request.device = onCpu ? "cpu" : DeviceChoices::demonstrationDevice().toStdString();
        request.vram_bytes = onCpu ? 0 : demoVram(DeviceChoices::kDemonstrationVram, 2048);
        request.checks_costs = false;
        request.cache_directory = m_cache.path().toStdString();
        m_window->core().engine.openModel(request);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), EngineController::State::Ready, 60'000);
        m_window->core().chat.send(QStringLiteral("What is 47 + 38?"));
        QTRY_VERIFY_WITH_TIMEOUT(m_window->core().conversation.rowCount() == 2 &&
                                     m_window->core().engine.state() == EngineController::State::Ready,
                                 60'000);
    }

    QDockWidget& show(const QString& name) {
        part<PanelDocks>(*m_window).show(name);
        for (int pass = 0; pass < 6; ++pass) {  // docks find their places in a few
            QCoreApplication::processEvents();
        }
        return *part<PanelDocks>(*m_window).dock(name);
    }

    // The panel alone, in place of the conversation.
    void showNarrow(const QString& name) {
        m_window->resize(560, 420);
        QTRY_COMPARE(m_window->size(), QSize(560, 420));
        QTRY_VERIFY(show(name).isVisible());
        takePictures(name + QStringLiteral("-narrow"), 560, 420);
    }

    // In both themes.
    void takePictures(const QString& name, int width = kWindow.width(), int height = kWindow.height()) {
        picture(*m_window, QStringLiteral("room-") + name, {width}, height);
    }

    static void languagesAndDevices() {
        QTest::addColumn<QString>("language");
        QTest::addColumn<bool>("onCpu");
        for (const char* language : {"en", "de"}) {
            for (const bool onCpu : {false, true}) {
                QTest::newRow(qPrintable(
                    QStringLiteral("%1 %2").arg(QLatin1String(language), QLatin1String(onCpu ? "cpu" : "gpu"))))
                    << QString::fromLatin1(language) << onCpu;
            }
        }
    }

  private Q_SLOTS:
    void init() { QSettings().clear(); }
    void cleanup() {
        m_window.reset();
        for (QTranslator* each : qApp->findChildren<QTranslator*>()) {  // English is in the sources
            QApplication::removeTranslator(each);
        }
    }

    void panels_doNotScroll_data() { languagesAndDevices(); }
    void panels_doNotScroll() {
        QFETCH(QString, language);
        QFETCH(bool, onCpu);
        open(language, onCpu);
        for (const char* name : {"dispatch", "experts", "cache", "machines", "benchmark", "sampling", "log"}) {
            QDockWidget& dock = show(QString::fromLatin1(name));
            QTRY_VERIFY(dock.isVisible());
            auto* tabs = dock.findChild<QTabWidget*>();
            const bool isBenchmark = qstrcmp(name, "benchmark") == 0;  // the form of its third page is Budget's
            const int pages = tabs == nullptr ? 1 : isBenchmark ? 2 : tabs->count();
            for (int page = 0; page < pages; ++page) {
                if (tabs != nullptr) {
                    tabs->setCurrentIndex(page);
                }
                if (auto* cache = dock.findChild<CachePanel*>(); cache != nullptr && page == 2) {
                    find<QPushButton>(*cache, CachePanel::tr("Compare policies").toUtf8().constData()).click();
                    QTRY_VERIFY_WITH_TIMEOUT(cache->table().isVisible(), 60'000);
                }
                takePictures(QStringLiteral("%1-%2-%3-%4").arg(QLatin1String(name)).arg(page).arg(language).arg(onCpu));
                COMPARE_ROOM(dock);
            }
            showNarrow(QString::fromLatin1(name));
            COMPARE_ROOM(dock, false);
            m_window->resize(kWindow);
            dock.hide();
        }
    }

    // All of Advanced is open, with its preview.
    void budget_withSkippedNeurons_doesNotScroll_data() { languagesAndDevices(); }
    void budget_withSkippedNeurons_doesNotScroll() {
        QFETCH(QString, language);
        QFETCH(bool, onCpu);
        open(language, onCpu);
        QDockWidget& dock = show(QStringLiteral("budget"));
        auto& panel = part<BudgetPanel>(*m_window);
        QTRY_VERIFY(dock.isVisible());
        QTest::mouseClick(&find<QToolButton>(panel, BudgetForm::tr("Advanced").toUtf8().constData()), Qt::LeftButton);
        auto& how = child<QComboBox>(part<LeftOutEdit>(panel));
        how.setFocus();
        QTest::keyClick(&how, Qt::Key_Down);
        QPushButton& apply = find<QPushButton>(panel, BudgetPanel::tr("Apply").toUtf8().constData());
        QTRY_VERIFY_WITH_TIMEOUT(apply.isEnabled(), 60'000);
        takePictures(QStringLiteral("budget-skips-%1-%2").arg(language).arg(onCpu));
        COMPARE_ROOM(dock);
    }

    void whatIf_afterForecast_hasMovedNothing_data() { languagesAndDevices(); }
    void whatIf_afterForecast_hasMovedNothing() {
        QFETCH(QString, language);
        QFETCH(bool, onCpu);
        open(language, onCpu);
        QDockWidget& dock = show(QStringLiteral("whatIf"));
        auto& panel = part<WhatIfPanel>(*m_window);
        QTRY_VERIFY(dock.isVisible());
        COMPARE_ROOM(dock);
        const auto before = placesOf(panel);
        auto& forecast = find<QPushButton>(panel, WhatIfPanel::tr("Forecast").toUtf8().constData());
        QTest::mouseClick(&forecast, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!panel.isRunning() && panel.table().rowCount() > 20, 120'000);
        for (int page = 0; page < panel.tabs().count(); ++page) {
            panel.tabs().setCurrentIndex(page);
            takePictures(QStringLiteral("whatIf-%1-%2-%3").arg(page).arg(language).arg(onCpu));
            COMPARE_ROOM(dock);
        }
        panel.tabs().setCurrentIndex(0);
        QCoreApplication::processEvents();
        QCOMPARE(movedSince(before, panel).join(u'\n'), QString());
        // From its top on, and the chosen GPU is there.
        QTRY_COMPARE(panel.table().verticalScrollBar()->value(), 0);
        QCOMPARE(panel.table().item(0, 0)->text(), panel.profile().currentText());
        showNarrow(QStringLiteral("whatIf"));
        COMPARE_ROOM(dock, false);
        const auto nBars = [&dock] {  // the page's alone
            const QList<PanelArea*> areas = dock.findChildren<PanelArea*>();
            return std::count_if(areas.begin(), areas.end(), [](const PanelArea* area) {
                return area->isVisible() && area->verticalScrollBar()->maximum() > 0;
            });
        };
        QTRY_COMPARE(nBars(), 1);
    }

    void experts_afterAPin_doNotScroll_data() { languagesAndDevices(); }
    void experts_afterAPin_doNotScroll() {
        QFETCH(QString, language);
        QFETCH(bool, onCpu);
        open(language, onCpu);
        QDockWidget& dock = show(QStringLiteral("experts"));
        auto& panel = part<ExpertsPanel>(*m_window);
        QTRY_VERIFY(dock.isVisible() && panel.map().rows() > 0);
        QTest::mouseClick(&panel.map(), Qt::LeftButton, {}, panel.map().rectOf({2, 3}).center());
        QTRY_VERIFY(panel.map().selected());
        COMPARE_ROOM(dock);
        panel.actions().change(onCpu ? engine::ExpertChange::Kind::kFormat : engine::ExpertChange::Kind::kPin, {{2, 3}},
                               kernels::WeightType::kHqq4);
        QTRY_VERIFY_WITH_TIMEOUT(!m_window->core().engine.replans().empty() &&
                                     m_window->core().engine.replans().back().state == engine::ReplanState::kDone,
                                 60'000);
        takePictures(QStringLiteral("experts-pinned-%1-%2").arg(language).arg(onCpu));
        COMPARE_ROOM(dock);
    }

    // Docks are never narrower than what is in them.
    void panels_haveNoBarOfTheirWidth_data() {
        QTest::addColumn<QString>("language");
        QTest::addColumn<int>("textSize");
        for (const char* language : {"en", "de", "vi"}) {
            QTest::newRow(language) << QString::fromLatin1(language) << 0;
        }
        QTest::newRow("de, large") << QStringLiteral("de") << 3;
    }
    void panels_haveNoBarOfTheirWidth() {
        QFETCH(QString, language);
        QFETCH(int, textSize);
        const auto usual = qScopeGuard([] { applyTextSize(*qApp, 0); });
        applyTextSize(*qApp, textSize);
        open(language, false);
        // Instructions took over the width that another panel had left.
        show(QStringLiteral("benchmark")).hide();
        auto& persona = child<QComboBox>(part<PersonaBar>(*m_window));
        persona.setFocus();
        QTest::keyClick(&persona, Qt::Key_Down);
        QTest::keyClick(&persona, Qt::Key_Return);
        QTRY_VERIFY(!part<SamplingPanel>(*m_window).systemPrompt().isEmpty());
        for (const int width : {1280, 1060, 860, 560}) {
            m_window->resize(width, kWindow.height());
            for (const char* name :
                 {"sampling", "experts", "cache", "budget", "whatIf", "machines", "benchmark", "log"}) {
                QDockWidget& dock = show(QString::fromLatin1(name));
                QTRY_VERIFY(dock.isVisible());
                for (const int wanted : {dock.width(), 200}) {  // as it opens, and as narrow as it can be made
                    m_window->resizeDocks({&dock}, {wanted}, Qt::Horizontal);
                    QCoreApplication::processEvents();
                    COMPARE_ROOM(dock, false);
                }
                dock.hide();
            }
        }
    }

    // The tabs stay, the figures have a line each, and answers stand side by side where
    // both have room.
    void twoPlans_canBeReadInAnyWidth_data() {
        QTest::addColumn<QString>("language");
        for (const char* language : {"en", "de"}) {
            QTest::newRow(language) << QString::fromLatin1(language);
        }
    }
    void twoPlans_canBeReadInAnyWidth() {
        QFETCH(QString, language);
        open(language, false);
        QDockWidget& dock = show(QStringLiteral("benchmark"));
        auto& panel = part<BenchmarkPanel>(*m_window);
        panel.showPage(BenchmarkPanel::Compare);
        panel.prompt().setPlainText(QStringLiteral("What is 47 + 38?"));
        auto& vram = panel.planB().vram();
        QTRY_VERIFY(vram.bytes() > 0);
        vram.setBytes(vram.bytes() * 3 / 4);
        Q_EMIT panel.planB().changed();
        auto& compare = find<QPushButton>(panel, BenchmarkPanel::tr("Compare").toUtf8().constData());
        QTRY_VERIFY(compare.isEnabled());
        QTest::mouseClick(&compare, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!panel.comparisons().empty(), 120'000);
        const auto label = [&](const QString& of, const char* plan) -> QLabel& {
            const QString name = ComparisonView::tr("%1, plan %2").arg(of, ComparisonView::tr(plan));
            return find<QLabel>(panel, name.toUtf8().constData());
        };
        QLabel &answer = label(ComparisonView::tr("Text"), "A"), &other = label(ComparisonView::tr("Text"), "B");
        QLabel& budgets = label(ComparisonView::tr("Budgets"), "A");
        const int line = budgets.fontMetrics().lineSpacing();
        const auto stand = [&](bool sideBySide) {
            const QPoint a = answer.mapTo(&panel, QPoint()), b = other.mapTo(&panel, QPoint());
            return sideBySide ? a.x() < b.x() && answer.parentWidget()->y() == other.parentWidget()->y()
                              : a.x() == b.x() && a.y() < b.y();
        };
        for (const QSize size : {kWindow, QSize(1600, 1000), QSize(560, 420)}) {
            m_window->resize(size);
            const bool isNarrow = size.width() == 560;
            QTRY_VERIFY(show(QStringLiteral("benchmark")).isVisible());
            takePicture(*m_window, QStringLiteral("room-plans-%1-%2").arg(size.width()).arg(language));
            QTRY_VERIFY2(answer.width() >= 240, qPrintable(QString::number(answer.width())));
            QTRY_VERIFY(stand(isNarrow));
            QVERIFY2(budgets.height() <= 3 * line, qPrintable(QString::number(budgets.height())));
            QVERIFY(!panel.findChild<QTabBar*>()->visibleRegion().isEmpty());
            COMPARE_ROOM(dock, false);
        }
        m_window->resize(1600, 1000);
        m_window->resizeDocks({&dock}, {700}, Qt::Horizontal);
        QTRY_VERIFY(stand(true));
        takePicture(*m_window, QStringLiteral("room-plans-wide-%1").arg(language));
    }

    // GPUs differ in the middle of their names, where a cut would be.
    void whatIf_namesOfGpus_areNotCut() {
        open(QStringLiteral("en"), false);
        QDockWidget& dock = show(QStringLiteral("whatIf"));
        QTRY_VERIFY(dock.isVisible());
        const QComboBox& profile = part<WhatIfPanel>(*m_window).profile();
        QVERIFY(profile.count() > 5);
        QStyleOptionComboBox option;
        option.initFrom(&profile);
        const int room = profile.style()
                             ->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, &profile)
                             .width();
        QSet<QString> shown;
        static const QRegularExpression number(QStringLiteral("[A-Z]*[0-9]+"));
        for (int i = 0; i < profile.count(); ++i) {
            const QString text = profile.itemText(i);
            const QString cut = profile.fontMetrics().elidedText(text, Qt::ElideMiddle, room);
            const QRegularExpressionMatch match = number.match(text);
            QVERIFY2(match.hasMatch(), qPrintable(text));
            QVERIFY2(cut.contains(match.captured()) && !shown.contains(cut), qPrintable(cut));
            shown.insert(cut);
        }
    }

    // The largest cells that a low window allows: what is said of them stands beside.
    void experts_inASmallWindow_haveTheRoomThereIs() {
        open(QStringLiteral("en"), false);
        m_window->resize(560, 420);
        QTRY_COMPARE(m_window->size(), QSize(560, 420));
        QDockWidget& dock = show(QStringLiteral("experts"));
        auto& map = part<ExpertsPanel>(*m_window).map();
        QTRY_VERIFY(dock.isVisible() && map.rows() > 0);
        const auto cells = [&] { return map.rectOf({0, 0}) | map.rectOf({map.rows() - 1, map.columns() - 1}); };
        QTRY_VERIFY2(cells().width() >= 170 && cells().height() >= 90,
                     qPrintable(QStringLiteral("%1x%2").arg(cells().width()).arg(cells().height())));
        takePictures(QStringLiteral("experts-small"), 560, 420);
    }

    // Its parts stand one above the other where they have no room side by side.
    void experts_inASmallWindow_areNoWiderThanIt_data() {
        QTest::addColumn<QString>("language");
        QTest::addColumn<int>("textSize");
        for (const char* language : {"en", "de"}) {
            for (const int textSize : {0, 3}) {
                QTest::addRow("%s %d", language, textSize) << QString::fromLatin1(language) << textSize;
            }
        }
    }
    void experts_inASmallWindow_areNoWiderThanIt() {
        QFETCH(QString, language);
        QFETCH(int, textSize);
        const auto usual = qScopeGuard([] { applyTextSize(*qApp, 0); });
        applyTextSize(*qApp, textSize);
        open(language, false);
        m_window->resize(560, 420);
        QTRY_COMPARE(m_window->size(), QSize(560, 420));
        QDockWidget& dock = show(QStringLiteral("experts"));
        auto& panel = part<ExpertsPanel>(*m_window);
        QTRY_VERIFY(dock.isVisible() && panel.map().rows() > 0);
        takePictures(QStringLiteral("experts-small-%1-%2").arg(language).arg(textSize), 560, 420);
        const auto needs = [&] { return panel.minimumSizeHint().width(); };
        QTRY_VERIFY2(needs() <= 560, qPrintable(QString::number(needs())));
        QTRY_VERIFY2(dock.geometry().right() < 560, qPrintable(QString::number(dock.geometry().right())));
        COMPARE_ROOM(dock, false);
    }

    // What a narrow window leaves of a column is not what the user wants.
    void columns_squeezedByANarrowWindow_comeBack() {
        open(QStringLiteral("en"), false);
        QDockWidget& list = show(QStringLiteral("conversations"));
        QDockWidget& inspector = show(QStringLiteral("whatIf"));
        QTRY_VERIFY(list.isVisible() && inspector.isVisible());
        const auto shrinkAndGrow = [&] {
            m_window->resize(560, 420);
            QTRY_COMPARE(m_window->size(), QSize(560, 420));
            show(QStringLiteral("whatIf"));  // over the conversation
            for (const int width : {700, 900, 1280}) {
                m_window->resize(width, kWindow.height());
                QTRY_COMPARE(m_window->width(), width);
                QCoreApplication::processEvents();
            }
        };
        shrinkAndGrow();
        QTRY_VERIFY2(list.width() >= SideColumns::kListWidth, qPrintable(QString::number(list.width())));
        QTRY_VERIFY2(inspector.width() <= 420, qPrintable(QString::number(inspector.width())));
        dragEdge(*m_window, list.geometry().right() + 2, 262);
        QTRY_VERIFY2(std::abs(list.width() - 260) < 12, qPrintable(QString::number(list.width())));
        const int chosen = list.width();
        shrinkAndGrow();
        QTRY_COMPARE(list.width(), chosen);
        m_window->resize(560, 420);
        QTRY_VERIFY(!list.isVisible());
        m_window->close();  // a layout kept in a narrow window
        open(QStringLiteral("en"), false);
        QTRY_COMPARE(part<PanelDocks>(*m_window).dock(QStringLiteral("conversations"))->width(), chosen);
    }

    // A preview, several formats in force, what was done, and Advanced.
    void budget_inEachState_doesNotScroll_data() { languagesAndDevices(); }
    void budget_inEachState_doesNotScroll() {
        QFETCH(QString, language);
        QFETCH(bool, onCpu);
        open(language, onCpu);
        QDockWidget& dock = show(QStringLiteral("budget"));
        auto& panel = part<BudgetPanel>(*m_window);
        QTRY_VERIFY(dock.isVisible());
        auto& level = find<QComboBox>(panel, BudgetForm::tr("Quality").toUtf8().constData());
        auto& apply = find<QPushButton>(panel, BudgetPanel::tr("Apply").toUtf8().constData());
        auto& advanced = child<QToolButton>(panel.form());
        QTRY_VERIFY(panel.form().setting() == panel.inForce());
        for (const bool open : {false, true}) {
            if (advanced.isChecked() != open) {
                QTest::mouseClick(&advanced, Qt::LeftButton);
            }
            takePictures(QStringLiteral("budget-%1-%2-%3").arg(open).arg(language).arg(onCpu));
            COMPARE_ROOM(dock);
            // With Advanced, each of them is in force once.
            for (const int chosen : open ? QList<int>{3, 2, 1, 0} : QList<int>{2}) {
                level.setFocus();
                while (level.currentIndex() != chosen) {
                    QTest::keyClick(&level, level.currentIndex() < chosen ? Qt::Key_Down : Qt::Key_Up);
                }
                const QString state = QStringLiteral("%1-%2-%3-%4").arg(open).arg(chosen).arg(language).arg(onCpu);
                // On the CPU a level may change nothing, and then cannot be applied.
                const QString waits = BudgetPanel::tr("What it would change is being worked out");
                QTRY_VERIFY2_WITH_TIMEOUT(apply.isEnabled() || (onCpu && apply.toolTip() != waits),
                                          qPrintable(apply.toolTip()), 60'000);
                takePictures(QStringLiteral("budget-preview-") + state);
                COMPARE_ROOM(dock);
                if (!apply.isEnabled()) {
                    continue;
                }
                QTest::mouseClick(&apply, Qt::LeftButton);
                COMPARE_ROOM(dock);
                QTRY_VERIFY_WITH_TIMEOUT(panel.form().setting() == panel.inForce(), 60'000);
                takePictures(QStringLiteral("budget-applied-") + state);
                COMPARE_ROOM(dock);
            }
        }
    }
};

OFFSTAGE_UI_TEST_MAIN(TestPanelRoom)
#include "tst_panel_room.moc"
