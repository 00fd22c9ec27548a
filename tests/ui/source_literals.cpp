#include "tests/ui/source_literals.h"

#include <vector>

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QRegularExpression>
#include <QStringList>

namespace offstage::test {

namespace {

QChar escapedBy(QChar c) {
    return c == u'n' ? QChar(u'\n') : c == u't' ? QChar(u'\t') : c == u'r' ? QChar(u'\r') : c;
}

QSet<QString> literalsOf(const QString& source) {
    QStringList literals;
    bool apart = true;
    for (qsizetype i = 0; i < source.size(); ++i) {
        if (source[i] == u'/' && source.mid(i, 2) == u"//") {
            i = source.indexOf(u'\n', i);
            if (i < 0) {
                break;
            }
        } else if (source[i] == u'\'' && (i == 0 || !source[i - 1].isDigit())) {  // not 1'000
            i += i + 1 < source.size() && source[i + 1] == u'\\' ? 2 : 1;
            literals.append(QString(source[i]));
            i = source.indexOf(u'\'', i + 1);
            if (i < 0) {
                break;
            }
            apart = true;
        } else if (source[i] == u'"' && i > 0 && source[i - 1] == u'R') {
            const qsizetype from = source.indexOf(u'(', i) + 1;
            const QString end = u')' + source.mid(i + 1, from - i - 2) + u'"';
            const qsizetype to = source.indexOf(end, from);
            literals.append(source.mid(from, to - from));
            i = to + end.size() - 1;
            apart = true;
        } else if (source[i] == u'"') {
            QString text;
            for (++i; i + 1 < source.size() && source[i] != u'"'; ++i) {
                text += source[i] == u'\\' ? escapedBy(source[++i]) : source[i];
            }
            if (apart || literals.isEmpty()) {
                literals.append(text);
            } else {
                literals.last() += text;
            }
            apart = false;
        } else if (!source[i].isSpace()) {
            apart = true;
        }
    }
    static const QRegularExpression format(QStringLiteral("%[-+ #0-9.*]*(hh|h|ll|l|z|j)?[a-zA-Z]"));
    QSet<QString> all;
    for (const QString& literal : literals) {
        QStringList pieces = literal.split(format);
        pieces.append(literal);
        for (const QString& piece : pieces) {
            all.insert(piece);
            all.insert(piece.mid(piece.startsWith(u' ') ? 1 : 0));
        }
    }
    all.remove(QString());
    return all;
}

}  // namespace

QList<SourceLiterals> sourcesIn(const QStringList& folders) {
    const QDir root(QStringLiteral(OFFSTAGE_SOURCE_DIR));
    QList<SourceLiterals> sources;
    for (const QString& folder : folders) {
        QDirIterator files(root.filePath(folder),
                           {QStringLiteral("*.cpp"), QStringLiteral("*.h"), QStringLiteral("*.cu")}, QDir::Files,
                           QDirIterator::Subdirectories);
        while (files.hasNext()) {
            QFile file(files.next());
            if (file.open(QIODevice::ReadOnly)) {
                sources.append({root.relativeFilePath(file.fileName()), literalsOf(QString::fromUtf8(file.readAll()))});
            }
        }
    }
    return sources;
}

bool isMadeOf(const QSet<QString>& literals, const QString& text) {
    std::vector<bool> reached(static_cast<std::size_t>(text.size()) + 1);
    reached[0] = true;
    for (qsizetype i = 0; i < text.size(); ++i) {
        if (!reached[static_cast<std::size_t>(i)]) {
            continue;
        }
        for (qsizetype length = 1; i + length <= text.size(); ++length) {
            if (literals.contains(text.mid(i, length))) {
                reached[static_cast<std::size_t>(i + length)] = true;
            }
        }
    }
    return reached.back();
}

}  // namespace offstage::test
