// The catalogues are complete: every text has its translation, with the places for
// figures and the lines of the source. And the window uses them.

#include <QDockWidget>
#include <QFile>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTranslator>
#include <QXmlStreamReader>

#include "engine/device/hardware_profile.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/language.h"
#include "ui/engine/device_choice.h"
#include "ui/window/panel_docks.h"

using namespace offstage::test;
using namespace offstage::ui;

namespace {

struct Entry {
    QString source;
    QStringList translations;
    bool finished = true;
    bool counts = false;  // has a form for each number
};

QList<Entry> entriesOf(const QString& language) {
    QFile file(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/translations/offstage_%1.ts").arg(language));
    if (!file.open(QIODevice::ReadOnly)) {
        return {};
    }
    QXmlStreamReader xml(&file);
    QList<Entry> entries;
    bool counts = false;
    while (!xml.atEnd()) {
        xml.readNext();
        if (!xml.isStartElement()) {
            continue;
        }
        if (xml.name() == QStringLiteral("message")) {
            counts = xml.attributes().value(QStringLiteral("numerus")) == QStringLiteral("yes");
        } else if (xml.name() == QStringLiteral("source")) {
            entries.append(Entry{xml.readElementText(), {}, true, counts});
        } else if (xml.name() == QStringLiteral("translation") && !entries.isEmpty()) {
            const QString type = xml.attributes().value(QStringLiteral("type")).toString();
            entries.last().finished = type.isEmpty();
            while (xml.readNext() != QXmlStreamReader::EndElement || xml.name() != QStringLiteral("translation")) {
                if (xml.isCharacters() && !xml.isWhitespace()) {
                    entries.last().translations.append(xml.text().toString());
                }
                if (xml.atEnd()) {
                    break;
                }
            }
        }
    }
    return entries;
}

QStringList placesIn(const QString& text) {
    static const QRegularExpression place(QStringLiteral("%(L?[0-9]|n)"));
    QStringList places;
    for (auto match = place.globalMatch(text); match.hasNext();) {
        places.append(match.next().captured());
    }
    places.sort();
    return places;
}

}  // namespace

class TestTranslations : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void catalogue_isWhole_data() {
        QTest::addColumn<QString>("language");
        for (const Language& language : languages().mid(1)) {
            QTest::newRow(qPrintable(language.code)) << language.code;
        }
    }
    void catalogue_isWhole() {
        QFETCH(QString, language);
        const QList<Entry> entries = entriesOf(language);
        QVERIFY(entries.size() > 500);
        for (const Entry& entry : entries) {
            QVERIFY2(entry.finished && !entry.translations.isEmpty(), qPrintable(entry.source));
            for (const QString& translation : entry.translations) {
                QVERIFY2(placesIn(translation) == placesIn(entry.source) ||
                             placesIn(entry.source).contains(QStringLiteral("%n")),
                         qPrintable(entry.source + QStringLiteral(" -> ") + translation));
                QCOMPARE(translation.count(u'\n'), entry.source.count(u'\n'));
            }
        }
    }

    // The sources are English except for plurals: "%n message(s)".
    void english_hasOneAndMany_ofWhateverCounts() {
        QStringList counted, english;
        for (const Entry& entry : entriesOf(QStringLiteral("de"))) {
            if (entry.counts) {
                counted.append(entry.source);
            }
        }
        for (const Entry& entry : entriesOf(QStringLiteral("en"))) {
            QVERIFY2(entry.counts && entry.finished, qPrintable(entry.source));
            QCOMPARE(entry.translations.size(), 2);
            for (const QString& translation : entry.translations) {
                QCOMPARE(placesIn(translation), placesIn(entry.source));
                QVERIFY2(!translation.contains(QStringLiteral("(s)")), qPrintable(translation));
            }
            english.append(entry.source);
        }
        counted.sort();
        english.sort();
        QVERIFY(!counted.isEmpty());
        QCOMPARE(english, counted);
    }

    // A word left out is not a part of the word before it.
    void german_hasABlankBeforeAnEllipsis() {
        static const QRegularExpression joined(QStringLiteral("[^ \u00a0(]…"));
        for (const Entry& entry : entriesOf(QStringLiteral("de"))) {
            for (const QString& translation : entry.translations) {
                QVERIFY2(!joined.match(translation).hasMatch(), qPrintable(translation));
            }
        }
    }

    // Menus name keys by Qt's catalogue; a key that an entry names itself is no other.
    void german_namesKeysAsMenusDo() {
        for (const Entry& entry : entriesOf(QStringLiteral("de"))) {
            for (const QString& translation : entry.translations) {
                QVERIFY2(!translation.contains(QStringLiteral("\tCtrl")), qPrintable(translation));
            }
        }
    }

    void choice_isNamed_thenKept_thenTheSystems() {
        QSettings().remove(QStringLiteral("language"));
        QCOMPARE(chosenLanguage(QStringLiteral("de_AT")), QStringLiteral("de"));
        QCOMPARE(chosenLanguage(QStringLiteral("fr")), QStringLiteral("en"));
        QSettings().setValue(QStringLiteral("language"), QStringLiteral("vi"));
        QCOMPARE(chosenLanguage({}), QStringLiteral("vi"));
        QCOMPARE(chosenLanguage(QStringLiteral("de")), QStringLiteral("de"));
        QSettings().remove(QStringLiteral("language"));
    }

    void window_countsInEnglish() {
        const auto connections = [](int n) {
            return QCoreApplication::translate("offstage::ui::LogPanel", "%n outbound connection(s)", nullptr, n);
        };
        speak(*qApp, QStringLiteral("en"));
        QCOMPARE(connections(1), QStringLiteral("1 outbound connection"));
        QCOMPARE(connections(2), QStringLiteral("2 outbound connections"));
    }

    // What resources/hardware calls a host in words, not by a product's name.
    void german_namesHostsOfProfiles() {
        speak(*qApp, QStringLiteral("de"));
        int named = 0;
        for (const std::string& id : offstage::engine::hardware_profile_ids()) {
            const offstage::engine::HardwareProfile profile = offstage::engine::find_hardware_profile(id);
            const QString host =
                profile.host ? QString::fromStdString(profile.host->name).section(u',', 0, 0) : QString();
            if (!host.isEmpty() && host.at(0).isDigit()) {
                ++named;
                QVERIFY2(!hardwareNames({profile}).first().contains(host),
                         qPrintable(hardwareNames({profile}).first()));
            }
        }
        QVERIFY(named > 0);
    }

    // Last: a language stays for the rest of the program.
    void window_speaksGerman() {
        const QTemporaryDir qt;  // a file of this name counts as Qt's own
        const QString catalogue = qt.filePath(QStringLiteral("qtbase_de.qm"));
        QVERIFY(QFile::copy(QStringLiteral(":/i18n/offstage_de.qm"), catalogue));
        speak(*qApp, QStringLiteral("de"), qt.path());
        QStringList loaded;
        for (const QTranslator* each : qApp->findChildren<QTranslator*>()) {
            loaded << each->filePath();
        }
        QVERIFY2(loaded.contains(catalogue), qPrintable(loaded.join(u' ')));
        WindowFixture f;
        QVERIFY(part<PanelDocks>(*f.window).dock(QStringLiteral("experts")) != nullptr);
        QCOMPARE(part<PanelDocks>(*f.window).dock(QStringLiteral("experts"))->windowTitle(),
                 QStringLiteral("Experten"));
        QLocale::setDefault(QLocale::c());
    }
};

OFFSTAGE_UI_TEST_MAIN(TestTranslations)
#include "tst_translations.moc"
