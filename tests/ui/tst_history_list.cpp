// The list of conversations, files, and presets: the user's actions on them.
#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "tests/ui/find_widget.h"
#include "tests/ui/history_fixture.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/found_colours.h"
#include "ui/base/settings.h"
#include "ui/chat/conversation_list.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/thought_block.h"
#include "ui/history/conversation_files.h"
#include "ui/history/conversation_list_model.h"
#include "ui/settings/preset_bar.h"
#include "ui/settings/sampling_panel.h"

using namespace offstage::ui;
namespace test = offstage::test;

namespace {

struct Fixture {
    Fixture() {
        history.open(folder.path());
        chat = std::make_unique<ChatController>(engine, model, history);
        list = std::make_unique<ConversationList>(*chat);
        list->resize(280, 480);
        list->show();
    }
    ConversationId talk(const QString& asked, const QString& answered) {
        const ConversationId id = history.create({}, {});
        const MessageId prompt = history.add(id, test::prompt(asked));
        history.add(id, test::answer(answered, prompt));
        return id;
    }
    QStringList titles() const {
        QStringList out;
        for (int row = 0; row < list->model().rowCount(); ++row) {
            out += list->model().index(row).data().toString();
        }
        return out;
    }
    ConversationId marked() const {
        return list->view().currentIndex().data(ConversationListModel::ConversationRole).toULongLong();
    }
    void select(ConversationId id) {
        list->view().setCurrentIndex(list->model().index(list->model().rowOf(id)));
        list->view().setFocus();
    }

    // The editor that a row has; types the name and ends with Return.
    void typeName(const QString& name) const {
        auto* editor = list->view().findChild<QLineEdit*>();
        QVERIFY(editor != nullptr);
        editor->selectAll();
        QTest::keyClicks(editor, name);
        QTest::keyClick(editor, Qt::Key_Return);
        QTRY_VERIFY(list->view().findChild<QLineEdit*>() == nullptr);
        list->view().setFocus();
    }
    void selectFolder(const QString& name) {
        list->view().setCurrentIndex(list->model().index(list->model().rowOfFolder(name)));
        list->view().setFocus();
    }
    // The entry of the row's context menu, or of its submenu, by mouse.
    void chooseInMenu(int row, const QString& entry, const QString& below = {}) {
        const QPoint at = list->view().visualRect(list->model().index(row)).center();
        QContextMenuEvent event(QContextMenuEvent::Mouse, at, list->view().viewport()->mapToGlobal(at));
        QApplication::sendEvent(list->view().viewport(), &event);
        auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        QVERIFY(menu != nullptr);
        for (const QString& wanted : {entry, below}) {
            for (QAction* action : menu != nullptr ? menu->actions() : QList<QAction*>()) {
                if (!wanted.isEmpty() && QString(action->text()).remove(u'&') == wanted) {
                    menu->setActiveAction(action);
                    QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(action).center());
                    menu = action->menu();
                    break;
                }
            }
        }
        if (QWidget* open = QApplication::activePopupWidget()) {
            open->close();
        }
    }
    // As a drag with the mouse ends.
    bool drop(int row, const QPoint& at) const {
        const std::unique_ptr<QMimeData> mime(list->model().mimeData({list->model().index(row)}));
        QDragEnterEvent enter(at, Qt::MoveAction, mime.get(), Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(list->view().viewport(), &enter);
        QDragMoveEvent move(at, Qt::MoveAction, mime.get(), Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(list->view().viewport(), &move);
        QDropEvent event(QPointF(at), Qt::MoveAction, mime.get(), Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(list->view().viewport(), &event);
        return event.isAccepted();
    }
    QPoint middleOf(int row) const { return list->view().visualRect(list->model().index(row)).center(); }

    test::HistoryFolder folder;
    EngineController engine{[] { return test::makeFakeSession(std::make_shared<test::Stage>()); }};
    ConversationModel model;
    History history;
    std::unique_ptr<ChatController> chat;
    std::unique_ptr<ConversationList> list;
};

}  // namespace

class TestHistoryList : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    void list_pinnedThenNewest() {
        Fixture f;
        QAbstractItemModelTester tester(&f.list->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        const ConversationId a = f.talk(QStringLiteral("apple"), QStringLiteral("x"));
        const ConversationId b = f.talk(QStringLiteral("banana"), QStringLiteral("x"));
        const ConversationId c = f.talk(QStringLiteral("cherry"), QStringLiteral("x"));
        QCOMPARE(f.titles(),
                 QStringList({QStringLiteral("cherry"), QStringLiteral("banana"), QStringLiteral("apple")}));
        f.history.setPinned(a, true);
        QCOMPARE(f.titles(),
                 QStringList({QStringLiteral("apple"), QStringLiteral("cherry"), QStringLiteral("banana")}));
        f.history.setArchived(c, true);
        QCOMPARE(f.titles(), QStringList({QStringLiteral("apple"), QStringLiteral("banana")}));
        QTest::mouseClick(&test::find<QToolButton>(*f.list, "Archive"), Qt::LeftButton);
        QCOMPARE(f.titles(), QStringList({QStringLiteral("cherry")}));
        QTest::mouseClick(&test::find<QToolButton>(*f.list, "Archive"), Qt::LeftButton);
        f.history.setPinned(a, false);
        QCOMPARE(f.titles(), QStringList({QStringLiteral("banana"), QStringLiteral("apple")}));
        f.history.remove(b);
        QCOMPARE(f.titles(), QStringList({QStringLiteral("apple")}));
        f.history.undoRemove(b);
        QCOMPARE(f.titles(), QStringList({QStringLiteral("banana"), QStringLiteral("apple")}));
    }

    void keyboard_opensRenamesDeletesAndUndoes() {
        Fixture f;
        const ConversationId a = f.talk(QStringLiteral("apple"), QStringLiteral("x"));
        f.talk(QStringLiteral("banana"), QStringLiteral("x"));
        f.select(a);
        QTest::keyClick(&f.list->view(), Qt::Key_Return);
        QCOMPARE(f.chat->current(), a);
        QCOMPARE(f.model.rowCount(), 2);
        QTest::keyClick(&f.list->view(), Qt::Key_F2);
        auto* editor = f.list->view().findChild<QLineEdit*>();
        QVERIFY(editor);
        QCOMPARE(editor->text(), QStringLiteral("apple"));
        editor->setText(QStringLiteral("Apple pie"));
        QTest::keyClick(editor, Qt::Key_Return);
        QTRY_COMPARE(f.history.info(a).title, QStringLiteral("Apple pie"));
        f.list->view().setFocus();
        QTest::keyClick(&f.list->view(), Qt::Key_Delete);
        QVERIFY(!f.history.contains(a));
        QVERIFY(f.list->notice().contains(QStringLiteral("Apple pie")));
        QVERIFY(f.chat->current() != a);
        QTest::mouseClick(&test::find<QToolButton>(*f.list, "Undo"), Qt::LeftButton);
        QVERIFY(f.history.contains(a));
        QCOMPARE(f.chat->current(), a);
        QVERIFY(f.list->notice().isEmpty());
    }

    // Made, named and filled with keys and the mouse; F2 and Del mean the folder where
    // one is chosen.
    void folders_areMade_renamed_closed_andDeleted() {
        Fixture f;
        QAbstractItemModelTester tester(&f.list->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        const ConversationId a = f.talk(QStringLiteral("apple"), QStringLiteral("x"));
        f.talk(QStringLiteral("banana"), QStringLiteral("x"));
        f.chooseInMenu(f.list->model().rowOf(a), QStringLiteral("Move to folder"), QStringLiteral("New folder"));
        f.typeName(QStringLiteral("Work & play"));
        const QString work = QStringLiteral("Work & play");
        QCOMPARE(f.titles(), QStringList({work, QStringLiteral("apple"), QStringLiteral("banana")}));
        QCOMPARE(f.history.info(a).folder, work);
        const QModelIndex folder = f.list->model().index(0);
        QVERIFY(folder.data(Qt::AccessibleTextRole).toString().contains(QStringLiteral("1 conversation")));

        f.selectFolder(work);
        QTest::keyClick(&f.list->view(), Qt::Key_Left);
        QCOMPARE(f.titles(), QStringList({work, QStringLiteral("banana")}));
        QTest::keyClick(&f.list->view(), Qt::Key_Right);
        QCOMPARE(f.titles().size(), 3);
        QTest::mouseClick(f.list->view().viewport(), Qt::LeftButton, {}, f.middleOf(0));
        QCOMPARE(f.titles().size(), 2);
        f.chat->openConversation(a);
        f.list->openNext(+1);  // steps over the folder
        QTest::keyClick(&f.list->view(), Qt::Key_Home);
        QTest::keyClick(&f.list->view(), Qt::Key_Return);
        QCOMPARE(f.titles().size(), 3);

        f.selectFolder(work);
        QTest::keyClick(&f.list->view(), Qt::Key_F2);
        f.typeName(QStringLiteral("Work"));
        QCOMPARE(f.titles().first(), QStringLiteral("Work"));
        QCOMPARE(f.history.info(a).folder, QStringLiteral("Work"));

        f.selectFolder(QStringLiteral("Work"));
        QTest::keyClick(&f.list->view(), Qt::Key_Delete);
        QCOMPARE(f.titles(), QStringList({QStringLiteral("banana"), QStringLiteral("apple")}));
        QVERIFY(f.history.contains(a));
        QTest::mouseClick(&test::find<QToolButton>(*f.list, "Undo"), Qt::LeftButton);
        QCOMPARE(f.history.info(a).folder, QStringLiteral("Work"));
        QCOMPARE(f.titles().size(), 3);
    }

    void folders_takeWhatIsDropped() {
        Fixture f;
        const ConversationId a = f.talk(QStringLiteral("apple"), QStringLiteral("x"));
        const ConversationId b = f.talk(QStringLiteral("banana"), QStringLiteral("x"));
        const ConversationId c = f.talk(QStringLiteral("cherry"), QStringLiteral("x"));
        const QString folder = f.list->model().folders().create();
        QCOMPARE(f.titles().first(), folder);
        QVERIFY(f.drop(f.list->model().rowOf(a), f.middleOf(0)));
        QCOMPARE(f.history.info(a).folder, folder);
        QVERIFY(f.drop(f.list->model().rowOf(b), f.middleOf(f.list->model().rowOf(a))));  // where that is
        QCOMPARE(f.history.info(b).folder, folder);
        QVERIFY(f.drop(f.list->model().rowOf(a), f.middleOf(f.list->model().rowOf(c))));
        QCOMPARE(f.history.info(a).folder, QString());
        QVERIFY(f.drop(f.list->model().rowOf(b), QPoint(20, f.list->view().viewport()->height() - 4)));
        QCOMPARE(f.history.info(b).folder, QString());
        QCOMPARE(f.history.info(b).title, QStringLiteral("banana"));
        QVERIFY(!(f.list->model().flags(f.list->model().index(0)) & Qt::ItemIsDragEnabled));  // the folder itself
    }

    void folders_areKept_withTheirState() {
        const test::HistoryFolder folder;
        const QString empty = QStringLiteral("Empty"), full = QStringLiteral("Full");
        ConversationId id = 0;
        {
            History history;
            QVERIFY(history.open(folder.path()));
            id = history.create({}, {});
            history.add(id, test::prompt(QStringLiteral("apple")));
            ConversationFolders folders(history);
            folders.rename(folders.create(), empty);
            folders.put(id, full);
            folders.setClosed(full, true);
        }
        History history;
        QVERIFY(history.open(folder.path()));
        QCOMPARE(history.info(id).folder, full);
        ConversationListModel model(history);
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(model.folders().names(), QStringList({empty, full}));
        QVERIFY(model.index(1).data(ConversationListModel::ClosedRole).toBool());
        QVERIFY(!model.index(0).data(ConversationListModel::ClosedRole).toBool());
    }

    // Those of an older version leave the settings when the history has them, not before.
    void folders_ofTheSettings_areNotLost_whereTheDiskIsBusy() {
        const test::HistoryFolder folder;
        settings::kFolders.set({QStringLiteral("Old")});
        {
            History history;
            history.setBusyTimeout(std::chrono::milliseconds(1));
            QVERIFY(history.open(folder.path()));
            test::Sql other(folder.file());
            QCOMPARE(other(QStringLiteral("BEGIN IMMEDIATE")), QVariant());
            const ConversationFolders folders(history);
            QTRY_VERIFY(!history.trouble().isEmpty());
            QVERIFY(settings::kFolders.kept());
        }
        History history;
        QVERIFY(history.open(folder.path()));
        const ConversationFolders folders(history);
        QTRY_VERIFY(!settings::kFolders.kept());
        QCOMPARE(folders.names(), QStringList{QStringLiteral("Old")});
    }

    // Empty ones, too: each window adds its own, and neither takes the other's away.
    void folders_ofTwoWindows_areKeptBoth() {
        const test::HistoryFolder folder;
        const QString one = QStringLiteral("One"), two = QStringLiteral("Two"), gone = QStringLiteral("Gone");
        {
            History history;
            QVERIFY(history.open(folder.path()));
            ConversationFolders folders(history);
            folders.rename(folders.create(), gone);
        }
        {
            History first, second;
            QVERIFY(first.open(folder.path()) && second.open(folder.path()));
            ConversationFolders here(first), there(second);
            QCOMPARE(there.names(), QStringList{gone});
            here.rename(here.create(), one);
            here.remove(gone);
            there.rename(there.create(), two);
        }
        History history;
        QVERIFY(history.open(folder.path()));
        QCOMPARE(ConversationFolders(history).names(), QStringList({one, two}));
    }

    // The settings had them before.
    void folders_ofTheSettings_areTakenOver() {
        const test::HistoryFolder folder;
        settings::kFolders.set({QStringLiteral("Old")});
        {
            History history;
            QVERIFY(history.open(folder.path()));
            const ConversationFolders folders(history);
            QCOMPARE(folders.names(), QStringList{QStringLiteral("Old")});
            QTRY_VERIFY(!settings::kFolders.kept());
        }
        History history;
        QVERIFY(history.open(folder.path()));
        QCOMPARE(ConversationFolders(history).names(), QStringList{QStringLiteral("Old")});
    }

    // Also in a closed one, and the hit says where it is.
    void folders_areSearched() {
        Fixture f;
        const ConversationId a = f.talk(QStringLiteral("apple"), QStringLiteral("quince"));
        f.list->model().folders().put(a, QStringLiteral("Fruit"));
        f.list->model().folders().setClosed(QStringLiteral("Fruit"), true);
        QVERIFY(f.history.flush());
        QTest::keyClicks(&test::child<QLineEdit>(*f.list), QStringLiteral("quin"));
        QTRY_COMPARE(f.titles(), QStringList({QStringLiteral("apple")}));
        QVERIFY(f.list->model()
                    .index(0)
                    .data(ConversationListModel::PlaceRole)
                    .toString()
                    .startsWith(QStringLiteral("Fruit")));
        QTest::mouseClick(f.list->view().viewport(), Qt::LeftButton, {}, f.middleOf(0));
        QCOMPARE(f.chat->current(), a);
    }

    void folder_exported_comesBack() {
        Fixture f;
        const QString file = f.folder.folder.filePath(QStringLiteral("folder.json"));
        f.talk(QStringLiteral("banana"), QStringLiteral("x"));
        const ConversationId a = f.talk(QStringLiteral("apple"), QStringLiteral("x"));
        f.list->model().folders().put(a, QStringLiteral("Fruit"));
        QVERIFY(f.history.flush());
        f.chooseInMenu(f.list->model().rowOfFolder(QStringLiteral("Fruit")), QStringLiteral("Export…"));
        auto* dialog = f.list->findChild<QFileDialog*>();
        QVERIFY(dialog != nullptr);
        dialog->selectFile(file);
        dialog->findChild<QLineEdit*>()->setText(file);
        QTest::keyClick(dialog->findChild<QLineEdit*>(), Qt::Key_Return);
        QTRY_VERIFY(QFile::exists(file));
        const ImportedConversations read = readConversations(file);
        QCOMPARE(read.conversations.size(), 1);
        QCOMPARE(read.conversations.first().info.folder, QStringLiteral("Fruit"));
        f.list->importFrom(file);
        QCOMPARE(f.list->model().folders().conversationsOf(QStringLiteral("Fruit")).size(), 2);
    }

    // A name that is being typed stays while an answer changes the list around it.
    void folder_named_whileTheListChanges() {
        Fixture f;
        const ConversationId a = f.talk(QStringLiteral("apple"), QStringLiteral("x"));
        const QString folder = f.list->model().folders().create();
        f.selectFolder(folder);
        QTest::keyClick(&f.list->view(), Qt::Key_F2);
        auto* editor = f.list->view().findChild<QLineEdit*>();
        QVERIFY(editor != nullptr);
        editor->selectAll();
        QTest::keyClicks(editor, QStringLiteral("Fru"));
        f.history.add(a, test::prompt(QStringLiteral("more"), 0));
        f.talk(QStringLiteral("banana"), QStringLiteral("x"));
        QTest::keyClicks(editor, QStringLiteral("it"));
        QTest::keyClick(editor, Qt::Key_Return);
        QTRY_COMPARE(f.titles().first(), QStringLiteral("Fruit"));
    }

    void search_listsHits_andOpensThem() {
        Fixture f;
        const ConversationId a =
            f.talk(QStringLiteral("About fruit"), QStringLiteral("Pears and quinces are related."));
        f.talk(QStringLiteral("quinces?"), QStringLiteral("A fruit."));
        QVERIFY(f.history.flush());
        QTest::keyClicks(&test::child<QLineEdit>(*f.list), QStringLiteral("quin"));
        QTRY_COMPARE(f.list->model().rowCount(), 3);  // a title, its prompt, and the answer of the other
        int row = -1;
        for (int i = 0; i < 3; ++i) {
            row = f.list->model().index(i).data(ConversationListModel::ConversationRole).toULongLong() == a ? i : row;
        }
        QVERIFY(row >= 0);
        const QModelIndex hit = f.list->model().index(row);
        QVERIFY(hit.data(ConversationListModel::SecondLineRole).toString().contains(QStringLiteral("quinces")));
        QCOMPARE(hit.data(ConversationListModel::MarksRole).toList().size(), 1);
        QSignalSpy opened(f.list.get(), &ConversationList::opened);
        QTest::mouseClick(f.list->view().viewport(), Qt::LeftButton, {}, f.list->view().visualRect(hit).center());
        QCOMPARE(opened.size(), 1);
        QCOMPARE(f.chat->current(), a);
        QTest::keyClick(&test::child<QLineEdit>(*f.list), Qt::Key_Escape);
        QTRY_COMPARE(f.list->model().rowCount(), 2);
    }

    // At once, before the pause of typing; without a word, Enter leads into the list.
    void search_enterOpensTheFirstHit() {
        Fixture f;
        const ConversationId a = f.talk(QStringLiteral("About fruit"), QStringLiteral("Pears."));
        const ConversationId b = f.talk(QStringLiteral("stones"), QStringLiteral("Granite."));
        QVERIFY(f.history.flush());
        auto& search = test::child<QLineEdit>(*f.list);
        for (const int key : {Qt::Key_Return, Qt::Key_Enter}) {
            QSignalSpy opened(f.list.get(), &ConversationList::opened);
            f.chat->openConversation(b);
            search.setFocus();
            QTest::keyClicks(&search, QStringLiteral("pears"));
            QTest::keyClick(&search, static_cast<Qt::Key>(key));
            QCOMPARE(f.chat->current(), a);
            QCOMPARE(opened.size(), 1);
            search.clear();
        }
        f.chat->openConversation(b);
        QTest::keyClicks(&search, QStringLiteral("nowhere"));
        QTest::keyClick(&search, Qt::Key_Return);
        QCOMPARE(f.chat->current(), b);
        search.clear();
        QTest::keyClick(&search, Qt::Key_Return);
        QCOMPARE(f.chat->current(), b);
        QCOMPARE(f.list->focusWidget(), &f.list->view());
    }

    // On the colour that it has in the message, however narrow the list is.
    void search_marksTheHits() {
        Fixture f;
        f.talk(QStringLiteral("About fruit"), QStringLiteral("Pears and quinces are related, as everybody knows."));
        f.talk(QStringLiteral("Some quinces"), QStringLiteral("A fruit."));
        QVERIFY(f.history.flush());
        f.list->show();
        QTest::keyClicks(&test::child<QLineEdit>(*f.list), QStringLiteral("quinces"));
        QTRY_COMPARE(f.list->model().rowCount(), 3);
        QListView& view = f.list->view();
        const QRgb found = foundColours(isDark(view.palette())).background.rgb();
        for (const int width : {320, 150}) {
            f.list->resize(width, 500);
            QTRY_COMPARE(f.list->width(), width);
            const QImage image = view.viewport()->grab().toImage().convertToFormat(QImage::Format_RGB32);
            for (int row = 0; row < 3; ++row) {
                const QRect rect = view.visualRect(f.list->model().index(row)) & image.rect();
                int marked = 0;
                for (int y = rect.top(); y <= rect.bottom(); ++y) {
                    for (int x = rect.left(); x <= rect.right(); ++x) {
                        marked += image.pixel(x, y) == found ? 1 : 0;
                    }
                }
                QVERIFY2(marked > 100, qPrintable(QStringLiteral("row %1 at %2: %3").arg(row).arg(width).arg(marked)));
            }
        }
        test::picture(*f.list, QStringLiteral("search-hits"), {150, 320}, 500);
    }

    void emptyText_isWhole_inALowList() {
        Fixture f;
        f.list->show();
        QListView& view = f.list->view();
        for (const int height : {400, 70}) {
            f.list->resize(200, f.list->height() - view.height() + height);
            QTRY_COMPARE(view.height(), height);
            const auto* text = view.viewport()->findChild<QLabel*>();
            QVERIFY(text != nullptr && text->isVisible());
            QTRY_VERIFY2(text->height() >= text->heightForWidth(text->width()) &&
                             view.viewport()->rect().contains(text->geometry()),
                         qPrintable(QStringLiteral("%1 of %2 pixels in %3")
                                        .arg(text->height())
                                        .arg(text->heightForWidth(text->width()))
                                        .arg(view.viewport()->height())));
        }
    }

    // A new conversation is listed and marked, though a search was on.
    void search_endsWithANewConversation() {
        Fixture f;
        f.talk(QStringLiteral("quinces?"), QStringLiteral("A fruit."));
        QVERIFY(f.history.flush());
        QTest::keyClicks(&test::child<QLineEdit>(*f.list), QStringLiteral("quin"));
        QTRY_VERIFY(f.list->model().isSearching() && f.list->model().rowCount() > 0);
        f.chat->newConversation();
        QCOMPARE(test::child<QLineEdit>(*f.list).text(), QString());
        QVERIFY(!f.list->model().isSearching());
        const ConversationId now = f.talk(QStringLiteral("pears?"), QStringLiteral("A fruit."));
        f.chat->openConversation(now);
        QCOMPARE(f.marked(), now);
    }

    // What is typed stays, though the model's title comes meanwhile.
    void rename_keepsWhatIsTyped_thoughATitleComes() {
        Fixture f;
        const ConversationId id = f.talk(QStringLiteral("quinces?"), QStringLiteral("A fruit."));
        f.select(id);
        QTest::keyClick(&f.list->view(), Qt::Key_F2);
        auto* editor = f.list->view().findChild<QLineEdit*>();
        QVERIFY(editor != nullptr);
        QTest::keyClicks(editor, QStringLiteral("Mi"));
        f.history.setModelTitle(id, QStringLiteral("Fruit"));
        QCOMPARE(f.history.info(id).title, QStringLiteral("Fruit"));
        QTest::keyClicks(editor, QStringLiteral("ne"));
        QTest::keyClick(editor, Qt::Key_Return);
        QTRY_COMPARE(f.history.info(id).title, QStringLiteral("Mine"));
    }

    // An empty folder comes back, too, and so does that it was closed.
    void folder_deleted_comesBackAsItWas() {
        Fixture f;
        ConversationFolders& folders = f.list->model().folders();
        const QString name = folders.create();
        folders.setClosed(name, true);
        f.list->removeFolder(name);
        QVERIFY(!folders.names().contains(name));
        test::find<QToolButton>(*f.list, "Undo").click();
        QVERIFY(folders.names().contains(name) && folders.isClosed(name));
    }

    // A menu of another row does not leave the mark there.
    void menu_leavesTheMarkAtTheConversationThatIsShown() {
        Fixture f;
        f.talk(QStringLiteral("quinces?"), QStringLiteral("A fruit."));
        const ConversationId shown = f.talk(QStringLiteral("pears?"), QStringLiteral("A fruit."));
        f.chat->openConversation(shown);
        QCOMPARE(f.marked(), shown);
        f.chooseInMenu(1 - f.list->model().rowOf(shown), QStringLiteral("Nothing of these"));
        QTRY_COMPARE(f.marked(), shown);
    }

    void search_thatFindsAThought_saysSo_andUnfoldsIt() {
        Fixture f;
        const ConversationId a = f.talk(QStringLiteral("fruit?"), QStringLiteral("Pears."));
        const MessageId answer = f.history.open(a)->path().last().id;
        f.history.edit(a, answer, [](Message& m) { m.thought.text = QStringLiteral("Not a quince."); });
        QVERIFY(f.history.flush());
        QTest::keyClicks(&test::child<QLineEdit>(*f.list), QStringLiteral("quince"));
        // The list had one row before, too.
        QTRY_VERIFY(f.list->model().index(0).data(ConversationListModel::HitRole).toInt() ==
                    static_cast<int>(SearchHit::Place::Thought));
        QCOMPARE(f.list->model().rowCount(), 1);
        const QModelIndex hit = f.list->model().index(0);
        QCOMPARE(hit.data(ConversationListModel::PlaceRole).toString(), QStringLiteral("Thought"));
        QVERIFY(hit.data(Qt::AccessibleTextRole).toString().contains(QStringLiteral("Thought: ")));
        QSignalSpy found(f.list.get(), &ConversationList::thoughtFound);
        ConversationView view(f.model);
        view.resize(400, 400);
        view.show();
        connect(f.list.get(), &ConversationList::thoughtFound, &view, &ConversationView::showThought);
        QTest::mouseClick(f.list->view().viewport(), Qt::LeftButton, {}, f.list->view().visualRect(hit).center());
        QCOMPARE(found.size(), 1);
        QCOMPARE(found.first().first().toULongLong(), answer);
        QTRY_VERIFY(!view.findChildren<ThoughtBlock*>().isEmpty());
        QTRY_VERIFY(view.findChild<ThoughtBlock*>()->isUnfolded());
    }

    // ---------------------------------------------------------------- files

    void json_roundTrip_keepsTheWholeTree() {
        Fixture f;
        const ConversationId id = f.talk(QStringLiteral("a"), QStringLiteral("one"));
        const MessageId prompt = f.history.open(id)->path()[0].id;
        Message second = test::answer(QStringLiteral("uno"), prompt, Message::State::Stopped);
        second.figures = AnswerFigures{0.5, 10, 20, 5, 30};
        second.note = QStringLiteral("Stopped");
        second.edited = true;
        f.history.add(id, second);
        f.history.edit(id, prompt, [](Message& m) { m.cut = QStringLiteral("What was said."); });
        f.history.setTitle(id, QStringLiteral("Título"));
        f.history.setPinned(id, true);
        Sampling sampling;
        sampling.sampler.temperature = 0.3f;
        sampling.sampler.seed = 18446744073709551615ull;
        f.history.setSampling(id, sampling);
        f.history.setSystemPrompt(id, QStringLiteral("Be brief."));
        const QString file = f.folder.folder.filePath(QStringLiteral("out.json"));
        f.list->exportTo(file, 0);
        QVERIFY(f.list->notice().contains(QStringLiteral("out.json")));
        f.list->importFrom(file);
        QCOMPARE(f.history.conversations().size(), 2);  // never over the old one
        const ConversationId copy = f.chat->current();
        QVERIFY(copy != id);
        const StoredConversation before = f.history.stored(id).value();
        const StoredConversation after = f.history.stored(copy).value();
        QCOMPARE(after.info.title, before.info.title);
        QVERIFY(after.info.sampling == sampling);
        QVERIFY(after.info.pinned);
        QCOMPARE(after.info.systemPrompt, before.info.systemPrompt);
        QCOMPARE(after.messages.size(), 3);
        QCOMPARE(after.messages[0].cut.value_or(QString()), QStringLiteral("What was said."));
        QVERIFY(!after.messages[1].cut);
        QCOMPARE(conversationsToJson({after}), conversationsToJson({before}));
        QCOMPARE(f.model.messages().last().text, QStringLiteral("uno"));
        QCOMPARE(f.model.messages().last().branches, 2);
        QVERIFY(f.model.messages().last().edited);
        QVERIFY(f.history.close());
        History again;
        QVERIFY(again.open(f.folder.path()));
        QCOMPARE(conversationsToJson({again.stored(copy).value()}), conversationsToJson({before}));
    }

    void markdown_hasThePathShown() {
        Fixture f;
        const ConversationId id = f.talk(QStringLiteral("asked"), QStringLiteral("answered"));
        f.history.setSystemPrompt(id, QStringLiteral("Be brief."));
        const QString file = f.folder.folder.filePath(QStringLiteral("out.md"));
        f.list->exportTo(file, id);
        QFile in(file);
        QVERIFY(in.open(QIODevice::ReadOnly));
        QCOMPARE(
            QString::fromUtf8(in.readAll()),
            QStringLiteral("# asked\n\n> System prompt: Be brief.\n\n## You\n\nasked\n\n## fake-moe\n\nanswered\n\n"));
        f.list->exportTo(f.folder.folder.filePath(QStringLiteral("no/such/folder/out.md")), id);
        QVERIFY(f.list->notice().contains(QStringLiteral("cannot be written")));
    }

    void unreadable_isNamed_andNoGoodFileIsReplaced() {
        test::HistoryFolder folder;
        ConversationId lost = 0;
        {
            History before;
            QVERIFY(before.open(folder.path()));
            lost = before.create({}, {});
            before.add(lost, test::prompt(QStringLiteral("lost")));
            const ConversationId kept = before.create({}, {});
            before.add(kept, test::prompt(QStringLiteral("kept")));
            QVERIFY(before.close());
        }
        History history;
        QVERIFY(history.open(folder.path()));
        EngineController engine{[] { return test::makeFakeSession(std::make_shared<test::Stage>()); }};
        ConversationModel model;
        ChatController chat(engine, model, history);
        ConversationList list(chat);
        const QString file = folder.folder.filePath(QStringLiteral("out.json"));
        QCOMPARE(writeFile(file, "an earlier export"), QString());
        test::Sql(folder.file())(QStringLiteral("DELETE FROM conversations WHERE id = %1").arg(lost));
        list.exportTo(file, lost);
        QVERIFY2(list.notice().contains(QStringLiteral("“lost” cannot be read")), qPrintable(list.notice()));
        QFile in(file);
        QVERIFY(in.open(QIODevice::ReadOnly));
        QCOMPARE(in.readAll(), QByteArray("an earlier export"));
        list.exportTo(file, 0);
        QVERIFY2(list.notice().contains(QStringLiteral("“lost”")), qPrintable(list.notice()));
        const ImportedConversations read = readConversations(file);
        QCOMPARE(read.error, QString());
        QCOMPARE(read.conversations.size(), 1);
        QCOMPARE(read.conversations.first().info.title, QStringLiteral("kept"));
    }

    void import_badFiles_nameTheField_data() {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<QString>("named");
        const auto conversation = [](const char* inner) {
            return QByteArray(R"({"format":"offstage.conversation","version":1,"conversations":[{)") + inner + "}]}";
        };
        const auto message = [&conversation](const char* inner) {
            return conversation(
                (QByteArray(R"("messages":[{"number":1,"parent":0,"kind":"prompt","text":"a"},{)") + inner + "}]")
                    .constData());
        };
        QTest::newRow("not JSON") << QByteArray("{\"format\": ") << QStringLiteral("not JSON");
        QTest::newRow("empty") << QByteArray() << QStringLiteral("not JSON");
        QTest::newRow("a list") << QByteArray("[1]") << QStringLiteral("an object was expected");
        QTest::newRow("format") << QByteArray(R"({"format":"x"})") << QStringLiteral("format is \"x\"");
        QTest::newRow("version") << QByteArray(R"({"format":"offstage.conversation","version":2})")
                                 << QStringLiteral("version is 2");
        QTest::newRow("no list") << QByteArray(R"({"format":"offstage.conversation","version":1})")
                                 << QStringLiteral("conversations is missing");
        QTest::newRow("title") << conversation(R"("title":7,"messages":[])")
                               << QStringLiteral("conversations[0].title is 7");
        QTest::newRow("no messages") << conversation(R"("title":"x")")
                                     << QStringLiteral("conversations[0].messages is missing");
        QTest::newRow("active") << conversation(R"("active":3,"messages":[])")
                                << QStringLiteral("conversations[0].active is 3");
        QTest::newRow("sampler") << conversation(R"("sampler":{"temperature":9},"messages":[])")
                                 << QStringLiteral("conversations[0].sampler.temperature is 9");
        QTest::newRow("number") << message(R"("number":3,"parent":0,"kind":"answer","text":"b")")
                                << QStringLiteral("conversations[0].messages[1].number is 3");
        QTest::newRow("own parent") << message(R"("number":2,"parent":2,"kind":"answer","text":"b")")
                                    << QStringLiteral("conversations[0].messages[1].parent is 2");
        QTest::newRow("half a parent") << message(R"("number":2,"parent":0.5,"kind":"answer","text":"b")")
                                       << QStringLiteral("messages[1].parent is 0.5");
        QTest::newRow("kind") << message(R"("number":2,"parent":1,"kind":"song","text":"b")")
                              << QStringLiteral("messages[1].kind is \"song\"");
        QTest::newRow("state") << message(R"("number":2,"parent":1,"kind":"answer","state":"streaming","text":"b")")
                               << QStringLiteral("messages[1].state is \"streaming\"");
        QTest::newRow("text") << message(R"("number":2,"parent":1,"kind":"answer","text":null)")
                              << QStringLiteral("messages[1].text is null");
        QTest::newRow("figures") << message(
                                        R"("number":2,"parent":1,"kind":"answer","text":"b","figures":{"ttft_s":"x"})")
                                 << QStringLiteral("messages[1].figures.ttft_s is \"x\"");
    }
    void import_badFiles_nameTheField() {
        QFETCH(QByteArray, json);
        QFETCH(QString, named);
        const ImportedConversations read = conversationsFromJson(json, QStringLiteral("chat.json"));
        QVERIFY(read.conversations.isEmpty());
        QVERIFY2(read.error.contains(named), qPrintable(read.error));
        QVERIFY(read.error.startsWith(QStringLiteral("chat.json: ")));
    }

    void import_leastFile_isEnough() {
        const ImportedConversations read = conversationsFromJson(
            R"({"format":"offstage.conversation","version":1,"later":[],"conversations":[
                {"messages":[{"number":1,"parent":0,"kind":"prompt","text":"a","unknown":1}]}]})",
            QStringLiteral("chat.json"));
        QCOMPARE(read.error, QString());
        QCOMPARE(read.conversations.size(), 1);
        QCOMPARE(read.conversations[0].messages[0].text, QStringLiteral("a"));
    }

    // ---------------------------------------------------------------- presets

    void presets_saveRenameDelete() {
        SamplingPanel panel;
        panel.show();
        Sampling own;
        own.sampler.temperature = 0.33f;
        panel.setSampling(own);
        PresetBar& bar = test::child<PresetBar>(panel);
        QCOMPARE(bar.current(), qsizetype(-1));
        QVERIFY(!bar.deleteAction().isEnabled());
        test::action(bar, "Save as preset…").trigger();
        QTest::keyClicks(&test::child<QLineEdit>(bar), QStringLiteral("Mine"));
        QTest::keyClick(&test::child<QLineEdit>(bar), Qt::Key_Return);
        QCOMPARE(bar.box().currentText(), QStringLiteral("Mine"));
        test::action(bar, "Rename…").trigger();
        QTest::keyClicks(&test::child<QLineEdit>(bar), QStringLiteral("My own"));
        QTest::keyClick(&test::child<QLineEdit>(bar), Qt::Key_Return);
        {
            SamplingPanel later;
            QVERIFY(test::child<PresetBar>(later).box().findText(QStringLiteral("My own")) > 0);
            QVERIFY(test::child<PresetBar>(later).box().findText(QStringLiteral("Mine")) < 0);
        }
        // Chosen again, it has its old value.
        panel.reset();
        QVERIFY(panel.sampling() == defaultSampling());
        const int index = bar.box().findText(QStringLiteral("My own"));
        bar.box().setCurrentIndex(index);
        Q_EMIT bar.box().activated(index);
        QCOMPARE(panel.sampling().sampler.temperature, 0.33f);
        bar.deleteAction().trigger();
        QVERIFY(bar.box().findText(QStringLiteral("My own")) < 0);
        QCOMPARE(panel.sampling().sampler.temperature, 0.33f);  // the values stay
        test::action(bar, "Save as preset…").trigger();
        QTest::keyClicks(&test::child<QLineEdit>(bar), QStringLiteral("no"));
        QTest::keyClick(&test::child<QLineEdit>(bar), Qt::Key_Escape);
        QVERIFY(bar.box().findText(QStringLiteral("no")) < 0);
    }

    void systemPrompt_isSaidOnce_andNotKept() {
        SamplingPanel panel;
        QSignalSpy changed(&panel, &SamplingPanel::systemPromptChanged);
        test::find<QPlainTextEdit>(panel, "System prompt").appendPlainText(QStringLiteral("Rhyme."));
        QCOMPARE(changed.size(), 1);
        panel.setSystemPrompt(QStringLiteral("another conversation's"));
        QCOMPARE(changed.size(), 1);
        QCOMPARE(SamplingPanel().systemPrompt(), QString());  // it belongs to its conversation
    }
};

OFFSTAGE_UI_TEST_MAIN(TestHistoryList)
#include "tst_history_list.moc"
