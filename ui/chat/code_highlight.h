#pragma once

#include <QColor>
#include <QList>
#include <QStringView>

namespace offstage::ui {

enum class CodeTone { Text, Keyword, Type, Function, String, Number, Comment, Meta, Added, Removed };
inline constexpr int kCodeTones = 10;

// A colour of at least 4.5:1 on Colours::raised of the light and of the dark palette.
QColor toneColour(CodeTone tone, bool dark);

struct CodeSpan {
    int begin = 0;
    int length = 0;
    CodeTone tone = CodeTone::Text;

    bool operator==(const CodeSpan&) const = default;
};

// The state at the end of a line: inside which comment or string it ended.
struct LexState {
    enum class Inside { Code, Comment, String, Tag };
    Inside inside = Inside::Code;
    int which = 0;  // String: which of the language's; Comment: how deep
    int depth = 0;  // open braces, where a language's words depend on them

    bool operator==(const LexState&) const = default;
};

struct CodeLanguage;

// By the name after a fence, in lower case ("c++", "py", "html"); null: not known, shown
// in one colour.
const CodeLanguage* findLanguage(QStringView name);
// For the box's label: "C++", "Python"; unknown names unchanged.
QString languageLabel(const QString& name);

// One line, without its line feed. Spans are in order and do not overlap; uncovered text
// is Text. The cost is linear in the line's length, for any input. Wrong code gets some
// colours, never an error.
QList<CodeSpan> lexLine(const CodeLanguage& language, QStringView line, LexState& state);

}  // namespace offstage::ui
