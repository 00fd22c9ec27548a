#include "ui/plot/csv.h"

#include <cmath>

namespace offstage::ui {

QString csvNumber(double value) {
    return std::isfinite(value) ? QString::number(value, 'g', 12) : QString();
}

QString csvHeading(const AxisSpec& spec, const QString& otherwise) {
    const QString title = spec.title.isEmpty() ? otherwise : spec.title;
    // Not translated: a file should read the same everywhere.
    switch (spec.unit) {
        case Unit::Bytes:
            return title + QStringLiteral(" (bytes)");
        case Unit::Microseconds:
            return title + QStringLiteral(" (us)");
        case Unit::TokensPerSecond:
            return title + QStringLiteral(" (tokens/s)");
        case Unit::Share:
            return title + QStringLiteral(" (share)");
        case Unit::Plain:
        case Unit::Count:
            break;
    }
    return title;
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
