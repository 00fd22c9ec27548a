#pragma once
// A language as code_highlight.cpp reads it: lists of words, parted by blanks.

#include <span>

namespace offstage::ui {

struct StringRule {
    const char16_t* open;
    const char16_t* close;
    bool escapes = true;  // a backslash takes the next character with it
    bool severalLines = false;
};

struct CommentRule {
    const char16_t* line = u"";  // marks, to the end of the line
    const char16_t* open = u"";
    const char16_t* close = u"";
};

enum class CodeFamily { Words, Markup, Style, Data, Diff };

struct CodeLanguage {
    const char16_t* label;
    const char16_t* names;
    CodeFamily family = CodeFamily::Words;
    const char16_t* keywords = u"";
    const char16_t* types = u"";  // and values such as true
    CommentRule comments = {};
    std::span<const StringRule> strings = {};
    bool nestedComments = false;
    bool anyCase = false;       // SQL
    bool capitalTypes = false;  // a word that begins with a capital is a type
    bool preprocessor = false;  // lines that begin with #
    bool attributes = false;    // @word
    bool dollarNames = false;   // $word
    bool lifetimes = false;     // 'a is not the beginning of a string
};

std::span<const CodeLanguage> codeLanguages();

}  // namespace offstage::ui
