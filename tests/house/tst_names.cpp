// Names private to a file must be unique within each floor: the release build compiles
// several files as one, and their grouping changes with every added file. Names of
// settings are in one file.
#include <algorithm>
#include <filesystem>

#include <QFile>
#include <QMap>
#include <QRegularExpression>
#include <QSet>
#include <QTest>

namespace {

// A file's declarations in its anonymous namespaces: constants, types, and functions with
// the types of their parameters.
QStringList namesIn(const QString& source) {
    static const QRegularExpression space(
        QStringLiteral("^namespace \\{\\n(.*?)^\\}  // namespace$"),
        QRegularExpression::MultilineOption | QRegularExpression::DotMatchesEverythingOption);
    static const QRegularExpression constant(  // and those behind it in one declaration
        QStringLiteral("^(?:inline |static )?const(?:expr)? [^=;{(]*?\\b(k[A-Z]\\w*)\\s*[\\[={]([^;]*)"),
        QRegularExpression::MultilineOption);
    static const QRegularExpression further(QStringLiteral(",\\s*(k[A-Z]\\w*) ="));
    static const QRegularExpression type(QStringLiteral("^(?:class|struct|enum class|enum) (\\w+)[^;]*?\\{"),
                                         QRegularExpression::MultilineOption);
    static const QRegularExpression function(QStringLiteral("^\\w[\\w:<>,&* ]*?[ &*](\\w+)\\(([^)]*)\\)[ \\n]*\\{"),
                                             QRegularExpression::MultilineOption);
    static const QRegularExpression parameter(QStringLiteral("\\s*\\b\\w+(?: = [^,]*)?(?=,|$)"));
    QStringList names;
    for (auto part = space.globalMatch(source); part.hasNext();) {
        const QString text = part.next().captured(1);
        for (const QRegularExpression* kind : {&constant, &type}) {
            for (auto it = kind->globalMatch(text); it.hasNext();) {
                const QRegularExpressionMatch match = it.next();
                names << match.captured(1);
                for (auto next = further.globalMatch(match.captured(2)); next.hasNext();) {
                    names << next.next().captured(1);
                }
            }
        }
        for (auto it = function.globalMatch(text); it.hasNext();) {
            const QRegularExpressionMatch match = it.next();
            QString types = match.captured(2).simplified();
            types.remove(parameter);
            names << match.captured(1) + u'(' + types + u')';
        }
    }
    return names;
}

// Each name that two files of a floor have, with the files.
QStringList shared(const QMap<QString, QString>& sources) {
    QMap<QString, QStringList> files;
    for (auto source = sources.begin(); source != sources.end(); ++source) {
        const QStringList names = namesIn(source.value());
        for (const QString& name : QSet<QString>(names.begin(), names.end())) {
            files[name] << source.key();
        }
    }
    QStringList out;
    for (auto name = files.begin(); name != files.end(); ++name) {
        if (name.value().size() > 1) {
            out << name.key() + QStringLiteral(": ") + name.value().join(QStringLiteral(", "));
        }
    }
    return out;
}

// Where a source reads or writes a setting itself, by a QSettings of any name.
QStringList settingsUsedIn(const QString& source) {
    static const QRegularExpression declared(QStringLiteral("\\bQSettings&? (\\w+)[;,)(=]"));
    QStringList objects{QStringLiteral("QSettings\\(\\)")};
    for (auto it = declared.globalMatch(source); it.hasNext();) {
        objects << QStringLiteral("\\b") + it.next().captured(1);
    }
    const QRegularExpression used(
        QStringLiteral("(?:%1)\\.(?:value|setValue|contains|remove|beginGroup)\\([^;]*").arg(objects.join(u'|')));
    QStringList found;
    for (auto it = used.globalMatch(source); it.hasNext();) {
        found << it.next().captured().simplified();
    }
    return found;
}

}  // namespace

class TestNames : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void floors_tellTheirFilesNamesApart_data() {
        QTest::addColumn<QString>("floor");
        for (const char* floor : {"kernels", "engine", "ui", "app"}) {
            QTest::newRow(floor) << QString::fromLatin1(floor);
        }
    }

    void floors_tellTheirFilesNamesApart() {
        QFETCH(QString, floor);
        const std::filesystem::path root = std::filesystem::path(OFFSTAGE_SOURCE_DIR) / floor.toStdString();
        QMap<QString, QString> sources;
        int names = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
            if (entry.path().extension() != ".cpp") {
                continue;
            }
            QFile file(QString::fromStdString(entry.path().string()));
            QVERIFY(file.open(QFile::ReadOnly));
            const QString text = QString::fromUtf8(file.readAll());
            names += static_cast<int>(namesIn(text).size());
            sources[QString::fromStdString(entry.path().lexically_relative(root).string())] = text;
        }
        QVERIFY2(names > 20, qPrintable(QString::number(names)));
        const QStringList twice = shared(sources);
        QVERIFY2(twice.isEmpty(), qPrintable(QStringLiteral("rename one of each:\n") + twice.join(u'\n')));
    }

    // A computer without these sets does not compile their files: a program that names their functions would
    // not link there.
    void setsThatABuildLeavesOut_areNamedOnlyWhereTheyAreCompiled() {
        static const QRegularExpression left(
            QStringLiteral("avx512_(?:bf16|vbmi)::|\\w_avx512_(?:bf16|vbmi)\\b(?!\\.)"));
        static const QRegularExpression own(QStringLiteral("_avx512_(?:bf16|vbmi)\\.cpp$"));
        int named = 0;
        for (const auto& entry :
             std::filesystem::recursive_directory_iterator(std::filesystem::path(OFFSTAGE_SOURCE_DIR) / "kernels")) {
            const QString path = QString::fromStdString(entry.path().string());
            if (!path.endsWith(QStringLiteral(".cpp")) || own.match(path).hasMatch()) continue;
            QFile file(path);
            QVERIFY(file.open(QFile::ReadOnly));
            const QString text = QString::fromUtf8(file.readAll());
            if (!left.match(text).hasMatch()) continue;
            QVERIFY2(text.contains(QStringLiteral("OFFSTAGE_COMPILED_SETS")), qPrintable(path));
            ++named;
        }
        QVERIFY(named >= 3);
    }

    void settings_areInOneTable() {
        // The second one copies all, whatever they are called.
        const QStringList own{QStringLiteral("ui/base/settings.h"), QStringLiteral("ui/settings/settings_format.cpp")};
        const std::filesystem::path root(OFFSTAGE_SOURCE_DIR);
        QStringList others;
        for (const char* floor : {"ui", "app"}) {
            for (const auto& entry : std::filesystem::recursive_directory_iterator(root / floor)) {
                const QString name = QString::fromStdString(entry.path().lexically_relative(root).string());
                QFile file(QString::fromStdString(entry.path().string()));
                if (!entry.is_regular_file() || own.contains(name) || !file.open(QFile::ReadOnly)) {
                    continue;
                }
                for (const QString& use : settingsUsedIn(QString::fromUtf8(file.readAll()))) {
                    others << name + QStringLiteral(": ") + use;
                }
            }
        }
        QVERIFY2(others.isEmpty(), qPrintable(QStringLiteral("to ui/base/settings.h:\n") + others.join(u'\n')));
    }

    void reader_findsSettings() {
        QCOMPARE(settingsUsedIn(QStringLiteral("int a = QSettings().value(\"a\").toInt();")).size(), 1);
        QCOMPARE(settingsUsedIn(QStringLiteral("void f(QSettings& s) {\n    s.setValue(\"a\", 1);\n}")).size(), 1);
        QCOMPARE(settingsUsedIn(QStringLiteral("const QSettings open;\nsettings::kA.value();")), QStringList());
        QCOMPARE(settingsUsedIn(QStringLiteral("QSettings kept;\nkept.sync();")), QStringList());
    }

    void reader_findsWhatIsAFilesOwn_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QStringList>("names");
        const auto row = [](const char* name, const char* inside, const QStringList& names) {
            QTest::newRow(name) << QStringLiteral("#include <a>\n\nnamespace {\n\n%1\n}  // namespace\n")
                                       .arg(QString::fromLatin1(inside))
                                << names;
        };
        row("constant", "constexpr int kGap = 3;\n", {QStringLiteral("kGap")});
        row("constants", "constexpr int kGap = 3, kWide = kGap * 2;\n",
            {QStringLiteral("kGap"), QStringLiteral("kWide")});
        row("list", "const char* const kNames[] = {\"a\"};\n", {QStringLiteral("kNames")});
        row("type", "struct Pair {\n    int kGap = 3;\n};\n", {QStringLiteral("Pair")});
        row("kinds", "enum class Kind : int { A, B };\n", {QStringLiteral("Kind")});
        row("announced", "class Later;\n", {});
        row("function", "double mean(std::span<const double> of, int n = 3) {\n    if (n) {\n    }\n}\n",
            {QStringLiteral("mean(std::span<const double>, int)")});
        row("no parameters", "QString text() {\n}\n", {QStringLiteral("text()")});
        row("call", "int f() {\n    return g(3);\n}\n", {QStringLiteral("f()")});
        QTest::newRow("outside") << QStringLiteral("namespace offstage {\nconstexpr int kGap = 3;\n}\n")
                                 << QStringList();
    }

    void reader_findsWhatIsAFilesOwn() {
        QFETCH(QString, text);
        QFETCH(QStringList, names);
        QCOMPARE(namesIn(text), names);
    }

    void sharedName_isFound() {
        const QString a = QStringLiteral("namespace {\nint f(int x) {\n}\n}  // namespace\n");
        const QString b = QStringLiteral("namespace {\nint f(int y) {\n}\n}  // namespace\n");
        const QString other = QStringLiteral("namespace {\nint f(double x) {\n}\n}  // namespace\n");
        QCOMPARE(shared({{QStringLiteral("a"), a}, {QStringLiteral("b"), b}, {QStringLiteral("c"), other}}),
                 QStringList(QStringLiteral("f(int): a, b")));
    }
};

QTEST_GUILESS_MAIN(TestNames)
#include "tst_names.moc"
