#include "ui/help/help_pages.h"

#include <QAction>
#include <QFile>
#include <QMenuBar>
#include <QRegularExpression>
#include <QWidget>

#include "ui/widgets/menu_commands.h"

namespace offstage::ui {

namespace {

constexpr char kPageProperty[] = "helpPage";

// A name as Markdown shows it: signs that would mean something there do not.
QString literalName(const QString& text) {
    QString out;
    for (const QChar c : text) {
        if (QStringLiteral("\\`*_{}[]<>()#|~").contains(c)) {
            out += u'\\';
        }
        out += c;
    }
    return out;
}

QString keysTable(const QMenuBar& menus) {
    QString table = QStringLiteral("| command | keys |\n|---|---|\n");
    for (const MenuCommand& command : menuCommands(menus)) {
        if (const QKeySequence keys = command.action->shortcut(); !keys.isEmpty()) {
            table += QStringLiteral("| %1 | %2 |\n")
                         .arg(literalName(command.path), literalName(keys.toString(QKeySequence::NativeText)));
        }
    }
    return table;
}

// The text between the two marks of a table that is made.
QString withTable(const QString& page, const QString& table) {
    static const QRegularExpression made(QStringLiteral("(<!-- keys: [^\\n]*-->\\n).*(<!-- end -->)"),
                                         QRegularExpression::DotMatchesEverythingOption);
    const QRegularExpressionMatch match = made.match(page);
    return match.hasMatch() ? page.left(match.capturedEnd(1)) + table + page.mid(match.capturedStart(2)) : page;
}

}  // namespace

QString helpPageText(const QString& id) {
    QFile file(QStringLiteral(":/help/en/%1.md").arg(id));
    return file.open(QFile::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

QList<HelpPage> helpPages(const QMenuBar& menus) {
    static const QRegularExpression link(QStringLiteral("\\]\\(([\\w-]+)\\.md\\)"));
    QList<HelpPage> pages;
    const QString list = helpPageText(QStringLiteral("README"));
    for (auto it = link.globalMatch(list); it.hasNext();) {
        const QString id = it.next().captured(1);
        const QString text = withTable(helpPageText(id), keysTable(menus));
        pages.append({id, text.section(u'\n', 0, 0).mid(2), text});
    }
    return pages;
}

QString helpPageOfPanel(const QString& panel) {
    static const QRegularExpression capital(QStringLiteral("([A-Z])"));
    return QString(panel).replace(capital, QStringLiteral("-\\1")).toLower();
}

void setHelpPage(QWidget& part, const QString& id) {
    part.setProperty(kPageProperty, id);
}

QString helpPageOf(const QWidget* widget) {
    for (; widget != nullptr; widget = widget->parentWidget()) {
        if (const QString id = widget->property(kPageProperty).toString(); !id.isEmpty()) {
            return id;
        }
    }
    return {};
}

}  // namespace offstage::ui
