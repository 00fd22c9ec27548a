#include "ui/panels/comparison_view.h"

#include <cmath>

#include <QGridLayout>
#include <QLabel>
#include <QLocale>

#include "ui/engine/format.h"
#include "ui/panels/tiles.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kNarrowestAnswer = 240;

// "+14 %", "−3 %", "the same"; a dash where there is nothing to compare with.
QString differenceText(double from, double to) {
    if (from <= 0 || to <= 0) {
        return from == to ? ComparisonView::tr("the same") : QStringLiteral("–");
    }
    const double percent = std::round(100 * (to / from - 1));
    if (percent == 0) {
        return ComparisonView::tr("the same");
    }
    const QString number = QLocale().toString(std::abs(percent), 'f', 0);
    return (percent > 0 ? u'+' : QChar(0x2212)) + ComparisonView::tr("%1 %", "percent").arg(number);
}

// For shares: "−84.6 points", because a share of a share is misleading.
QString pointsText(double from, double to) {
    const double points = std::round(1000 * (to - from)) / 10;
    if (points == 0) {
        return ComparisonView::tr("the same");
    }
    const QString number = QLocale().toString(std::abs(points), 'f', 1);
    return (points > 0 ? u'+' : QChar(0x2212)) + ComparisonView::tr("%1 points", "of a percentage").arg(number);
}

QString nameOfPlan(const QString& of, const QString& letter) {
    return ComparisonView::tr("%1, plan %2").arg(of, letter);
}

}  // namespace

ComparisonView::ComparisonView(QWidget* parent)
    : QWidget(parent),
      m_headline(textLabel(tr("What the comparison says"))),
      m_result(new QWidget),
      m_figures(new QGridLayout) {
    setWeight(*m_headline, QFont::Bold);
    m_figures->setHorizontalSpacing(12);
    m_figures->setVerticalSpacing(2);
    m_figures->setColumnStretch(0, 1);
    buildFigures();
    auto* answers = new Tiles(kNarrowestAnswer);
    answers->add(newSide(m_sides[0], tr("Plan A"), tr("A")));
    answers->add(newSide(m_sides[1], tr("Plan B"), tr("B")));
    columnOf(m_result, {m_figures, answers}, flush(10));
    columnOf(this, {m_headline, m_result}, flush(6));
    clear();
}

QWidget* ComparisonView::newSide(Side& side, const QString& plan, const QString& letter) {
    QLabel* const title = lineLabel();
    title->setText(plan);
    setWeight(*title, QFont::Bold);
    side = {mutedLabel(nameOfPlan(tr("Budgets"), letter)), textLabel(nameOfPlan(tr("Text"), letter))};
    for (QLabel* label : {side.budgets, side.answer}) {
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    return widgetOf(columnOf({title, side.budgets, side.answer, Stretch{1}}, flush(3)));
}

void ComparisonView::clear() {
    m_headline->clear();
    m_result->hide();
}

void ComparisonView::setComparison(const BenchmarkComparison& comparison, bool simulated) {
    const BenchmarkRun &a = comparison.a, &b = comparison.b;
    const bool same = a.text == b.text;
    m_headline->setText((same ? tr("Plan B against plan A: %1 tokens/s, same text.")
                              : tr("Plan B against plan A: %1 tokens/s, another text."))
                            .arg(differenceText(a.tokensPerSecond, b.tokensPerSecond)));
    m_sides[0].budgets->setText(settingText(a.setting));
    m_sides[1].budgets->setText(settingText(b.setting));
    m_sides[0].answer->setText(a.text);
    m_sides[1].answer->setText(same ? tr("(the same)") : b.text);
    showFigures(comparison, simulated);
    m_result->show();
}

// The rows of the table, in their order; the first is the head.
QStringList ComparisonView::names(bool simulated) {
    return {{},
            simulated ? tr("Tokens/s (simulated)") : tr("Tokens/s (measured)"),
            tr("First token"),
            tr("Between tokens, p95"),
            tr("Hit rate"),
            tr("Copied"),
            tr("Mean bits"),
            tr("Tokens")};
}

// Its columns have the width of what they may say from the beginning.
void ComparisonView::buildFigures() {
    for (int row = 0; row < kRows; ++row) {
        for (int column = 0; column < kColumns; ++column) {
            QLabel* const label = column == 0 ? mutedLabel() : lineLabel();
            label->setAlignment(Qt::AlignTop | (column == 0 ? Qt::AlignLeft : Qt::AlignRight));
            setWeight(*label, row == 0 ? QFont::Bold : QFont::Normal);
            if (column > 0) {
                label->setTextInteractionFlags(Qt::TextSelectableByMouse);
            }
            m_cells[row][column] = label;
            m_figures->addWidget(label, row, column);
        }
    }
    setRow(0, {}, {tr("Plan A"), tr("Plan B"), tr("B against A")});
    fitColumns();
}

void ComparisonView::setRow(int row, const QString& name, const QStringList& texts) {
    const QString called[] = {{}, nameOfPlan(name, tr("A")), nameOfPlan(name, tr("B")), tr("%1, difference").arg(name)};
    m_cells[row][0]->setText(name);
    for (int column = 1; column < kColumns; ++column) {
        m_cells[row][column]->setText(texts.value(column - 1));
        m_cells[row][column]->setAccessibleName(called[column]);
    }
}

void ComparisonView::fitColumns() {
    const auto widthOf = [](QLabel& label, const QString& text) {
        const QString before = label.text();
        label.setText(text);
        const int width = label.minimumSizeHint().width();
        label.setText(before);
        return width;
    };
    for (int column = 0; column < kColumns; ++column) {
        const bool isDifference = column == kColumns - 1;
        const QStringList texts = column == 0    ? names(true) + names(false)
                                  : isDifference ? QStringList{pointsText(1, 0)}
                                                 : QStringList{bytesText(quint64{999} << 20), tr("%1 ms").arg(9999.99)};
        int width = m_cells[0][column]->minimumSizeHint().width();
        for (const QString& text : texts) {
            width = std::max(width, widthOf(*m_cells[1][column], text));
        }
        m_figures->setColumnMinimumWidth(column, width);
    }
}

void ComparisonView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        fitColumns();
    }
}

void ComparisonView::showFigures(const BenchmarkComparison& comparison, bool simulated) {
    const BenchmarkRun &a = comparison.a, &b = comparison.b;
    const auto number = [](double v, int decimals) { return QLocale().toString(v, 'f', decimals); };
    const auto ms = [&](double seconds) { return tr("%1 ms").arg(number(1e3 * seconds, 2)); };
    const QStringList texts[] = {
        {number(a.tokensPerSecond, 1), number(b.tokensPerSecond, 1),
         differenceText(a.tokensPerSecond, b.tokensPerSecond)},
        {firstTokenText(a.ttftSeconds), firstTokenText(b.ttftSeconds), differenceText(a.ttftSeconds, b.ttftSeconds)},
        {ms(a.itl(0.95)), ms(b.itl(0.95)), differenceText(a.itl(0.95), b.itl(0.95))},
        {percentText(a.hitRate), percentText(b.hitRate), pointsText(a.hitRate, b.hitRate)},
        {bytesText(a.bytesCopied), bytesText(b.bytesCopied),
         differenceText(static_cast<double>(a.bytesCopied), static_cast<double>(b.bytesCopied))},
        {number(a.meanBits, 2), number(b.meanBits, 2), differenceText(a.meanBits, b.meanBits)},
        {QLocale().toString(a.tokensOut), QLocale().toString(b.tokensOut)}};
    const QStringList called = names(simulated);
    for (int row = 1; row < kRows; ++row) {
        setRow(row, called[row], texts[row - 1]);
    }
}

}  // namespace offstage::ui
