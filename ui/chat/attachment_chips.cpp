#include "ui/chat/attachment_chips.h"

#include <algorithm>

#include <QEvent>
#include <QKeyEvent>
#include <QPainter>

#include "ui/base/icons.h"
#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

constexpr int kPadX = 10;
constexpr int kPadY = 5;
constexpr int kGap = 8;  // between name, detail and mark
constexpr int kMark = 14;
constexpr int kSpacing = 6;  // between chips
constexpr int kWidestName = 200;
constexpr double kChipCorner = 8;

int chipHeight(const QFontMetrics& metrics) {
    return metrics.height() + 2 * kPadY;
}

}  // namespace

AttachmentChip::AttachmentChip(Kind kind, QWidget* parent) : QAbstractButton(parent), m_kind(kind) {
    setFocusPolicy(Qt::StrongFocus);
    setCheckable(kind == Kind::Opening);
    setAttribute(Qt::WA_Hover);
    setCursor(kind == Kind::Opening ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void AttachmentChip::setFile(const QString& name, const QString& detail) {
    m_name = name;
    m_detail = detail;
    if (m_kind == Kind::Removable) {
        setAccessibleName(tr("Attached file %1, %2").arg(name, detail));
        setAccessibleDescription(tr("Delete removes it from the message"));
        setToolTip(tr("%1\n%2\nDelete, or a click on the cross, removes it from the message").arg(name, detail));
    } else {
        setAccessibleName(tr("File %1, %2").arg(name, detail));
        setAccessibleDescription(tr("Shows its text"));
        setToolTip(tr("%1\n%2\nClick to see its text").arg(name, detail));
    }
    updateGeometry();
    update();
}

QSize AttachmentChip::sizeHint() const {
    // The width of the shortened name: it is a letter or more narrower than its room.
    int name = fontMetrics().horizontalAdvance(m_name);
    if (name > kWidestName) {
        name = fontMetrics().horizontalAdvance(fontMetrics().elidedText(m_name, Qt::ElideMiddle, kWidestName)) + 1;
    }
    return {2 * kPadX + name + kGap + fontMetrics().horizontalAdvance(m_detail) + kGap + kMark + 2,
            chipHeight(fontMetrics())};
}

QRect AttachmentChip::markRect() const {
    return {width() - kPadX - kMark, (height() - kMark) / 2, kMark, kMark};
}

bool AttachmentChip::hitButton(const QPoint& at) const {
    constexpr int kAround = 6;
    return m_kind == Kind::Opening ? rect().contains(at)
                                   : markRect().adjusted(-kAround, -kAround, kAround, kAround).contains(at);
}

void AttachmentChip::keyPressEvent(QKeyEvent* event) {
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    const bool removes = event->key() == Qt::Key_Delete || event->key() == Qt::Key_Backspace;
    if (enter || (removes && m_kind == Kind::Removable)) {
        click();
        return;
    }
    QAbstractButton::keyPressEvent(event);
}

void AttachmentChip::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Colours colours = Colours::of(palette());
    painter.setPen(QPen(hasFocus() ? colours.accent : colours.line, hasFocus() ? 1.8 : 1));
    painter.setBrush(colours.raised);
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), kChipCorner, kChipCorner);
    const QRect mark = markRect();
    const int detail = fontMetrics().horizontalAdvance(m_detail);
    const int room = std::max(0, mark.left() - kGap - kPadX);
    // In little room the figures stay and the name is shortened.
    const int forName = std::max(0, room - detail - kGap);
    const QString name = fontMetrics().elidedText(m_name, Qt::ElideMiddle, forName);
    painter.setPen(colours.text);
    painter.drawText(QRect(kPadX, 0, forName, height()), Qt::AlignVCenter | Qt::AlignLeft, name);
    painter.setPen(colours.muted);
    painter.drawText(QRect(mark.left() - kGap - std::min(detail, room), 0, std::min(detail, room), height()),
                     Qt::AlignVCenter | Qt::AlignRight, m_detail);
    const QString icon = m_kind == Kind::Removable ? QStringLiteral("close")
                         : isChecked()             ? QStringLiteral("up")
                                                   : QStringLiteral("below");
    colouredIcon(icon, underMouse() ? colours.text : colours.muted).paint(&painter, mark);
}

void AttachmentChip::focusInEvent(QFocusEvent* event) {
    QAbstractButton::focusInEvent(event);
    update();
}

void AttachmentChip::focusOutEvent(QFocusEvent* event) {
    QAbstractButton::focusOutEvent(event);
    update();
}

AttachmentChips::AttachmentChips(AttachmentChip::Kind kind, Qt::Alignment side, QWidget* parent)
    : QWidget(parent), m_kind(kind), m_side(side) {
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void AttachmentChips::setFiles(const QList<File>& files) {
    if (m_files == files) {
        return;
    }
    // Removes the chips of a file that is gone and keeps those of the other files.
    qsizetype at = 0;
    for (; at < std::min(files.size(), m_files.size()) && files[at].name == m_files[at].name; ++at) {
    }
    const qsizetype gone = m_files.size() - files.size();
    if (gone > 0) {
        for (qsizetype i = 0; i < gone; ++i) {
            AttachmentChip* chip = m_chips.takeAt(at);
            chip->hide();
            chip->deleteLater();  // its own click may have led here
        }
    }
    while (m_chips.size() < files.size()) {
        auto* chip = new AttachmentChip(m_kind, this);
        connect(chip, &QAbstractButton::clicked, this,
                [this, chip] { Q_EMIT clicked(static_cast<int>(m_chips.indexOf(chip))); });
        chip->show();
        m_chips.append(chip);
    }
    m_files = files;
    for (qsizetype i = 0; i < files.size(); ++i) {
        m_chips[i]->setFile(files[i].name, files[i].detail);
    }
    arrange(width(), true);
    updateGeometry();
}

int AttachmentChips::arrange(int width, bool places) const {
    const int height = chipHeight(fontMetrics());
    int y = 0;
    for (qsizetype first = 0; first < m_chips.size();) {
        qsizetype end = first;
        int used = 0;
        for (; end < m_chips.size(); ++end) {
            const int wide = std::min(m_chips[end]->sizeHint().width(), width);
            const int with = used + (end > first ? kSpacing : 0) + wide;
            if (end > first && with > width) {
                break;
            }
            used = with;
        }
        int x = m_side == Qt::AlignRight ? width - used : 0;
        for (; first < end; ++first) {
            const int wide = std::min(m_chips[first]->sizeHint().width(), width);
            if (places) {
                m_chips[first]->setGeometry(x, y, wide, height);
            }
            x += wide + kSpacing;
        }
        y += height + kSpacing;
    }
    return std::max(0, y - kSpacing);
}

int AttachmentChips::heightForWidth(int width) const {
    return arrange(width, false);
}

QSize AttachmentChips::sizeHint() const {
    return {400, heightForWidth(std::max(width(), 120))};
}

QSize AttachmentChips::minimumSizeHint() const {
    return {120, m_chips.isEmpty() ? 0 : chipHeight(fontMetrics())};
}

int AttachmentChips::estimatedHeight(qsizetype files, const QFontMetrics& metrics) {
    return static_cast<int>((files + 1) / 2) * (chipHeight(metrics) + kSpacing);
}

void AttachmentChips::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    arrange(width(), true);
}

void AttachmentChips::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        arrange(width(), true);
        updateGeometry();
    }
}

}  // namespace offstage::ui
