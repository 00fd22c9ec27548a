#pragma once
// Comma-separated values (RFC 4180): CRLF, fields quoted where they must be, numbers with a point in every language.

#include <QString>
#include <QStringList>

namespace offstage::ui {

QString csvNumber(double value);  // up to 12 digits; NaN and infinities are an empty field
QString csvLine(const QStringList& fields);

}  // namespace offstage::ui
