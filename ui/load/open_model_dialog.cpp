#include "ui/load/open_model_dialog.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSettings>
#include <QVBoxLayout>

#include "ui/engine_controller.h"
#include "ui/load/fit_view.h"

namespace offstage::ui {

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
    : QDialog(parent), m_path(new QLineEdit), m_view(new FitView), m_open(new QPushButton(tr("&Open"))) {
    setWindowTitle(tr("Open a model with options"));
    m_path->setAccessibleName(tr("Folder of the model"));
    m_path->setPlaceholderText(tr("Folder with config.json and *.safetensors"));
    m_path->setClearButtonEnabled(true);
    auto* label = new QLabel(tr("&Model"));
    label->setBuddy(m_path);
    auto* browse = new QPushButton(tr("&Choose…"));
    browse->setToolTip(tr("Choose the folder of a model"));
    browse->setAutoDefault(false);
    auto* top = new QHBoxLayout;
    top->addWidget(label);
    top->addWidget(m_path, 1);
    top->addWidget(browse);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    buttons->addButton(m_open, QDialogButtonBox::AcceptRole);
    m_open->setDefault(true);
    buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);

    auto* area = new QScrollArea;
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setWidget(m_view);
    auto* column = new QVBoxLayout(this);
    column->setSpacing(12);
    column->addLayout(top);
    column->addWidget(area, 1);
    column->addWidget(buttons);
    resize(620, 640);

    engine::LoadRequest request = engine.loadRequest();
    request.drill = {};
    m_view->setHeld(heldBy(engine));
    m_view->setRequest(request);
    m_path->setText(QString::fromStdString(request.model));
    // With each letter: what was said of the path before holds no longer.
    connect(m_path, &QLineEdit::textChanged, this, [this](const QString& model) {
        if (model.toStdString() != m_view->request().model) {
            m_view->setModel(model);
        }
    });
    connect(browse, &QPushButton::clicked, this, &OpenModelDialog::choose);
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

void OpenModelDialog::choose() {
    auto* dialog = new QFileDialog(this, tr("Open the folder of a model"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setDirectory(QSettings().value(QStringLiteral("lastFolder"), QDir::homePath()).toString());
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        QSettings().setValue(QStringLiteral("lastFolder"), QFileInfo(path).path());
        setModel(path);
    });
    dialog->open();
}

// Opening what does not fit would end in the same sentence after a long wait.
void OpenModelDialog::refresh() {
    m_open->setEnabled(m_view->fits());
    m_open->setToolTip(m_view->fits() ? tr("Load the model this way") : m_view->verdict());
}

}  // namespace offstage::ui
