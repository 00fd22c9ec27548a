#pragma once
// The tables for math_text.h: TeX's names in Unicode. An unknown name gives an empty
// string or a null character.

#include <QString>

namespace offstage::ui {

QString mathSymbol(const QString& name);      // "alpha": α, "to": →
bool isMathFunction(const QString& name);     // "log", set upright with a blank behind it
bool isMathStyle(const QString& name);        // "displaystyle", "bigl": nothing to show
QChar mathSuperscript(QChar c);               // '2': ²
QChar mathSubscript(QChar c);                 // '2': ₂
QChar mathAccent(const QString& name);        // "hat": a combining mark
QString mathAccentName(const QString& name);  // for more than a letter: "hat"

enum class MathAlphabet { None, DoubleStruck, Script, Fraktur, Bold, Plain };
MathAlphabet mathAlphabet(const QString& name);  // "mathbb"
QString mathLetters(const QString& text, MathAlphabet alphabet);

}  // namespace offstage::ui
