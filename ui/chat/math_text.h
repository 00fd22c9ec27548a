#pragma once

#include <QList>
#include <QString>

namespace offstage::ui {

// A formula in a Markdown text.
struct MathSpan {
    qsizetype begin = 0;  // of the opening delimiter
    qsizetype end = 0;    // behind the closing one
    QString tex;          // the text between them
    bool display = false;

    bool operator==(const MathSpan&) const = default;
};

// Behind the code span that begins with the backtick at this place, or, if it is not
// closed, behind its backticks.
qsizetype behindCodeSpan(QStringView markdown, qsizetype at);

// Finds $...$, $$...$$, \(...\) and \[...\] outside of code spans and of HTML-like tags.
// A dollar is a delimiter only by Pandoc's rules (no blank after the opening one, no
// digit after the closing one), and not around prose that begins with an amount: "$5 and
// $6" and "from $5, or 10$" have none. Unclosed formulas do not count.
QList<MathSpan> findMath(QStringView markdown);

// A formula as one line of readable Unicode: \alpha_1^2 as α₁², \frac{a}{b+1} as a/(b+1),
// \sqrt{x} as √x, rows of a matrix in brackets, separated by semicolons. With `display`,
// rows of aligned formulas and matrices are separate lines. Unknown commands stay as
// their name; never fails, for any text. Nesting beyond 40 levels is left unchanged.
QString mathToText(QStringView tex, bool display);

}  // namespace offstage::ui
