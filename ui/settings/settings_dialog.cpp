#include "ui/settings/settings_dialog.h"

#include <algorithm>

#include <QComboBox>
#include <QDesktopServices>
#include <QDialogButtonBox>
#include <QListWidget>
#include <QPushButton>
#include <QStackedWidget>
#include <QUrl>

#include "ui/help/help_pages.h"
#include "ui/server/local_server_page.h"
#include "ui/settings/appearance_page.h"
#include "ui/settings/conversations_page.h"
#include "ui/settings/keys_page.h"
#include "ui/settings/memory_page.h"
#include "ui/settings/storage_page.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/panel_area.h"

namespace offstage::ui {

namespace {

constexpr QSize kSettingsSize{760, 520};
constexpr int kListedWidth = 680;              // with less the list would take the pages' room: a box stands above them
constexpr QSize kLeastSettingsSize{480, 360};  // within the smallest main window

}  // namespace

SettingsDialog::SettingsDialog(const Subjects& subjects, QWidget* parent)
    : QDialog(parent),
      m_choice(new QComboBox),
      m_list(new QListWidget),
      m_stack(new QStackedWidget),
      m_appearance(new AppearancePage(subjects.appearance)),
      m_keys(new KeysPage(subjects.keys)),
      m_server(new LocalServerPage(subjects.server)),
      m_memory(new MemoryPage(subjects.engine)),
      m_storage(new StoragePage(subjects.conversations)) {
    setWindowTitle(tr("Settings"));
    m_choice->setAccessibleName(tr("Subjects"));
    m_list->setAccessibleName(tr("Subjects"));
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    add(tr("Appearance"), new PanelArea(m_appearance));
    add(tr("Conversations"), new PanelArea(new ConversationsPage));
    add(tr("Keys"), m_keys);
    add(tr("Memory"), new PanelArea(m_memory));
    add(tr("Local server"), new PanelArea(m_server));
    add(tr("Storage"), m_storage);
    m_list->setFixedWidth(m_list->sizeHintForColumn(0) + 40);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    buttons->button(QDialogButtonBox::Close)->setAutoDefault(false);  // Enter ends the typing of a number
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    columnOf(this, {{m_choice, 0, Qt::AlignLeft}, {rowOf({m_list, {m_stack, 1}}, apart(16)), 1}, buttons});
    connect(m_list, &QListWidget::currentRowChanged, m_stack, &QStackedWidget::setCurrentIndex);
    connect(m_list, &QListWidget::currentRowChanged, m_choice, &QComboBox::setCurrentIndex);
    connect(m_choice, &QComboBox::currentIndexChanged, m_list, [this](int row) { m_list->setCurrentRow(row); });
    connect(m_storage, &StoragePage::folderRequested, this,
            [](const QString& folder) { QDesktopServices::openUrl(QUrl::fromLocalFile(folder)); });
    setHelpPage(*this, QStringLiteral("settings"));
    setHelpPage(*m_keys, QStringLiteral("keys"));
    setHelpPage(*m_server, QStringLiteral("server"));
    m_storage->setModelFolders(subjects.addedModels, subjects.othersModels);
    m_list->setCurrentRow(0);
    setMinimumSize(kLeastSettingsSize);
    resize(parent == nullptr ? kSettingsSize : kSettingsSize.boundedTo(parent->size() - QSize(24, 24)));
    placeList();
}

void SettingsDialog::resizeEvent(QResizeEvent* event) {
    QDialog::resizeEvent(event);
    placeList();
}

void SettingsDialog::placeList() {
    const bool listed = width() >= kListedWidth;
    m_list->setVisible(listed);
    m_choice->setVisible(!listed);
}

void SettingsDialog::add(const QString& name, QWidget* page) {
    auto* item = new QListWidgetItem(name, m_list);
    item->setSizeHint({m_list->fontMetrics().horizontalAdvance(name) + 12, m_list->fontMetrics().height() + 12});
    m_choice->addItem(name);
    m_stack->addWidget(page);
}

void SettingsDialog::showPage(Page page) {
    m_list->setCurrentRow(static_cast<int>(page));
}

SettingsDialog::Page SettingsDialog::page() const {
    return static_cast<Page>(std::max(0, m_list->currentRow()));
}

}  // namespace offstage::ui
