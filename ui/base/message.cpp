#include "ui/base/message.h"

#include <QRegularExpression>

namespace offstage::ui {

QString noteText(const QString& note) {
    static const QRegularExpression number(QStringLiteral("[0-9]+"));
    const QString digits = number.match(note).captured();
    const QString form =
        digits.isEmpty() ? note : QString(note).replace(note.indexOf(digits), digits.size(), QStringLiteral("%1"));
    const QString text = QCoreApplication::translate("History", form.toUtf8().constData());
    return text == form ? note : text.contains(QStringLiteral("%1")) ? text.arg(digits) : text;
}

}  // namespace offstage::ui
