#include "ui/chat/message_body.h"

#include <algorithm>
#include <cmath>

#include <QAbstractTextDocumentLayout>
#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QPaintEvent>
#include <QPainter>
#include <QTextBlock>
#include <QTextCursor>
#include <QToolButton>

namespace offstage::ui {

namespace {

constexpr int kGap = 12;  // between segments
constexpr int kCodePadding = 12;
constexpr int kCodeHeader = 30;
constexpr double kCorner = 8;
constexpr int kTableSeam = 4;  // what a table is taller than its rows: two borders fall on one another

using Kind = MarkdownSegment::Kind;

QString shownCode(const QString& text) {
    return text.endsWith(u'\n') ? text.chopped(1) : text;
}

}  // namespace

MessageBody::MessageBody(QWidget* parent) : QWidget(parent), m_style(TextStyle::of(font(), palette())) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setCursor(Qt::IBeamCursor);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

MessageBody::~MessageBody() = default;

void MessageBody::setPlainText(const QString& text) {
    m_source = text;
    m_isPlain = true;
    rebuild();
}

void MessageBody::setMarkdown(const QString& text, bool complete) {
    m_isPlain = false;
    m_source = text;
    m_splitter = {};
    m_splitter.append(text);
    if (complete) {
        m_splitter.finish();
    }
    rebuild();
}

void MessageBody::appendMarkdown(const QString& text) {
    if (m_isPlain) {
        setMarkdown(text, false);
        return;
    }
    m_source += text;
    m_splitter.append(text);
    renderGrowing();
    contentChanged();
}

void MessageBody::finishMarkdown() {
    m_splitter.finish();
    renderGrowing();
    contentChanged();
}

void MessageBody::rebuild() {
    truncateParts(0);
    m_frozen = 0;
    m_anchor = m_caret = {};
    if (m_isPlain) {
        Part& part = m_parts.emplace_back();
        part.plain = true;
        part.segment.text = m_source;
        part.document = std::make_unique<QuietDocument>();
        renderPlain(m_source, m_style, *part.document);
        m_frozen = 1;
    } else {
        renderGrowing();
    }
    contentChanged();
}

void MessageBody::renderGrowing() {
    const QList<MarkdownSegment>& finished = m_splitter.finished();
    for (qsizetype i = static_cast<qsizetype>(m_frozen); i < finished.size(); ++i) {
        setPart(static_cast<size_t>(i), finished[i]);
    }
    m_frozen = static_cast<size_t>(finished.size());
    const QList<MarkdownSegment> growing = m_splitter.growing();
    for (qsizetype i = 0; i < growing.size(); ++i) {
        setPart(m_frozen + static_cast<size_t>(i), growing[i]);
    }
    truncateParts(m_frozen + static_cast<size_t>(growing.size()));
}

void MessageBody::setPart(size_t index, const MarkdownSegment& segment) {
    const bool isNew = index >= m_parts.size();
    if (isNew) {
        m_parts.emplace_back().document = std::make_unique<QuietDocument>();
    }
    Part& part = m_parts[index];
    if (!isNew && part.segment == segment) {
        return;  // what was growing has finished as it stood
    }
    ++m_renderCount;
    const bool sameCode = !isNew && segment.kind == Kind::Code && part.segment.kind == Kind::Code &&
                          segment.language == part.segment.language && segment.continued == part.segment.continued;
    const QString before = shownCode(part.segment.text);
    const QString now = shownCode(segment.text);
    if (sameCode && !before.isEmpty() && now.startsWith(before)) {
        QTextCursor end(part.document.get());
        end.movePosition(QTextCursor::End);
        end.insertText(now.mid(before.size()));
    } else {
        // A continued table takes the columns of the segment it continues.
        part.columns = segment.continued && index > 0 ? m_parts[index - 1].columns : TableColumns{};
        renderSegment(segment, m_style, *part.document, part.columns);
        part.laidOutFor = -1;
    }
    part.segment = segment;
    const bool wantsCopy = segment.kind == Kind::Code && !segment.continued;
    if (wantsCopy && !part.copy) {
        makeCopyButton(part);
    } else if (!wantsCopy && part.copy) {
        part.copy->deleteLater();
        part.copy = nullptr;
    }
}

void MessageBody::truncateParts(size_t count) {
    while (m_parts.size() > count) {
        if (m_parts.back().copy) {
            m_parts.back().copy->hide();
            m_parts.back().copy->deleteLater();
        }
        m_parts.pop_back();
    }
    const auto inside = [this](const Place& place) { return place.part < static_cast<int>(m_parts.size()); };
    if (!inside(m_anchor) || !inside(m_caret)) {
        m_anchor = m_caret = {};
    }
}

void MessageBody::makeCopyButton(Part& part) {
    part.copy = new QToolButton(this);
    part.copy->setText(tr("Copy"));
    part.copy->setAutoRaise(true);
    part.copy->setCursor(Qt::ArrowCursor);
    part.copy->setAccessibleName(tr("Copy this code"));
    part.copy->setToolTip(tr("Copy this code"));
    connect(part.copy, &QToolButton::clicked, this, [this, button = part.copy] {
        for (size_t i = 0; i < m_parts.size(); ++i) {
            if (m_parts[i].copy == button) {
                QGuiApplication::clipboard()->setText(codeFrom(static_cast<int>(i)));
            }
        }
    });
    part.copy->show();
}

QString MessageBody::codeFrom(int part) const {
    QString code;
    for (size_t i = static_cast<size_t>(part); i < m_parts.size(); ++i) {
        const MarkdownSegment& segment = m_parts[i].segment;
        if (segment.kind != Kind::Code || (static_cast<int>(i) != part && !segment.continued)) {
            break;
        }
        code += segment.text;
    }
    return code;
}

void MessageBody::contentChanged() {
    if (m_width > 0) {
        LayoutBudget none{QDeadlineTimer(0)};  // what was never laid out, and nothing else
        layoutFor(m_width, none);
    }
    updateGeometry();
    update();
    Q_EMIT heightChanged();
}

void MessageBody::layOutPart(Part& part, int textWidth) {
    if (part.laidOutFor != textWidth) {
        if (part.segment.kind == Kind::Table) {
            fitTable(*part.document, part.columns, textWidth);
        }
        if (part.segment.kind == Kind::Code && !part.plain) {
            QTextOption option = part.document->defaultTextOption();
            option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
            part.document->setDefaultTextOption(option);
        }
        part.document->setTextWidth(textWidth);
        part.laidOutFor = textWidth;
    }
    part.textHeight = static_cast<int>(std::ceil(part.document->size().height()));
}

int MessageBody::layoutFor(int width) {
    LayoutBudget all{QDeadlineTimer(QDeadlineTimer::Forever)};
    return layoutFor(width, all);
}

int MessageBody::layoutFor(int width, LayoutBudget& budget) {
    m_width = width;
    const QRect seen = visibleRegion().boundingRect();
    int y = 0;
    for (size_t i = 0; i < m_parts.size(); ++i) {
        Part& part = m_parts[i];
        const bool code = part.segment.kind == Kind::Code && !part.plain;
        const int inset = code ? kCodePadding : 0;
        const int textWidth = std::max(40, width - 2 * inset);
        if (part.laidOutFor > 0 && part.laidOutFor != textWidth && !part.box.intersects(seen) &&
            budget.until.hasExpired()) {
            budget.left = true;
        } else {
            layOutPart(part, textWidth);
        }
        const int textHeight =
            static_cast<int>(static_cast<qint64>(part.textHeight) * part.laidOutFor / std::max(1, textWidth));
        const bool joins = part.segment.continued;
        if (i > 0 && !joins) {
            y += kGap;
        } else if (joins && !code) {
            y -= kTableSeam;
        }
        const int top = y;
        if (code) {
            y += joins ? 0 : kCodeHeader;
        }
        part.textAt = QPoint(inset, y);
        y += textHeight;
        const bool goesOn = i + 1 < m_parts.size() && m_parts[i + 1].segment.continued;
        if (code && !goesOn) {
            y += kCodePadding;
        }
        part.box = QRect(0, top, width, y - top);
        if (part.copy) {
            const QSize size = part.copy->sizeHint();
            part.copy->setGeometry(width - size.width() - 6, top + (kCodeHeader - size.height()) / 2, size.width(),
                                   size.height());
        }
    }
    m_height = y;
    return y;
}

QSize MessageBody::sizeHint() const {
    return {std::max(m_width, 100), m_height};
}

int MessageBody::naturalWidth() const {
    double widest = 0;
    for (const Part& part : m_parts) {
        widest = std::max(widest, part.document->idealWidth());
    }
    return static_cast<int>(std::ceil(widest));
}

std::vector<MarkdownSegment> MessageBody::segments() const {
    std::vector<MarkdownSegment> out;
    for (const Part& part : m_parts) {
        out.push_back(part.segment);
    }
    return out;
}

QString MessageBody::plainText() const {
    QString text;
    for (const Part& part : m_parts) {
        if (!text.isEmpty()) {
            text += part.segment.continued ? u"\n" : u"\n\n";
        }
        text += part.document->toPlainText();
    }
    return text;
}

void MessageBody::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    const QRect clip = event->rect();
    for (size_t i = 0; i < m_parts.size(); ++i) {
        if (m_parts[i].box.intersects(clip)) {
            paintPart(painter, m_parts[i], static_cast<int>(i), clip);
        }
    }
    if (hasFocus() && m_focusByKey) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(m_style.colours.accent, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 4, 4);
    }
}

void MessageBody::paintPart(QPainter& painter, const Part& part, int index, const QRect& clip) const {
    painter.save();
    if (part.segment.kind == Kind::Code && !part.plain) {
        const bool goesOn =
            index + 1 < static_cast<int>(m_parts.size()) && m_parts[static_cast<size_t>(index) + 1].segment.continued;
        // Where the card goes on in the next segment its corners lie outside of what is painted here.
        const QRectF card = QRectF(part.box).adjusted(0.5, part.segment.continued ? -2 * kCorner : 0.5, -0.5,
                                                      goesOn ? 2 * kCorner : -0.5);
        painter.setClipRect(part.box);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(m_style.colours.line);
        painter.setBrush(m_style.colours.raised);
        painter.drawRoundedRect(card, kCorner, kCorner);
        if (!part.segment.continued) {
            painter.setPen(m_style.colours.muted);
            QFont small = m_style.font;
            small.setPointSizeF(small.pointSizeF() * 0.88);
            painter.setFont(small);
            const QString language = part.segment.language.isEmpty() ? tr("text") : part.segment.language;
            painter.drawText(QRect(kCodePadding, part.box.top(), part.box.width() - 100, kCodeHeader),
                             Qt::AlignVCenter | Qt::AlignLeft, language);
        }
    }
    painter.translate(part.textAt);
    QAbstractTextDocumentLayout::PaintContext context;
    context.palette = palette();
    context.clip = QRectF(clip.translated(-part.textAt));
    painter.setClipRect(context.clip, Qt::IntersectClip);

    for (QTextBlock block = part.document->begin(); block.isValid(); block = block.next()) {
        const int depth = block.blockFormat().intProperty(kQuoteDepthProperty);
        if (depth > 0) {
            const QRectF area = part.document->documentLayout()->blockBoundingRect(block);
            for (int d = 0; d < depth; ++d) {
                painter.fillRect(QRectF(d * 16, area.top() - 4, 3, area.height() + 8), m_style.colours.line);
            }
        }
    }
    const auto [from, to] = selection();
    if (from != to && from.part <= index && index <= to.part) {
        QTextCursor cursor(part.document.get());
        const int last = std::max(0, part.document->characterCount() - 1);
        cursor.setPosition(from.part == index ? std::min(from.position, last) : 0);
        cursor.setPosition(to.part == index ? std::min(to.position, last) : last, QTextCursor::KeepAnchor);
        QAbstractTextDocumentLayout::Selection chosen;
        chosen.cursor = cursor;
        chosen.format.setBackground(palette().highlight());
        chosen.format.setForeground(palette().highlightedText());
        context.selections.append(chosen);
    }
    part.document->documentLayout()->draw(&painter, context);
    painter.restore();
}

void MessageBody::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
        m_style = TextStyle::of(font(), palette());
        rebuild();
    }
}

}  // namespace offstage::ui
