#include "ui/chat/token_choices_view.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <QMenu>
#include <QPainter>
#include <QScreen>
#include <QScrollBar>

#include "ui/base/delay.h"
#include "ui/base/theme.h"
#include "ui/chat/conversation_view.h"

namespace offstage::ui {

namespace {

constexpr int kSurpriseMs = 100;
constexpr int kTipPad = 10;
constexpr int kTipBar = 72;  // pixels for all of the probability
constexpr int kTipGap = 10;
constexpr int kTipLongest = 24;  // characters
constexpr std::array kSurpriseBounds = {0.5, 0.2, 0.05, 0.01};

}  // namespace

// ---------------------------------------------------------------- the tip

TokenChoicesTip::TokenChoicesTip(QWidget* parent) : QFrame(parent, Qt::ToolTip) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setAttribute(Qt::WA_ShowWithoutActivating);
    setFocusPolicy(Qt::NoFocus);
    setAccessibleName(tr("Probabilities of this token"));
}

void TokenChoicesTip::showFor(const ChosenToken& token, const QRect& beside) {
    m_rows.clear();
    const auto add = [this](const engine::TokenProbability& one, bool chosen) {
        const double share = std::exp(one.log_probability);
        QString text = visibleText(one);
        if (text.size() > kTipLongest) {
            text = text.left(kTipLongest - 1) + u'…';
        }
        m_rows.append({text, probabilityText(share), share, chosen});
    };
    add(token.choice.chosen, true);
    for (const engine::TokenProbability& rival : token.rivals()) {
        add(rival, false);
    }
    setAccessibleDescription(rows().join(QStringLiteral(", ")));
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

QStringList TokenChoicesTip::rows() const {
    QStringList out;
    for (const Row& row : m_rows) {
        out += row.text + u' ' + row.number;
    }
    return out;
}

QSize TokenChoicesTip::sizeHint() const {
    int text = 0;
    int number = 0;
    QFont bold = font();
    bold.setWeight(QFont::DemiBold);
    const QFontMetrics metrics(bold);
    for (const Row& row : m_rows) {
        text = std::max(text, metrics.horizontalAdvance(row.text));
        number = std::max(number, metrics.horizontalAdvance(row.number));
    }
    return {2 * kTipPad + text + kTipGap + kTipBar + kTipGap + number,
            2 * kTipPad + static_cast<int>(m_rows.size()) * (metrics.height() + 4) + 4};
}

void TokenChoicesTip::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Colours colours = Colours::of(palette());
    painter.fillRect(rect(), colours.raised);
    painter.setPen(colours.line);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
    QFont bold = font();
    bold.setWeight(QFont::DemiBold);
    const QFontMetrics metrics(bold);
    const int lineHeight = metrics.height() + 4;
    int number = 0;
    for (const Row& row : m_rows) {
        number = std::max(number, metrics.horizontalAdvance(row.number));
    }
    const int numberAt = width() - kTipPad - number;
    const int barAt = numberAt - kTipGap - kTipBar;
    int y = kTipPad;
    for (const Row& row : m_rows) {
        painter.setFont(row.chosen ? bold : font());
        painter.setPen(row.chosen ? colours.text : colours.muted);
        painter.drawText(QRect(kTipPad, y, barAt - kTipGap - kTipPad, lineHeight), Qt::AlignVCenter | Qt::AlignLeft,
                         row.text);
        painter.drawText(QRect(numberAt, y, number, lineHeight), Qt::AlignVCenter | Qt::AlignRight, row.number);
        const QRect track(barAt, y + lineHeight / 2 - 3, kTipBar, 6);
        painter.fillRect(track, colours.line);
        QRect bar = track;
        bar.setWidth(std::max(1, static_cast<int>(std::lround(row.share * kTipBar))));
        painter.fillRect(bar, row.chosen ? colours.accent : colours.muted);
        y += lineHeight;
        if (row.chosen && m_rows.size() > 1) {
            painter.fillRect(QRect(kTipPad, y + 1, width() - 2 * kTipPad, 1), colours.line);
            y += 4;
        }
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
    connect(&m_view, &ConversationView::menuOpening, this, &TokenChoicesView::addToMenu);
    connect(m_view.verticalScrollBar(), &QScrollBar::valueChanged, m_tip, &QWidget::hide);
}

int TokenChoicesView::surpriseLevel(double probability) {
    return static_cast<int>(std::count_if(kSurpriseBounds.begin(), kSurpriseBounds.end(),
                                          [probability](double bound) { return probability < bound; }));
}

void TokenChoicesView::setShowsProbabilities(bool shows) {
    m_showsProbabilities = shows;
    m_view.setReportsHover(shows);
    if (!shows) {
        m_tip->hide();
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
    const ChosenToken* token = m_showsProbabilities ? m_choices.token(message, indexAt(message, source)) : nullptr;
    if (token) {
        m_tip->showFor(*token, place);
    } else {
        m_tip->hide();
    }
}

void TokenChoicesView::addToMenu(MessageId message, int source, QMenu* menu) {
    m_tip->hide();
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
