#include "ui/load/open_model_dialog.h"

#include <tuple>

#include <QDialogButtonBox>
#include <QDir>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScreen>
#include <QSplitter>
#include <QTimer>

#include "ui/base/delay.h"
#include "ui/base/save_file.h"
#include "ui/base/settings.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/kept_context.h"
#include "ui/load/fit_view.h"
#include "ui/load/local_model_view.h"
#include "ui/load/local_models.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/file_choice.h"
#include "ui/widgets/panel_area.h"

namespace offstage::ui {

namespace {

constexpr int kLeastOptions = 24;   // letters
constexpr int kOfferDelayMs = 600;  // an estimate of each model that is offered is more work than one
constexpr int kPartsGap = 14;
constexpr int kSideBySide = 84;  // characters: a narrower dialog has the list above the choices

// Where a choice begins before the first one: beside the model that is named, or else in
// a folder where models are looked for.
QString modelsBeside(const QString& model) {
    const QFileInfo named(model);
    const bool isPlace = named.isAbsolute() || (!model.isEmpty() && named.exists());
    return isPlace ? named.absolutePath() : settings::kModelFolders.value().value(0);
}

}  // namespace

engine::FitHeld heldBy(const EngineController& engine) {
    engine::FitHeld held;
    const auto snapshot = engine.snapshot();
    if (!engine.model() || !snapshot) {
        return held;
    }
    held.device = engine.model()->device;
    held.vram_bytes = snapshot->vram.used();
    held.ram_bytes = snapshot->ram.used();
    if (engine.model()->emulated) {
        held.ram_bytes += held.vram_bytes;
    }
    return held;
}

OpenModelDialog::OpenModelDialog(const EngineController& engine, QWidget* parent)
    : QDialog(parent),
      m_engine(engine),
      m_path(new QLineEdit),
      m_view(new FitView),
      m_area(new PanelArea(m_view)),
      m_open(new QPushButton(tr("&Open"))),
      m_parts(new QSplitter) {
    setWindowTitle(tr("Open a model with options"));
    m_path->setAccessibleName(tr("Folder or file of the model"));
    m_path->setPlaceholderText(tr("GGUF file, or folder with config.json and *.safetensors"));
    m_path->setClearButtonEnabled(true);
    auto* label = labelOf(m_path, tr("&Model"));
    auto* file = new QPushButton(tr("&File…"));
    file->setToolTip(tr("Choose a GGUF file, or the config.json of a model's folder"));
    file->setAutoDefault(false);
    auto* folder = new QPushButton(tr("Fo&lder…"));
    folder->setToolTip(tr("Choose the folder of a model as published: config.json and *.safetensors"));
    folder->setAutoDefault(false);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    buttons->addButton(m_open, QDialogButtonBox::AcceptRole);
    m_open->setDefault(true);
    buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);

    m_area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_area->setMinimumWidth(kLeastOptions * fontMetrics().horizontalAdvance(u'x'));  // its texts wrap
    m_parts->addWidget(m_area);
    m_parts->setChildrenCollapsible(false);
    m_parts->setHandleWidth(kPartsGap);
    columnOf(this, {rowOf({label, {m_path, 1}, file, folder}), {m_parts, 1}, buttons}, apart(12));
    resize(620, 640);

    engine::LoadRequest request = engine.loadRequest();
    request.drill = {};
    request.kept_context = KeptContext::tokens();
    request.drafts = engine::DraftMode::kAuto;  // ModelOpener's: the layer that drafts takes memory
    m_view->setHeld(heldBy(engine));
    m_view->setRequest(request);
    m_path->setText(QString::fromStdString(request.model));
    // After each letter the old result does not apply any more.
    connect(m_path, &QLineEdit::textChanged, this, [this](const QString& model) {
        if (model.toStdString() != m_view->request().model) {
            m_view->setModel(model);
        }
    });
    const auto chosen = [this](const QString& model) { setModel(model); };
    connect(file, &QPushButton::clicked, this, [this, chosen] { chooseModelFile(this, chosen, m_path->text()); });
    connect(folder, &QPushButton::clicked, this, [this, chosen] { chooseModelFolder(this, chosen, m_path->text()); });
    connect(m_view, &FitView::changed, this, &OpenModelDialog::refresh);
    m_view->setMayMeasure(!engine.isAnswering());
    connect(&engine, &EngineController::stateChanged, m_view,
            [this, &engine] { m_view->setMayMeasure(!engine.isAnswering()); });
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    refresh();
}

void OpenModelDialog::setModel(const QString& model) {
    m_path->setText(model);
    if (model.toStdString() != m_view->request().model) {
        m_view->setModel(model);
    }
}

engine::LoadRequest OpenModelDialog::request() const {
    return m_view->request();
}

void OpenModelDialog::offer(LocalModels& models) {
    m_offered = new LocalModelView(models, LocalModelView::Extent::All);
    m_parts->insertWidget(0, m_offered);
    m_parts->setStretchFactor(0, 2);
    m_parts->setStretchFactor(1, 3);
    resize(QSize(960, 640).boundedTo(screen()->availableSize()));
    arrange();
    m_estimates = new QTimer(this);
    callAfter(*m_estimates, kOfferDelayMs, this,
              [this, &models] { models.estimate(m_view->requestForOthers(), heldBy(m_engine)); });
    // The named model does not affect those of the list.
    const auto choices = [this] {
        const engine::LoadRequest now = m_view->requestForOthers();
        return std::tuple(now.device, now.vram_bytes, now.ram_bytes, now.context, now.kv, now.quality.min_mean_bits,
                          now.quality.max_loss, now.quality.max_kl, now.quant.experts, now.cache,
                          now.neuron_cache_bytes);
    };
    connect(m_view, &FitView::changed, this, [this, choices, last = choices(), wasMeasuring = false]() mutable {
        const bool isMeasured = wasMeasuring && !m_view->isMeasuring();  // which may improve the others' estimates too
        wasMeasuring = m_view->isMeasuring();
        if (last != choices() || isMeasured) {
            last = choices();
            m_estimates->start();
        }
    });
    connect(m_offered, &LocalModelView::chosen, this, &OpenModelDialog::setModel);
    connect(m_offered, &LocalModelView::opened, this, [this](const QString& model) {
        setModel(model);
        if (m_open->isEnabled()) {
            accept();
        }
    });
    const auto mark = [this] { m_offered->setCurrent(m_path->text()); };
    connect(m_path, &QLineEdit::textChanged, m_offered, mark);
    connect(&models, &QAbstractItemModel::modelReset, m_offered, mark);
    mark();
    models.search();
    models.estimate(m_view->requestForOthers(), heldBy(m_engine));
}

void OpenModelDialog::showTemplate() {
    m_view->chatTemplate().setFocus(Qt::OtherFocusReason);
    QMetaObject::invokeMethod(
        m_area, [this] { m_area->ensureWidgetVisible(&m_view->chatTemplate()); }, Qt::QueuedConnection);
}

void OpenModelDialog::arrange() {
    const bool isWide = width() >= kSideBySide * fontMetrics().averageCharWidth();
    m_parts->setOrientation(isWide ? Qt::Horizontal : Qt::Vertical);
}

void OpenModelDialog::resizeEvent(QResizeEvent* event) {
    QDialog::resizeEvent(event);
    arrange();
}

void chooseModelFile(QWidget* parent, const std::function<void(const QString&)>& chosen, const QString& model) {
    const QStringList filters{
        OpenModelDialog::tr("Models (%1)").arg(QStringLiteral("*.gguf *.GGUF *.bin *.ggml config.json *.safetensors")),
        OpenModelDialog::tr("All files (%1)").arg(QStringLiteral("*"))};
    const auto take = [chosen](const QString& path) {
        const QFileInfo file(path);
        const bool isOfFolder =
            file.fileName() == QStringLiteral("config.json") || file.suffix() == QStringLiteral("safetensors");
        chosen(isOfFolder ? file.path() : path);
    };
    openFileDialog(parent, OpenModelDialog::tr("Open a model"), filters, settings::kLastFolder, take,
                   modelsBeside(model));
}

void chooseModelFolder(QWidget* parent, const std::function<void(const QString&)>& chosen, const QString& model) {
    openFolderDialog(parent, OpenModelDialog::tr("Open the folder of a model"), settings::kLastFolder, chosen,
                     modelsBeside(model));
}

// Opening what does not fit would end in the same sentence after a long wait.
void OpenModelDialog::refresh() {
    m_open->setEnabled(m_view->fits());
    m_open->setToolTip(m_view->fits() ? tr("Load the model this way") : m_view->verdict());
}

}  // namespace offstage::ui
