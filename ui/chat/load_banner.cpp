#include "ui/chat/load_banner.h"

#include <QGridLayout>
#include <QProgressBar>
#include <QPushButton>

#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

LoadBanner::LoadBanner(QWidget* parent)
    : QFrame(parent),
      m_title(lineLabel()),
      m_stage(lineLabel()),
      m_bar(new QProgressBar),
      m_note(textLabel()),
      m_cancel(new QPushButton(tr("Cancel"))) {
    setAutoFillBackground(true);
    setAccessibleName(tr("Loading a model"));
    m_stage->setForegroundRole(QPalette::PlaceholderText);
    m_stage->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_stage->setMinimumWidth(0);
    m_note->hide();
    m_bar->setTextVisible(false);
    m_bar->setFixedHeight(6);
    m_bar->setAccessibleName(tr("Progress of loading"));
    m_cancel->setAccessibleName(tr("Cancel loading"));
    connect(m_cancel, &QPushButton::clicked, this, &LoadBanner::cancelRequested);
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(24, 10, 24, 10);
    grid->setHorizontalSpacing(16);
    grid->setVerticalSpacing(6);
    grid->addWidget(m_title, 0, 0);
    grid->addWidget(m_stage, 0, 1);
    grid->addWidget(m_bar, 1, 0, 1, 2);
    grid->addWidget(m_cancel, 0, 2, 2, 1);
    grid->addWidget(m_note, 2, 0, 1, 3);
    grid->setColumnStretch(1, 1);
}

void LoadBanner::start(const QString& model) {
    m_title->setText(tr("Opening %1").arg(fontMetrics().elidedText(modelNameOf(model), Qt::ElideMiddle, 280)));
    m_stage->clear();
    m_note->clear();
    m_note->hide();
    m_bar->setRange(0, 0);
    m_cancel->setEnabled(true);
}

void LoadBanner::setProgress(const engine::LoadProgress& progress) {
    if (!progress.note.empty()) {
        m_note->setText(engineText(progress.note));
        m_note->show();
        return;
    }
    QString stage = engineText(progress.stage);
    if (progress.bytes_total > 0) {
        constexpr int kSteps = 1000;
        const double share = static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes_total);
        stage += progress.counts_bytes
                     ? tr(" · %1 of %2").arg(bytesText(progress.bytes_done), bytesText(progress.bytes_total))
                     : QStringLiteral(" · %1 %").arg(static_cast<int>(100 * share));
        m_bar->setRange(0, kSteps);
        m_bar->setValue(static_cast<int>(share * kSteps));
    } else {
        m_bar->setRange(0, 0);
    }
    m_stage->setText(stage);
}

void LoadBanner::setCancelling() {
    m_cancel->setEnabled(false);
    m_stage->setText(tr("Cancelling…"));
}

}  // namespace offstage::ui
