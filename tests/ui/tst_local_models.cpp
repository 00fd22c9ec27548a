// The models on this computer: the list, the dialog and the start page that offer it, and
// files dropped on the window.
#include <algorithm>
#include <fstream>

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QDropEvent>
#include <QElapsedTimer>
#include <QFileDialog>
#include <QFileSystemWatcher>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMimeData>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSplitter>
#include <QTimer>

#include "tests/engine/gguf_writer.h"
#include "tests/engine/mixed_gguf.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/empty_state.h"
#include "ui/engine/format.h"
#include "ui/load/fit_view.h"
#include "ui/load/local_model_view.h"
#include "ui/load/local_models.h"
#include "ui/load/open_model_dialog.h"
#include "ui/load/precision_fields.h"
#include "ui/plot/stacked_bar.h"
#include "ui/widgets/file_choice.h"
#include "ui/window/model_menu.h"

using namespace offstage;
using namespace offstage::ui;
using test::picture;
using tests::GgufWriter;
namespace fs = std::filesystem;

namespace {

using State = EngineController::State;
constexpr quint64 kMiB = quint64{1} << 20;
constexpr LocalModels::Pauses kShort{.afterChangeMs = 20, .betweenMs = 100, .firstAgainMs = 100};

}  // namespace

class TestLocalModels : public QObject {
    Q_OBJECT

  private:
    fs::path root(const char* inside = "") const { return fs::path(m_folder->path().toStdString()) / inside; }
    QString text(const fs::path& path) const { return QString::fromStdString(path.string()); }
    // A model that can be opened.
    QString addModel(const char* path) const {
        fs::create_directories(root(path).parent_path());
        fs::copy_file(OFFSTAGE_SOURCE_DIR "/tests/engine/data/gguf/qwen3_moe_bf16.gguf", root(path));
        return text(root(path));
    }
    // One that can be opened for text too: it has a tokenizer.
    QString addWhole(const char* path) const {
        fs::create_directories(root(path).parent_path());
        offstage::tests::write_mixed_gguf(root(path).string(), [](GgufWriter& writer) {
            writer.add("tokenizer.chat_template", "{% for m in messages %}{{ m.content }}{% endfor %}");
        });
        return text(root(path));
    }
    // One that answers no messages until a chat template is chosen for it.
    QString addWithoutTemplate(const char* path) const {
        fs::create_directories(root(path).parent_path());
        offstage::tests::write_mixed_gguf(root(path).string());
        return text(root(path));
    }
    // The demo model, which has a tokenizer too.
    QString addFolder(const char* path) const {
        fs::create_directories(root(path));
        for (const auto& file : fs::directory_iterator(OFFSTAGE_SOURCE_DIR "/resources/demo-model")) {
            if (file.is_regular_file()) {
                fs::create_symlink(file.path(), root(path) / file.path().filename());
            }
        }
        return text(root(path));
    }
    // One of an unknown architecture; without experts: a dense one.
    void addHeader(const char* path, std::uint32_t experts) const {
        fs::create_directories(root(path).parent_path());
        GgufWriter writer;
        writer.add("general.architecture", "newmoe").add("newmoe.block_count", std::uint32_t{48});
        if (experts > 0) {
            writer.add("newmoe.expert_count", experts);
        }
        writer.add_floats("t", {2}, {1, 2}).write(root(path));
    }
    std::vector<engine::ModelPlace> places() const { return {{engine::ModelOrigin::kLmStudio, root()}}; }
    static QStringList names(const LocalModels& models) {
        QStringList list;
        for (int row = 0; row < models.rowCount(); ++row) {
            list << models.index(row).data().toString();
        }
        return list;
    }
    static void searchAndWait(LocalModels& models) {
        QSignalSpy searched(&models, &LocalModels::searched);
        models.search();
        QVERIFY(searched.wait(60'000));
    }
    engine::LoadRequest request(quint64 ramBytes = 512 * kMiB) const {
        engine::LoadRequest wanted;
        wanted.device = "cpu";
        wanted.compute = engine::ComputeMode::kF32;
        wanted.ram_bytes = ramBytes;
        wanted.cache_directory = m_cache.path().toStdString();
        return wanted;
    }
    MainWindow::Options options() const {
        MainWindow::Options wanted;
        wanted.theme = Theme::Light;
        wanted.models.device = QStringLiteral("cpu");
        wanted.models.modelPlaces = places();
        return wanted;
    }
    static QString verdict(const LocalModels& models, int row) {
        return models.index(row).data(LocalModels::VerdictRole).toString();
    }
    static void click(QListView& list, int row) {
        QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, list.visualRect(list.model()->index(row, 0)).center());
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    QTemporaryDir m_cache;  // nothing was measured yet

  private Q_SLOTS:
    void init() {
        m_folder = std::make_unique<QTemporaryDir>();
        QSettings().clear();
    }

    void rows_lastOpenedFirst_notSupportedLast() {
        addModel("ann/x/beta.gguf");
        const QString delta = addModel("ann/x/delta.gguf");
        const QString gamma = addModel("ann/x/Gamma.gguf");
        addHeader("ann/x/alpha.gguf", 64);
        addHeader("ann/x/dense.gguf", 0);
        LocalModels models(places());
        const QAbstractItemModelTester tester(&models, QAbstractItemModelTester::FailureReportingMode::QtTest);
        models.setRecent({QStringLiteral("/gone"), gamma, delta});
        QVERIFY(!models.wasSearched());
        searchAndWait(models);
        QCOMPARE(names(models), (QStringList{QStringLiteral("Gamma"), QStringLiteral("delta"), QStringLiteral("beta"),
                                             QStringLiteral("alpha")}));
        models.setRecent({});
        QCOMPARE(names(models), (QStringList{QStringLiteral("beta"), QStringLiteral("delta"), QStringLiteral("Gamma"),
                                             QStringLiteral("alpha")}));
        QCOMPARE(models.rowOf(delta), 1);
        const QString facts = models.index(0).data(LocalModels::FactsRole).toString();
        QVERIFY2(
            facts.endsWith(QStringLiteral("LM Studio (ann) · Qwen3Moe · no chat template · 16 experts × 3 layers")),
            qPrintable(facts));
        QVERIFY2(facts.contains(QStringLiteral(" · 16.3 bits · ")), qPrintable(facts));
        // The reason, without the path that has no room, and whole in the tip.
        QVERIFY2(verdict(models, 3).startsWith(
                     QStringLiteral("Cannot be opened: \"general.architecture\" \"newmoe\" is not supported")),
                 qPrintable(verdict(models, 3)));
        QVERIFY(models.index(3).data(Qt::ToolTipRole).toString().contains(text(root("ann/x/alpha.gguf")) + u':'));
        QVERIFY(models.summary().startsWith(QStringLiteral("1 other model")));
    }

    void severalNamesOfAFile_areRows() {
        addModel("blobs/sha256-aa");
        for (const char* name : {"pirate", "qwen3"}) {
            const fs::path manifest = root("manifests/registry.ollama.ai/library") / name / "latest";
            fs::create_directories(manifest.parent_path());
            std::ofstream(manifest)
                << R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:aa"},)"
                << "{\"mediaType\": \"application/vnd.ollama.image.params\", \"digest\": \"sha256:"
                << QByteArray(name).toHex().constData() << "\"}]}";
        }
        LocalModels models({{engine::ModelOrigin::kOllama, root()}});
        searchAndWait(models);
        QCOMPARE(names(models), (QStringList{QStringLiteral("pirate:latest"), QStringLiteral("qwen3:latest")}));
        const fs::path second = root("manifests/registry.ollama.ai/library") / "qwen3" / "latest";
        QCOMPARE(models.rowOf(QString::fromStdString(second.string())), 1);
    }

    void splitModel_namesTheMissingPart() {
        addHeader("ann/x/big-00001-of-00002.gguf", 8);
        LocalModels models(places());
        searchAndWait(models);
        QCOMPARE(names(models), QStringList{QStringLiteral("big")});
        QVERIFY2(verdict(models, 0).startsWith(QStringLiteral("Cannot be opened: big-00002-of-00002.gguf: is missing")),
                 qPrintable(verdict(models, 0)));
    }

    void verdict_followsTheBudget() {
        addWhole("ann/x/a.gguf");
        addHeader("ann/x/b.gguf", 64);
        LocalModels models(places());
        searchAndWait(models);
        QCOMPARE(verdict(models, 0), QString());
        models.estimate(request(), {});
        QTRY_COMPARE_WITH_TIMEOUT(verdict(models, 0), QStringLiteral("Fits"), 60'000);
        models.estimate(request(1), {});
        QTRY_VERIFY_WITH_TIMEOUT(verdict(models, 0).startsWith(QStringLiteral("Does not fit")), 60'000);
        QCOMPARE(models.index(1).data(LocalModels::FitRole).toInt(), static_cast<int>(LocalModel::Fit::NotSupported));
        // A request during the search of the disk: answered after it.
        models.search();
        models.estimate(request(), {});
        QTRY_COMPARE_WITH_TIMEOUT(verdict(models, 0), QStringLiteral("Fits"), 60'000);
    }

    // "Fits" is not said of what cannot be opened: no tokenizer, or one with an
    // impossible id.
    void verdict_ofARefusedTokenizer_saysWhy() {
        addModel("ann/x/mute.gguf");
        const QString impossible = addFolder("impossible");
        QFile::remove(impossible + QStringLiteral("/tokenizer.model"));
        QFile json(impossible + QStringLiteral("/tokenizer.json"));
        QVERIFY(json.open(QIODevice::WriteOnly));
        json.write(R"({"added_tokens": [], "normalizer": null, "post_processor": null,
                       "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
                       "decoder": {"type": "ByteLevel"},
                       "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": -1}, "merges": []}})");
        json.close();
        addWhole("ann/x/whole.gguf");
        LocalModels models(places());
        searchAndWait(models);
        models.estimate(request(), {});
        QTRY_COMPARE_WITH_TIMEOUT(models.index(0).data().toString(), QStringLiteral("whole"), 60'000);
        QTRY_COMPARE_WITH_TIMEOUT(verdict(models, 0), QStringLiteral("Fits"), 60'000);
        const auto verdictOf = [&](const QString& path) { return verdict(models, models.rowOf(path)); };
        const QString mute = text(root("ann/x/mute.gguf"));
        QTRY_VERIFY2_WITH_TIMEOUT(verdictOf(mute).startsWith(QStringLiteral("Cannot be opened: ")) &&
                                      verdictOf(mute).contains(QStringLiteral("tokenizer")),
                                  qPrintable(verdictOf(mute)), 60'000);
        QTRY_VERIFY2_WITH_TIMEOUT(verdictOf(impossible).startsWith(QStringLiteral("Cannot be opened: ")) &&
                                      verdictOf(impossible).contains(QStringLiteral("an id from 0")),
                                  qPrintable(verdictOf(impossible)), 60'000);
        QCOMPARE(models.rowOf(mute) > 0 && models.rowOf(impossible) > 0, true);
    }

    // "Fits" alone would promise an answer that the first message does not get.
    void verdict_withoutChatTemplate_saysSo_andOffersTheChoice() {
        const QString model = addWithoutTemplate("ann/x/a.gguf");
        const auto stage = std::make_shared<test::Stage>();
        MainWindow window([stage] { return test::makeFakeSession(stage); }, options());
        window.show();
        QTRY_COMPARE_WITH_TIMEOUT(window.opener().local()->rowCount(), 1, 60'000);
        LocalModels& models = *window.opener().local();
        models.estimate(request(), {});
        QTRY_COMPARE_WITH_TIMEOUT(verdict(models, 0), QStringLiteral("Fits, but needs a chat template"), 60'000);
        click(test::part<ChatPage>(window).emptyState().offered()->list(), 0);
        auto* dialog = window.findChild<OpenModelDialog*>();
        QVERIFY(dialog != nullptr && stage->loads().empty());
        QTRY_VERIFY_WITH_TIMEOUT(dialog->view().fits(), 60'000);
        QVERIFY2(dialog->view().verdict().contains(QStringLiteral("has no chat template")),
                 qPrintable(dialog->view().verdict()));
        QComboBox& choice = dialog->view().chatTemplate();
        QCOMPARE(dialog->focusWidget(), &choice);
        picture(*dialog, QStringLiteral("needs-template"), {420, 960});
        QTest::keyClick(&choice, Qt::Key_Down);
        const QString chosen = choice.currentData().toString();
        QVERIFY(!chosen.isEmpty());
        QTRY_VERIFY_WITH_TIMEOUT(dialog->view().fits() && dialog->view().verdict().startsWith(QStringLiteral("Fits: ")),
                                 60'000);
        QTest::mouseClick(&dialog->openButton(), Qt::LeftButton);
        QTRY_COMPARE(window.core().engine.state(), State::Ready);
        QCOMPARE(QString::fromStdString(stage->loads().back().chat_template), chosen);
        models.estimate(request(), {});
        QTRY_COMPARE_WITH_TIMEOUT(verdict(models, 0), QStringLiteral("Fits"), 60'000);
        QVERIFY(!models.index(0).data(LocalModels::FactsRole).toString().contains(QStringLiteral("no chat template")));
    }

    // What comes to the disk while the program runs is listed when the list is opened or
    // the window is returned to; what is chosen stays chosen, and what is known stays
    // known.
    void models_thatCameSince_areFoundWhenTheListIsSeen() {
        addWhole("ann/x/b.gguf");
        const QString chosen = addWhole("ann/x/c.gguf");
        const auto stage = std::make_shared<test::Stage>();
        MainWindow window([stage] { return test::makeFakeSession(stage); }, options());
        window.show();
        LocalModels& models = *window.opener().local();
        QTRY_COMPARE_WITH_TIMEOUT(models.rowCount(), 2, 60'000);
        models.estimate(request(), {});
        QTRY_COMPARE_WITH_TIMEOUT(verdict(models, 1), QStringLiteral("Fits"), 60'000);
        LocalModelView* const offered = test::part<ChatPage>(window).emptyState().offered();
        QListView& list = offered->list();
        list.setCurrentIndex(list.model()->index(1, 0));
        QSignalSpy resets(&models, &QAbstractItemModel::modelReset);
        QSignalSpy searched(&models, &LocalModels::searched);
        QEvent back(QEvent::WindowActivate);
        QApplication::sendEvent(&window, &back);
        QTRY_COMPARE_WITH_TIMEOUT(searched.size(), 1, 60'000);
        QCOMPARE(resets.size(), 0);  // nothing else is there
        addWhole("ann/x/a.gguf");
        QApplication::sendEvent(&window, &back);
        QTRY_COMPARE_WITH_TIMEOUT(models.rowCount(), 3, 60'000);
        QCOMPARE(list.currentIndex().data(LocalModels::PathRole).toString(), chosen);
        QCOMPARE(verdict(models, 2), QStringLiteral("Fits"));
        QTRY_COMPARE_WITH_TIMEOUT(verdict(models, 0), QStringLiteral("Fits"), 60'000);

        // Ctrl+O's list, while it is open.
        auto& menu = test::part<ModelMenu>(window);
        const auto texts = [&menu] {
            QStringList all;
            for (const QAction* action : menu.actions()) {
                all << action->text();
            }
            return all;
        };
        QTest::keyClick(&window, Qt::Key_O, Qt::ControlModifier);
        QTRY_VERIFY(menu.isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(!models.isSearching(), 60'000);
        for (int i = 0; i < 4 && (menu.activeAction() == nullptr || menu.activeAction()->text() != QStringLiteral("c"));
             ++i) {
            QTest::keyClick(&menu, Qt::Key_Down);
        }
        QCOMPARE(menu.activeAction()->text(), QStringLiteral("c"));
        QTest::keyClick(&menu, Qt::Key_Escape);
        addWhole("ann/x/A new one.gguf");
        QTest::keyClick(&window, Qt::Key_O, Qt::ControlModifier);
        QTRY_VERIFY(menu.isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(texts().contains(QStringLiteral("A new one")), 60'000);
        QVERIFY(menu.isVisible() && menu.activeAction() != nullptr);
        QTest::keyClick(&menu, Qt::Key_Escape);
    }

    // Also while the window stays as it is: nobody need look. Folders come first, as
    // downloads make them, and the file in the newest of them long after; a search takes
    // its time from other work, so that they are rare.
    void file_thatComesIntoANewFolder_isListedByItself() {
        addWhole("ann/x/b.gguf");
        constexpr int kBetweenMs = 1500;
        LocalModels models(places(), {.afterChangeMs = 20, .betweenMs = kBetweenMs});
        searchAndWait(models);
        QCOMPARE(models.rowCount(), 1);
        QElapsedTimer clock;
        clock.start();
        QList<qint64> searched;
        connect(&models, &LocalModels::searched, this, [&] { searched << clock.elapsed(); });
        fs::create_directories(root("bea/y"));
        QTRY_COMPARE_WITH_TIMEOUT(searched.size(), 1, 60'000);  // soon
        const QString late = addWhole("bea/y/c.gguf");
        QTRY_VERIFY_WITH_TIMEOUT(searched.size() > 1, 120'000);
        const qint64 between = searched.at(1) - searched.at(0);
        QVERIFY2(between >= kBetweenMs - 10, qPrintable(QString::number(between)));
        QTRY_VERIFY_WITH_TIMEOUT(models.rowOf(late) >= 0, 120'000);
        QCOMPARE(models.rowCount(), 2);
    }

    // Nor beside an answer: the pause behind the change begins again and again.
    void file_thatComesDuringAnAnswer_isListedAfterIt() {
        LocalModels models(places(), kShort);
        searchAndWait(models);
        QSignalSpy searched(&models, &LocalModels::searched);
        models.setQuiet(true);
        addWhole("a.gguf");
        const auto active = [&models] {
            QTimer* const pause = models.findChild<QTimer*>(QStringLiteral("changes"));
            return pause != nullptr && pause->isActive() ? pause : nullptr;
        };
        QTRY_VERIFY_WITH_TIMEOUT(active() != nullptr, 60'000);
        QSignalSpy ends(active(), &QTimer::timeout);
        QTRY_VERIFY_WITH_TIMEOUT(ends.size() >= 3, 60'000);
        QVERIFY(!models.isSearching());
        QCOMPARE(searched.size(), 0);
        models.setQuiet(false);
        QTRY_COMPARE_WITH_TIMEOUT(models.rowCount(), 1, 60'000);
    }

    // Also those that a download has begun, but none above a place: what happens there is
    // nobody's business, and it may be the user's home.
    void watched_arePlaces_andFoldersBelow() {
        const QString model = addWhole("files/maker/model/b.gguf");
        const fs::path revision = root("hub/models--a--b/snapshots/cccc");
        for (const fs::path& folder : {revision, root("hub/models--a--c"), root("files/new"), root("beside")}) {
            fs::create_directories(folder);
        }
        LocalModels models({{engine::ModelOrigin::kHuggingFace, root("hub")},
                            {engine::ModelOrigin::kLmStudio, root("files")},
                            {engine::ModelOrigin::kLlamaCpp, root("no")}});
        searchAndWait(models);
        QCOMPARE(models.rowOf(model), 0);
        const auto* watcher = models.findChild<QFileSystemWatcher*>();
        QVERIFY(watcher != nullptr);
        QStringList watched = watcher->files() + watcher->directories();
        watched.sort();
        QCOMPARE(watched, (QStringList{text(root("files")), text(root("files/maker")), text(root("files/maker/model")),
                                       text(root("files/new")), text(root("hub")), text(revision.parent_path()),
                                       text(revision), text(root("hub/models--a--c"))}));
    }

    // The system's watches are for all programs.
    void manyFolders_areWatchedInPart_theNewestFirst() {
        for (int i = 0; i < 600; ++i) {
            fs::create_directories(root("f") / std::to_string(i));
            fs::last_write_time(root("f") / std::to_string(i),
                                fs::file_time_type::clock::now() - std::chrono::hours(1));
        }
        fs::create_directories(root("new"));
        LocalModels models(places());
        searchAndWait(models);
        const QStringList watched = models.findChild<QFileSystemWatcher*>()->directories();
        QCOMPARE(watched.size(), 512);
        QVERIFY(watched.contains(text(root("new"))) && watched.contains(text(root())));
    }

    // A file that is being copied is read again as it grows.
    void incompleteFile_saysHowMuchIsThere_andIsReadAgain() {
        const QString whole = addWhole("elsewhere.gguf");
        QFile source(whole);
        QVERIFY(source.open(QIODevice::ReadOnly));
        const QByteArray bytes = source.readAll();
        source.close();
        QVERIFY(QFile::remove(whole));
        fs::create_directories(root("ann/x"));
        QFile copy(text(root("ann/x/copied.gguf")));
        QVERIFY(copy.open(QIODevice::WriteOnly));
        copy.write(bytes.first(200));
        QVERIFY(copy.flush());
        LocalModels models(places(), kShort);
        searchAndWait(models);
        QCOMPARE(models.rowCount(), 1);
        QVERIFY2(verdict(models, 0).startsWith(QStringLiteral("Incomplete: 200 of at least ")),
                 qPrintable(verdict(models, 0)));
        copy.write(bytes.mid(200, bytes.size() - 300));
        QVERIFY(copy.flush());
        const QString most = QStringLiteral("Incomplete: %1 of ").arg(QLocale().toString(bytes.size() - 100));
        QTRY_VERIFY2_WITH_TIMEOUT(verdict(models, 0).startsWith(most), qPrintable(verdict(models, 0)), 60'000);
        copy.write(bytes.last(100));
        copy.close();
        models.estimate(request(), {});
        QTRY_COMPARE_WITH_TIMEOUT(verdict(models, 0), QStringLiteral("Fits"), 60'000);
    }

    // Nothing tells that a file in a folder grows.
    void incompleteFolder_isReadAgain() {
        const QString folder = addFolder("ann/x/copied");
        const QString name = folder + QStringLiteral("/model.safetensors");
        QFile source(name);
        QVERIFY(source.open(QIODevice::ReadOnly));
        const QByteArray bytes = source.readAll();
        source.close();
        QVERIFY(QFile::remove(name));  // the link
        QFile copy(name);
        QVERIFY(copy.open(QIODevice::WriteOnly));
        copy.write(bytes.first(bytes.size() / 2));
        QVERIFY(copy.flush());
        LocalModels models(places(), kShort);
        searchAndWait(models);
        QCOMPARE(models.rowCount(), 1);
        models.estimate(request(), {});
        // A file's name stays as it is.
        QTRY_VERIFY2_WITH_TIMEOUT(verdict(models, 0).startsWith(QStringLiteral("model.safetensors: incomplete")),
                                  qPrintable(verdict(models, 0)), 60'000);
        copy.write(bytes.mid(bytes.size() / 2));
        copy.close();
        QTRY_COMPARE_WITH_TIMEOUT(verdict(models, 0), QStringLiteral("Fits"), 60'000);
    }

    void nothingFound_saysWhereItWasLookedFor() {
        LocalModels models({{engine::ModelOrigin::kOllama, root("nowhere")}});
        QCOMPARE(models.summary(), QString());
        models.search();
        QCOMPARE(models.summary(), QStringLiteral("Looking for models on this computer…"));
        QTRY_VERIFY_WITH_TIMEOUT(models.wasSearched(), 60'000);
        QCOMPARE(models.summary(), QStringLiteral("No Mixture-of-Experts models were found. Looked in: Ollama (%1).")
                                       .arg(text(root("nowhere"))));
    }

    void addedFolder_isKept() {
        const QString model = addModel("mine/a.gguf");
        {
            LocalModels models({});
            models.addFolder(text(root("mine")));
            QTRY_COMPARE_WITH_TIMEOUT(models.rowCount(), 1, 60'000);
        }
        LocalModels later({});
        searchAndWait(later);
        QCOMPARE(later.index(0).data(LocalModels::PathRole).toString(), model);
    }

    void gone_whileItSearches() {
        addWhole("ann/x/a.gguf");
        LocalModels models(places());
        models.search();
        models.estimate(request(), {});
        QVERIFY(models.isSearching());
    }

    void dialog_choosesFromTheList() {
        const QString a = addFolder("ann/a");
        const QString b = addFolder("ann/b");
        addHeader("ann/x/c.gguf", 64);
        test::WindowFixture f;
        LocalModels models(places());
        OpenModelDialog dialog(f.window->core().engine);
        dialog.offer(models);
        dialog.show();
        QListView& list = dialog.offered()->list();
        QTRY_COMPARE_WITH_TIMEOUT(list.model()->rowCount(), 3, 60'000);
        QVERIFY(!list.currentIndex().isValid());
        click(list, 1);
        QCOMPARE(dialog.path().text(), b);
        QTRY_VERIFY_WITH_TIMEOUT(dialog.view().fits(), 60'000);
        QCOMPARE(dialog.request().model, b.toStdString());
        // A typed path is marked in the list, and one that is not in it marks none.
        dialog.path().setText(a);
        QCOMPARE(list.currentIndex().row(), 0);
        dialog.path().setText(QStringLiteral("/elsewhere"));
        QVERIFY(!list.currentIndex().isValid());
        click(list, 2);
        QTRY_VERIFY_WITH_TIMEOUT(dialog.view().verdict().contains(QStringLiteral("newmoe")), 60'000);
        QVERIFY(!dialog.openButton().isEnabled());
        QSignalSpy accepted(&dialog, &QDialog::accepted);
        QTest::keyClick(&list, Qt::Key_Return);
        QVERIFY(accepted.isEmpty());
        QTest::keyClick(&list, Qt::Key_Home);
        QTRY_VERIFY_WITH_TIMEOUT(dialog.view().fits(), 60'000);
        QTest::keyClick(&list, Qt::Key_Return);
        QCOMPARE(accepted.size(), 1);
        QCOMPARE(dialog.request().model, a.toStdString());
    }

    // A file of a folder means the folder.
    void dialog_chooser_takesFilesOfModels() {
        test::WindowFixture f;
        OpenModelDialog dialog(f.window->core().engine);
        dialog.show();
        for (const auto& [file, model] : {std::pair("/m/a.gguf", "/m/a.gguf"), std::pair("/m/A.GGUF", "/m/A.GGUF"),
                                          std::pair("/m/a.bin", "/m/a.bin"), std::pair("/m/b/config.json", "/m/b"),
                                          std::pair("/m/c/model-00001-of-00002.safetensors", "/m/c"),
                                          std::pair("/o/blobs/sha256-ab", "/o/blobs/sha256-ab")}) {
            for (QPushButton* button : dialog.findChildren<QPushButton*>()) {
                if (button->text() == QStringLiteral("&File…")) {
                    QTest::mouseClick(button, Qt::LeftButton);
                }
            }
            auto* chooser = dialog.findChild<QFileDialog*>();
            QVERIFY(chooser != nullptr);
            const QString filter = chooser->nameFilters().first();
            for (const char* ending : {"*.gguf", "*.GGUF", "*.bin"}) QVERIFY(filter.contains(QLatin1String(ending)));
            Q_EMIT chooser->fileSelected(QString::fromLatin1(file));
            QCOMPARE(dialog.path().text(), QString::fromLatin1(model));
            delete chooser;
        }
    }

    void dialog_narrow_hasTheListAbove() {
        test::WindowFixture f;
        LocalModels models(places());
        OpenModelDialog dialog(f.window->core().engine);
        dialog.offer(models);
        dialog.show();
        auto* parts = dialog.findChild<QSplitter*>();
        QCOMPARE(parts->orientation(), Qt::Horizontal);
        dialog.resize(420, 640);
        QCOMPARE(parts->orientation(), Qt::Vertical);
        QTRY_VERIFY_WITH_TIMEOUT(models.wasSearched(), 60'000);
        QVERIFY(dialog.offered()->status().text().contains(QStringLiteral("LM Studio")));
        QVERIFY(!dialog.offered()->list().isVisible());
    }

    void startPage_offersAndOpens() {
        for (const char* name : {"ann/x/a.gguf", "ann/x/b.gguf", "ann/x/c.gguf", "ann/x/d.gguf"}) {
            addWhole(name);
        }
        const auto stage = std::make_shared<test::Stage>();
        MainWindow window([stage] { return test::makeFakeSession(stage); }, options());
        window.show();
        LocalModelView* const offered = test::part<ChatPage>(window).emptyState().offered();
        QVERIFY(offered != nullptr);
        QTRY_COMPARE_WITH_TIMEOUT(offered->list().model()->rowCount(), LocalModelView::kFew, 60'000);
        QVERIFY(offered->isVisible() && offered->list().isVisible());
        QTRY_VERIFY(offered->button().isVisible());
        click(offered->list(), 1);
        QTRY_COMPARE(window.core().engine.state(), State::Ready);
        QCOMPARE(stage->loads().size(), std::size_t{1});
        QCOMPARE(stage->loads().back().model, root("ann/x/b.gguf").string());
        QVERIFY(!offered->isVisible());  // the user's own model is open
        QCOMPARE(names(*window.opener().local()).first(), QStringLiteral("b"));
        QTest::mouseClick(&offered->button(), Qt::LeftButton);
        auto* dialog = window.findChild<OpenModelDialog*>();
        QVERIFY(dialog != nullptr && dialog->offered() != nullptr);
        dialog->reject();
    }

    void startPage_whatDoesNotFit_isOpenedWithOptions() {
        const QString model = addWhole("ann/x/a.gguf");
        const auto stage = std::make_shared<test::Stage>();
        MainWindow window([stage] { return test::makeFakeSession(stage); }, options());
        window.show();
        QTRY_COMPARE_WITH_TIMEOUT(window.opener().local()->rowCount(), 1, 60'000);
        window.opener().local()->estimate(request(1), {});
        QTRY_VERIFY_WITH_TIMEOUT(verdict(*window.opener().local(), 0).startsWith(QStringLiteral("Does not fit")),
                                 60'000);
        click(test::part<ChatPage>(window).emptyState().offered()->list(), 0);
        auto* dialog = window.findChild<OpenModelDialog*>();
        QVERIFY(dialog != nullptr);
        QCOMPARE(dialog->path().text(), model);
        QVERIFY(stage->loads().empty());
        dialog->reject();
    }

    // Experts and the rest by their usual names, in the choice, the words and the bars.
    void dialog_ofAFilesBlocks_namesThem() {
        const fs::path file = root("ann/x/mixed.gguf");
        fs::create_directories(file.parent_path());
        tests::write_mixed_gguf(file.string());
        FitView view;
        view.show();
        engine::LoadRequest wanted = request();
        wanted.model = file.string();
        view.setRequest(wanted);
        QTRY_VERIFY_WITH_TIMEOUT(view.fits(), 60'000);
        const QString experts = QStringLiteral("Q4_K, Q6_K, Q5_K, Q3_K, IQ4_XS, Q8_0");
        QCOMPARE(view.findChild<QualityEdit*>()->choice().itemText(0), QStringLiteral("Original: ") + experts);
        QStringList texts;
        for (const QLabel* label : view.findChildren<QLabel*>()) {
            texts << label->text();
        }
        QVERIFY2(texts.join(u'|').contains(
                     QStringLiteral("In the file: experts in %1, all else in Q4_K, Q5_K, Q6_K, F32.").arg(experts)),
                 qPrintable(texts.join(u'|')));
        QStringList parts;
        for (const StackedBar::Row& row : view.findChild<StackedBar*>()->rows()) {
            for (const StackedBar::Part& part : row.parts) {
                parts << part.name;
            }
        }
        QVERIFY2(parts.contains(QStringLiteral("experts, 4 bit (Q5_K + Q3_K + IQ4_XS)")), qPrintable(parts.join(u'|')));
        picture(view, QStringLiteral("fit-gguf"), {420, 900});
    }

    // Who has only seen the demo model finds their own below its prompts.
    void startPage_besideTheDemoModel_offersToo() {
        addFolder("unsloth/Qwen3-30B-A3B-Instruct-2507-UD-Q4_K_XL");
        addFolder("lmstudio-community/gpt-oss-120b-MXFP4");
        const auto stage = std::make_shared<test::Stage>();
        MainWindow::Options withDemo = options();
        withDemo.models.demoModel = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");
        MainWindow window([stage] { return test::makeFakeSession(stage); }, withDemo);
        window.show();
        window.opener().open(withDemo.models.demoModel);
        QTRY_COMPARE(window.core().engine.state(), State::Ready);
        LocalModelView* const offered = test::part<ChatPage>(window).emptyState().offered();
        QTRY_VERIFY_WITH_TIMEOUT(offered->list().isVisible(), 60'000);
        QVERIFY(!offered->button().isVisible());  // these are all
        picture(window, QStringLiteral("start-demo"), {420, 1280}, 800);
        // Rows take three lines instead of two in a narrow list, and the page makes room
        // for them.
        for (const int width : {1280, 420}) {
            window.resize(width, 800);
            const QListView& list = offered->list();
            QTRY_COMPARE(list.viewport()->height(), list.model()->rowCount() * list.sizeHintForRow(0));
            QTRY_COMPARE(test::part<ChatPage>(window).emptyState().horizontalScrollBar()->maximum(), 0);
        }
        window.opener().open(QStringLiteral("/models/own"));
        QTRY_COMPARE(window.core().engine.state(), State::Ready);
        QVERIFY(!offered->isVisible());
    }

    void startPage_withoutModels_saysWhere() {
        const auto stage = std::make_shared<test::Stage>();
        MainWindow window([stage] { return test::makeFakeSession(stage); }, options());
        window.show();
        LocalModelView* const offered = test::part<ChatPage>(window).emptyState().offered();
        QTRY_VERIFY_WITH_TIMEOUT(
            offered->status().isVisible() && offered->status().text().contains(QStringLiteral("LM Studio")), 60'000);
        QVERIFY(!offered->list().isVisible() && !offered->button().isVisible());
    }

    void drop_ggufFile_opensIt_data() {
        QTest::addColumn<QStringList>("files");
        QTest::addColumn<QString>("opened");
        QTest::newRow("one file") << QStringList{QStringLiteral("/m/a.gguf")} << QStringLiteral("/m/a.gguf");
        QTest::newRow("all parts of one model")
            << QStringList{QStringLiteral("/m/a-00002-of-00002.gguf"), QStringLiteral("/m/a-00001-of-00002.gguf")}
            << QStringLiteral("/m/a-00002-of-00002.gguf");
        QTest::newRow("parts of two models")
            << QStringList{QStringLiteral("/m/a-00001-of-00002.gguf"), QStringLiteral("/m/b-00001-of-00002.gguf")}
            << QString();
        QTest::newRow("two models") << QStringList{QStringLiteral("/m/a.gguf"), QStringLiteral("/m/b.gguf")}
                                    << QString();
    }
    void drop_ggufFile_opensIt() {
        QFETCH(QStringList, files);
        QFETCH(QString, opened);
        test::WindowFixture f;
        QList<QUrl> urls;
        for (const QString& file : files) {
            urls << QUrl::fromLocalFile(file);
        }
        QMimeData mime;
        mime.setUrls(urls);
        QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        enter.ignore();
        QApplication::sendEvent(f.window.get(), &enter);
        QCOMPARE(enter.isAccepted(), !opened.isEmpty());
        if (opened.isEmpty()) {
            return;
        }
        QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(f.window.get(), &drop);
        QTRY_COMPARE(f.state(), State::Ready);
        QCOMPARE(f.stage->loads().back().model, opened.toStdString());
    }

    void cachedModel_hasItsNameInTheMenu() {
        QCOMPARE(modelNameOf(QStringLiteral("/h/models--Qwen--Qwen3-30B-A3B/snapshots/ab12")),
                 QStringLiteral("Qwen3-30B-A3B"));
        QCOMPARE(modelNameOf(QStringLiteral("/h/blobs/sha256-00")), QStringLiteral("sha256-00"));
    }

    // Saves pictures to OFFSTAGE_PICTURES.
    void pictures() {
        addFolder("unsloth/Qwen3-30B-A3B-Instruct-2507-UD-Q4_K_XL");
        addFolder("lmstudio-community/gpt-oss-120b-MXFP4");
        addFolder("bartowski/Mixtral-8x7B-Instruct-v0.1-Q5_K_M");
        addWhole("unsloth/GLM/GLM-4.7-Flash-UD-Q3_K_XL.gguf");
        addHeader("unsloth/next/Qwen3-Next-80B-A3B-Q4_K_M.gguf", 512);
        addHeader("unsloth/deep/DeepSeek-V3-Q2_K-00001-of-00007.gguf", 256);
        addHeader("unsloth/dense/llama.gguf", 0);
        const auto stage = std::make_shared<test::Stage>();
        MainWindow window([stage] { return test::makeFakeSession(stage); }, options());
        window.show();
        QTRY_COMPARE_WITH_TIMEOUT(window.opener().local()->rowCount(), 6, 60'000);
        window.opener().local()->estimate(request(), {});
        QTRY_VERIFY_WITH_TIMEOUT(!verdict(*window.opener().local(), 3).isEmpty(), 60'000);
        picture(window, QStringLiteral("start"), {420, 1280}, 800);
        window.opener().openWithOptions(window.opener().local()->index(1).data(LocalModels::PathRole).toString());
        auto* dialog = window.findChild<OpenModelDialog*>();
        QVERIFY(dialog != nullptr);
        QTRY_VERIFY_WITH_TIMEOUT(dialog->view().fits(), 60'000);
        QTRY_VERIFY_WITH_TIMEOUT(!verdict(*window.opener().local(), 3).isEmpty(), 60'000);
        picture(*dialog, QStringLiteral("open"), {420, 960});
        dialog->reject();

        LocalModels none({{engine::ModelOrigin::kHuggingFace, root("a")}, {engine::ModelOrigin::kOllama, root("b")}});
        OpenModelDialog empty(window.core().engine);
        empty.offer(none);
        empty.show();
        QTRY_VERIFY_WITH_TIMEOUT(none.wasSearched(), 60'000);
        picture(empty, QStringLiteral("open-empty"), {420, 960});
    }
};

OFFSTAGE_UI_TEST_MAIN(TestLocalModels)
#include "tst_local_models.moc"
