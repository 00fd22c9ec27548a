#pragma once
// Comma-separated values (RFC 4180): CRLF, fields quoted where they must be, numbers with
// a point in every language.

#include <QString>
#include <QStringList>

#include "ui/plot/axis.h"

namespace offstage::ui {

QString csvNumber(double value);  // up to 12 digits; NaN and infinities are an empty field
// "copied (bytes)": the title, or the other name if it has none, and the values' unit.
QString csvHeading(const AxisSpec& spec, const QString& otherwise);
QString csvLine(const QStringList& fields);

}  // namespace offstage::ui
