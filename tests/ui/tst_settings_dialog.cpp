// The settings: a choice applies at once, is stored, and shows in the menus.

#include <cmath>

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenuBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QStyleOptionButton>
#include <QTreeWidget>

#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/settings.h"
#include "ui/chat/chat_page.h"
#include "ui/engine/format.h"
#include "ui/load/local_models.h"
#include "ui/settings/appearance_page.h"
#include "ui/settings/cache_place.h"
#include "ui/settings/disk_use.h"
#include "ui/settings/key_bindings.h"
#include "ui/settings/key_edit.h"
#include "ui/settings/keys_page.h"
#include "ui/settings/memory_page.h"
#include "ui/settings/settings_dialog.h"
#include "ui/settings/storage_page.h"
#include "ui/widgets/command_palette.h"
#include "ui/widgets/menu_commands.h"

using namespace offstage::test;
using namespace offstage::ui;
using Page = SettingsDialog::Page;

namespace {

// In the list, whose rows hold their commands' ids.
void chooseCommand(const KeysPage& page, const QString& id) {
    for (int i = 0; i < page.list().topLevelItemCount(); ++i) {
        QTreeWidgetItem* const item = page.list().topLevelItem(i);
        if (item->data(0, Qt::UserRole).toString() == id) {
            page.list().setCurrentItem(item);
        }
    }
}

QString noticeOf(const KeysPage& page) {
    return textOf(page, QStringLiteral("About these keys"));
}

QString noticeOf(const StoragePage& page) {
    return textOf(page, QStringLiteral("About what is stored"));
}

QString inForceOf(const MemoryPage& page) {
    return textOf(page, QStringLiteral("What is in force"));
}

SettingsDialog& open(const WindowFixture& f, Page page) {
    QTest::keyClick(f.window.get(), Qt::Key_Comma, Qt::ControlModifier);
    SettingsDialog& dialog = *f.window->findChild<SettingsDialog*>();
    QApplication::setActiveWindow(&dialog);
    QTest::mouseClick(dialog.pages().viewport(), Qt::LeftButton, {},
                      dialog.pages().visualItemRect(dialog.pages().item(static_cast<int>(page))).center());
    return dialog;
}

QAction* action(const WindowFixture& f, const QString& id) {
    const KeyBindings::Command* command = part<KeyBindings>(*f.window).find(id);
    return command == nullptr ? nullptr : command->action.data();
}

QKeySequence keysOf(const WindowFixture& f, const QString& id) {
    return action(f, id)->shortcut();
}

void click(QAbstractButton& button) {
    QTest::mouseClick(&button, Qt::LeftButton);
}

void write(const QString& path, const QByteArray& content) {
    QVERIFY(QDir().mkpath(QFileInfo(path).path()));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write(content) == content.size());
}

}  // namespace

class TestSettingsDialog : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void initTestCase() {
        QVERIFY(m_cache.isValid());
        qputenv("XDG_CACHE_HOME", QFile::encodeName(m_cache.path()));
    }
    void init() { QSettings().clear(); }

    // ---------------------------------------------------------------- appearance

    void theme_holdsAtOnce_isKept_andIsTheMenus() {
        const WindowFixture f;
        const AppearancePage& page = child<AppearancePage>(open(f, Page::Appearance));
        QTRY_VERIFY(!isDark(f.window->palette()));
        find<QComboBox>(page, "Theme").setFocus();
        QTest::keyClick(&find<QComboBox>(page, "Theme"), Qt::Key_Down);  // from Light
        QTRY_VERIFY(isDark(f.window->palette()));
        QCOMPARE(QSettings().value(QStringLiteral("theme")).toString(), QStringLiteral("dark"));
        QVERIFY(action(f, QStringLiteral("theme.dark"))->isChecked());
        action(f, QStringLiteral("theme.light"))->trigger();
        QTRY_VERIFY(!isDark(f.window->palette()));
        QCOMPARE(find<QComboBox>(page, "Theme").currentText(), QStringLiteral("Light"));
    }

    void textSize_holdsAtOnce_andIsTheMenus() {
        const WindowFixture f;
        const AppearancePage& page = child<AppearancePage>(open(f, Page::Appearance));
        const qreal before = QApplication::font().pointSizeF();
        find<QSpinBox>(page, "Text size").setFocus();
        QTest::keyClick(&find<QSpinBox>(page, "Text size"), Qt::Key_Up);
        QTest::keyClick(&find<QSpinBox>(page, "Text size"), Qt::Key_Up);
        QCOMPARE(QApplication::font().pointSizeF(), before + 2);
        QCOMPARE(QSettings().value(QStringLiteral("textSize")).toInt(), 2);
        action(f, QStringLiteral("smallerText"))->trigger();
        QCOMPARE(find<QSpinBox>(page, "Text size").value(), 1);
        action(f, QStringLiteral("systemText"))->trigger();
        QCOMPARE(find<QSpinBox>(page, "Text size").value(), 0);
        QCOMPARE(QApplication::font().pointSizeF(), before);
    }

    void language_isKept_forTheNextStart() {
        const WindowFixture f;
        const AppearancePage& page = child<AppearancePage>(open(f, Page::Appearance));
        find<QComboBox>(page, "Language").setFocus();
        QTest::keyClicks(&find<QComboBox>(page, "Language"), QStringLiteral("Deu"));
        QTest::keyClick(&find<QComboBox>(page, "Language"), Qt::Key_Return);
        QCOMPARE(QSettings().value(QStringLiteral("language")).toString(), QStringLiteral("de"));
        QVERIFY(action(f, QStringLiteral("language.de"))->isChecked());
    }

    // ---------------------------------------------------------------- keys

    void keys_listEveryCommandOfTheMenus() {
        const WindowFixture f;
        KeysPage& page = child<KeysPage>(open(f, Page::Keys));
        QSet<QString> listed;
        for (int i = 0; i < page.list().topLevelItemCount(); ++i) {
            listed.insert(page.list().topLevelItem(i)->text(0));
        }
        int withKeys = 0;
        for (const MenuCommand& command : menuCommands(*f.window->menuBar())) {
            if (!command.action->shortcut().isEmpty()) {
                QVERIFY2(listed.contains(command.path), qPrintable(command.path));
                ++withKeys;
            }
        }
        QVERIFY(withKeys >= 12);
        QVERIFY(listed.size() > 30);
        QSet<QString> ids;
        for (const KeyBindings::Command& command : part<KeyBindings>(*f.window).commands()) {
            ids.insert(command.id);
        }
        QCOMPARE(ids.size(), part<KeyBindings>(*f.window).commands().size());  // each once
    }

    void keys_changed_holdAtOnce_andAtTheNextStart() {
        {
            WindowFixture f;
            f.openAndWait();
            SettingsDialog& dialog = open(f, Page::Keys);
            KeysPage& page = child<KeysPage>(dialog);
            chooseCommand(page, QStringLiteral("palette"));
            child<KeyEdit>(page).setFocus();
            QTest::keyClick(&child<KeyEdit>(page), Qt::Key_F7, Qt::ControlModifier);
            QCOMPARE(child<KeyEdit>(page).text(), QStringLiteral("Ctrl+F7"));
            QCOMPARE(noticeOf(page), QString());
            QApplication::setActiveWindow(f.window.get());
            part<ChatPage>(*f.window).input().edit().setFocus();
            QTest::keyClick(&part<ChatPage>(*f.window).input().edit(), Qt::Key_K, Qt::ControlModifier);
            QVERIFY(!part<CommandPalette>(*f.window).isVisible());
            QTest::keyClick(&part<ChatPage>(*f.window).input().edit(), Qt::Key_F7, Qt::ControlModifier);
            QVERIFY(part<CommandPalette>(*f.window).isVisible());
        }
        const WindowFixture later;
        QCOMPARE(keysOf(later, QStringLiteral("palette")), QKeySequence(QStringLiteral("Ctrl+F7")));
        KeysPage& page = child<KeysPage>(open(later, Page::Keys));
        chooseCommand(page, QStringLiteral("palette"));
        QVERIFY(page.resetButton().isEnabled());
        click(page.resetButton());
        QCOMPARE(keysOf(later, QStringLiteral("palette")), QKeySequence(QStringLiteral("Ctrl+K")));
        QVERIFY(!QSettings().contains(QStringLiteral("keys/palette")));
        QVERIFY(!page.resetButton().isEnabled());
    }

    // While a key is being recorded, it triggers nothing else.
    void keys_ofAnother_areNamed_andTakenAtAClick() {
        const WindowFixture f;
        KeysPage& page = child<KeysPage>(open(f, Page::Keys));
        chooseCommand(page, QStringLiteral("newConversation"));
        child<KeyEdit>(page).setFocus();
        QVERIFY(!find<QPushButton>(page, "Use them here").isVisible());
        QTest::keyClick(&child<KeyEdit>(page), Qt::Key_K, Qt::ControlModifier);
        QVERIFY(!part<CommandPalette>(*f.window).isVisible());
        QVERIFY2(noticeOf(page).contains(QStringLiteral("Ctrl+K")) &&
                     noticeOf(page).contains(QStringLiteral("Command palette")),
                 qPrintable(noticeOf(page)));
        QCOMPARE(keysOf(f, QStringLiteral("newConversation")), QKeySequence(QKeySequence::New));  // nothing changed yet
        QVERIFY(find<QPushButton>(page, "Use them here").isVisible());
        click(find<QPushButton>(page, "Use them here"));
        QCOMPARE(keysOf(f, QStringLiteral("newConversation")), QKeySequence(QStringLiteral("Ctrl+K")));
        QVERIFY(keysOf(f, QStringLiteral("palette")).isEmpty());
        click(find<QPushButton>(page, "Reset all"));
        QCOMPARE(keysOf(f, QStringLiteral("newConversation")), QKeySequence(QKeySequence::New));
        QCOMPARE(keysOf(f, QStringLiteral("palette")), QKeySequence(QStringLiteral("Ctrl+K")));
    }

    void keys_thatWouldBreakWriting_areRefused_data() {
        QTest::addColumn<int>("key");
        QTest::addColumn<int>("held");
        QTest::newRow("a letter") << int(Qt::Key_A) << int(Qt::ShiftModifier);
        QTest::newRow("Enter") << int(Qt::Key_Return) << int(Qt::NoModifier);
        QTest::newRow("Delete") << int(Qt::Key_Delete) << int(Qt::NoModifier);
        QTest::newRow("a menu's") << int(Qt::Key_F) << int(Qt::AltModifier);
        QTest::newRow("copy") << int(Qt::Key_C) << int(Qt::ControlModifier);
    }
    void keys_thatWouldBreakWriting_areRefused() {
        QFETCH(int, key);
        QFETCH(int, held);
        const WindowFixture f;
        KeysPage& page = child<KeysPage>(open(f, Page::Keys));
        chooseCommand(page, QStringLiteral("palette"));
        child<KeyEdit>(page).setFocus();
        QTest::keyClick(&child<KeyEdit>(page), static_cast<Qt::Key>(key), Qt::KeyboardModifiers(held));
        QVERIFY(!noticeOf(page).isEmpty());
        QVERIFY(!find<QPushButton>(page, "Use them here").isVisible());
        QCOMPARE(keysOf(f, QStringLiteral("palette")), QKeySequence(QStringLiteral("Ctrl+K")));
    }

    void keys_none_andWhatNamesThem() {
        const WindowFixture f;
        KeysPage& page = child<KeysPage>(open(f, Page::Keys));
        chooseCommand(page, QStringLiteral("stop"));
        QVERIFY(action(f, QStringLiteral("stop"))->toolTip().contains(QStringLiteral("Esc")));
        child<KeyEdit>(page).setFocus();
        QTest::keyClick(&child<KeyEdit>(page), Qt::Key_F8);
        QVERIFY(action(f, QStringLiteral("stop"))->toolTip().contains(QStringLiteral("F8")));
        click(find<QPushButton>(page, "No keys"));
        QVERIFY(keysOf(f, QStringLiteral("stop")).isEmpty());
        QCOMPARE(action(f, QStringLiteral("stop"))->toolTip(), QStringLiteral("Stop the answer"));
        chooseCommand(page, QStringLiteral("openModel"));
        QTest::keyClick(&child<KeyEdit>(page), Qt::Key_F6);
        QVERIFY2(part<ChatPage>(*f.window).input().hint().contains(QStringLiteral("F6")),
                 qPrintable(part<ChatPage>(*f.window).input().hint()));
    }

    void keys_filter_findsCommandsAndKeys() {
        const WindowFixture f;
        KeysPage& page = child<KeysPage>(open(f, Page::Keys));
        const auto shown = [&page] {
            QStringList texts;
            for (int i = 0; i < page.list().topLevelItemCount(); ++i) {
                if (!page.list().topLevelItem(i)->isHidden()) {
                    texts += page.list().topLevelItem(i)->text(0);
                }
            }
            return texts;
        };
        find<QLineEdit>(page, "Search commands and keys").setFocus();
        QTest::keyClicks(&find<QLineEdit>(page, "Search commands and keys"), QStringLiteral("palette"));
        QCOMPARE(shown().size(), 1);
        find<QLineEdit>(page, "Search commands and keys").clear();
        QTest::keyClicks(&find<QLineEdit>(page, "Search commands and keys"), QStringLiteral("ctrl+k"));
        QCOMPARE(shown().size(), 1);
        QVERIFY(shown().first().contains(QStringLiteral("Command palette")));
    }

    void keys_ofAnEditedFile_areNeverTwice() {
        QSettings().setValue(QStringLiteral("keys/find"), QStringLiteral("Ctrl+K"));
        QSettings().setValue(QStringLiteral("keys/newConversation"), QStringLiteral("A"));  // would end writing
        const WindowFixture f;
        QCOMPARE(keysOf(f, QStringLiteral("find")), QKeySequence(QStringLiteral("Ctrl+K")));
        QVERIFY(keysOf(f, QStringLiteral("palette")).isEmpty());
        QCOMPARE(keysOf(f, QStringLiteral("newConversation")), QKeySequence(QKeySequence::New));
    }

    // ---------------------------------------------------------------- memory

    void keptContext_movesWhileAModelIsOpen_andIsKept() {
        WindowFixture f;
        MemoryPage& page = child<MemoryPage>(open(f, Page::Memory));
        QVERIFY(!child<QCheckBox>(page).isChecked());
        QVERIFY2(inForceOf(page).contains(QStringLiteral("No model")), qPrintable(inForceOf(page)));
        f.openAndWait();
        QTRY_VERIFY2(inForceOf(page).contains(QStringLiteral("no room of their own")), qPrintable(inForceOf(page)));
        child<QCheckBox>(page).setFocus();
        QTest::keyClick(&child<QCheckBox>(page), Qt::Key_Space);
        QTRY_VERIFY2(inForceOf(page).contains(QStringLiteral("16,384 tokens, which takes 16.0 MiB")),
                     qPrintable(inForceOf(page)));
        QCOMPARE(QSettings().value(QStringLiteral("keptContext")).toInt(), 16384);
        child<QSpinBox>(page).setFocus();
        child<QSpinBox>(page).selectAll();
        QTest::keyClicks(&child<QSpinBox>(page), QStringLiteral("2048"));
        QTest::keyClick(&child<QSpinBox>(page), Qt::Key_Return);  // at once, not after the pause
        QCOMPARE(QSettings().value(QStringLiteral("keptContext")).toInt(), 2048);
        QTRY_VERIFY2(inForceOf(page).contains(QStringLiteral("2,048 tokens, which takes 2.0 MiB")),
                     qPrintable(inForceOf(page)));
        f.openAndWait(QStringLiteral("/models/another"));
        QCOMPARE(f.stage->loads().back().kept_context, 2048);
        QTest::keyClick(&child<QCheckBox>(page), Qt::Key_Space);
        QTRY_VERIFY2(inForceOf(page).contains(QStringLiteral("no room of their own")), qPrintable(inForceOf(page)));
        QCOMPARE(QSettings().value(QStringLiteral("keptContext")).toInt(), 0);
    }

    void keptContext_thatFindsNoRoom_saysWhy() {
        Script script;
        script.expertProblem = "There is no room.";
        WindowFixture f(script);
        f.openAndWait();
        MemoryPage& page = child<MemoryPage>(open(f, Page::Memory));
        QTest::keyClick(&child<QCheckBox>(page), Qt::Key_Space);
        QTRY_VERIFY2(inForceOf(page).contains(QStringLiteral("There is no room.")), qPrintable(inForceOf(page)));
        QVERIFY(inForceOf(page).contains(QStringLiteral("no room of their own")));
    }

    // ---------------------------------------------------------------- storage

    void modelFolders_areAddedAndRemoved() {
        StoragePage page({});
        QSignalSpy removed(&page, &StoragePage::modelFolderRemoved);
        page.setModelFolders({QStringLiteral("/mine/a"), QStringLiteral("/mine/b")}, {QStringLiteral("/others/c")});
        page.show();
        QVERIFY(page.findChild<QPushButton*>(QStringLiteral("/others/c")) == nullptr);
        click(*page.findChild<QPushButton*>(QStringLiteral("/mine/b")));
        QCOMPARE(removed.size(), 1);
        QCOMPARE(removed.first().first().toString(), QStringLiteral("/mine/b"));
        page.setModelFolders({QStringLiteral("/mine/a")}, {QStringLiteral("/others/c")});
        QTRY_VERIFY(page.findChild<QPushButton*>(QStringLiteral("/mine/b")) == nullptr);
    }

    void modelFolders_areTheWindows() {
        const QTemporaryDir mine;
        QSettings().setValue(QStringLiteral("modelFolders"), QStringList{mine.path()});
        const QTemporaryDir empty;
        MainWindow::Options options;
        options.models.modelPlaces = std::vector<offstage::engine::ModelPlace>();
        MainWindow window([] { return makeFakeSession(std::make_shared<Stage>()); }, options);
        window.show();
        QApplication::setActiveWindow(&window);
        QTest::keyClick(&window, Qt::Key_Comma, Qt::ControlModifier);
        SettingsDialog& dialog = *window.findChild<SettingsDialog*>();
        dialog.showPage(Page::Storage);
        StoragePage& page = dialog.storagePage();
        QVERIFY(page.addModelsButton().isEnabled());
        click(*page.findChild<QPushButton*>(mine.path()));
        QCOMPARE(LocalModels::addedFolders(), QStringList());
        QTRY_VERIFY(page.findChild<QPushButton*>(mine.path()) == nullptr);
        Q_EMIT page.modelFolderAdded(empty.path());
        QCOMPARE(LocalModels::addedFolders(), QStringList(empty.path()));
        QVERIFY(page.findChild<QPushButton*>(empty.path()) != nullptr);
    }

    // Where models are looked for stays.
    void caches_chosenInTheDialog_leaveTheFolderOfModels() {
        const QTemporaryDir models, other;
        QVERIFY(QDir(other.path()).mkdir(QStringLiteral("caches")));
        settings::kLastFolder.set(models.path());
        settings::kLastCacheFolder.set(other.path());
        StoragePage page({});
        page.show();
        click(find<QPushButton>(page, "Choose where caches are kept"));
        QTRY_VERIFY(page.findChild<QFileDialog*>() != nullptr);
        auto* name = page.findChild<QFileDialog*>()->findChild<QLineEdit*>();
        QTest::keyClicks(name, QStringLiteral("caches"));
        QTest::keyClick(name, Qt::Key_Return);
        QTRY_COMPARE(CachePlace::chosen(), other.filePath(QStringLiteral("caches/offstage")));
        QCOMPARE(settings::kLastFolder.value(), models.path());
    }

    void caches_areKeptElsewhere_fromTheNextStartOn() {
        const QTemporaryDir other;
        StoragePage page({});
        page.show();
        const QString usual = m_cache.filePath(QStringLiteral("offstage"));
        QVERIFY2(textOf(page, QStringLiteral("Where caches are kept")).contains(usual),
                 qPrintable(textOf(page, QStringLiteral("Where caches are kept"))));
        QVERIFY(!find<QPushButton>(page, "Keep caches in the usual place").isVisible());
        page.chooseCache(other.path());
        const QString chosen = other.filePath(QStringLiteral("offstage"));
        QVERIFY2(textOf(page, QStringLiteral("Where caches are kept")).contains(chosen) &&
                     textOf(page, QStringLiteral("Where caches are kept")).contains(QStringLiteral("next start")),
                 qPrintable(textOf(page, QStringLiteral("Where caches are kept"))));
        QVERIFY2(noticeOf(page).contains(QStringLiteral("not moved")), qPrintable(noticeOf(page)));
        QCOMPARE(CachePlace::inForce(), usual);
        CachePlace::apply();  // the next start
        QCOMPARE(CachePlace::inForce(), chosen);
        click(find<QPushButton>(page, "Keep caches in the usual place"));
        QCOMPARE(CachePlace::next(), usual);
        QVERIFY(!find<QPushButton>(page, "Keep caches in the usual place").isVisible());
        qunsetenv("OFFSTAGE_CACHE");
        const QString file = other.filePath(QStringLiteral("file"));
        write(file, "x");
        page.chooseCache(file);  // not a folder: nothing can be written below it
        QVERIFY2(noticeOf(page).contains(QStringLiteral("Choose another")), qPrintable(noticeOf(page)));
        QCOMPARE(CachePlace::chosen(), QString());
    }

    // The outline against its surroundings, by the definition of WCAG; controls need 3:1.
    void uncheckedBoxes_areSeen_inTheDark() {
        offstage::ui::applyTheme(*qApp, Theme::Dark);
        QCheckBox box(QStringLiteral("x"));
        box.resize(box.sizeHint());
        box.show();
        QCoreApplication::processEvents();
        const QImage image = box.grab().toImage();
        const auto luminance = [](QRgb c) {
            const auto linear = [](int v) {
                return v <= 10 ? v / 255.0 / 12.92 : std::pow((v / 255.0 + 0.055) / 1.055, 2.4);
            };
            return 0.2126 * linear(qRed(c)) + 0.7152 * linear(qGreen(c)) + 0.0722 * linear(qBlue(c));
        };
        QStyleOptionButton option;
        option.initFrom(&box);
        const QRect indicator = box.style()->subElementRect(QStyle::SE_CheckBoxIndicator, &option, &box);
        const double frame = luminance(image.pixel(indicator.left() + indicator.width() / 2, indicator.top()));
        const double around = luminance(box.palette().color(QPalette::Window).rgb());
        offstage::ui::applyTheme(*qApp, Theme::Light);
        QVERIFY2((frame + 0.05) / (around + 0.05) >= 3, qPrintable(QString::number((frame + 0.05) / (around + 0.05))));
    }

    void caches_haveTheirBytes_andAreDeletedAfterOneQuestion() {
        const QString quantized = m_cache.filePath(QStringLiteral("offstage/quantized"));
        const QString costs = m_cache.filePath(QStringLiteral("offstage/calibration"));
        write(quantized + QStringLiteral("/a.quant"), QByteArray(3 << 20, 'x'));
        write(quantized + QStringLiteral("/below/b.quant"), QByteArray(1 << 20, 'x'));
        write(costs + QStringLiteral("/c.json"), QByteArray(2048, 'x'));
        const WindowFixture f;
        StoragePage& page = open(f, Page::Storage).storagePage();
        QTRY_COMPARE(textOf(page, QStringLiteral("Size of Quantized copies")), QStringLiteral("4.0 MiB"));
        QCOMPARE(textOf(page, QStringLiteral("Size of Measured costs")), QStringLiteral("2.0 KiB"));
        QVERIFY(!find<QPushButton>(page, "Delete Measured sensitivity").isEnabled());  // nothing is there

        click(find<QPushButton>(page, "Delete Quantized copies"));
        QVERIFY2(noticeOf(page).contains(QStringLiteral("4.0 MiB")), qPrintable(noticeOf(page)));
        QVERIFY(find<QPushButton>(page, "Keep").hasFocus());
        QTest::keyClick(&find<QPushButton>(page, "Keep"), Qt::Key_Space);
        QVERIFY(QFile::exists(quantized + QStringLiteral("/a.quant")));
        QVERIFY(!find<QPushButton>(page, "Delete").isVisible());

        click(find<QPushButton>(page, "Delete Quantized copies"));
        click(find<QPushButton>(page, "Delete"));
        QTRY_COMPARE(textOf(page, QStringLiteral("Size of Quantized copies")), bytesText(0));
        QVERIFY(QDir(quantized).isEmpty());
        QVERIFY(QFile::exists(costs + QStringLiteral("/c.json")));
        QVERIFY(!find<QPushButton>(page, "Delete Quantized copies").isEnabled());
    }

    void whatWasRead_isKeptOnDisk_whereItIsChosen() {
        settings::kKeptOnDisk.remove();
        const QTemporaryDir history;
        WindowFixture f({}, {}, history.path());
        f.openAndWait();
        f.ask(QStringLiteral("Not kept"));
        QTRY_COMPARE(f.stage->requests().size(), std::size_t{1});
        QCOMPARE(f.stage->requests().back().kept_in, std::string());
        QTRY_COMPARE(f.state(), EngineController::State::Ready);
        QVERIFY(!QDir(history.filePath(QStringLiteral("kv"))).exists());

        StoragePage& page = open(f, Page::Storage).storagePage();
        QComboBox& most = find<QComboBox>(page, "Keep what was read of conversations on disk");
        QCOMPARE(most.currentText(), QStringLiteral("Off"));
        most.setCurrentIndex(most.findData(5));
        Q_EMIT most.activated(most.currentIndex());
        QCOMPARE(settings::kKeptOnDisk.value(), 5);
        f.ask(QStringLiteral("Kept"));
        QTRY_COMPARE(f.stage->requests().size(), std::size_t{2});
        const offstage::engine::GenerationRequest asked = f.stage->requests().back();
        QCOMPARE(asked.kept_bytes, std::uint64_t{5} << 30);
        const QString name = QString::fromStdString(asked.kept_in);
        QVERIFY2(name.startsWith(history.filePath(QStringLiteral("kv/"))), qPrintable(name));
        QVERIFY(QFile::exists(name + QStringLiteral(".kv")));
        QTRY_COMPARE(f.state(), EngineController::State::Ready);
        write(name + QStringLiteral(".kv"), QByteArray(3 << 20, 'x'));
        write(name + QStringLiteral(".end"), "x");
        const QString other = history.filePath(QStringLiteral("kv/1.kv"));
        write(other, QByteArray(1 << 20, 'x'));

        page.refresh();
        QTRY_COMPARE(textOf(page, QStringLiteral("Size of Conversations as read")), QStringLiteral("4.0 MiB"));
        // With the conversation its files go, and no others.
        History& kept = f.window->core().history;
        const ConversationId id = kept.conversations().first().id;
        QCOMPARE(kept.keptFile(id), name);
        kept.remove(id);
        QVERIFY(!QFile::exists(name + QStringLiteral(".kv")) && !QFile::exists(name + QStringLiteral(".end")));
        QVERIFY(QFile::exists(other));
        click(find<QPushButton>(page, "Delete Conversations as read"));
        click(find<QPushButton>(page, "Delete"));
        QTRY_VERIFY(!QFile::exists(other));
        settings::kKeptOnDisk.remove();
    }

    void links_areRemoved_whatTheyPointToStays() {
        const QTemporaryDir other;
        write(other.filePath(QStringLiteral("mine.txt")), "mine");
        const QString folder = m_cache.filePath(QStringLiteral("links"));
        write(folder + QStringLiteral("/a"), "12345");
        QVERIFY(QFile::link(other.path(), folder + QStringLiteral("/link")));
        QCOMPARE(bytesAt(folder), quint64{5});
        QCOMPARE(emptyFolder(folder), QStringList());
        QVERIFY(QDir(folder).isEmpty());
        QVERIFY(QFile::exists(other.filePath(QStringLiteral("mine.txt"))));
        QCOMPARE(emptyFolder(folder + QStringLiteral("/gone")), QStringList());
    }

    void folders_areOpened_whereTheyAre() {
        const QTemporaryDir history;
        const WindowFixture f({}, {}, history.path());
        StoragePage& page = open(f, Page::Storage).storagePage();
        QSignalSpy wanted(&page, &StoragePage::folderRequested);
        // Not the desktop's file manager.
        QObject::disconnect(&page, &StoragePage::folderRequested, f.window->findChild<SettingsDialog*>(), nullptr);
        click(find<QPushButton>(page, "Open the folder of Conversations"));
        QCOMPARE(wanted.size(), 1);
        QCOMPARE(wanted.first().first().toString(), history.path());
        QTRY_VERIFY(textOf(page, QStringLiteral("Size of Conversations")) != QStringLiteral("…"));
        for (const QPushButton* button : page.findChildren<QPushButton*>()) {  // the list deletes conversations
            QVERIFY(button->accessibleName() != QStringLiteral("Delete Conversations"));
        }
    }

    void narrow_aBoxNamesThePages_andFitsASmallWindow() {
        const WindowFixture f;
        SettingsDialog& dialog = open(f, Page::Appearance);
        dialog.resize(760, 520);
        QTRY_VERIFY(dialog.pages().isVisible());
        QVERIFY(!dialog.choice().isVisible());
        dialog.resize(536, 396);  // in a window of 560 x 420
        QCOMPARE(dialog.size(), QSize(536, 396));
        QTRY_VERIFY(dialog.choice().isVisible());
        QVERIFY(!dialog.pages().isVisible());
        dialog.choice().setFocus();
        QTest::keyClick(&dialog.choice(), Qt::Key_Down);
        QCOMPARE(dialog.page(), Page::Conversations);
        QTest::keyClick(&dialog.choice(), Qt::Key_Down);
        QCOMPARE(dialog.page(), Page::Keys);
        QVERIFY(child<KeysPage>(dialog).isVisible());
        dialog.showPage(Page::Storage);
        QCOMPARE(dialog.choice().currentText(), dialog.pages().currentItem()->text());
    }

    void pictures() {
        write(m_cache.filePath(QStringLiteral("offstage/quantized/a.quant")), QByteArray(3 << 20, 'x'));
        const QTemporaryDir history;
        const WindowFixture f({}, {}, history.path());
        SettingsDialog& dialog = open(f, Page::Appearance);
        picture(dialog, QStringLiteral("settings-appearance"), {480, 760}, 520);
        dialog.showPage(Page::Conversations);
        picture(dialog, QStringLiteral("settings-conversations"), {480, 760}, 520);
        dialog.showPage(Page::Keys);
        chooseCommand(child<KeysPage>(dialog), QStringLiteral("newConversation"));
        QTest::keyClick(&child<KeyEdit>(child<KeysPage>(dialog)), Qt::Key_K, Qt::ControlModifier);
        picture(dialog, QStringLiteral("settings-keys"), {480, 760}, 520);
        dialog.showPage(Page::Memory);
        picture(dialog, QStringLiteral("settings-memory"), {480, 760}, 520);
        dialog.showPage(Page::Server);
        picture(dialog, QStringLiteral("settings-server"), {480, 760}, 520);
        dialog.showPage(Page::Storage);
        QTRY_VERIFY(find<QPushButton>(dialog, "Delete Quantized copies").isEnabled());
        click(find<QPushButton>(dialog, "Delete Quantized copies"));
        picture(dialog, QStringLiteral("settings-storage"), {480, 760}, 520);
    }

  private:
    QTemporaryDir m_cache;
};

OFFSTAGE_UI_TEST_MAIN(TestSettingsDialog)
#include "tst_settings_dialog.moc"
