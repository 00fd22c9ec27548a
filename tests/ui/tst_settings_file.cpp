// The file of the settings: stored values come back, and a message shows when nothing can
// be stored.
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "tests/ui/window_fixture.h"
#include "ui/panels/event_log.h"
#include "ui/settings/settings_format.h"
#include "ui/settings/settings_watch.h"

using namespace offstage::ui;
using offstage::test::WindowFixture;

namespace {

// Settings in a separate folder while an object exists.
class SettingsFolder {
  public:
    SettingsFolder() {
        QSettings::setDefaultFormat(settingsFormat());
        setPath(m_folder.path());
    }
    ~SettingsFolder() { QSettings::setDefaultFormat(QSettings::IniFormat); }
    SettingsFolder(const SettingsFolder&) = delete;
    SettingsFolder& operator=(const SettingsFolder&) = delete;

    static void setPath(const QString& path) {
        QSettings::setPath(settingsFormat(), QSettings::UserScope, path);
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, path);
    }
    QString path(const char* name) const { return m_folder.filePath(QLatin1String(name)); }

  private:
    QTemporaryDir m_folder;
};

QJsonObject fileOf(const QSettings& settings) {
    QFile file(settings.fileName());
    return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
}

}  // namespace

class TestSettingsFile : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void whatIsKept_comesBack_data() {
        QTest::addColumn<QVariant>("value");
        QTest::newRow("text") << QVariant(QStringLiteral("Xin chào \"\\\n"));
        QTest::newRow("texts") << QVariant(QStringList{QStringLiteral("/a, b"), QString(), QStringLiteral("c")});
        QTest::newRow("bytes") << QVariant(QByteArray("\0\xff\x80 window state", 17));
        QTest::newRow("no bytes") << QVariant(QByteArray());
        QTest::newRow("yes") << QVariant(true);
        QTest::newRow("number") << QVariant(-7);
        QTest::newRow("fraction") << QVariant(static_cast<double>(0.7f));
        QTest::newRow("bytes of memory") << QVariant(quint64{80} << 30);
        QTest::newRow("seed") << QVariant(quint64{0xfedcba9876543211});
        QTest::newRow("largest exact") << QVariant(quint64{1} << 53);
        QTest::newRow("one more") << QVariant((quint64{1} << 53) + 1);
        QTest::newRow("negative") << QVariant(-(qint64{1} << 53) - 1);
    }
    void whatIsKept_comesBack() {
        QFETCH(const QVariant, value);
        const SettingsFolder folder;
        QString file;
        {
            QSettings settings;
            settings.beginGroup(QStringLiteral("a group"));
            settings.setValue(QStringLiteral("key"), value);
            file = settings.fileName();
        }
        QVERIFY(QFile::rename(file, folder.path("moved.json")));  // no cache contains it
        QSettings settings(folder.path("moved.json"), settingsFormat());
        QCOMPARE(settings.status(), QSettings::NoError);
        QVariant found = settings.value(QStringLiteral("a group/key"));
        QVERIFY(found.convert(value.metaType()));
        QCOMPARE(found, value);
    }

    void damagedFile_isNoSettings() {
        const SettingsFolder folder;
        QFile file(folder.path("damaged.json"));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("{\"key\": 1") > 0);
        file.close();
        QSettings settings(file.fileName(), settingsFormat());
        QVERIFY(settings.allKeys().isEmpty());
        QCOMPARE(settings.status(), QSettings::FormatError);
        settings.setValue(QStringLiteral("key"), 2);
        settings.sync();
        QCOMPARE(fileOf(settings), (QJsonObject{{QStringLiteral("key"), 2}}));
    }

    void earlierSettings_areTakenOverOnce() {
        const SettingsFolder folder;
        QString old;
        {
            QSettings before(QSettings::NativeFormat, QSettings::UserScope, QApplication::organizationName(),
                             QApplication::applicationName());
            before.setValue(QStringLiteral("window/state"), QByteArray("\1\2\xff"));
            before.setValue(QStringLiteral("textSize"), 3);
            before.setValue(QStringLiteral("models"), QStringList{QStringLiteral("/a"), QStringLiteral("/b")});
            old = before.fileName();
        }
        useSettingsFormat();
        QSettings now;
        QVERIFY(now.fileName() != old);
        QCOMPARE(now.value(QStringLiteral("window/state")).toByteArray(), QByteArray("\1\2\xff"));
        QCOMPARE(now.value(QStringLiteral("textSize")).toInt(), 3);
        QCOMPARE(now.value(QStringLiteral("models")).toStringList().size(), 2);
        now.setValue(QStringLiteral("textSize"), 4);
        useSettingsFormat();
        QCOMPARE(QSettings().value(QStringLiteral("textSize")).toInt(), 4);
        QVERIFY(QFile::exists(old));
    }

    void whatCannotBeSaved_isSaidOnce_andSavedLater() {
        const SettingsFolder folder;
        QFile obstacle(folder.path("folder"));
        QVERIFY(obstacle.open(QIODevice::WriteOnly));
        SettingsFolder::setPath(obstacle.fileName());
        SettingsWatch watch;
        QSignalSpy said(&watch, &SettingsWatch::troubled);
        QVERIFY(watch.save());
        QSettings().setValue(QStringLiteral("key"), 1);
        QVERIFY(!watch.save());
        QVERIFY(!watch.save());
        QCOMPARE(said.size(), 1);
        QVERIFY(said[0][0].toString().contains(QSettings().fileName()));
        QVERIFY(obstacle.remove());
        QVERIFY(watch.save());
        QCOMPARE(fileOf(QSettings()), (QJsonObject{{QStringLiteral("key"), 1}}));
        QCOMPARE(said.size(), 1);
    }

    void window_showsItInTheLog() {
        const SettingsFolder folder;
        QFile obstacle(folder.path("folder"));
        QVERIFY(obstacle.open(QIODevice::WriteOnly));
        SettingsFolder::setPath(obstacle.fileName());
        WindowFixture f;
        const auto complaints = [&f] {
            int n = 0;
            for (int row = 0; row < f.window->core().log.size(); ++row) {
                const LogEntry& entry = f.window->core().log.at(row);
                n += entry.kind == LogKind::Problem && entry.text.contains(obstacleText()) ? 1 : 0;
            }
            return n;
        };
        QCOMPARE(complaints(), 0);  // a start changes nothing that must be stored
        QSettings().setValue(QStringLiteral("textSize"), 1);
        QTRY_COMPARE_WITH_TIMEOUT(complaints(), 1, 60'000);
        QTest::ignoreMessage(QtWarningMsg, QRegularExpression(QStringLiteral("the settings cannot be saved as")));
        f.window->close();
    }

  private:
    static QString obstacleText() { return QStringLiteral("settings cannot be saved"); }
};

OFFSTAGE_UI_TEST_MAIN(TestSettingsFile)
#include "tst_settings_file.moc"
