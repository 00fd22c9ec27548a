#include "ui/chat/empty_state.h"

#include <algorithm>

#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/base/icons.h"
#include "ui/base/theme.h"
#include "ui/chat/conversation_view.h"
#include "ui/load/local_model_view.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

// A suggested prompt: its domain small above, the prompt below; a normal button for
// keyboard and screen reader.
class PromptChip : public QPushButton {
  public:
    PromptChip(const SuggestedPrompt& prompt, QWidget* parent) : QPushButton(parent), m_prompt(prompt) {
        setAccessibleName(prompt.prompt);
        setToolTip(prompt.prompt);
        setCursor(Qt::PointingHandCursor);
        QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
        policy.setHeightForWidth(true);
        setSizePolicy(policy);
        setAttribute(Qt::WA_Hover);
    }

    QSize sizeHint() const override { return {300, heightForWidth(300)}; }
    QSize minimumSizeHint() const override { return {12 * fontMetrics().averageCharWidth() + 2 * kPad, leastHeight()}; }
    int heightForWidth(int width) const override {
        const QRect wide(0, 0, std::max(1, width - 2 * kPad), QWIDGETSIZE_MAX);
        const int text = fontMetrics().boundingRect(wide, kPromptFlags, m_prompt.prompt).height();
        return std::max(leastHeight(), 2 * kPadAbove + domainHeight() + text);
    }

  protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const Colours colours = Colours::of(palette());
        const bool lit = underMouse() || hasFocus();
        painter.setPen(QPen(lit ? colours.accent : colours.line, hasFocus() ? 2 : 1));
        painter.setBrush(isDown() || underMouse() ? colours.raised : colours.surface);
        painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 10, 10);
        QRect area = rect().adjusted(kPad, kPadAbove, -kPad, -kPadAbove);
        if (!m_prompt.domain.isEmpty()) {
            QFont small = font();
            small.setPointSizeF(small.pointSizeF() * 0.85);
            painter.setFont(small);
            painter.setPen(colours.muted);
            painter.drawText(area, Qt::AlignLeft | Qt::AlignTop, m_prompt.domain);
            area.setTop(area.top() + domainHeight());
            painter.setFont(font());
        }
        painter.setPen(colours.text);
        const Qt::Alignment place = m_prompt.domain.isEmpty() ? Qt::AlignVCenter : Qt::AlignTop;
        painter.drawText(area, kPromptFlags | static_cast<int>(place), m_prompt.prompt);
    }

  private:
    static constexpr int kPad = 12;
    static constexpr int kPadAbove = kPad - 2;
    static constexpr int kPromptFlags = static_cast<int>(Qt::AlignLeft) | Qt::TextWordWrap;

    int domainHeight() const { return m_prompt.domain.isEmpty() ? 0 : fontMetrics().lineSpacing() + 1; }
    // So that short and long prompts form even rows.
    int leastHeight() const { return 2 * kPadAbove + domainHeight() + 2 * fontMetrics().lineSpacing(); }

    SuggestedPrompt m_prompt;
};

constexpr qsizetype kShown = 4;
constexpr int kNarrowestChip = 16;  // characters

// The first prompt of each domain, then the rest, as far as there is room.
QList<SuggestedPrompt> variedPrompts(const QList<SuggestedPrompt>& all, qsizetype most) {
    QList<SuggestedPrompt> first;
    QList<SuggestedPrompt> rest;
    QStringList domains;
    for (const SuggestedPrompt& prompt : all) {
        (domains.contains(prompt.domain) ? rest : first).append(prompt);
        domains.append(prompt.domain);
    }
    return (first + rest).mid(0, most);
}

}  // namespace

EmptyState::EmptyState(QWidget* parent)
    : QScrollArea(parent),
      m_logo(new QLabel),
      m_heading(textLabel()),
      m_explanation(mutedLabel()),
      m_open(nullptr),
      m_chips(new QWidget),
      m_hardware(mutedLabel()),
      m_emulated(nullptr),
      m_hint(new QWidget),
      m_suggestions(nullptr),
      m_column(new QVBoxLayout) {
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    m_logo->setPixmap(programIcon().pixmap(48, 48));
    m_logo->setAlignment(Qt::AlignHCenter);
    m_heading->setAlignment(Qt::AlignHCenter);
    m_explanation->setAlignment(Qt::AlignHCenter);
    auto* open = new QPushButton(tr("Open model…"));
    open->setAccessibleName(tr("Open a model"));
    connect(open, &QPushButton::clicked, this, &EmptyState::openRequested);
    m_open = open;

    auto* suggestions = new QPushButton(tr("What runs here…"));
    suggestions->setToolTip(tr("Models of today, how fast they would be on this computer, and how to get them"));
    connect(suggestions, &QPushButton::clicked, this, &EmptyState::suggestionsRequested);
    m_suggestions = suggestions;
    m_suggestions->hide();

    m_hardware->setAlignment(Qt::AlignHCenter);
    auto* emulated = new QPushButton(tr("Try a small emulated GPU"));
    emulated->setToolTip(tr("Opens the model again on an emulated GPU whose memory is too small for it"));
    connect(emulated, &QPushButton::clicked, this, &EmptyState::emulatedRequested);
    m_emulated = emulated;

    QLabel* hint = mutedLabel();
    hint->setText(
        tr("The tabs at the right edge show what goes on inside: experts, memory, speed. To chat you need "
           "none of them."));
    hint->setAlignment(Qt::AlignHCenter);
    auto* close = new QToolButton;
    close->setText(QStringLiteral("✕"));
    close->setAutoRaise(true);
    describe(*close, tr("Do not show this again"));
    connect(close, &QToolButton::clicked, this, &EmptyState::panelsHintClosed);
    rowOf(m_hint, {{hint, 1}, {close, 0, Qt::AlignTop}}, flush(4));
    setPanelsHinted(false);

    addTo(*m_column, {Stretch{3},
                      m_logo,
                      Gap{4},
                      m_heading,
                      m_explanation,
                      {m_open, 0, Qt::AlignHCenter},
                      Gap{14},
                      m_chips,
                      {m_suggestions, 0, Qt::AlignHCenter},
                      Gap{10},
                      m_hardware,
                      {m_emulated, 0, Qt::AlignHCenter},
                      m_hint,
                      Stretch{4}});
    new QGridLayout(m_chips);
    m_chips->layout()->setContentsMargins(0, 0, 0, 0);
    m_chips->layout()->setSpacing(10);

    auto* page = new QWidget;
    m_column->setSpacing(10);
    m_column->setContentsMargins(0, 0, 0, 0);
    auto* middle = widgetOf(m_column);
    middle->setMaximumWidth(ConversationView::kWidestColumn);
    rowOf(page, {Stretch{1}, {middle, 1000}, Stretch{1}}, inset(24, 12, 24 + ConversationView::kScrollBarWidth, 12));
    setWidget(page);
    page->setBackgroundRole(QPalette::Base);
    setOpenOffered(false);
    setHardware({}, false);
    restyle();
}

void EmptyState::setHeading(const QString& heading, const QString& explanation) {
    m_heading->setText(heading);
    m_explanation->setText(explanation);
}

void EmptyState::setPrompts(const QList<SuggestedPrompt>& prompts) {
    qDeleteAll(m_prompts);
    m_prompts.clear();
    for (const SuggestedPrompt& prompt : variedPrompts(prompts, kShown)) {
        auto* chip = new PromptChip(prompt, m_chips);
        connect(chip, &QPushButton::clicked, this, [this, text = prompt.prompt] { Q_EMIT promptChosen(text); });
        m_prompts.append(chip);
    }
    for (int i = 0; i < m_questions.size() && !prompts.isEmpty(); ++i) {
        auto* chip = new PromptChip({tr("About this program"), m_questions[i]}, m_chips);
        connect(chip, &QPushButton::clicked, this, [this, i] { Q_EMIT questionChosen(i); });
        m_prompts.append(chip);
    }
    m_chips->setVisible(!m_prompts.isEmpty());
    arrangePrompts();
}

// Side by side, or one below the other if there is no room for a few words in each.
void EmptyState::arrangePrompts() {
    auto* grid = static_cast<QGridLayout*>(m_chips->layout());
    const int columns = viewport()->width() >= 2 * kNarrowestChip * fontMetrics().averageCharWidth() + 80 ? 2 : 1;
    for (int i = 0; i < static_cast<int>(m_prompts.size()); ++i) {
        grid->addWidget(m_prompts[i], i / columns, i % columns);
    }
}

void EmptyState::setOpenOffered(bool offered) {
    m_open->setVisible(offered);
}

void EmptyState::offer(LocalModels& models) {
    m_models = new LocalModelView(models, LocalModelView::Extent::Few);
    m_column->insertWidget(m_column->indexOf(m_chips) + 1, m_models);
    connect(m_models, &LocalModelView::opened, this, &EmptyState::modelChosen);
    connect(m_models, &LocalModelView::allRequested, this, &EmptyState::allModelsRequested);
    m_models->hide();
}

void EmptyState::setModelsShown(bool shown) {
    m_suggestions->setVisible(shown);
    if (m_models != nullptr) {
        m_models->setVisible(shown);
    }
}

void EmptyState::setHardware(const QString& text, bool emulatedOffered) {
    m_hardware->setText(text);
    m_hardware->setVisible(!text.isEmpty());
    m_emulated->setVisible(emulatedOffered);
}

void EmptyState::setPanelsHinted(bool hinted) {
    m_hint->setVisible(hinted);
}

QString EmptyState::hardware() const {
    return m_hardware->text();
}

void EmptyState::changeEvent(QEvent* event) {
    QScrollArea::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
        restyle();
        arrangePrompts();
    }
}

void EmptyState::resizeEvent(QResizeEvent* event) {
    QScrollArea::resizeEvent(event);
    arrangePrompts();
}

void EmptyState::restyle() {
    QFont large = font();
    large.setPointSizeF(large.pointSizeF() * 1.6);
    large.setWeight(QFont::DemiBold);
    m_heading->setFont(large);
}

}  // namespace offstage::ui
