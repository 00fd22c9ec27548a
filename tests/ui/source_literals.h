#pragma once
// The texts that stand in C++ sources, read without a compiler.

#include <QList>
#include <QSet>
#include <QString>

namespace offstage::test {

// A source and the texts in it: neighbours joined as a compiler joins them, each also without a blank in front, and
// those for printf in the pieces between their places as well.
struct SourceLiterals {
    QString file;  // "engine/json.cpp"
    QSet<QString> literals;
};

// Of all sources in some folders of the repository, by their names there.
QList<SourceLiterals> sourcesIn(const QStringList& folders);
// Whether a text is literals one behind the other, each whole.
bool isMadeOf(const QSet<QString>& literals, const QString& text);

}  // namespace offstage::test
