#include "ui/panels/left_out_edit.h"

#include <algorithm>

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLocale>
#include <QSignalBlocker>
#include <QStandardItemModel>

#include "ui/engine/format.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"

namespace offstage::ui {

namespace {

constexpr double kLargestTheta = 1;
constexpr double kLeastTheta = 0.001;
constexpr double kThetaStep = 0.005;
constexpr double kUsualTheta = 0.1;
constexpr int kThetaDecimals = 3;
constexpr int kShownLetters = 7;   // as many as the quality above shows
constexpr int kBetweenFields = 6;  // the same

}  // namespace

LeftOutEdit::LeftOutEdit(QWidget* parent)
    : QWidget(parent),
      m_how(new QComboBox),
      m_value(new QDoubleSpinBox),
      m_guesses(new QCheckBox(tr("Compute with guessed neurons"))) {
    m_how->setAccessibleName(tr("Skipped neurons"));
    setChosenByPlan(false);
    letShrink(*m_how, kShownLetters);
    m_how->addItem(tr("None"));
    m_how->addItem(tr("Up to one activation"));
    describe(*m_value, tr("Neurons skipped up to this activation"), tr("The threshold of all experts"));
    m_value->setKeyboardTracking(false);
    m_value->setAlignment(Qt::AlignRight);
    m_value->setDecimals(kThetaDecimals);
    m_value->setSingleStep(kThetaStep);
    m_value->setRange(kLeastTheta, kLargestTheta);
    keepRoom(*m_value);  // the choice beside it keeps its width
    m_guesses->setToolTip(
        tr("Where the neurons of an expert were guessed and copied ahead, and it needs others: compute with those that "
           "are there. Less is copied, and answers change more; no measured loss counts this"));
    columnOf(this, {rowOf({{m_how, 1}, m_value}, flush(kBetweenFields)), m_guesses}, flush(6));
    setFocusProxy(m_how);
    connect(m_how, &QComboBox::activated, this, &LeftOutEdit::chosen);
    connect(m_value, &QDoubleSpinBox::valueChanged, this, &LeftOutEdit::changed);
    connect(m_guesses, &QCheckBox::toggled, this, &LeftOutEdit::changed);
    fill(0);
    set({});
}

double LeftOutEdit::theta() const {
    return m_value->value() == m_shownExact ? m_exact : m_value->value();
}

engine::ThetaChoice LeftOutEdit::choice() const {
    const int how = m_how->currentIndex();
    if (how == None) {
        return {};
    }
    const auto guesses = m_guesses->isChecked() ? engine::NeuronGuesses::kAccept : engine::NeuronGuesses::kCorrect;
    return how == OneTheta ? engine::ThetaChoice(theta(), 0, guesses)
                           : engine::ThetaChoice(0, m_how->currentData().toDouble(), guesses);
}

// A loss that nothing was kept for stays where it is in force.
void LeftOutEdit::fill(double keptLoss) {
    while (m_how->count() > FirstLoss) {
        m_how->removeItem(FirstLoss);
    }
    std::vector<double> losses;
    for (const engine::ChosenThresholds& each : m_measured.chosen) {
        losses.push_back(each.loss);
    }
    if (keptLoss > 0 && std::find(losses.begin(), losses.end(), keptLoss) == losses.end()) {
        losses.insert(std::upper_bound(losses.begin(), losses.end(), keptLoss), keptLoss);
    }
    for (const double loss : losses) {
        m_how->addItem(tr("By expert, loss %1").arg(QLocale().toString(loss, 'g', 3)), loss);
        const engine::ChosenThresholds* const each = engine::thresholds_for(m_measured, loss);
        if (each != nullptr) {
            m_how->setItemData(m_how->count() - 1,
                               tr("Each expert has its own threshold. Measured over %1, %2 tokens: %3 of the neurons "
                                  "active, Kullback-Leibler divergence %4")
                                   .arg(QString::fromStdString(each->text), QLocale().toString(qint64{each->n_tokens}),
                                        percentText(each->active_share), QLocale().toString(each->mean_kl, 'g', 2)),
                               Qt::ToolTipRole);
        }
    }
    if (losses.empty()) {
        m_how->addItem(tr("By expert: not measured"));
        QStandardItem& item = *qobject_cast<QStandardItemModel*>(m_how->model())->item(FirstLoss);
        item.setEnabled(false);
        item.setToolTip(
            tr("“offstage-cli sensitivity --thresholds-for-loss 0.003 --keep” chooses a threshold for each expert"));
    }
}

void LeftOutEdit::setMeasured(const engine::NeuronThresholds& measured, bool copiesExperts) {
    const bool isSame = m_isFilled && measured.chosen == m_measured.chosen && measured.rows == m_measured.rows;
    if (isSame && copiesExperts == m_copiesExperts) {
        return;
    }
    const engine::ThetaChoice kept = choice();
    m_isFilled = true;
    m_copiesExperts = copiesExperts;
    m_measured = measured;
    {
        const QSignalBlocker quiet(m_how);
        fill(kept.loss);
    }
    set(kept);
}

void LeftOutEdit::chosen() {
    engine::ThetaChoice now = choice();
    if (m_how->currentIndex() == OneTheta) {
        now.theta = std::min(kUsualTheta, m_value->maximum());
    }
    set(now);
    Q_EMIT changed();
}

void LeftOutEdit::set(const engine::ThetaChoice& choice) {
    const QSignalBlocker quiet(m_value), quietToo(m_guesses);
    if (choice.loss > 0 && m_how->findData(choice.loss) < 0) {
        fill(choice.loss);
    }
    m_how->setCurrentIndex(choice.loss > 0 ? m_how->findData(choice.loss) : choice.theta > 0 ? OneTheta : None);
    // Limited to the measured range, if there is one: beyond it the loss is unknown.
    const double measured = m_measured.rows.empty() ? kLargestTheta : m_measured.rows.back().theta;
    m_value->setRange(std::min(kLeastTheta, choice.theta > 0 ? choice.theta : kLeastTheta),
                      std::max(measured, choice.theta));
    if (choice.theta > 0) {
        m_value->setValue(choice.theta);
        m_exact = choice.theta;
        m_shownExact = m_value->value();
    }
    m_guesses->setChecked(choice.accepts_guesses());
    m_value->setVisible(m_how->currentIndex() == OneTheta);
    // Only experts that are copied have guessed neurons.
    m_guesses->setVisible(choice.leaves_out() && (m_copiesExperts || choice.accepts_guesses()));
}

void LeftOutEdit::setChosenByPlan(bool chosen) {
    m_how->setEnabled(!chosen);
    m_value->setEnabled(!chosen);
    m_guesses->setEnabled(!chosen);
    m_how->setToolTip(
        chosen ? tr("The quality above is one floor for bits and neurons: the plan chooses what is skipped")
               : tr("Neurons of the chosen experts whose activation is at most a threshold are skipped: less is read "
                    "and copied, and the answers are no longer the model's own"));
}

}  // namespace offstage::ui
