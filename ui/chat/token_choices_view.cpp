#include "ui/chat/token_choices_view.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <QApplication>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QScreen>
#include <QScrollBar>

#include "ui/base/delay.h"
#include "ui/base/theme.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/surprise_legend.h"

namespace offstage::ui {

namespace {

constexpr int kSurpriseMs = 100;
constexpr int kTipPad = 10;
constexpr int kTipBar = 72;  // pixels for all of the probability
constexpr int kTipGap = 10;
constexpr int kTipLongest = 24;   // characters
constexpr int kTipChosenGap = 4;  // below the chosen one

QFont boldOf(QFont font) {
    font.setWeight(QFont::DemiBold);
    return font;
}

}  // namespace

// ---------------------------------------------------------------- the tip

TokenChoicesTip::TokenChoicesTip(QWidget* parent) : QFrame(parent, Qt::ToolTip) {
    setAttribute(Qt::WA_ShowWithoutActivating);
    setFocusPolicy(Qt::NoFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Probabilities of this token"));
}

void TokenChoicesTip::showFor(const ChosenToken& token, const QRect& beside) {
    m_rows.clear();
    m_marked = -1;
    const auto add = [this](const engine::TokenProbability& one, bool chosen) {
        const double share = std::exp(one.log_probability);
        QString text = visibleText(one);
        if (text.size() > kTipLongest) {
            text = text.left(kTipLongest - 1) + u'…';
        }
        m_rows.append({one.token, text, probabilityText(share), share, chosen, !chosen && !one.is_control});
    };
    add(token.choice.chosen, true);
    for (const engine::TokenProbability& rival : token.rivals()) {
        add(rival, false);
    }
    m_isDrafted = token.isDrafted;
    setAccessibleDescription((m_isDrafted ? rows() << notes().constFirst() : rows()).join(QStringLiteral(", ")));
    const QSize size = sizeHint();
    resize(size);
    const QScreen* screen = parentWidget()->screen();
    const QRect room = screen ? screen->availableGeometry() : QRect(beside.topLeft(), size * 4);
    const bool below = beside.bottom() + 4 + size.height() <= room.bottom();
    const int x = std::clamp(beside.left() - kTipPad, room.left(), std::max(room.left(), room.right() - size.width()));
    move(x, below ? beside.bottom() + 4 : beside.top() - 4 - size.height());
    update();
    show();
}

void TokenChoicesTip::setPinned(bool pinned) {
    m_isPinned = pinned;
    mark(-1);
    update();
}

void TokenChoicesTip::mark(int row) {
    if (m_marked != row) {
        m_marked = row;
        setCursor(row >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
        update();
    }
}

void TokenChoicesTip::step(int by) {
    const int n = static_cast<int>(m_rows.size());
    int row = m_marked >= 0 ? m_marked : by > 0 ? 0 : n;
    do {
        row += by;
    } while (row >= 0 && row < n && !m_rows[row].isOffered);
    if (row >= 0 && row < n) {
        mark(row);
    }
}

bool TokenChoicesTip::choose() {
    const bool isMarked = m_marked >= 0;
    if (isMarked) {
        Q_EMIT rivalChosen(m_rows[m_marked].token);
    }
    return isMarked;
}

int TokenChoicesTip::rowAt(QPoint at) const {
    for (int row = 0; row < m_rows.size() && m_isPinned; ++row) {
        if (m_rows[row].isOffered && rowRect(row).contains(at)) {
            return row;
        }
    }
    return -1;
}

void TokenChoicesTip::mouseMoveEvent(QMouseEvent* event) {
    mark(rowAt(event->position().toPoint()));
}

void TokenChoicesTip::mouseReleaseEvent(QMouseEvent* event) {
    mark(rowAt(event->position().toPoint()));
    if (event->button() == Qt::LeftButton) {
        choose();
    }
}

QStringList TokenChoicesTip::rows() const {
    QStringList out;
    for (const Row& row : m_rows) {
        out += row.text + u' ' + row.number;
    }
    return out;
}

QStringList TokenChoicesTip::notes() const {
    QStringList out;
    if (m_isDrafted) {
        out += tr("Drafted, and right: no step of its own");
    }
    if (std::any_of(m_rows.begin(), m_rows.end(), [](const Row& row) { return row.isOffered; })) {
        out += m_isPinned ? tr("A click on one goes on from it") : tr("A click keeps this open");
    }
    return out;
}

QRect TokenChoicesTip::rowRect(int row) const {
    const int height = QFontMetrics(boldOf(font())).height() + 4;
    return {1, kTipPad + row * height + (row > 0 ? kTipChosenGap : 0), width() - 2, height};
}

QSize TokenChoicesTip::sizeHint() const {
    int text = 0;
    int number = 0;
    const QFontMetrics metrics(boldOf(font()));
    for (const Row& row : m_rows) {
        text = std::max(text, metrics.horizontalAdvance(row.text));
        number = std::max(number, metrics.horizontalAdvance(row.number));
    }
    int wide = 0;
    QStringList all = notes();
    if (!all.isEmpty()) {  // as wide for either of the last: a click on the token moves nothing
        all << tr("A click on one goes on from it") << tr("A click keeps this open");
    }
    for (const QString& note : std::as_const(all)) {
        wide = std::max(wide, fontMetrics().horizontalAdvance(note));
    }
    const int lines = static_cast<int>(m_rows.size() + notes().size());
    return {2 * kTipPad + std::max(text + kTipGap + kTipBar + kTipGap + number, wide),
            2 * kTipPad + lines * (metrics.height() + 4) + kTipChosenGap};
}

void TokenChoicesTip::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Colours colours = Colours::of(palette());
    painter.fillRect(rect(), colours.raised);
    painter.setPen(m_isPinned ? colours.accent : colours.line);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
    const QFont bold = boldOf(font());
    const QFontMetrics metrics(bold);
    int number = 0;
    for (const Row& row : m_rows) {
        number = std::max(number, metrics.horizontalAdvance(row.number));
    }
    const int numberAt = width() - kTipPad - number;
    const int barAt = numberAt - kTipGap - kTipBar;
    for (int i = 0; i < m_rows.size(); ++i) {
        const Row& row = m_rows[i];
        const QRect place = rowRect(i);
        const bool stands = row.chosen || (m_isPinned && row.isOffered);
        if (i == m_marked) {
            painter.fillRect(place, colours.line);
        }
        painter.setFont(row.chosen ? bold : font());
        painter.setPen(stands ? colours.text : colours.muted);
        painter.drawText(QRect(kTipPad, place.y(), barAt - kTipGap - kTipPad, place.height()),
                         Qt::AlignVCenter | Qt::AlignLeft, row.text);
        painter.drawText(QRect(numberAt, place.y(), number, place.height()), Qt::AlignVCenter | Qt::AlignRight,
                         row.number);
        const QRect track(barAt, place.center().y() - 2, kTipBar, 6);
        painter.fillRect(track, i == m_marked ? colours.surface : colours.line);
        QRect bar = track;
        bar.setWidth(std::max(1, static_cast<int>(std::lround(row.share * kTipBar))));
        painter.fillRect(bar, row.chosen ? colours.accent : colours.muted);
        if (row.chosen && m_rows.size() > 1) {
            painter.fillRect(QRect(kTipPad, place.bottom() + 2, width() - 2 * kTipPad, 1), colours.line);
        }
    }
    painter.setFont(font());
    painter.setPen(colours.muted);
    int line = static_cast<int>(m_rows.size());
    for (const QString& note : notes()) {
        painter.drawText(rowRect(line++).adjusted(kTipPad - 1, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, note);
    }
}

// ---------------------------------------------------------------- in the conversation

TokenChoicesView::TokenChoicesView(TokenChoices& choices, ConversationView& view)
    : QObject(&view), m_choices(choices), m_view(view), m_tip(new TokenChoicesTip(&view)) {
    m_tip->hide();
    callAfter(m_refresh, kSurpriseMs, this, &TokenChoicesView::refreshSurprise);
    connect(&m_choices, &TokenChoices::changed, this, [this](quint64 message) {
        m_changed.insert(message);
        if (!m_refresh.isActive()) {
            m_refresh.start();
        }
    });
    connect(&m_view, &ConversationView::sourceHovered, this, &TokenChoicesView::hover);
    connect(&m_view, &ConversationView::sourceClicked, this, &TokenChoicesView::pin);
    connect(&m_view, &ConversationView::menuOpening, this, &TokenChoicesView::addToMenu);
    connect(m_view.verticalScrollBar(), &QScrollBar::valueChanged, this, &TokenChoicesView::unpin);
    connect(&m_view.model(), &QAbstractItemModel::modelReset, this, &TokenChoicesView::unpin);
    connect(qApp, &QApplication::focusChanged, this, [this] {
        if (m_tip->isPinned()) {
            unpin();
        }
    });
    connect(m_tip, &TokenChoicesTip::rivalChosen, this, [this](engine::TokenId rival) {
        const MessageId message = m_pinnedIn;
        unpin();
        Q_EMIT rivalChosen(message, m_pinnedIndex, rival);
    });
}

void TokenChoicesView::pin(MessageId message, int source, const QRect& place) {
    unpin();
    const int index = indexAt(message, source);
    if (const ChosenToken* token = m_showsProbabilities ? m_choices.token(message, index) : nullptr) {
        m_pinnedIn = message;
        m_pinnedIndex = index;
        m_tip->showFor(*token, place);
        m_tip->setPinned(true);
        qApp->installEventFilter(this);
    }
}

void TokenChoicesView::unpin() {
    qApp->removeEventFilter(this);
    m_tip->setPinned(false);
    m_tip->hide();
}

bool TokenChoicesView::takeKey(QKeyEvent& event) {
    switch (event.key()) {
        case Qt::Key_Up:
        case Qt::Key_Down:
            m_tip->step(event.key() == Qt::Key_Up ? -1 : 1);
            return true;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            if (m_tip->choose()) {
                return true;
            }
            unpin();
            return false;
        case Qt::Key_Escape:
            unpin();
            return true;
        default:
            return false;
    }
}

bool TokenChoicesView::eventFilter(QObject* watched, QEvent* event) {
    const QEvent::Type type = event->type();
    if (!watched->isWidgetType() || !m_tip->isPinned()) {
        return false;
    }
    if (type == QEvent::ShortcutOverride) {  // its keys are the window's shortcuts too
        const int key = static_cast<QKeyEvent*>(event)->key();
        event->setAccepted(key == Qt::Key_Escape || key == Qt::Key_Up || key == Qt::Key_Down);
        return event->isAccepted();
    }
    if ((type == QEvent::MouseButtonPress || type == QEvent::MouseButtonDblClick) && watched != m_tip) {
        unpin();
    }
    return type == QEvent::KeyPress && takeKey(*static_cast<QKeyEvent*>(event));
}

int TokenChoicesView::surpriseLevel(double probability) {
    return static_cast<int>(std::count_if(kSurpriseBounds.begin(), kSurpriseBounds.end(),
                                          [probability](double bound) { return probability < bound; }));
}

void TokenChoicesView::setShowsProbabilities(bool shows) {
    m_showsProbabilities = shows;
    m_view.setReportsHover(shows);
    if (!shows) {
        unpin();
    }
}

void TokenChoicesView::setShowsSurprise(bool shows) {
    m_showsSurprise = shows;
    m_changed += m_marked;
    for (const Message& message : m_view.model().messages()) {
        m_changed.insert(message.id);
    }
    refreshSurprise();
}

int TokenChoicesView::indexAt(MessageId message, int source) const {
    return source < 0 ? -1 : m_choices.indexAt(message, source);
}

void TokenChoicesView::hover(MessageId message, int source, const QRect& place) {
    if (m_tip->isPinned()) {
        return;
    }
    const ChosenToken* token = m_showsProbabilities ? m_choices.token(message, indexAt(message, source)) : nullptr;
    if (token) {
        m_tip->showFor(*token, place);
    } else {
        m_tip->hide();
    }
}

void TokenChoicesView::addToMenu(MessageId message, int source, QMenu* menu) {
    unpin();
    const int index = indexAt(message, source);
    const ChosenToken* token = m_showsProbabilities ? m_choices.token(message, index) : nullptr;
    if (!token) {
        if (m_showsProbabilities && source >= 0) {
            menu->addAction(tr("No probabilities are kept of this token"))->setEnabled(false);
        }
        return;
    }
    // An ampersand of the model's is no mnemonic.
    const auto shown = [](const engine::TokenProbability& one) {
        return visibleText(one).left(kTipLongest).replace(u'&', QStringLiteral("&&"));
    };
    QMenu* rivals = menu->addMenu(tr("&Instead of “%1” go on with").arg(shown(token->choice.chosen)));
    for (const engine::TokenProbability& rival : token->rivals()) {
        if (rival.is_control) {
            continue;  // nothing comes after the end of a turn
        }
        QAction* action =
            rivals->addAction(tr("“%1”, %2").arg(shown(rival), probabilityText(std::exp(rival.log_probability))));
        connect(action, &QAction::triggered, this,
                [this, message, index, id = rival.token] { Q_EMIT rivalChosen(message, index, id); });
    }
    rivals->setEnabled(!rivals->isEmpty());
}

void TokenChoicesView::refreshSurprise() {
    for (const MessageId message : std::exchange(m_changed, {})) {
        std::array<ConversationView::SourceRanges, kSurpriseBounds.size()> ranges;
        bool any = false;
        for (int i = 0; m_showsSurprise && i < m_choices.count(message); ++i) {
            const ChosenToken& token = *m_choices.token(message, i);
            const int level = surpriseLevel(token.probability());
            if (level == 0 || token.begin == token.end) {
                continue;
            }
            ConversationView::SourceRanges& list = ranges[static_cast<std::size_t>(level - 1)];
            if (list.isEmpty() || list.last().second <= token.begin) {  // not those that share a character
                list.append({token.begin, token.end});
                any = true;
            }
        }
        if (any || m_marked.contains(message)) {
            m_view.markSurprise(message, {ranges.begin(), ranges.end()});
        }
        if (any) {
            m_marked.insert(message);
        } else {
            m_marked.remove(message);
        }
    }
}

}  // namespace offstage::ui
