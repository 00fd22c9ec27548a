// Every control, in small and large windows, both themes, and German: no text is cut,
// nothing stands outside its parent, and what is disabled can be read.
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QListWidget>
#include <QProcess>
#include <QPushButton>
#include <QScrollBar>
#include <QTest>
#include <QToolBar>
#include <QToolButton>
#include <QTranslator>

#include "engine/device/hardware_profile.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/geometry.h"
#include "tests/ui/no_machines.h"
#include "tests/ui/pictures.h"
#include "tests/ui/replan_session.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/language.h"
#include "ui/base/theme.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/paste_offer.h"
#include "ui/load/download_queue.h"
#include "ui/load/downloads_dialog.h"
#include "ui/load/suggestions_dialog.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/expert_actions.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/machines_panel.h"
#include "ui/panels/pair_dialog.h"
#include "ui/panels/profile_editor.h"
#include "ui/plot/heat_map_legend.h"
#include "ui/settings/persona_editor.h"
#include "ui/settings/settings_dialog.h"
#include "ui/widgets/panel_area.h"
#include "ui/window/panel_docks.h"
#include "ui/window/side_columns.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

constexpr double kReadable = 3.5;

double luminance(const QColor& colour) {
    const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

double contrast(const QColor& a, const QColor& b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

QString textOfControl(const QWidget& w) {
    if (const auto* button = qobject_cast<const QAbstractButton*>(&w)) {
        return QString(button->text()).remove(u'&');
    }
    if (const auto* label = qobject_cast<const QLabel*>(&w)) {
        const QString text = label->textFormat() == Qt::RichText ? QString() : label->text();
        return label->buddy() != nullptr ? QString(text).remove(u'&') : text;
    }
    return {};
}

// Cut on purpose: names of any length, whose tip has all of it.
bool mayBeCut(const QWidget& w) {
    const auto* label = qobject_cast<const QLabel*>(&w);
    return qobject_cast<const QToolBar*>(w.parentWidget()) != nullptr ||
           (label != nullptr && !label->toolTip().isEmpty() && label->toolTip().startsWith(label->text()));
}

bool isCut(const QWidget& w) {
    const QString text = textOfControl(w);
    if (text.isEmpty()) {
        return false;
    }
    if (const auto* label = qobject_cast<const QLabel*>(&w)) {
        const QRect room = label->contentsRect().adjusted(label->margin(), 0, -label->margin(), 0);
        const QRect needs = label->fontMetrics().boundingRect(QRect(0, 0, room.width(), 100'000),
                                                              label->wordWrap() ? Qt::TextWordWrap : 0, text);
        return needs.width() > room.width() + 1 || needs.height() > room.height() + 1;
    }
    int widest = 0;
    const QStringList lines = text.split(u'\n');
    for (const QString& line : lines) {
        widest = std::max(widest, w.fontMetrics().horizontalAdvance(line));
    }
    return widest > w.width() || lines.size() * w.fontMetrics().height() > w.height() + 4;
}

// What scrolls shows the rest of its contents elsewhere.
bool isScrolled(const QWidget& w) {
    for (const QWidget* each = w.parentWidget(); each != nullptr && !each->isWindow(); each = each->parentWidget()) {
        if (qobject_cast<const QAbstractScrollArea*>(each) != nullptr) {
            return true;
        }
    }
    return false;
}

// Laid out when it is scrolled to; tests/ui/tst_chat_view.cpp looks at messages.
bool isOfMessage(const QWidget& w) {
    for (const QWidget* each = &w; each != nullptr; each = each->parentWidget()) {
        if (qobject_cast<const MessageWidget*>(each) != nullptr) {
            return true;
        }
    }
    return false;
}

bool isControl(const QWidget& w) {
    return qobject_cast<const QAbstractButton*>(&w) != nullptr || qobject_cast<const QLabel*>(&w) != nullptr ||
           qobject_cast<const QAbstractSpinBox*>(&w) != nullptr || qobject_cast<const QComboBox*>(&w) != nullptr ||
           qobject_cast<const QLineEdit*>(&w) != nullptr || qobject_cast<const HeatMapLegend*>(&w) != nullptr ||
           qobject_cast<const QAbstractSlider*>(&w) != nullptr;
}

// What is wrong with the controls that can be seen; a line for each.
QStringList faultsOf(const QWidget& root) {
    QStringList faults;
    for (const QWidget* w : root.findChildren<QWidget*>()) {
        if (!w->isVisible() || !isControl(*w) || w->width() == 0 || isOfMessage(*w)) {
            continue;
        }
        const auto said = [&](const QString& what) {
            const QString name = textOfControl(*w).isEmpty() ? nameOf(*w) : textOfControl(*w);
            faults << QStringLiteral("%1 “%2” %3x%4: %5")
                          .arg(QString::fromLatin1(w->metaObject()->className()), name.left(60))
                          .arg(w->width())
                          .arg(w->height())
                          .arg(what);
        };
        const QWidget* parent = w->parentWidget();
        const auto* area = qobject_cast<const QAbstractScrollArea*>(parent->parentWidget());
        QRect room = parent->rect();
        if (area != nullptr && area->viewport() == parent) {  // it scrolls to what is above and below
            room.setTop(w->y());
            room.setHeight(w->height());
        }
        if (!room.contains(w->geometry()) && !mayBeCut(*w)) {
            said(QStringLiteral("outside of %1").arg(QString::fromLatin1(parent->metaObject()->className())));
        }
        if (!isScrolled(*w) && root.isAncestorOf(w) &&
            !root.rect().contains(QRect(w->mapTo(&root, QPoint()), w->size()))) {
            said(QStringLiteral("outside of the window"));
        }
        if (isCut(*w) && !mayBeCut(*w)) {
            said(QStringLiteral("cut"));
        }
        if (const auto* legend = qobject_cast<const HeatMapLegend*>(w);
            legend != nullptr && legend->height() < legend->heightForWidth(legend->width())) {
            said(QStringLiteral("cut"));
        }
        const double is = contrast(w->palette().color(QPalette::Disabled, w->foregroundRole()),
                                   w->palette().color(QPalette::Disabled, w->backgroundRole()));
        if (!w->isEnabled() && is < kReadable) {
            said(QStringLiteral("contrast %1").arg(is));
        }
    }
    faults.removeDuplicates();
    return faults;
}

#define COMPARE_FAULTS(root, where) \
    QVERIFY2(faultsOf(root).isEmpty(), qPrintable((where) + u'\n' + faultsOf(root).join(u'\n')))

}  // namespace

class TestGeometry : public QObject {
    Q_OBJECT

    static void settle() {
        for (int pass = 0; pass < 6; ++pass) {
            QCoreApplication::processEvents();
        }
    }

    // A window whose panels have something to show: an answer, a proposal, a preview.
    struct Shown {
        std::shared_ptr<Stage> stage = std::make_shared<Stage>();
        std::unique_ptr<MainWindow> window;

        Shown() {
            Script script;
            script.residents = 20;
            script.emulated = true;
            stage->setScript(script);
            auto network = std::make_shared<NoMachines>();
            network->m_paired = {{"cupboard", "cupboard:7420", "0123456789abcdef"}};
            MainWindow::Options options;
            options.machines = network;
            window = std::make_unique<MainWindow>(
                [s = stage, r = std::make_shared<ReplanStage>()] { return std::make_unique<ReplanSession>(s, r); },
                options);
            window->show();
            QApplication::setActiveWindow(window.get());
            window->opener().open(QStringLiteral("/models/fake-moe"));
            QTRY_COMPARE(window->core().engine.state(), EngineController::State::Ready);
            window->core().chat.send(QStringLiteral("hi"));
            QTRY_VERIFY(!window->core().conversation.messages().isEmpty() &&
                        window->core().conversation.messages().last().state == Message::State::Done);
            part<ExpertsPanel>(*window).actions().propose(engine::ExpertChange::Kind::kPin, {{1, 2}, {1, 3}});
        }
    };

    static QStringList languagesTested() { return {QStringLiteral("en"), QStringLiteral("de")}; }

  private Q_SLOTS:
    void init() { QSettings().clear(); }
    void cleanup() {
        for (QTranslator* each : qApp->findChildren<QTranslator*>()) {  // English is in the sources
            QApplication::removeTranslator(each);
        }
        applyTheme(*qApp, Theme::Light);
    }

    void panels_data() {
        QTest::addColumn<QString>("language");
        QTest::addColumn<QSize>("size");
        for (const QString& language : languagesTested()) {
            for (const QSize size : {QSize(500, 400), QSize(620, 800), QSize(1280, 800), QSize(1920, 1080)}) {
                QTest::newRow(qPrintable(QStringLiteral("%1-%2").arg(language).arg(size.width()))) << language << size;
            }
        }
    }
    void panels() {
        QFETCH(const QString, language);
        QFETCH(const QSize, size);
        speak(*qApp, language);
        Shown shown;
        MainWindow& window = *shown.window;
        window.resize(size);
        QStringList faults;
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            applyTheme(*qApp, theme);
            for (const char* name : {"conversations", "experts", "cache", "dispatch", "budget", "advanced", "whatIf",
                                     "machines", "benchmark", "sampling", "log"}) {
                const bool isAdvanced = qstrcmp(name, "advanced") == 0;
                const QString panel = QString::fromLatin1(isAdvanced ? "budget" : name);
                auto& budget = part<BudgetPanel>(window);
                if (auto& advanced = child<QToolButton>(budget.form()); advanced.isChecked() != isAdvanced) {
                    advanced.click();
                }
                part<PanelDocks>(window).show(panel);
                QDockWidget& dock = *part<PanelDocks>(window).dock(panel);
                QTRY_VERIFY(dock.isVisible());
                settle();
                const QString where = QStringLiteral("%1, %2").arg(QString::fromLatin1(name), nameOf(theme));
                for (const QString& fault : faultsOf(window)) {
                    faults << where + QStringLiteral(": ") + fault;
                }
                for (const PanelArea* area : dock.findChildren<PanelArea*>()) {
                    if (size.width() >= 1280 && area->isVisible() && area->horizontalScrollBar()->isVisible()) {
                        faults << where + QStringLiteral(": scrolls sideways, by %1 of %2")
                                              .arg(area->horizontalScrollBar()->maximum())
                                              .arg(dock.width());
                    }
                }
                dock.hide();
            }
        }
        QVERIFY2(faults.isEmpty(), qPrintable(u'\n' + faults.join(u'\n')));
    }

    void dialogs_data() {
        QTest::addColumn<QString>("language");
        for (const QString& language : languagesTested()) {
            QTest::newRow(qPrintable(language)) << language;
        }
    }
    void dialogs() {
        QFETCH(const QString, language);
        speak(*qApp, language);
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            applyTheme(*qApp, theme);
            PersonaEditor persona({}, {{}, QStringLiteral("/models/fake-moe"), QStringLiteral("fake-moe"), {}});
            ProfileEditor profile(engine::find_hardware_profile("rtx-3060"));
            Shown shown;
            applyTheme(*qApp, theme);  // the window has a theme of its own
            part<PanelDocks>(*shown.window).show(QStringLiteral("machines"));
            auto& machines = part<MachinesPanel>(*shown.window);
            machines.addButton().click();
            part<QAction>(*shown.window, "suggestions").trigger();
            DownloadQueue queue;
            DownloadsDialog downloads(queue);
            for (QWidget* dialog :
                 std::initializer_list<QWidget*>{&persona, &profile, machines.findChild<PairDialog*>(),
                                                 &part<SuggestionsDialog>(*shown.window), &downloads}) {
                dialog->show();
                settle();
                const QString name = QString::fromLatin1(dialog->metaObject()->className()).section(u':', -1);
                takePicture(*dialog, QStringLiteral("dialog-%1-%2-%3").arg(name, language, nameOf(theme)));
                COMPARE_FAULTS(*dialog, nameOf(theme));
            }
            part<QAction>(*shown.window, "settings").trigger();
            auto& settings = part<SettingsDialog>(*shown.window);
            for (int page = 0; page < settings.pages().count(); ++page) {
                settings.pages().setCurrentRow(page);
                settle();
                takePicture(settings, QStringLiteral("settings-%1-%2-%3").arg(page).arg(language, nameOf(theme)));
                COMPARE_FAULTS(settings, nameOf(theme) + u' ' + settings.pages().currentItem()->text());
            }
        }
    }

    // The question about a long paste, above the input.
    void pasteOffer_data() { panels_data(); }
    void pasteOffer() {
        QFETCH(const QString, language);
        QFETCH(const QSize, size);
        speak(*qApp, language);
        Shown shown;
        shown.window->resize(size);
        part<SideColumns>(*shown.window).showMiddle();
        ChatPage& page = part<ChatPage>(*shown.window);
        page.input().edit().setFocus();
        QGuiApplication::clipboard()->setText(QString(PasteOffer::kLongPaste + 1, u'x'));
        QTest::keyClick(&page.input().edit(), Qt::Key_V, Qt::ControlModifier);
        QTRY_VERIFY(part<PasteOffer>(page).isVisible());
        settle();
        COMPARE_FAULTS(part<PasteOffer>(page), language);
    }

    // The same where one unit of the layout is two pixels.
    void everything_atScaleTwo() {
        if (qEnvironmentVariableIsSet("QT_SCALE_FACTOR")) {
            QSKIP("this is the run at another scale");
        }
        QProcess other;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("QT_SCALE_FACTOR"), QStringLiteral("2"));
        other.setProcessEnvironment(environment);
        other.setProcessChannelMode(QProcess::MergedChannels);
        other.start(QCoreApplication::applicationFilePath(),
                    {QStringLiteral("panels:en-1920"), QStringLiteral("panels:de-1920"), QStringLiteral("dialogs")});
        QVERIFY(other.waitForFinished(300'000));
        QVERIFY2(other.exitCode() == 0, other.readAll().constData());
    }
};

OFFSTAGE_UI_TEST_MAIN(TestGeometry)
#include "tst_geometry.moc"
