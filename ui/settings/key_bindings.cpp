#include "ui/settings/key_bindings.h"

#include <algorithm>

#include <QAction>

#include "ui/base/settings.h"
#include "ui/widgets/menu_commands.h"

namespace offstage::ui {

namespace {

// Keys that text fields handle themselves.
bool belongsToTextFields(const QKeySequence& keys) {
    constexpr QKeySequence::StandardKey kEditing[] = {QKeySequence::Copy, QKeySequence::Cut,       QKeySequence::Paste,
                                                      QKeySequence::Undo, QKeySequence::SelectAll, QKeySequence::Redo};
    return std::any_of(std::begin(kEditing), std::end(kEditing),
                       [&](QKeySequence::StandardKey key) { return QKeySequence::keyBindings(key).contains(keys); });
}

}  // namespace

KeyBindings::KeyBindings(const QMenuBar& menus, QObject* parent) : QObject(parent) {
    for (const MenuCommand& command : menuCommands(menus)) {
        if (const QString id = command.action->objectName(); !id.isEmpty()) {
            m_commands.append({id, command.path, command.action, command.action->shortcut()});
        }
    }
    QList<const Command*> chosen;
    for (const Command& command : m_commands) {
        const QVariant kept = settings::kShortcut[command.id].raw();
        const QKeySequence keys = QKeySequence::fromString(kept.toString(), QKeySequence::PortableText);
        if (kept.isValid() && (keys.isEmpty() || refusal(keys).isEmpty())) {
            command.action->setShortcut(keys);
            chosen.append(&command);
        }
    }
    // The user's choice counts; if an edited file gives two commands the same keys, the
    // first counts.
    for (qsizetype i = 0; i < chosen.size(); ++i) {
        const QKeySequence keys = chosen[i]->action->shortcut();
        for (const Command& other : m_commands) {
            const bool goesFirst = chosen.first(i).contains(&other);
            if (&other != chosen[i] && !keys.isEmpty() && other.action->shortcut() == keys) {
                (goesFirst ? chosen[i]->action : other.action)->setShortcut(QKeySequence());
            }
        }
    }
}

const KeyBindings::Command* KeyBindings::find(const QString& id) const {
    const auto found =
        std::find_if(m_commands.begin(), m_commands.end(), [&](const Command& command) { return command.id == id; });
    return found == m_commands.end() ? nullptr : &*found;
}

const KeyBindings::Command* KeyBindings::ownerOf(const QKeySequence& keys) const {
    const auto found = std::find_if(m_commands.begin(), m_commands.end(), [&](const Command& command) {
        return !keys.isEmpty() && command.action && command.action->shortcut() == keys;
    });
    return found == m_commands.end() ? nullptr : &*found;
}

QString KeyBindings::refusal(const QKeySequence& keys) {
    if (keys.count() != 1) {
        return tr("A shortcut is one key, with Ctrl, Alt or Shift held or without.");
    }
    const QString name = keys.toString(QKeySequence::NativeText);
    const QKeyCombination first = keys[0];
    const int key = first.key();
    const Qt::KeyboardModifiers held = first.keyboardModifiers() & ~Qt::KeypadModifier;
    const bool types = (held & ~Qt::ShiftModifier) == 0;
    const bool isFunctionKey = key >= Qt::Key_F1 && key <= Qt::Key_F35;
    if (types && !isFunctionKey && key != Qt::Key_Escape) {
        return tr("%1 alone is needed for writing. Hold Ctrl or Alt with it, or take a function key.").arg(name);
    }
    const bool isLetter = key >= Qt::Key_A && key <= Qt::Key_Z;
    if (isLetter && held == Qt::AltModifier) {
        return tr("%1 may open a menu or reach a field. Hold Ctrl or Shift as well.").arg(name);
    }
    if (belongsToTextFields(keys)) {
        return tr("%1 belongs to every text field: copy, cut, paste, undo, redo and select all.").arg(name);
    }
    return {};
}

void KeyBindings::give(const Command& command, const QKeySequence& keys) {
    if (const Command* owner = ownerOf(keys); owner != nullptr && owner != &command) {
        owner->action->setShortcut(QKeySequence());
        settings::kShortcut[owner->id].set(QString());
    }
    command.action->setShortcut(keys);
    if (keys == command.standard) {
        settings::kShortcut[command.id].remove();
    } else {
        settings::kShortcut[command.id].set(keys.toString(QKeySequence::PortableText));
    }
}

void KeyBindings::set(const QString& id, const QKeySequence& keys) {
    const Command* command = find(id);
    if (command != nullptr && (keys.isEmpty() || refusal(keys).isEmpty())) {
        give(*command, keys);
        Q_EMIT changed();
    }
}

void KeyBindings::reset(const QString& id) {
    if (const Command* command = find(id)) {
        give(*command, command->standard);
        Q_EMIT changed();
    }
}

void KeyBindings::resetAll() {
    settings::kShortcut.removeAll();
    for (const Command& command : m_commands) {
        command.action->setShortcut(command.standard);
    }
    Q_EMIT changed();
}

bool KeyBindings::isStandard(const QString& id) const {
    const Command* command = find(id);
    return command != nullptr && command->action->shortcut() == command->standard;
}

}  // namespace offstage::ui
