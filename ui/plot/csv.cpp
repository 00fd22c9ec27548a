#include "ui/plot/csv.h"

#include <cmath>

namespace offstage::ui {

QString csvNumber(double value) {
    return std::isfinite(value) ? QString::number(value, 'g', 12) : QString();
}

QString csvLine(const QStringList& fields) {
    QString line;
    for (const QString& field : fields) {
        if (&field != &fields.front()) {
            line += u',';
        }
        const bool quoted =
            field.contains(u',') || field.contains(u'"') || field.contains(u'\n') || field.contains(u'\r');
        line += quoted ? u'"' + QString(field).replace(u'"', QStringLiteral("\"\"")) + u'"' : field;
    }
    return line + QStringLiteral("\r\n");
}

}  // namespace offstage::ui
