// What the packages have beside the programs (installer/linux, installer/install.cmake).
// installer/package test tries the packages themselves.
#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QMimeDatabase>
#include <QProcess>
#include <QRegularExpression>
#include <QSet>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

namespace {

const QString kSource = QStringLiteral(OFFSTAGE_SOURCE_DIR);
const QString kBuild = QStringLiteral(OFFSTAGE_BIN_DIR "/..");

QString text_of(const QString& path) {
    QFile file(kSource + path);
    return file.open(QFile::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

// Standard output; empty if the program did not end with 0.
QString output_of(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.start(program, arguments);
    process.closeWriteChannel();
    const bool ended = process.waitForFinished(120000) && process.exitCode() == 0;
    return ended ? QString::fromUtf8(process.readAllStandardOutput()) : QString();
}

QStringList found_in(const QString& text, const char* expression) {
    QStringList found;
    QRegularExpressionMatchIterator matches = QRegularExpression(QLatin1String(expression)).globalMatch(text);
    while (matches.hasNext()) found += matches.next().captured(1);
    return found;
}

}  // namespace

class TestPackages : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void manualPages_nameEveryOption_data();
    void manualPages_nameEveryOption();
    void menuEntry_isValid();
    void appStreamMetadata_isValid();
    void models_haveAMimeTypeThatTheWindowOpens();
    void serviceIsOffUntilSomebodyAsks();
    void installedFiles_areOfOneComponentAndNoPathOfTheBuild();
};

void TestPackages::manualPages_nameEveryOption_data() {
    QTest::addColumn<QString>("program");
    QTest::addColumn<QString>("declared");  // where
    QTest::addColumn<QString>("expression");
    QTest::newRow("cli") << "offstage-cli"
                         << "/resources/help/en/options.md"
                         << "\n\\| `(?:-[a-z],)?(--[a-z-]+)";
    QTest::newRow("node") << "offstage-node"
                          << "/app/node/main.cpp"
                          << "\"!?(--[a-z-]+)\"";
    QTest::newRow("window") << "offstage"
                            << "/app/offstage.cpp"
                            << "QCommandLineOption [a-zA-Z]+\\(\\s*QStringLiteral\\(\"([a-z-]+)\"";
}

void TestPackages::manualPages_nameEveryOption() {
    QFETCH(const QString, program);
    QFETCH(const QString, declared);
    QFETCH(const QString, expression);
    const QString path = QStringLiteral(OFFSTAGE_BIN_DIR "/") + program;
    if (!QFile::exists(path)) QSKIP("this build has no such program");
    const QString page =
        output_of(kSource + QStringLiteral("/installer/linux/man_page"), {path, QStringLiteral("1.2")});
    const QStringList sections = found_in(page, "\n\\.SH ([A-Z ]+)");
    QCOMPARE(sections.mid(0, 4).join(u','), QStringLiteral("NAME,SYNOPSIS,DESCRIPTION,OPTIONS"));
    QVERIFY2(page.contains(QStringLiteral("\"Offstage 1.2\"")), qPrintable(page.left(200)));
    QString entries;  // the names of the lists, as they are typed
    for (const QString& entry : found_in(page, "\n\\.TP\n\\\\fB(.+)\\\\fR\n")) {
        entries += QLatin1Char(' ') + QString(entry).replace(QStringLiteral("\\-"), QStringLiteral("-"));
    }
    const QStringList options = found_in(text_of(declared), qPrintable(expression));
    QVERIFY2(options.size() > 7, qPrintable(options.join(u' ')));
    for (QString option : options) {
        if (!option.startsWith(u'-')) option.prepend(QStringLiteral("--"));
        const QRegularExpression entry(QStringLiteral("[ ,]%1(?![a-z-])").arg(option));
        QVERIFY2(entry.match(entries).hasMatch(), qPrintable(option));
    }
    // An entry is one option with its text: none swallowed the next one.
    QVERIFY(!QRegularExpression(QStringLiteral("\\.TP\n[^\n]+\n\\.TP")).match(page).hasMatch());
}

void TestPackages::menuEntry_isValid() {
    const QString entry = text_of(QStringLiteral("/installer/linux/offstage.desktop"));
    QVERIFY(entry.contains(QStringLiteral("\nExec=offstage %f\n")));
    const QString validator = QStandardPaths::findExecutable(QStringLiteral("desktop-file-validate"));
    if (validator.isEmpty()) QSKIP("desktop-file-validate is not installed");
    QProcess process;
    process.start(validator, {kSource + QStringLiteral("/installer/linux/offstage.desktop")});
    QVERIFY(process.waitForFinished());
    QCOMPARE(QString::fromUtf8(process.readAllStandardOutput()), QString());
    QCOMPARE(process.exitCode(), 0);
}

void TestPackages::appStreamMetadata_isValid() {
    const QString metadata = text_of(QStringLiteral("/installer/linux/org.offstage.offstage.metainfo.xml"));
    const QString version =
        found_in(text_of(QStringLiteral("/CMakeLists.txt")), "VERSION ([0-9.]+) LANGUAGES").value(0);
    QVERIFY(!version.isEmpty());
    QVERIFY(metadata.contains(QStringLiteral("<release version=\"%1\"").arg(version)));
    QVERIFY(
        text_of(QStringLiteral("/installer/linux/changelog")).startsWith(QStringLiteral("offstage (%1)").arg(version)));
    const QString validator = QStandardPaths::findExecutable(QStringLiteral("appstreamcli"));
    if (validator.isEmpty()) QSKIP("appstreamcli is not installed");
    const QString said =
        output_of(validator, {QStringLiteral("validate"), QStringLiteral("--no-net"),
                              kSource + QStringLiteral("/installer/linux/org.offstage.offstage.metainfo.xml")});
    QVERIFY2(said.contains(QStringLiteral("successful")), qPrintable(said));
}

void TestPackages::models_haveAMimeTypeThatTheWindowOpens() {
    const QTemporaryDir home;
    QVERIFY(QDir(home.path()).mkpath(QStringLiteral("mime/packages")));
    QVERIFY(QFile::copy(kSource + QStringLiteral("/installer/linux/offstage-mime.xml"),
                        home.filePath(QStringLiteral("mime/packages/offstage.xml"))));
    const QByteArray before = qgetenv("XDG_DATA_HOME");
    qputenv("XDG_DATA_HOME", home.path().toUtf8());
    const QMimeDatabase types;
    const QString named = types.mimeTypeForFile(QStringLiteral("/a/model-00001-of-00002.gguf")).name();
    const QString capitals = types.mimeTypeForFile(QStringLiteral("/a/MODEL.GGUF")).name();
    const QString by_content = types.mimeTypeForData(QByteArray("GGUF\3\0\0\0", 8)).name();
    const QString other = types.mimeTypeForFile(QStringLiteral("/a/gguf.txt")).name();
    before.isNull() ? qunsetenv("XDG_DATA_HOME") : qputenv("XDG_DATA_HOME", before);
    QCOMPARE(named, QStringLiteral("application/x-gguf"));
    QCOMPARE(capitals, named);
    QCOMPARE(by_content, named);
    QCOMPARE(other, QStringLiteral("text/plain"));
    QVERIFY(text_of(QStringLiteral("/installer/linux/offstage.desktop"))
                .contains(QStringLiteral("\nMimeType=%1;\n").arg(named)));
}

void TestPackages::serviceIsOffUntilSomebodyAsks() {
    const QString unit = text_of(QStringLiteral("/installer/linux/offstage-node.service"));
    for (const char* line : {"DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict",
                             "CapabilityBoundingSet=", "ConditionPathExists=/etc/offstage-node.conf"}) {
        QVERIFY2(unit.contains(QLatin1Char('\n') + QLatin1String(line) + QLatin1Char('\n')), line);
    }
    for (const char* script : {"postinst", "prerm", "postrm"}) {
        const QString text = text_of(QStringLiteral("/installer/linux/node/") + QLatin1String(script));
        QVERIFY2(text.startsWith(QStringLiteral("#!/bin/sh\nset -e\n")), script);
        QVERIFY2(!QRegularExpression(QStringLiteral("\\b(enable|start)\\b")).match(text).hasMatch(), script);
    }
}

void TestPackages::installedFiles_areOfOneComponentAndNoPathOfTheBuild() {
    const QTemporaryDir folder;
    QSet<QString> all;
    for (const char* component :
         {"offstage", "offstage-cli", "offstage-node", "offstage-demo-model", "offstage-cuda"}) {
        const QString program = QStringLiteral(OFFSTAGE_BIN_DIR "/") + QLatin1String(component);
        const bool is_program =
            qstrcmp(component, "offstage-demo-model") != 0 && qstrcmp(component, "offstage-cuda") != 0;
        if (is_program && !QFile::exists(program)) continue;
        const QString prefix = folder.filePath(QLatin1String(component));
        const QString said =
            output_of(QStringLiteral("cmake"), {QStringLiteral("--install"), kBuild, QStringLiteral("--component"),
                                                QLatin1String(component), QStringLiteral("--prefix"), prefix});
        QVERIFY2(!said.isEmpty() || component == QByteArray("offstage-cuda"), component);
        QDirIterator files(prefix, QDir::Files, QDirIterator::Subdirectories);
        while (files.hasNext()) {
            const QString file = files.next().mid(prefix.size() + 1);
            QVERIFY2(QRegularExpression(QStringLiteral("^(bin|share|lib/(offstage|systemd))/")).match(file).hasMatch(),
                     qPrintable(file));
            QVERIFY2(!all.contains(file), qPrintable(file));
            const bool isOfCuda =
                file.contains(QStringLiteral("cuda.so")) || file.startsWith(QStringLiteral("share/doc/offstage-cuda/"));
            QCOMPARE(isOfCuda, qstrcmp(component, "offstage-cuda") == 0);
            all.insert(file);
            if (file.startsWith(QStringLiteral("bin/")) || file.endsWith(QStringLiteral(".so"))) continue;
            QFile content(files.filePath());
            QVERIFY(content.open(QFile::ReadOnly));
            QVERIFY2(!content.readAll().contains(kSource.toUtf8()), qPrintable(file));
        }
    }
    for (const char* file : {"share/offstage/demo-model/model.safetensors", "share/offstage/help/en/README.md",
                             "share/offstage/help/questions.json"}) {
        QVERIFY2(all.contains(QLatin1String(file)), file);
    }
}

QTEST_GUILESS_MAIN(TestPackages)
#include "tst_packages.moc"
