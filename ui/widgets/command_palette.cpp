#include "ui/widgets/command_palette.h"

#include <algorithm>
#include <utility>

#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMenuBar>
#include <QPainter>
#include <QRegularExpression>
#include <QStyledItemDelegate>

#include "ui/base/settings.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/panel_action.h"

namespace offstage::ui {
namespace {

constexpr int kWidest = 560;
constexpr int kRows = 9;
constexpr int kCommandMarginX = 10, kCommandMarginY = 6;
constexpr int kPerLetter = 9;  // of a word's beginning; a little less than in a command's own name
constexpr int kShortcutRole = Qt::UserRole + 1;

// The command at the left, its shortcut at the right.
class CommandDelegate : public QStyledItemDelegate {
  public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        QStyleOptionViewItem item = option;
        initStyleOption(&item, index);
        const QString text = std::exchange(item.text, QString());
        const QWidget* widget = option.widget;
        (widget ? widget->style() : QApplication::style())
            ->drawControl(QStyle::CE_ItemViewItem, &item, painter, widget);
        const bool selected = option.state & QStyle::State_Selected;
        const auto group = option.state & QStyle::State_Enabled ? QPalette::Active : QPalette::Disabled;
        const QString keys = index.data(kShortcutRole).toString();
        QRect room = option.rect.adjusted(kCommandMarginX, 0, -kCommandMarginX, 0);
        painter->save();
        painter->setFont(option.font);
        painter->setPen(option.palette.color(group, selected ? QPalette::HighlightedText : QPalette::PlaceholderText));
        painter->drawText(room, Qt::AlignRight | Qt::AlignVCenter | Qt::TextSingleLine, keys);
        if (!keys.isEmpty()) {
            room.setRight(room.right() - option.fontMetrics.horizontalAdvance(keys) - 2 * kCommandMarginX);
        }
        painter->setPen(option.palette.color(group, selected ? QPalette::HighlightedText : QPalette::Text));
        painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                          option.fontMetrics.elidedText(text, Qt::ElideMiddle, room.width()));
        painter->restore();
    }
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override {
        return {120, option.fontMetrics.height() + 2 * kCommandMarginY};
    }
};

}  // namespace

int matchScore(const QString& typed, const QString& text) {
    int score = 0;
    qsizetype at = 0, last = -2;
    for (const QChar wanted : typed) {
        if (wanted.isSpace()) {
            continue;
        }
        const qsizetype found = text.indexOf(wanted, at, Qt::CaseInsensitive);
        if (found < 0) {
            return -1;
        }
        score += 1;
        if (found == last + 1) {
            score += 4;
        }
        if (found == 0 || !text[found - 1].isLetterOrNumber()) {
            score += 3;
        }
        last = found;
        at = found + 1;
    }
    return score;
}

int wordScore(const QString& typed, const QString& text) {
    static const QRegularExpression gap(QStringLiteral("[^\\w]+"), QRegularExpression::UseUnicodePropertiesOption);
    const QStringList words = text.split(gap, Qt::SkipEmptyParts), wanted = typed.split(gap, Qt::SkipEmptyParts);
    if (wanted.isEmpty()) {
        return typed.trimmed().isEmpty() ? 0 : -1;  // signs begin no word
    }
    int score = 0;
    for (const QString& each : wanted) {
        const bool begins = std::any_of(words.begin(), words.end(), [&each](const QString& word) {
            return word.startsWith(each, Qt::CaseInsensitive);
        });
        if (!begins) {
            return -1;
        }
        score += kPerLetter * static_cast<int>(each.size());
    }
    return score;
}

CommandPalette::CommandPalette(QMenuBar& menus, QWidget* window)
    : QFrame(window), m_menus(menus), m_input(new QLineEdit), m_list(new QListWidget) {
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    setAccessibleName(tr("Commands"));
    m_input->setPlaceholderText(tr("Type a command or a setting"));
    m_input->setAccessibleName(tr("Command to look for"));
    m_input->setClearButtonEnabled(true);
    m_list->setAccessibleName(tr("Commands found"));
    m_list->setFocusPolicy(Qt::NoFocus);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setUniformItemSizes(true);
    m_list->setItemDelegate(new CommandDelegate(m_list));
    columnOf(this, {m_input, m_list}, inset(8, 8, 8, 8));
    connect(m_input, &QLineEdit::textChanged, this, &CommandPalette::filter);
    connect(m_list, &QListWidget::itemClicked, this, &CommandPalette::choose);
    m_input->installEventFilter(this);
    window->installEventFilter(this);
    hide();
}

void CommandPalette::open() {
    m_focusBefore = QApplication::focusWidget();
    m_recent = settings::kRecentCommands.value();
    m_commands = menuCommands(m_menus);
    for (QAction* each : m_more) {
        m_commands.append({each->text(), each});
    }
    for (const auto& [path, menu] : m_moreMenus) {
        m_commands += menuCommands(*menu, path);
    }
    m_commands.removeIf([](const MenuCommand& command) { return !command.action->isEnabled(); });
    m_input->clear();
    filter();
    place();
    show();
    raise();
    m_input->setFocus();
}

void CommandPalette::filter() {
    QList<std::pair<int, int>> found, scattered;
    const QString typed = m_input->text().trimmed();
    for (int i = 0; i < m_commands.size(); ++i) {
        const QString& path = m_commands[i].path;
        // Menus' names help to find, the command's own name counts more.
        const int own = matchScore(typed, path.section(QStringLiteral(" › "), -1));
        const int whole = matchScore(typed, path);
        const int named = wordScore(typed, path);
        const int words = named >= 0 ? named + 1 : wordScore(typed, path + u' ' + synonymsOf(*m_commands[i].action));
        const int score = std::max(own >= 0 ? 2 * own + 1 : whole, words);
        if (score >= 0) {
            const bool isWhole = words >= 0 || path.contains(typed, Qt::CaseInsensitive);
            (isWhole ? found : scattered).append({score, i});
        }
    }
    if (found.isEmpty()) {
        found = scattered;  // else these are noise
    }
    std::stable_sort(found.begin(), found.end(), [this](const auto& a, const auto& b) {
        return std::pair(a.first, commonness(m_commands[a.second])) >
               std::pair(b.first, commonness(m_commands[b.second]));
    });
    m_list->clear();
    m_shown.clear();
    for (const auto& [score, i] : found) {
        const QAction* action = m_commands[i].action;
        QString text = m_commands[i].path;
        if (action->isCheckable() && action->isChecked()) {
            text += QStringLiteral("  ✓");
        }
        auto* item = new QListWidgetItem(text, m_list);
        item->setData(kShortcutRole, action->shortcut().toString(QKeySequence::NativeText));
        m_shown.append(i);
    }
    if (m_list->count() > 0) {
        m_list->setCurrentRow(0);
    } else {
        auto* none = new QListWidgetItem(tr("No command has this name."), m_list);
        none->setFlags(Qt::NoItemFlags);
    }
}

int CommandPalette::commonness(const MenuCommand& command) const {
    const auto place = m_recent.indexOf(command.path);
    if (place >= 0) {
        return kMostRecent + 3 - static_cast<int>(place);
    }
    if (!command.action || command.action->menuRole() == QAction::QuitRole) {
        return -1;  // Quit is not listed
    }
    const bool isPanel = qobject_cast<const PanelAction*>(command.action.data()) != nullptr;
    return command.action->priority() == QAction::HighPriority ? 3
           : isPanel                                           ? 2
           : command.action->shortcut().isEmpty()              ? 0
                                                               : 1;
}

void CommandPalette::choose() {
    const int row = m_list->currentRow();
    if (row < 0 || row >= m_shown.size()) {
        return;
    }
    const QPointer<QAction> action = m_commands[m_shown[row]].action;
    m_recent.removeAll(m_commands[m_shown[row]].path);
    m_recent.prepend(m_commands[m_shown[row]].path);
    m_recent = m_recent.first(std::min<qsizetype>(m_recent.size(), kMostRecent));
    settings::kRecentCommands.set(m_recent);
    hide();  // first: a command may move the focus
    if (auto* panel = qobject_cast<PanelAction*>(action.data())) {
        panel->showByKeys();
    } else if (action) {
        action->trigger();
    }
}

void CommandPalette::place() {
    const QWidget& window = *parentWidget();
    const int width = std::min(kWidest, window.width() - 32);
    const int row = std::max(m_list->sizeHintForRow(0), 1);
    m_list->setFixedHeight(row * kRows + 4);
    setFixedWidth(width);
    adjustSize();
    move((window.width() - width) / 2, std::min(96, window.height() / 8));
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
    if (watched == parentWidget()) {
        if (event->type() == QEvent::Resize && isVisible()) {
            place();
        }
        return false;
    }
    if (event->type() == QEvent::FocusOut) {
        if (static_cast<QFocusEvent*>(event)->reason() != Qt::PopupFocusReason) {  // its own menu's
            hide();
        }
        return false;
    }
    if (event->type() != QEvent::KeyPress) {
        return false;
    }
    const int rows = std::max(1, static_cast<int>(m_shown.size()));
    const int row = m_list->currentRow();
    switch (static_cast<QKeyEvent*>(event)->key()) {
        case Qt::Key_Down:
            m_list->setCurrentRow((row + 1) % rows);
            return true;
        case Qt::Key_Up:
            m_list->setCurrentRow((row + rows - 1) % rows);
            return true;
        case Qt::Key_PageDown:
            m_list->setCurrentRow(std::min(row + kRows, rows - 1));
            return true;
        case Qt::Key_PageUp:
            m_list->setCurrentRow(std::max(row - kRows, 0));
            return true;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            choose();
            return true;
        case Qt::Key_Escape:
            hide();
            return true;
        default:
            return false;
    }
}

void CommandPalette::hideEvent(QHideEvent* event) {
    QFrame::hideEvent(event);
    if (m_focusBefore) {
        m_focusBefore->setFocus();
    }
    m_focusBefore.clear();
}

QStringList CommandPalette::listed() const {
    QStringList paths;
    for (const int i : m_shown) {
        paths.append(m_commands[i].path);
    }
    return paths;
}

}  // namespace offstage::ui
