#include "ui/panels/comparison_view.h"

#include <cmath>

#include <QGridLayout>
#include <QLabel>
#include <QLocale>

#include "ui/engine/format.h"
#include "ui/panels/benchmark_panel.h"
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
        return from == to ? BenchmarkPanel::tr("the same") : QStringLiteral("–");
    }
    const double percent = std::round(100 * (to / from - 1));
    if (percent == 0) {
        return BenchmarkPanel::tr("the same");
    }
    const QString number = QLocale().toString(std::abs(percent), 'f', 0);
    return (percent > 0 ? u'+' : QChar(0x2212)) + BenchmarkPanel::tr("%1 %", "percent").arg(number);
}

// For shares: "−84.6 points", because a share of a share is misleading.
QString pointsText(double from, double to) {
    const double points = std::round(1000 * (to - from)) / 10;
    if (points == 0) {
        return BenchmarkPanel::tr("the same");
    }
    const QString number = QLocale().toString(std::abs(points), 'f', 1);
    return (points > 0 ? u'+' : QChar(0x2212)) + BenchmarkPanel::tr("%1 points", "of a percentage").arg(number);
}

QString nameOfPlan(const QString& of, const QString& letter) {
    return BenchmarkPanel::tr("%1, plan %2").arg(of, letter);
}

}  // namespace

ComparisonView::ComparisonView(QWidget* parent)
    : QWidget(parent),
      m_headline(textLabel(BenchmarkPanel::tr("What the comparison says"))),
      m_result(new QWidget),
      m_figures(new QGridLayout) {
    setWeight(*m_headline, QFont::Bold);
    m_figures->setHorizontalSpacing(12);
    m_figures->setVerticalSpacing(2);
    m_figures->setColumnStretch(0, 1);
    auto* answers = new Tiles(kNarrowestAnswer);
    answers->add(newSide(m_sides[0], BenchmarkPanel::tr("Plan A"), BenchmarkPanel::tr("A")));
    answers->add(newSide(m_sides[1], BenchmarkPanel::tr("Plan B"), BenchmarkPanel::tr("B")));
    columnOf(m_result, {m_figures, answers}, flush(10));
    columnOf(this, {m_headline, m_result}, flush(6));
    clear();
}

QWidget* ComparisonView::newSide(Side& side, const QString& plan, const QString& letter) {
    QLabel* const title = lineLabel();
    title->setText(plan);
    setWeight(*title, QFont::Bold);
    side = {mutedLabel(nameOfPlan(BenchmarkPanel::tr("Budgets"), letter)),
            textLabel(nameOfPlan(BenchmarkPanel::tr("Text"), letter))};
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
    m_headline->setText((same ? BenchmarkPanel::tr("Plan B against plan A: %1 tokens/s, same text.")
                              : BenchmarkPanel::tr("Plan B against plan A: %1 tokens/s, another text."))
                            .arg(differenceText(a.tokensPerSecond, b.tokensPerSecond)));
    m_sides[0].budgets->setText(settingText(a.setting));
    m_sides[1].budgets->setText(settingText(b.setting));
    m_sides[0].answer->setText(a.text);
    m_sides[1].answer->setText(same ? BenchmarkPanel::tr("(the same)") : b.text);
    showFigures(comparison, simulated);
    m_result->show();
}

void ComparisonView::showFigures(const BenchmarkComparison& comparison, bool simulated) {
    while (QLayoutItem* item = m_figures->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    int row = 0;
    const auto add = [&](const QString& name, const QString& a, const QString& b, const QString& difference,
                         QFont::Weight weight = QFont::Normal) {
        const QString names[] = {{},
                                 nameOfPlan(name, BenchmarkPanel::tr("A")),
                                 nameOfPlan(name, BenchmarkPanel::tr("B")),
                                 BenchmarkPanel::tr("%1, difference").arg(name)};
        const QString texts[] = {name, a, b, difference};
        for (int column = 0; column < 4; ++column) {
            QLabel* const label = column == 0 ? mutedLabel() : lineLabel(names[column]);
            label->setText(texts[column]);
            label->setAlignment(Qt::AlignTop | (column == 0 ? Qt::AlignLeft : Qt::AlignRight));
            if (column > 0) {
                label->setTextInteractionFlags(Qt::TextSelectableByMouse);
            }
            setWeight(*label, weight);
            m_figures->addWidget(label, row, column);
        }
        ++row;
    };
    const BenchmarkRun &a = comparison.a, &b = comparison.b;
    const auto number = [](double v, int decimals) { return QLocale().toString(v, 'f', decimals); };
    const auto ms = [&](double seconds) { return BenchmarkPanel::tr("%1 ms").arg(number(1e3 * seconds, 2)); };
    add({}, BenchmarkPanel::tr("Plan A"), BenchmarkPanel::tr("Plan B"), BenchmarkPanel::tr("B against A"), QFont::Bold);
    add(simulated ? BenchmarkPanel::tr("Tokens/s (simulated)") : BenchmarkPanel::tr("Tokens/s (measured)"),
        number(a.tokensPerSecond, 1), number(b.tokensPerSecond, 1),
        differenceText(a.tokensPerSecond, b.tokensPerSecond));
    add(BenchmarkPanel::tr("First token"), firstTokenText(a.ttftSeconds), firstTokenText(b.ttftSeconds),
        differenceText(a.ttftSeconds, b.ttftSeconds));
    add(BenchmarkPanel::tr("Between tokens, p95"), ms(a.itl(0.95)), ms(b.itl(0.95)),
        differenceText(a.itl(0.95), b.itl(0.95)));
    add(BenchmarkPanel::tr("Hit rate"), percentText(a.hitRate), percentText(b.hitRate),
        pointsText(a.hitRate, b.hitRate));
    add(BenchmarkPanel::tr("Copied"), bytesText(a.bytesCopied), bytesText(b.bytesCopied),
        differenceText(static_cast<double>(a.bytesCopied), static_cast<double>(b.bytesCopied)));
    add(BenchmarkPanel::tr("Mean bits"), number(a.meanBits, 2), number(b.meanBits, 2),
        differenceText(a.meanBits, b.meanBits));
    add(BenchmarkPanel::tr("Tokens"), QLocale().toString(a.tokensOut), QLocale().toString(b.tokensOut), {});
}

}  // namespace offstage::ui
