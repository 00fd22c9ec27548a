#pragma once

#include <QList>
#include <QString>

class QApplication;

namespace offstage::ui {

struct Language {
    QString code;  // "de"
    QString name;  // in itself: "Deutsch"
};

// Those that the window speaks; English first.
QList<Language> languages();
// The one that a name on the command line, the person's choice (QSettings "language") or the system
// asks for; "en" where that is none of ours.
QString chosenLanguage(const QString& named);
// Qt's own texts too, where its catalogue for that language is installed (qtCatalogues; empty: where
// Qt has it), else those that ours has of them. Before the first widget is made.
void speak(QApplication& app, const QString& code, const QString& qtCatalogues = {});

}  // namespace offstage::ui
