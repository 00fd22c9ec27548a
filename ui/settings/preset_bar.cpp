#include "ui/settings/preset_bar.h"

#include <algorithm>

#include <QAction>
#include <QComboBox>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QSignalBlocker>
#include <QStackedLayout>
#include <QStyleOption>
#include <QStylePainter>
#include <QToolButton>

#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"

namespace offstage::ui {

namespace {

// Without the arrow of a menu: the dots show it. A style sheet could leave it out as
// well, but would keep the colours of the theme it was set in.
class DotsButton : public QToolButton {
  protected:
    void paintEvent(QPaintEvent*) override {
        QStylePainter painter(this);
        QStyleOptionToolButton option;
        initStyleOption(&option);
        option.features &= ~QStyleOptionToolButton::HasMenu;
        painter.drawComplexControl(QStyle::CC_ToolButton, option);
    }
};

}  // namespace

PresetBar::PresetBar(QWidget* parent)
    : QWidget(parent),
      m_stack(new QStackedLayout),
      m_box(new QComboBox),
      m_name(new QLineEdit),
      m_menu(new DotsButton) {
    m_name->setPlaceholderText(tr("Name of the preset"));
    m_name->setAccessibleName(m_name->placeholderText());
    m_name->setMaxLength(60);
    m_name->installEventFilter(this);
    m_stack->addWidget(m_box);
    m_stack->addWidget(m_name);
    m_menu->setText(QStringLiteral("⋯"));
    describe(*m_menu, tr("Save, rename or delete a preset"));
    m_menu->setAutoRaise(true);
    m_menu->setFocusPolicy(Qt::TabFocus);
    m_menu->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(m_menu);
    m_save = menu->addAction(tr("&Save as preset…"), this, [this] { askForName({}, false); });
    m_rename = menu->addAction(tr("&Rename…"), this, [this] { askForName(m_names.value(current()), true); });
    m_delete =
        menu->addAction(tr("&Delete"), this, [this] { Q_EMIT deleted(static_cast<int>(current() - m_nBuiltIn)); });
    m_menu->setMenu(menu);
    rowOf(this, {{m_stack, 1}, m_menu}, flush(4));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);  // a stack takes all the height that is left
    setFocusProxy(m_box);
    connect(m_box, &QComboBox::activated, this, [this] {
        refresh();
        Q_EMIT chosen(current());
    });
    connect(m_name, &QLineEdit::returnPressed, this, &PresetBar::takeName);
}

void PresetBar::setNames(const QStringList& builtIn, const QStringList& own, const QString& none) {
    const QSignalBlocker quiet(m_box);
    m_box->clear();
    m_names = builtIn + own;
    m_box->addItem(none);
    m_box->addItems(m_names);
    m_nBuiltIn = builtIn.size();
    refresh();
}

void PresetBar::setForOthers(const QString& menu) {
    describe(*m_menu, menu);
    m_save->setVisible(false);
    m_rename->setVisible(false);
}

void PresetBar::setMark(const QString& mark) {
    if (const qsizetype index = current(); index >= 0) {
        m_box->setItemText(m_box->currentIndex(), mark.isEmpty() ? m_names[index] : mark.arg(m_names[index]));
    }
}

QMenu& PresetBar::menu() const {
    return *m_menu->menu();
}

void PresetBar::setCurrent(qsizetype index) {
    m_box->setCurrentIndex(static_cast<int>(index) + 1);
    refresh();
}

qsizetype PresetBar::current() const {
    return std::max(m_box->currentIndex(), 0) - 1;
}

void PresetBar::refresh() {
    const bool own = current() >= m_nBuiltIn;
    m_rename->setEnabled(own);
    m_delete->setEnabled(own);
}

void PresetBar::askForName(const QString& suggestion, bool renaming) {
    m_renaming = renaming;
    m_name->setText(suggestion);
    m_name->selectAll();
    m_stack->setCurrentWidget(m_name);
    m_name->setFocus();
}

void PresetBar::takeName() {
    const QString name = m_name->text().simplified();
    if (name.isEmpty()) {
        return;
    }
    m_stack->setCurrentWidget(m_box);
    m_box->setFocus();
    if (m_renaming) {
        Q_EMIT renamed(static_cast<int>(current() - m_nBuiltIn), name);
    } else {
        Q_EMIT saved(name);
    }
}

bool PresetBar::eventFilter(QObject* watched, QEvent* event) {
    // Esc would otherwise stop the answer, which is the window's meaning of it.
    const bool key = event->type() == QEvent::KeyPress || event->type() == QEvent::ShortcutOverride;
    if (watched == m_name && key && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        event->accept();
        if (event->type() == QEvent::KeyPress) {
            m_stack->setCurrentWidget(m_box);
            m_box->setFocus();
        }
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace offstage::ui
