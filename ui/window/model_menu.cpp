#include "ui/window/model_menu.h"

#include <QToolButton>

#include "ui/engine/engine_controller.h"
#include "ui/engine/format.h"
#include "ui/load/local_models.h"
#include "ui/load/open_model_dialog.h"
#include "ui/widgets/fields.h"
#include "ui/window/model_opener.h"

namespace offstage::ui {

namespace {

constexpr int kMostFound = 12;  // the dialog has all of them

}  // namespace

ModelMenu::ModelMenu(EngineController& engine, ModelOpener& opener, QWidget* parent)
    : QMenu(tr("&Models"), parent), m_engine(engine), m_opener(opener), m_button(new QToolButton) {
    setToolTipsVisible(true);
    m_button->setAccessibleName(tr("Model"));
    m_button->setPopupMode(QToolButton::InstantPopup);
    m_button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    m_button->setMenu(this);
    setWeight(*m_button, QFont::DemiBold);
    // Made anew each time: a disk may have come or gone. The search goes on behind it.
    connect(this, &QMenu::aboutToShow, this, [this] {
        list();
        if (LocalModels* const local = m_opener.local(); local != nullptr && !local->isSearching()) {
            local->search();
        }
    });
    if (m_opener.local() != nullptr) {
        connect(m_opener.local(), &QAbstractItemModel::modelReset, this, &ModelMenu::listAgain);
    }
    connect(&m_engine, &EngineController::stateChanged, this, &ModelMenu::refreshButton);
    connect(&m_engine, &EngineController::modelLoaded, this, &ModelMenu::refreshButton);
    list();
    refreshButton();
}

void ModelMenu::open() {
    const QWidget& place = m_button->isVisible() ? *m_button : *parentWidget();
    popup(place.mapToGlobal(m_button->isVisible() ? place.rect().bottomLeft() : QPoint()));
    for (QAction* action : actions()) {
        if (!action->isSeparator() && action->isEnabled()) {
            setActiveAction(action);
            break;
        }
    }
}

void ModelMenu::list() {
    clear();
    listRecent();
    listFound();
    addSeparator();
    addAction(tr("Open a &file…"), &m_opener, &ModelOpener::choose);
    addAction(tr("Open a fol&der…"), &m_opener, [this] {
        chooseModelFolder(
            parentWidget(), [this](const QString& path) { m_opener.open(path); }, m_opener.recent().models().value(0));
    });
    addAction(tr("What &runs here…"), &m_opener, &ModelOpener::showSuggestions);
    addAction(tr("Open with o&ptions…"), &m_opener, [this] { m_opener.openWithOptions(); });
    if (!m_opener.recent().models().isEmpty()) {
        // Queued: the chosen entry stays while its own click is handled.
        connect(addAction(tr("&Clear the list of recent models")), &QAction::triggered, &m_opener.recent(),
                &RecentModels::clear, Qt::QueuedConnection);
    }
}

// While it is open: what is chosen in it stays so.
void ModelMenu::listAgain() {
    if (!isVisible()) {
        return;
    }
    const QString chosen = activeAction() != nullptr ? activeAction()->text() : QString();
    list();
    for (QAction* action : actions()) {
        if (!chosen.isEmpty() && action->text() == chosen) {
            setActiveAction(action);
        }
    }
}

QAction* ModelMenu::add(const QString& name, const QString& path, bool missing) {
    const LocalModels* const local = m_opener.local();
    const int row = local != nullptr ? local->rowOf(path) : -1;
    const bool needsTemplate = row >= 0 && local->index(row).data(LocalModels::NeedsTemplateRole).toBool();
    QString text = missing         ? tr("%1 (missing)").arg(name)
                   : needsTemplate ? tr("%1 (needs a chat template)").arg(name)
                                   : name;
    text.replace(u'&', QStringLiteral("&&"));
    QAction* entry = addAction(text, &m_opener, [this, path] { m_opener.openListed(path); });
    entry->setToolTip(path);
    entry->setEnabled(!missing);
    entry->setCheckable(true);
    entry->setChecked(m_engine.model() && QString::fromStdString(m_engine.model()->source) == path);
    return entry;
}

void ModelMenu::listRecent() {
    addSection(tr("Opened lately"));
    for (const QString& model : m_opener.recent().models()) {
        add(modelNameOf(model), model, RecentModels::isMissing(model));
    }
    if (!m_opener.demoModel().isEmpty()) {
        add(tr("Demo model"), m_opener.demoModel(), false);
    }
}

void ModelMenu::listFound() {
    const LocalModels* const local = m_opener.local();
    const int rows = local != nullptr ? local->rowCount() : 0;
    int listed = 0;
    for (int row = 0; row < rows && listed < kMostFound; ++row) {
        const QModelIndex index = local->index(row);
        const QString path = index.data(LocalModels::PathRole).toString();
        const bool opens = index.data(LocalModels::FitRole).toInt() != static_cast<int>(LocalModel::Fit::NotSupported);
        if (!opens || m_opener.recent().models().contains(path) || path == m_opener.demoModel()) {
            continue;
        }
        if (listed++ == 0) {
            addSection(tr("Found on this computer"));
        }
        const QString verdict = index.data(LocalModels::VerdictRole).toString();
        QAction* entry = add(index.data(Qt::DisplayRole).toString(), path, false);
        entry->setToolTip(QStringList{verdict, index.data(LocalModels::FactsRole).toString(), path}.join(u'\n'));
    }
}

void ModelMenu::refreshButton() {
    const auto& model = m_engine.model();
    const bool loading = m_engine.state() == EngineController::State::Loading;
    m_button->setText(model     ? QString::fromStdString(model->name).replace(u'&', QStringLiteral("&&"))
                      : loading ? tr("Loading…")
                                : tr("No model"));
    m_button->setToolTip(
        (model ? QString::fromStdString(model->source) + u'\n' + modelText(*model) + u'\n' : QString()) +
        tr("Click for other models"));
}

}  // namespace offstage::ui
