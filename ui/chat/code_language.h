#pragma once
// A language as code_highlight.cpp reads it.

#include <QList>
#include <QSet>
#include <QString>
#include <QStringList>

namespace offstage::ui {

struct StringRule {
    QString open;
    QString close;
    bool escapes = true;  // a backslash takes the next character with it
    bool severalLines = false;
};

enum class CodeFamily { Words, Markup, Style, Data, Diff };

struct CodeLanguage {
    QString label;
    QStringList names;
    CodeFamily family = CodeFamily::Words;
    QSet<QString> keywords;
    QSet<QString> types;       // and values such as true
    QStringList lineComments;  // marks, to the end of the line
    QString commentOpen, commentClose;
    QList<StringRule> strings;
    bool nestedComments = false;
    bool anyCase = false;       // SQL
    bool capitalTypes = false;  // a word that begins with a capital is a type
    bool preprocessor = false;  // lines that begin with #
    bool attributes = false;    // @word
    bool dollarNames = false;   // $word
    bool lifetimes = false;     // 'a is not the beginning of a string
};

// Those of resources/code/languages.json, whose lists of words are parted by blanks.
const QList<CodeLanguage>& codeLanguages();

}  // namespace offstage::ui
