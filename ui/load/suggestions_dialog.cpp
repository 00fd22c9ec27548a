#include "ui/load/suggestions_dialog.h"

#include <algorithm>

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>
#include <QScreen>
#include <QSortFilterProxyModel>
#include <QTableView>

#include "ui/engine/engine_controller.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/load/open_model_dialog.h"
#include "ui/load/suggested_models.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/fitting_columns.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/table_rows.h"

namespace offstage::ui {

namespace {

constexpr int kNameLetters = 18;

// By what they are good for, and whether they have room.
class ShownSuggestions : public QSortFilterProxyModel {
  public:
    using QSortFilterProxyModel::QSortFilterProxyModel;

    void choose(const QString& use, bool all) {
        m_use = use;
        m_all = all;
        invalidateFilter();
    }

  protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override {
        const auto& models = static_cast<const SuggestedModels&>(*sourceModel());
        const bool isWanted = m_use.isEmpty() || models.at(row).model.good_for == m_use.toStdString();
        return isWanted && (m_all || sourceModel()->index(row, 0, parent).data(SuggestedModels::HasRoomRole).toBool());
    }

  private:
    QString m_use;
    bool m_all = false;
};

QString addressOf(const std::string& repository) {
    return QStringLiteral("https://huggingface.co/%1").arg(QString::fromStdString(repository));
}

}  // namespace

SuggestionsDialog::SuggestionsDialog(const EngineController& engine, const engine::LoadRequest& load,
                                     std::vector<engine::FoundModel> found, QWidget* parent)
    : QDialog(parent),
      m_engine(engine),
      m_found(std::move(found)),
      m_models(new SuggestedModels(this)),
      m_shown(new ShownSuggestions(this)),
      m_use(new QComboBox),
      m_all(new QCheckBox(tr("Also &those without room"))),
      m_table(new QTableView),
      m_facts(textLabel(tr("The chosen model"))),
      m_status(mutedLabel(tr("State"))),
      m_progress(new QProgressBar),
      m_measure(new QPushButton),
      m_copy(new QPushButton(tr("&Copy address"))),
      m_get(new QPushButton(tr("&Get…"))),
      m_open(new QPushButton(tr("&Open"))) {
    setWindowTitle(tr("What runs here"));
    m_request.load = load;
    m_request.load.model.clear();
    m_use->addItem(tr("All models"), QString());
    m_use->addItem(tr("Chat"), QStringLiteral("chat"));
    m_use->addItem(tr("Code"), QStringLiteral("code"));
    m_use->addItem(tr("Reasoning"), QStringLiteral("reasoning"));
    m_use->setAccessibleName(tr("Good for"));
    m_shown->setSourceModel(m_models);
    m_shown->setSortRole(SuggestedModels::SortRole);
    m_table->setModel(m_shown);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setSortingEnabled(true);
    m_table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);  // as they are suggested
    m_columns =
        new FittingColumns(*m_table, kNameLetters * fontMetrics().averageCharWidth(), SuggestedModels::FirstWord + 1);
    showRows(*m_table, tr("Models of today"));
    fitColumns();  // whole heads, before there is a row
    m_facts->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_facts->setMinimumHeight(3 * fontMetrics().lineSpacing());
    m_facts->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_progress->setTextVisible(false);
    m_progress->setAccessibleName(tr("Progress"));
    m_progress->setRange(0, 1000);
    keepRoom(*m_progress);
    m_copy->setToolTip(tr("The address at which the model is published; Offstage asks nothing of the network"));
    m_get->setToolTip(
        tr("Reads this file's headers where it is published and shows what it would take here; nothing is downloaded "
           "before you say so"));
    auto* downloads = new QPushButton(tr("&Downloads…"));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    for (QPushButton* button : {downloads, m_copy, m_get, m_open}) {
        buttons->addButton(button, QDialogButtonBox::ActionRole);
    }
    for (QPushButton* button :
         {m_measure, downloads, m_copy, m_get, m_open, buttons->button(QDialogButtonBox::Close)}) {
        button->setAutoDefault(false);  // Enter is the table's
    }
    auto* about = mutedLabel();
    about->setText(
        load.device.starts_with("emulated:")
            ? tr("Forecasts for this computer with the emulated GPU, for a prompt that fills a context of 8,192 or "
                 "32,768 tokens. They are the ones that a model has once it is here.")
            : tr("Forecasts for this computer, for a prompt that fills a context of 8,192 or 32,768 tokens. "
                 "They are the ones that a model has once it is here."));
    columnOf(this,
             {about,
              rowOf({m_use, m_all, Stretch{}, m_measure}, apart(12)),
              {m_table, 1},
              m_facts,
              rowOf({{m_status, 1}, m_progress}),
              buttons},
             apart(10));
    resize(QSize(1040, 620).boundedTo(screen()->availableSize()));

    const auto filter = [this] {
        static_cast<ShownSuggestions*>(m_shown)->choose(m_use->currentData().toString(), m_all->isChecked());
        fitColumns();
        refresh();
    };
    connect(m_use, &QComboBox::currentIndexChanged, this, filter);
    connect(m_all, &QCheckBox::toggled, this, filter);
    connect(m_models, &SuggestedModels::progressed, this, [this](const QString& model, double share) {
        m_progress->setValue(static_cast<int>(1000 * share));
        if (m_models->isMeasuring() && !m_measure->isEnabled()) {
            return;  // it is being cancelled
        }
        m_status->setText(m_models->isMeasuring() ? tr("Measuring: %1").arg(model) : tr("Planning: %1").arg(model));
    });
    connect(m_models, &SuggestedModels::finished, this, [this](const engine::Message& problem) {
        fitColumns();
        if (!m_table->currentIndex().isValid()) {
            selectChosen();
        }
        refresh();
        if (!problem.empty()) {
            m_status->setText(engineText(problem));
        }
    });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this, &SuggestionsDialog::showChosen);
    connect(m_models, &QAbstractItemModel::modelReset, this, &SuggestionsDialog::showChosen);
    connect(m_table, &QTableView::activated, this, &SuggestionsDialog::act);
    connect(m_open, &QPushButton::clicked, this, &SuggestionsDialog::act);
    // Measuring would go on below Downloads, where nobody can cancel it, beside a download.
    for (QPushButton* button : {downloads, m_get}) {
        connect(button, &QPushButton::clicked, m_models, &SuggestedModels::cancelMeasuring);
    }
    connect(downloads, &QPushButton::clicked, this, &SuggestionsDialog::downloadsRequested);
    connect(m_get, &QPushButton::clicked, this, [this] {
        const engine::Suggestion* const model = current();
        if (model != nullptr) {
            const std::string& gguf = model->model.gguf;
            Q_EMIT wanted(QString::fromStdString(gguf.empty() ? model->model.repository
                                                              : gguf + ':' + engine::file_type_name(model->type)));
        }
    });
    connect(m_copy, &QPushButton::clicked, this, [this] {
        const engine::Suggestion* const model = current();
        if (model != nullptr) {
            const std::string& gguf = model->model.gguf;
            QGuiApplication::clipboard()->setText(addressOf(gguf.empty() ? model->model.repository : gguf));
        }
    });
    connect(m_measure, &QPushButton::clicked, this,
            [this] { m_models->isMeasuring() ? cancelMeasuring() : look(true); });
    connect(&engine, &EngineController::stateChanged, this, &SuggestionsDialog::refresh);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    look(false);
}

// One plan takes seconds on a busy computer: the window would stand still for so long.
SuggestionsDialog::~SuggestionsDialog() {
    m_models->letGo();
}

void SuggestionsDialog::setFound(std::vector<engine::FoundModel> found) {
    const auto isSame = [](const engine::FoundModel& one, const engine::FoundModel& other) {
        return one.path == other.path && one.bytes == other.bytes && one.supported() == other.supported();
    };
    if (std::ranges::equal(found, m_found, isSame)) {
        return;  // a measurement that runs goes on
    }
    m_found = std::move(found);
    look(m_models->isMeasuring());  // what was measured is kept
}

// Columns without a figure in the rows that are shown give names their room.
void SuggestionsDialog::fitColumns() {
    bool hasLong = m_shown->rowCount() == 0;
    for (int row = 0; row < m_shown->rowCount() && !hasLong; ++row) {
        hasLong = m_models->hasLongForecast(m_shown->mapToSource(m_shown->index(row, 0)).row());
    }
    for (const int column : {SuggestedModels::LongSpeed, SuggestedModels::LongFirstWord}) {
        m_columns->leaveOut(column, !hasLong);
    }
    m_columns->fitContents();
}

void SuggestionsDialog::look(bool measure) {
    m_request.measure = measure;
    m_request.held = heldBy(m_engine);
    m_models->look(m_request, m_found);
    refresh();
    m_status->setText(tr("Planning…"));
}

const engine::Suggestion* SuggestionsDialog::current() const {
    const QModelIndex index = m_shown->mapToSource(m_table->currentIndex());
    return index.isValid() ? &m_models->at(index.row()) : nullptr;
}

void SuggestionsDialog::cancelMeasuring() {
    m_models->cancelMeasuring();
    m_measure->setEnabled(false);
    m_status->setText(tr("Cancelling…"));
}

void SuggestionsDialog::act() {
    const engine::Suggestion* const model = current();
    if (model != nullptr && !model->here.empty()) {
        const QString path = QString::fromStdString(model->here.string());
        accept();
        Q_EMIT chosen(path);
    }
}

void SuggestionsDialog::refresh() {
    const int unknown = m_models->unknown();
    const bool measuring = m_models->isMeasuring();
    m_progress->setVisible(m_models->isLooking());
    m_measure->setText(measuring ? tr("Cancel &measuring") : tr("&Measure speeds"));
    m_measure->setEnabled(measuring || (!m_models->isLooking() && unknown > 0 && !m_engine.isAnswering()));
    m_measure->setToolTip(
        m_engine.isAnswering() ? tr("Not while an answer is being written: it would disturb the times")
        : unknown > 0          ? tr("Measures this computer with random weights of each shape, some seconds each, and "
                                             "keeps the times")
                               : tr("All speeds are known"));
    if (!m_models->isLooking()) {
        m_status->setText(m_shown->rowCount() == 0
                              ? tr("None of these models has room here. “Also those without room” says what is missing")
                          : unknown > 0 ? tr("%n model(s) have room whose speed was not measured yet", nullptr, unknown)
                                        : QString());
    }
    showChosen();
}

void SuggestionsDialog::selectChosen() {
    int row = m_shown->rowCount() - 1;
    while (row > 0 && m_models->at(m_shown->mapToSource(m_shown->index(row, 0)).row()).model.name != m_chosen) {
        --row;
    }
    m_table->selectRow(row);
}

void SuggestionsDialog::showChosen() {
    const engine::Suggestion* const model = current();
    m_copy->setEnabled(model != nullptr);
    m_get->setEnabled(model != nullptr && model->here.empty());
    m_open->setEnabled(model != nullptr && !model->here.empty());
    m_open->setToolTip(m_open->isEnabled() ? QString::fromStdString(model->here.string())
                                           : tr("Only a model that is on this computer can be opened"));
    if (model == nullptr) {
        m_facts->clear();
        return;
    }
    m_chosen = model->model.name;
    QStringList facts{tr("%1: %2 weights, %3 of them read for each token; context of %4 tokens; licence %5.")
                          .arg(QString::fromStdString(model->model.name), countText(model->total_weights),
                               countText(model->active_weights), QLocale().toString(qlonglong(model->model.context)),
                               QString::fromStdString(model->model.licence)),
                      tr("Published at %1").arg(addressOf(model->model.repository))};
    if (!model->model.gguf.empty()) {
        facts << tr("GGUF files at %1").arg(addressOf(model->model.gguf));
    }
    m_facts->setText(facts.join(u'\n'));
}

}  // namespace offstage::ui
