// Checks documents for readers: they are short enough, their links work, and the files
// and names of code that they mention exist.
#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QRegularExpression>
#include <QSet>
#include <QTest>

namespace {

const QString kManual = QStringLiteral("resources/help/en");

QDir root() {
    return QDir(QStringLiteral(OFFSTAGE_SOURCE_DIR));
}

QString read(const QString& path) {
    QFile file(root().filePath(path));
    return file.open(QFile::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

QStringList pagesIn(const QString& folder) {
    QStringList paths;
    for (const QString& name : QDir(root().filePath(folder)).entryList({QStringLiteral("*.md")}, QDir::Files)) {
        paths << folder + u'/' + name;
    }
    return paths;
}

// The documents for developers.
QStringList floorDocuments() {
    return {QStringLiteral("engine/README.md"), QStringLiteral("kernels/README.md"), QStringLiteral("ui/README.md"),
            QStringLiteral("tests/README.md")};
}

QStringList documents() {
    return QStringList{QStringLiteral("README.md"), QStringLiteral("tests/bench/RESULTS.md"),
                       QStringLiteral("tests/golden/README.md")} +
           floorDocuments() + pagesIn(kManual) + pagesIn(QStringLiteral("tests/bench/results"));
}

// Returns the text without code blocks and spans.
QString withoutCode(const QString& text) {
    static const QRegularExpression blocks(QStringLiteral("^    .*$"), QRegularExpression::MultilineOption);
    static const QRegularExpression spans(QStringLiteral("`[^`]*`"));
    return QString(text).remove(blocks).remove(spans);
}

QStringList captures(const QString& text, const QRegularExpression& pattern) {
    QStringList all;
    for (auto it = pattern.globalMatch(text); it.hasNext();) {
        all << it.next().captured(1);
    }
    return all;
}

QStringList linksIn(const QString& text) {
    static const QRegularExpression link(QStringLiteral("\\]\\(([^)\\s]+)\\)"));
    return captures(withoutCode(text), link);
}

QStringList spansIn(const QString& text) {
    static const QRegularExpression span(QStringLiteral("`([^`\\n]+)`"));
    return captures(text, span);
}

// The anchor names that forges give to headings.
QSet<QString> anchorsOf(const QString& text) {
    static const QRegularExpression heading(QStringLiteral("^#+ (.*)$"), QRegularExpression::MultilineOption);
    static const QRegularExpression others(QStringLiteral("[^\\w -]"), QRegularExpression::UseUnicodePropertiesOption);
    QSet<QString> anchors;
    for (const QString& title : captures(text, heading)) {
        anchors.insert(title.toLower().remove(others).replace(u' ', u'-'));
    }
    return anchors;
}

// Returns an empty text if the link leads somewhere.
QString complaintAbout(const QString& document, const QString& link) {
    if (link.contains(QStringLiteral("://"))) {
        return {};
    }
    const QString file = link.section(u'#', 0, 0);
    const QString anchor = link.section(u'#', 1);
    const QString folder = document.left(document.lastIndexOf(u'/') + 1);
    const QString target = file.isEmpty() ? document : QDir::cleanPath(folder + file);
    if (!QFile::exists(root().filePath(target))) {
        return QStringLiteral("there is no %1").arg(target);
    }
    if (!anchor.isEmpty() && !anchorsOf(read(target)).contains(anchor)) {
        return QStringLiteral("%1 has no heading %2").arg(target, anchor);
    }
    return {};
}

bool isPath(const QString& span) {
    static const QRegularExpression path(
        QStringLiteral("^(app|engine|kernels|ui|resources|tests|installer)/[\\w./*-]+$"));
    return path.match(span).hasMatch();
}

// Whether the path exists, or some file fits the pattern.
bool exists(const QString& path) {
    const QString whole = QDir::cleanPath(root().filePath(path));
    if (!path.contains(u'*')) {
        return QFile::exists(whole);
    }
    return !QDir(whole.section(u'/', 0, -2)).entryList({whole.section(u'/', -1)}, QDir::AllEntries).isEmpty();
}

// All words of the source, and the names of the tests' programs.
QSet<QString> wordsOfTheSource() {
    static const QRegularExpression word(QStringLiteral("\\w+"));
    QSet<QString> words;
    for (const char* folder : {"app", "engine", "kernels", "ui", "tests"}) {
        QDirIterator files(root().filePath(QLatin1String(folder)),
                           {QStringLiteral("*.h"), QStringLiteral("*.cpp"), QStringLiteral("*.cu"),
                            QStringLiteral("*.cuh"), QStringLiteral("CMakeLists.txt"), QStringLiteral("*.cmake")},
                           QDir::Files, QDirIterator::Subdirectories);
        while (files.hasNext()) {
            QFile file(files.next());
            words.insert(files.filePath()
                             .section(u'/', -2)
                             .section(u'.', 0, 0)
                             .replace(QLatin1String("/tst_"), QLatin1String("_")));
            if (file.open(QFile::ReadOnly)) {
                const QString text = QString::fromUtf8(file.readAll());
                for (auto it = word.globalMatch(text); it.hasNext();) {
                    words.insert(it.next().captured());
                }
            }
        }
    }
    return words;
}

}  // namespace

class TestDocuments : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void document_isShort_data() {
        QTest::addColumn<int>("most");
        QTest::newRow("README.md") << 130;
        QTest::newRow("engine/README.md") << 150;
        QTest::newRow("tests/bench/RESULTS.md") << 60;
    }
    void document_isShort() {
        QFETCH(int, most);
        const QString text = read(QLatin1String(QTest::currentDataTag()));
        QVERIFY(!text.isEmpty());
        QVERIFY2(text.count(u'\n') <= most, qPrintable(QString::number(text.count(u'\n'))));
    }

    void links_leadSomewhere() {
        QStringList wrong;
        int n = 0;
        for (const QString& document : documents()) {
            for (const QString& link : linksIn(read(document))) {
                ++n;
                if (const QString complaint = complaintAbout(document, link); !complaint.isEmpty()) {
                    wrong << QStringLiteral("%1: %2: %3").arg(document, link, complaint);
                }
            }
        }
        QVERIFY(n > 100);
        QVERIFY2(wrong.isEmpty(), qPrintable(u'\n' + wrong.join(u'\n')));
    }

    // They stay in the history: each has a use, a palette, and few bytes.
    void pictures_areShown_andSmall() {
        const QString readme = read(QStringLiteral("README.md"));
        const QDir folder(root().filePath(QStringLiteral("resources/screenshots")));
        const QStringList pictures = folder.entryList({QStringLiteral("*.png")}, QDir::Files);
        QCOMPARE(pictures.size(), 6);
        for (const QString& name : pictures) {
            QFile file(folder.filePath(name));
            QVERIFY2(readme.contains(QStringLiteral("resources/screenshots/") + name), qPrintable(name));
            QVERIFY2(file.size() < 80'000, qPrintable(name + QString::number(file.size())));
            QVERIFY(file.open(QFile::ReadOnly));
            constexpr int kColourType = 25;
            constexpr char kPalette = 3;
            QCOMPARE(file.read(kColourType + 1).back(), kPalette);
        }
    }

    void brokenLinks_areFound() {
        const QString document = kManual + QStringLiteral("/README.md");
        QVERIFY(complaintAbout(document, QStringLiteral("start.md")).isEmpty());
        QVERIFY(!complaintAbout(document, QStringLiteral("no-such-page.md")).isEmpty());
        QVERIFY(complaintAbout(document, QStringLiteral("models.md#families")).isEmpty());
        QVERIFY(!complaintAbout(document, QStringLiteral("models.md#no-such-heading")).isEmpty());
    }

    // So that the same links work on a forge, in the window and in a terminal.
    void manual_listsEachPageOnce_andLinksToItselfAlone() {
        const QStringList listed = linksIn(read(kManual + QStringLiteral("/README.md")));
        QStringList pages;
        for (const QString& path : pagesIn(kManual)) {
            const QString name = path.section(u'/', -1);
            if (name != QStringLiteral("README.md")) {
                pages << name;
            }
            const QString text = read(path);
            QVERIFY2(text.startsWith(QStringLiteral("# ")), qPrintable(path));
            for (const QString& link : linksIn(text)) {
                QVERIFY2(link.startsWith(QStringLiteral("https://")) || !link.section(u'#', 0, 0).contains(u'/'),
                         qPrintable(path + QStringLiteral(": ") + link));
            }
        }
        QStringList sorted = listed;
        sorted.sort();
        pages.sort();
        QCOMPARE(sorted, pages);
    }

    // "Machines" beside "Other machines", "Budget" beside "Budgets and re-planning":
    // which page has what was a guess.
    void titles_areOfOnePageEach_andTheSameEverywhere() {
        static const QRegularExpression link(QStringLiteral("\\[([^\\]]+)\\]\\(([\\w-]+)\\.md\\)"));
        static const QRegularExpression row(
            QStringLiteral("\\| \\[([^\\]]+)\\]\\(resources/help/en/(?!README)([\\w-]+)\\.md\\)"));
        const auto titleOf = [](const QString& page) {
            return read(kManual + u'/' + page + QStringLiteral(".md")).section(u'\n', 0, 0).mid(2);
        };
        QStringList titles;
        const auto compare = [&](const QString& text, const QRegularExpression& pattern) {
            for (auto it = pattern.globalMatch(text); it.hasNext();) {
                const QRegularExpressionMatch match = it.next();
                QCOMPARE(match.captured(1), titleOf(match.captured(2)));
                titles << match.captured(1).toLower();
            }
        };
        compare(read(kManual + QStringLiteral("/README.md")), link);
        const qsizetype pages = titles.size();
        compare(read(QStringLiteral("README.md")), row);
        QVERIFY(pages > 20 && titles.size() >= pages + 9);
        titles.resize(pages);
        const auto isPart = [](const QString& whole, const QString& title) {
            return whole.startsWith(title) || whole.endsWith(QStringLiteral(" ") + title);
        };
        QVERIFY(isPart(QStringLiteral("budgets and re-planning"), QStringLiteral("budget")));
        for (const QString& one : titles) {
            for (const QString& other : titles) {
                QVERIFY2(&one == &other || !isPart(one, other), qPrintable(one + QStringLiteral(", ") + other));
            }
        }
    }

    // What a theta does to neurons has one word where people read.
    void neurons_areSkipped_everywhere() {
        static const QRegularExpression other(
            QStringLiteral("neurons?\\b[^.:;\"]{0,60}\\bleft out\\b|\\bleft out\\b[^.:;\"]{0,20}\\bneurons?|"
                           "\\bleav(e|es|ing)( out)? (\\w+ )?neurons?\\b"),
            QRegularExpression::CaseInsensitiveOption);
        QVERIFY(other.match(QStringLiteral("neurons that are left out")).hasMatch() &&
                other.match(QStringLiteral("leaves out no neuron")).hasMatch());
        static const QRegularExpression comment(QStringLiteral("//[^\n]*")), joint(QStringLiteral("\"\\s*\n\\s*\""));
        QStringList wrong;
        for (const QString& page : pagesIn(kManual)) {
            wrong << captures(read(page).replace(u'\n', u' '), QRegularExpression(u'(' + other.pattern() + u')'));
        }
        for (const char* folder : {"app", "engine", "ui"}) {
            QDirIterator files(root().filePath(QLatin1String(folder)),
                               {QStringLiteral("*.cpp"), QStringLiteral("*.def")}, QDir::Files,
                               QDirIterator::Subdirectories);
            while (files.hasNext()) {
                QFile file(files.next());
                QVERIFY(file.open(QFile::ReadOnly));
                const QString text = QString::fromUtf8(file.readAll()).remove(comment).remove(joint);
                for (auto it = other.globalMatch(text); it.hasNext();) {
                    wrong << file.fileName().section(u'/', -1) + QStringLiteral(": ") + it.next().captured();
                }
            }
        }
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(u'\n')));
    }

    void pathsThatAreNamed_exist() {
        QStringList wrong;
        int n = 0;
        for (const QString& document : documents()) {
            for (const QString& span : spansIn(read(document))) {
                if (isPath(span)) {
                    ++n;
                    if (!exists(span)) {
                        wrong << document + QStringLiteral(": ") + span;
                    }
                }
            }
        }
        QVERIFY(n > 100);
        QVERIFY2(wrong.isEmpty(), qPrintable(u'\n' + wrong.join(u'\n')));
        QVERIFY(!exists(QStringLiteral("engine/no_such_file.h")) && !exists(QStringLiteral("engine/*.nothing")));
    }

    // Types and functions, in the documents for developers.
    void namesThatAreUsed_areInTheSource() {
        static const QRegularExpression name(QStringLiteral("^([A-Za-z]\\w*)(::\\w+)?(\\(\\))?$"));
        const QSet<QString> words = wordsOfTheSource();
        QStringList wrong;
        int n = 0;
        for (const QString& document : floorDocuments()) {
            for (QString span : spansIn(read(document))) {
                if (!name.match(span).hasMatch()) {
                    continue;
                }
                ++n;
                for (const QString& part : span.remove(QStringLiteral("()")).split(QStringLiteral("::"))) {
                    if (!words.contains(part)) {
                        wrong << document + QStringLiteral(": ") + part;
                    }
                }
            }
        }
        QVERIFY(n > 50);
        QVERIFY2(wrong.isEmpty(), qPrintable(u'\n' + wrong.join(u'\n')));
    }

    // A sentence begins with its subject.
    void sentences_doNotBeginWithOfWhat() {
        static const QRegularExpression riddle(QStringLiteral("(?:^|[.!?:]\\s+)(Of (?:what|that|those|whom)\\b)"));
        for (const QString& document : documents()) {
            const QStringList found = captures(withoutCode(read(document)), riddle);
            QVERIFY2(found.isEmpty(), qPrintable(document));
        }
    }
};

QTEST_GUILESS_MAIN(TestDocuments)
#include "tst_documents.moc"
