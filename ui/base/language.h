#pragma once

#include <QList>
#include <QString>

class QApplication;

namespace offstage::ui {

struct Language {
    QString code;  // "de"
    QString name;  // in itself: "Deutsch"
};

// The languages of the window; English first.
QList<Language> languages();
// "de", "de_AT": one of these.
bool isLanguage(const QString& named);
// The language from the command line, the user's choice (QSettings "language") or the
// system; "en" if it is not supported.
QString chosenLanguage(const QString& named);
// Also sets Qt's own texts, from its catalogue for that language if it is installed
// (qtCatalogues; empty: Qt's folder), otherwise from ours. Before the first widget is
// made.
void speak(QApplication& app, const QString& code, const QString& qtCatalogues = {});

// In the language `code`, whichever one the window speaks; as it is where the language's
// catalogue does not have it. Any thread.
QString translatedTo(const QString& code, const char* context, const char* source);

}  // namespace offstage::ui
