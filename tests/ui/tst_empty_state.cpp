// A conversation before its first message, in any window and at any text size: nothing is
// cut.
#include <QAction>
#include <QDockWidget>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QTableView>
#include <QTest>
#include <QToolBar>

#include "tests/ui/window_fixture.h"
#include "ui/base/theme.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/empty_state.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/widgets/head_room.h"
#include "ui/window/panel_docks.h"

using namespace offstage;
using namespace offstage::ui;
using test::WindowFixture;

namespace {

const QList<SuggestedPrompt>& fourPrompts() {
    static const QList<SuggestedPrompt> prompts = {
        {QStringLiteral("Offstage"), QStringLiteral("What is an expert?")},
        {QStringLiteral("Stories"), QStringLiteral("Tell me a story about a fox who finds a lantern.")},
        {QStringLiteral("Arithmetic"), QStringLiteral("What is 47 + 38?")},
        {QString(), QStringLiteral("How many minutes are 3 hours, and how many hours are 3 days?")}};
    return prompts;
}

QList<QPushButton*> chipsOf(const EmptyState& state) {
    QList<QPushButton*> chips;
    for (QPushButton* button : state.findChildren<QPushButton*>()) {
        if (button->text().isEmpty()) {
            chips.append(button);
        }
    }
    return chips;
}

// Rows with painted pixels, other than the background at the button's middle height.
int paintedRows(QWidget& chip) {
    const QImage image = chip.grab().toImage();
    const QRgb ground = image.pixel(image.width() / 2, 4);
    int rows = 0;
    for (int y = 4; y < image.height() - 4; ++y) {
        for (int x = 8; x < image.width() - 8; ++x) {
            if (image.pixel(x, y) != ground) {
                ++rows;
                break;
            }
        }
    }
    return rows;
}

}  // namespace

class TestEmptyState : public QObject {
    Q_OBJECT

    double m_points = 0;

  private Q_SLOTS:
    void initTestCase() { m_points = QApplication::font().pointSizeF(); }
    void init() { QSettings().clear(); }
    void cleanup() {
        QFont font = QApplication::font();
        font.setPointSizeF(m_points);
        QApplication::setFont(font);
    }

    void prompts_haveRoomForTheirText_data() {
        QTest::addColumn<int>("width");
        QTest::addColumn<int>("steps");
        for (const int width : {280, 400, 700}) {
            for (const int steps : {-2, 0, 4, 8}) {
                QTest::addRow("%d wide, %d steps", width, steps) << width << steps;
            }
        }
    }

    void prompts_haveRoomForTheirText() {
        QFETCH(int, width);
        QFETCH(int, steps);
        EmptyState state;
        state.setHeading(QStringLiteral("What shall we talk about?"), QStringLiteral("A model · 8 layers"));
        state.setPrompts(fourPrompts());
        state.setHardware(QStringLiteral("Runs on the CPU"), true);
        state.resize(width, 300);
        state.show();
        applyTextSize(*qApp, steps);
        QTRY_COMPARE(state.findChild<QPushButton*>()->font().pointSizeF(), QApplication::font().pointSizeF());
        const QList<QPushButton*> chips = chipsOf(state);
        QCOMPARE(chips.size(), 4);
        QTRY_VERIFY(chips[0]->height() > 0 && chips[3]->y() > chips[0]->y());
        for (int i = 0; i < 4; ++i) {
            QPushButton& chip = *chips[i];
            const QFontMetrics metrics = chip.fontMetrics();
            const auto text = [&] {
                return metrics
                    .boundingRect(QRect(0, 0, chip.width() - 24, 100'000), Qt::AlignLeft | Qt::TextWordWrap,
                                  fourPrompts()[i].prompt)
                    .height();
            };
            const int domain = fourPrompts()[i].domain.isEmpty() ? 0 : metrics.lineSpacing();
            QTRY_VERIFY2(chip.height() >= text() + domain + 16,
                         qPrintable(QStringLiteral("%1: %2 of %3").arg(i).arg(chip.height()).arg(text() + domain)));
            QVERIFY(paintedRows(chip) > (metrics.ascent() / 2) * (text() / metrics.lineSpacing()));
        }
        // Parts without room can be scrolled to.
        QWidget& page = *state.widget();
        QVERIFY(page.height() >= state.viewport()->height());
        QTRY_COMPARE(state.verticalScrollBar()->maximum(), page.height() - state.viewport()->height());
        const auto bottom = [&] { return chips[3]->mapTo(&page, QPoint(0, chips[3]->height())).y(); };
        QVERIFY(bottom() <= page.height());
    }

    void heading_growsWithTheText() {
        WindowFixture f;
        const auto* heading = [&]() -> QLabel* {
            for (QLabel* label : test::part<ChatPage>(*f.window).emptyState().findChildren<QLabel*>()) {
                if (label->text() == QStringLiteral("No model is open")) {
                    return label;
                }
            }
            return nullptr;
        }();
        QVERIFY(heading != nullptr);
        const double before = heading->font().pointSizeF();
        applyTextSize(*qApp, 6);
        QTRY_VERIFY2(heading->font().pointSizeF() > before + 6, qPrintable(heading->font().toString()));
        applyTextSize(*qApp, 0);
        QTRY_COMPARE(heading->font().pointSizeF(), before);
    }

    void dockTitle_growsWithTheText() {
        WindowFixture f;
        QDockWidget* dock = test::part<PanelDocks>(*f.window).dock(QStringLiteral("conversations"));
        // The lines of the title that letters are painted in.
        const auto letters = [dock] {
            const QImage image = dock->grab(QRect(0, 0, dock->width() - 60, dock->widget()->y())).toImage();
            int rows = 0;
            for (int y = 0; y < image.height(); ++y) {
                bool any = false;
                for (int x = 3; x < image.width(); ++x) {
                    any = any || image.pixelColor(x, y).lightness() < 110;
                }
                rows += any ? 1 : 0;
            }
            return rows;
        };
        const int before = letters();
        QVERIFY(before > 4);
        applyTextSize(*qApp, 8);
        QTRY_VERIFY2(letters() >= before + 4, qPrintable(QString::number(letters())));
    }

    void badge_growsWithTheText() {
        WindowFixture f;
        test::part<PanelDocks>(*f.window).show(QStringLiteral("benchmark"));
        QLabel* badge = nullptr;
        for (QLabel* label : test::part<BenchmarkPanel>(*f.window).findChildren<QLabel*>()) {
            badge = label->accessibleName() == QStringLiteral("Emulated device") ? label : badge;
        }
        QVERIFY(badge != nullptr);
        badge->setText(QStringLiteral("emulated: RTX 3060"));
        badge->show();
        const int before = badge->sizeHint().height();
        applyTextSize(*qApp, 8);
        QTRY_VERIFY(badge->sizeHint().height() >= before + 6);
        QCOMPARE(badge->font().pointSizeF(), QApplication::font().pointSizeF());
    }

    void benchmarkTable_headingsAreWhole() {
        WindowFixture f;
        test::part<PanelDocks>(*f.window).show(QStringLiteral("benchmark"));
        for (const int steps : {6, 0, 8}) {
            applyTextSize(*qApp, steps);
            int tables = 0;
            for (QTableView* table : test::part<BenchmarkPanel>(*f.window).findChildren<QTableView*>()) {
                if (table->findChild<HeadRoom*>() == nullptr) {
                    continue;
                }
                ++tables;
                const QHeaderView& head = *table->horizontalHeader();
                QTRY_COMPARE(head.font().pointSizeF(), QApplication::font().pointSizeF());
                for (int column = 0; column < head.count(); ++column) {
                    QTRY_VERIFY2(head.sectionSize(column) >= head.sectionSizeHint(column),
                                 qPrintable(head.model()->headerData(column, Qt::Horizontal).toString()));
                }
                QVERIFY(table->verticalHeader()->defaultSectionSize() >= head.fontMetrics().height());
            }
            QVERIFY(tables > 0);
        }
    }

    void stop_isInTheToolBar_inASmallWindowWithLargeText() {
        WindowFixture f;
        f.window->resize(f.window->minimumSize());
        f.openAndWait();
        applyTextSize(*qApp, 8);
        auto* bar = f.window->findChild<QToolBar*>(QStringLiteral("mainToolBar"));
        QVERIFY(bar != nullptr);
        for (QAction* action : bar->actions()) {
            if (action->text() == QStringLiteral("&Stop")) {
                QTRY_VERIFY(bar->widgetForAction(action)->isVisible());
                QTRY_VERIFY(bar->rect().contains(bar->widgetForAction(action)->geometry()));
                return;
            }
        }
        QFAIL("no Stop");
    }
};

OFFSTAGE_UI_TEST_MAIN(TestEmptyState)
#include "tst_empty_state.moc"
