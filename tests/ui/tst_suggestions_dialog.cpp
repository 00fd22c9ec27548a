// "What runs here": the table, its filters and keys, and measuring.
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QPointer>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>

#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/load/suggested_models.h"
#include "ui/load/suggestions_dialog.h"

using namespace offstage;
using namespace offstage::ui;
using test::find;

namespace {

constexpr quint64 kGiB = quint64{1} << 30;

}  // namespace

class TestSuggestionsDialog : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;

    engine::LoadRequest load(const char* device, quint64 vram, quint64 ram) const {
        engine::LoadRequest request;
        request.device = device;
        request.vram_bytes = vram;
        request.ram_bytes = ram;
        request.n_threads = 1;
        request.compute = engine::ComputeMode::kF32;
        request.cache_directory = request.quant_cache_directory = m_cache.path().toStdString();
        return request;
    }
    static std::vector<engine::FoundModel> coderHere() {
        engine::FoundModel coder;
        coder.name = "Qwen3-Coder-30B-A3B-Instruct-Q4_K_M";
        coder.path = "/models/coder.gguf";
        return {coder};
    }
    static void wait(const SuggestionsDialog& dialog) {
        QTRY_VERIFY_WITH_TIMEOUT(!child<SuggestedModels>(dialog).isLooking(), 120'000);
    }
    static QString cell(const SuggestionsDialog& dialog, int row, int column) {
        return child<QTableView>(dialog).model()->index(row, column).data().toString();
    }

    template <typename Object>
    static Object& child(const SuggestionsDialog& dialog) {
        return *dialog.findChild<Object*>();
    }

  private Q_SLOTS:
    void rows_nameFileRoomAndSpeed_andWhatIsHereOpens() {
        EngineController engine([] { return std::unique_ptr<engine::Session>(); });
        // Accounted with its host, so that nothing has to be measured.
        SuggestionsDialog dialog(engine, load("emulated:fiddler-env1", 12 * kGiB, 64 * kGiB), coderHere());
        QSignalSpy chosen(&dialog, &SuggestionsDialog::chosen);
        bool wasThere = true;
        connect(&dialog, &SuggestionsDialog::chosen, this, [&] { wasThere = dialog.isVisible(); });
        dialog.show();
        wait(dialog);
        test::picture(dialog, QStringLiteral("suggestions"), {620, 1040}, 620);
        QCOMPARE(cell(dialog, 0, SuggestedModels::Name),
                 QStringLiteral("Qwen3-Coder-30B-A3B-Instruct (on this computer)"));
        QCOMPARE(cell(dialog, 0, SuggestedModels::Room), QStringLiteral("GPU and RAM"));
        QVERIFY(cell(dialog, 0, SuggestedModels::File).startsWith(QStringLiteral("Q4_K, 16.0 GiB")));
        QVERIFY2(cell(dialog, 0, SuggestedModels::Speed) != QStringLiteral("–"), "accounted");
        QVERIFY(!find<QPushButton>(dialog, "Measure speeds").isEnabled());

        // A row's tip has all of it, also what a narrow table leaves out.
        for (const int column : {0, 2}) {
            const QString tip = child<QTableView>(dialog).model()->index(0, column).data(Qt::ToolTipRole).toString();
            for (const QString& part :
                 {cell(dialog, 0, 0), QStringLiteral("File: Q4_K, 16.0 GiB"), QStringLiteral("Tokens/s at 32k: "),
                  cell(dialog, 0, SuggestedModels::Weights)}) {
                QVERIFY2(tip.contains(part), qPrintable(tip));
            }
        }
        // A model that ends at 4,096 tokens has its figures there.
        auto& models = child<SuggestedModels>(dialog);
        for (int row = 0; row < models.rowCount(); ++row) {
            const auto text = [&](int column) { return models.index(row, column).data().toString(); };
            const bool is4k = models.at(row).model.context == 4096;
            QCOMPARE(text(SuggestedModels::Speed).endsWith(QStringLiteral(" at 4k")),
                     is4k && models.at(row).place != engine::SuggestedPlace::kNowhere);
            QVERIFY(!is4k || text(SuggestedModels::LongSpeed) == QStringLiteral("–"));
        }

        // What has no room is there on request only, and says what is missing.
        auto& table = child<QTableView>(dialog);
        const int few = table.model()->rowCount();
        find<QCheckBox>(dialog, "Also those without room").click();
        const int all = table.model()->rowCount();
        QVERIFY(all > few);
        QVERIFY(cell(dialog, all - 1, SuggestedModels::Room).endsWith(QStringLiteral("are missing")));

        // Code alone; the chosen one's address; Enter opens what is here.
        auto& use = find<QComboBox>(dialog, "Good for");
        use.setFocus();
        QTest::keyClick(&use, Qt::Key_End);
        QTest::keyClick(&use, Qt::Key_Up);
        QCOMPARE(use.currentText(), QStringLiteral("Code"));
        for (int row = 0; row < table.model()->rowCount(); ++row) {
            QCOMPARE(cell(dialog, row, SuggestedModels::GoodFor), QStringLiteral("code"));
        }
        table.setFocus();
        table.selectRow(0);
        QTest::mouseClick(&find<QPushButton>(dialog, "Copy address"), Qt::LeftButton);
        QCOMPARE(QGuiApplication::clipboard()->text(),
                 QStringLiteral("https://huggingface.co/unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF"));
        QVERIFY(find<QPushButton>(dialog, "Open").isEnabled());
        table.selectRow(1);
        QVERIFY(!find<QPushButton>(dialog, "Open").isEnabled());
        QTest::keyClick(&table, Qt::Key_Return);  // nothing to open
        QVERIFY(dialog.isVisible());
        table.selectRow(0);
        QTest::keyClick(&table, Qt::Key_Return);
        QCOMPARE(chosen.size(), 1);
        QCOMPARE(chosen.front().front().toString(), QStringLiteral("/models/coder.gguf"));
        QVERIFY(!wasThere);  // a dialog that opening shows stands alone
    }

    // The search for files ends after the dialog was opened.
    void found_later_isOnThisComputer() {
        EngineController engine([] { return std::unique_ptr<engine::Session>(); });
        SuggestionsDialog dialog(engine, load("emulated:fiddler-env1", 12 * kGiB, 64 * kGiB), {});
        dialog.show();
        wait(dialog);
        const QString coder = QStringLiteral("Qwen3-Coder-30B-A3B-Instruct (on this computer)");
        QVERIFY(cell(dialog, 0, SuggestedModels::Name) != coder);
        const auto chosen = [&] {
            return child<QTableView>(dialog).currentIndex().siblingAtColumn(SuggestedModels::Name).data().toString();
        };
        child<QTableView>(dialog).selectRow(1);
        const QString before = chosen();
        dialog.setFound(coderHere());
        wait(dialog);
        QCOMPARE(chosen(), before);  // though it may be another row
        QCOMPARE(cell(dialog, 0, SuggestedModels::Name), coder);
        child<QTableView>(dialog).selectRow(0);
        QVERIFY(find<QPushButton>(dialog, "Open").isEnabled());
    }

    void nothingWithRoom_isSaid() {
        EngineController engine([] { return std::unique_ptr<engine::Session>(); });
        SuggestionsDialog dialog(engine, load("emulated:fiddler-env1", kGiB / 64, kGiB / 4), {});
        dialog.show();
        wait(dialog);
        QTRY_VERIFY(test::textOf(dialog, QStringLiteral("State")).startsWith(QStringLiteral("None of these models")));
        find<QCheckBox>(dialog, "Also those without room").click();
        QCOMPARE(test::textOf(dialog, QStringLiteral("State")), QString());
    }

    void columns_sortByTheirNumbers() {
        EngineController engine([] { return std::unique_ptr<engine::Session>(); });
        SuggestionsDialog dialog(engine, load("emulated:fiddler-env1", 12 * kGiB, 64 * kGiB), {});
        dialog.show();
        wait(dialog);
        auto& table = child<QTableView>(dialog);
        table.sortByColumn(SuggestedModels::Weights, Qt::AscendingOrder);
        QCOMPARE(cell(dialog, 0, SuggestedModels::Name), QStringLiteral("granite-3.1-1b-a400m-instruct"));
        table.sortByColumn(SuggestedModels::Speed, Qt::DescendingOrder);
        double last = 1e9;
        for (int row = 0; row < table.model()->rowCount(); ++row) {
            const double speed =
                table.model()->index(row, SuggestedModels::Speed).data(SuggestedModels::SortRole).toDouble();
            QVERIFY(speed <= last);
            last = speed;
        }
    }

    // All models, whose last columns may have no room: what is shown of them is whole.
    void columns_thatAreShown_areWhole() {
        EngineController engine([] { return std::unique_ptr<engine::Session>(); });
        SuggestionsDialog dialog(engine, load("emulated:fiddler-env1", 12 * kGiB, 64 * kGiB), {});
        dialog.show();
        wait(dialog);
        find<QCheckBox>(dialog, "Also those without room").click();
        auto& table = child<QTableView>(dialog);
        for (const QSize size : {QSize(560, 420), QSize(1040, 620)}) {
            dialog.resize(size);
            QTRY_COMPARE(table.horizontalScrollBar()->maximum(), 0);
            QVERIFY(!table.isColumnHidden(SuggestedModels::Speed) && !table.isColumnHidden(SuggestedModels::FirstWord));
            for (int column = SuggestedModels::Room; column < SuggestedModels::Columns; ++column) {
                for (int row = 0; row < table.model()->rowCount() && !table.isColumnHidden(column); ++row) {
                    const QString text = cell(dialog, row, static_cast<SuggestedModels::Column>(column));
                    QVERIFY2(table.fontMetrics().horizontalAdvance(text) <= table.columnWidth(column) - 6,
                             qPrintable(text));
                }
            }
        }
        QVERIFY(!table.isColumnHidden(SuggestedModels::Weights));
    }

    // Though models that are not shown have figures there.
    void columns_withoutAFigureInTheRowsShown_areLeftOut() {
        EngineController engine([] { return std::unique_ptr<engine::Session>(); });
        SuggestionsDialog dialog(engine, load("emulated:fiddler-env1", 2 * kGiB, 6 * kGiB), {});
        dialog.show();
        wait(dialog);
        const auto& table = child<QTableView>(dialog);
        QVERIFY(!table.isColumnHidden(SuggestedModels::LongSpeed));
        find<QCheckBox>(dialog, "Also those without room").click();
        auto& use = find<QComboBox>(dialog, "Good for");
        use.setCurrentIndex(use.findText(QStringLiteral("Reasoning")));
        QVERIFY(table.model()->rowCount() > 0);
        for (int row = 0; row < table.model()->rowCount(); ++row) {
            QCOMPARE(cell(dialog, row, SuggestedModels::LongSpeed), QStringLiteral("–"));
        }
        QVERIFY(table.isColumnHidden(SuggestedModels::LongSpeed) &&
                table.isColumnHidden(SuggestedModels::LongFirstWord));
        use.setCurrentIndex(0);
        QVERIFY(!table.isColumnHidden(SuggestedModels::LongSpeed));
    }

    // A plan or a measurement ends by itself: the window waits for neither.
    void closing_whileItLooks_waitsForNothing() {
        EngineController engine([] { return std::unique_ptr<engine::Session>(); });
        auto dialog = std::make_unique<SuggestionsDialog>(engine, load("cpu", 0, 3 * kGiB / 2),
                                                          std::vector<engine::FoundModel>());
        QPointer<SuggestedModels> models = &child<SuggestedModels>(*dialog);
        QVERIFY(models->isLooking());
        dialog.reset();
        QVERIFY(models != nullptr);
        QTRY_VERIFY_WITH_TIMEOUT(models == nullptr, 120'000);
    }

    // Little memory, so that one shape alone is measured.
    void measuring_isCancelled_andGivesTheSpeeds() {
        EngineController engine([] { return std::unique_ptr<engine::Session>(); });
        SuggestionsDialog dialog(engine, load("cpu", 0, 3 * kGiB / 2), {});
        dialog.show();
        wait(dialog);
        auto& models = child<SuggestedModels>(dialog);
        QVERIFY(models.unknown() > 0);
        QCOMPARE(cell(dialog, 0, SuggestedModels::Speed), QStringLiteral("–"));
        // Columns without a figure give names their room.
        const auto& table = child<QTableView>(dialog);
        QVERIFY(table.isColumnHidden(SuggestedModels::LongSpeed));
        for (int row = 0; row < table.model()->rowCount(); ++row) {
            QVERIFY2(table.fontMetrics().horizontalAdvance(cell(dialog, row, 0)) + 6 <= table.columnWidth(0),
                     qPrintable(cell(dialog, row, 0)));
        }
        auto& measure = find<QPushButton>(dialog, "Measure speeds");
        measure.click();
        QVERIFY(models.isMeasuring());
        QCOMPARE(measure.text().remove(u'&'), QStringLiteral("Cancel measuring"));
        measure.click();
        QVERIFY(!measure.isEnabled());
        wait(dialog);
        QVERIFY(models.rowCount() > 0);  // what was known stays
        // Below Downloads nobody can cancel it.
        QSignalSpy requested(&dialog, &SuggestionsDialog::downloadsRequested);
        measure.click();
        QVERIFY(models.isMeasuring());
        find<QPushButton>(dialog, "Downloads…").click();
        wait(dialog);
        QVERIFY(requested.size() == 1 && models.unknown() > 0);
        measure.click();
        wait(dialog);
        QCOMPARE(models.unknown(), 0);
        QVERIFY(cell(dialog, 0, SuggestedModels::Speed) != QStringLiteral("–"));
        QVERIFY(!measure.isEnabled());
    }

    void menu_opensIt_overTheWindow() {
        test::WindowFixture fixture;
        QAction* const action = fixture.window->findChild<QAction*>(QStringLiteral("suggestions"));
        QVERIFY(action != nullptr);
        action->trigger();
        QTRY_VERIFY(fixture.window->findChild<SuggestionsDialog*>() != nullptr);
        auto* const dialog = fixture.window->findChild<SuggestionsDialog*>();
        QVERIFY(dialog->isVisible());
        QTest::keyClick(dialog, Qt::Key_Escape);
        QTRY_VERIFY(fixture.window->findChild<SuggestionsDialog*>() == nullptr);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestSuggestionsDialog)
#include "tst_suggestions_dialog.moc"
