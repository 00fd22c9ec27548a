#include "ui/settings/keys_page.h"

#include <QAction>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeWidget>

#include "ui/settings/key_bindings.h"
#include "ui/settings/key_edit.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kCommandRole = Qt::UserRole;
constexpr int kRowRoom = 8;
constexpr int kAboveKeysNotice = 4;  // its first line beside the text of the buttons
enum KeyColumn { kCommandColumn, kKeysColumn };

QPushButton* button(const QString& text, const QString& tip) {
    auto* made = new QPushButton(text);
    made->setToolTip(tip);
    made->setAutoDefault(false);
    return made;
}

}  // namespace

KeysPage::KeysPage(KeyBindings& keys, QWidget* parent)
    : QWidget(parent),
      m_keys(keys),
      m_filter(new QLineEdit),
      m_list(new QTreeWidget),
      m_edit(new KeyEdit),
      m_none(button(tr("N&o keys"), tr("The command keeps its place in the menu, without keys"))),
      m_reset(button(tr("&Reset"), tr("Give this command the keys that it has by itself"))),
      m_resetAll(button(tr("Reset &all"), tr("Give every command the keys that it has by itself"))),
      m_notice(textLabel(tr("About these keys"))),
      m_take(button(tr("&Use them here"), tr("Take these keys from the other command"))) {
    m_filter->setPlaceholderText(tr("Search commands and keys"));
    m_filter->setAccessibleName(m_filter->placeholderText());
    m_filter->setClearButtonEnabled(true);
    m_list->setAccessibleName(tr("Commands"));
    m_list->setHeaderLabels({tr("Command"), tr("Keys")});
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(kCommandColumn, QHeaderView::Stretch);
    m_list->header()->setSectionResizeMode(kKeysColumn, QHeaderView::ResizeToContents);
    m_list->setTextElideMode(Qt::ElideLeft);  // the command's own name stands at the end
    for (const KeyBindings::Command& command : m_keys.commands()) {
        auto* item = new QTreeWidgetItem(m_list, {command.path, QString()});
        item->setData(kCommandColumn, kCommandRole, command.id);
        item->setToolTip(kCommandColumn, command.path);
        item->setSizeHint(kCommandColumn, {0, m_list->fontMetrics().height() + kRowRoom});
    }
    m_edit->setAccessibleName(tr("Keys of the chosen command"));
    auto* label = labelOf(m_edit, tr("&Keys"));
    auto* row = rowOf({label, {m_edit, 1}, m_none, m_reset});
    m_notice->setContentsMargins(0, kAboveKeysNotice, 0, 0);
    reserveLines(*m_notice, 2, kAboveKeysNotice + 2);
    keepRoom(*m_take);
    columnOf(
        this,
        {m_filter, {m_list, 1}, row, rowOf({{m_notice, 1}, {m_take, 0, Qt::AlignTop}, {m_resetAll, 0, Qt::AlignTop}})},
        flush(8));

    connect(m_filter, &QLineEdit::textChanged, this, &KeysPage::filter);
    connect(m_list, &QTreeWidget::currentItemChanged, this, [this] {
        say({});
        refreshChosen();
    });
    connect(m_list, &QTreeWidget::itemActivated, m_edit, [this] { m_edit->setFocus(); });
    connect(m_edit, &KeyEdit::entered, this, &KeysPage::onEntered);
    connect(m_none, &QPushButton::clicked, this, [this] {
        m_keys.set(chosen(), {});
        say({});
    });
    connect(m_reset, &QPushButton::clicked, this, [this] {
        m_keys.reset(chosen());
        say({});
    });
    connect(m_resetAll, &QPushButton::clicked, this, [this] {
        m_keys.resetAll();
        say(tr("All commands have their own keys again."));
    });
    connect(m_take, &QPushButton::clicked, this, [this] {
        const QKeySequence wanted = m_wanted;
        m_keys.set(chosen(), wanted);
        say({});
        m_edit->setFocus();
    });
    connect(&m_keys, &KeyBindings::changed, this, &KeysPage::refresh);
    m_list->setCurrentItem(m_list->topLevelItem(0));
    say({});
    refresh();
}

QString KeysPage::chosen() const {
    const QTreeWidgetItem* item = m_list->currentItem();
    return item == nullptr ? QString() : item->data(kCommandColumn, kCommandRole).toString();
}

void KeysPage::refresh() {
    for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
        QTreeWidgetItem* item = m_list->topLevelItem(i);
        const QString id = item->data(kCommandColumn, kCommandRole).toString();
        const KeyBindings::Command* command = m_keys.find(id);
        item->setText(kKeysColumn, command->action->shortcut().toString(QKeySequence::NativeText));
        QFont font = m_list->font();
        font.setBold(!m_keys.isStandard(id));  // changed by the user
        item->setFont(kKeysColumn, font);
    }
    refreshChosen();
    filter();
}

void KeysPage::refreshChosen() {
    const QString id = chosen();
    const KeyBindings::Command* command = m_keys.find(id);
    const bool any = command != nullptr;
    m_edit->setKeys(any ? command->action->shortcut() : QKeySequence());
    m_edit->setEnabled(any);
    m_none->setEnabled(any && !command->action->shortcut().isEmpty());
    m_reset->setEnabled(any && !m_keys.isStandard(id));
    bool changed = false;
    for (const KeyBindings::Command& each : m_keys.commands()) {
        changed = changed || !m_keys.isStandard(each.id);
    }
    m_resetAll->setEnabled(changed);
}

void KeysPage::filter() {
    const QString wanted = m_filter->text().simplified();
    for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
        QTreeWidgetItem* item = m_list->topLevelItem(i);
        const bool shows = item->text(kCommandColumn).contains(wanted, Qt::CaseInsensitive) ||
                           item->text(kKeysColumn).contains(wanted, Qt::CaseInsensitive);
        item->setHidden(!shows);
    }
}

void KeysPage::onEntered(const QKeySequence& keys) {
    const QString name = keys.toString(QKeySequence::NativeText);
    const KeyBindings::Command* owner = m_keys.ownerOf(keys);
    if (const QString why = KeyBindings::refusal(keys); !why.isEmpty()) {
        say(why);
    } else if (owner != nullptr && owner->id != chosen()) {
        say(tr("%1 belongs to “%2”.").arg(name, owner->path), keys);
    } else {
        m_keys.set(chosen(), keys);
        say({});
    }
}

void KeysPage::say(const QString& text, const QKeySequence& wanted) {
    m_wanted = wanted;
    m_notice->setText(text);
    m_take->setVisible(!wanted.isEmpty());
}

}  // namespace offstage::ui
