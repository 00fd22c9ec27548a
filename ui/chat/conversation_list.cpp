#include "ui/chat/conversation_list.h"

#include <QDir>
#include <QDrag>
#include <QDropEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMainWindow>
#include <QMenu>
#include <QRegularExpression>
#include <QTimer>
#include <QToolButton>

#include "ui/base/save_file.h"
#include "ui/base/settings.h"
#include "ui/chat/input_bar.h"
#include "ui/history/conversation_delegate.h"
#include "ui/history/conversation_files.h"
#include "ui/history/conversation_list_model.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kTypingPauseMs = 120;    // saves a search for each key of a fast typist
constexpr int kListNoticeMs = 10'000;  // of a notice without Undo
constexpr int kAboveEmptyText = 24;    // where the list is not low
constexpr int kBesidePointer = 14;     // pixels to what is dragged
constexpr int kAroundSearch = 16;      // frame, margins and the cursor

// Its name; empty: the row is a conversation.
QString folderAt(const QModelIndex& index) {
    return index.data(ConversationListModel::ConversationRole).toULongLong() == 0
               ? index.data(ConversationListModel::FolderRole).toString()
               : QString();
}

// Its rows are of different heights, which follow from their neighbours. A row that is
// dragged is moved by the model alone: Qt's view would clear or remove it as well.
class SectionedView : public QListView {
  public:
    void layOutSoon() { scheduleDelayedItemsLayout(); }

  protected:
    void startDrag(Qt::DropActions actions) override {
        auto* drag = new QDrag(this);
        drag->setMimeData(model()->mimeData({currentIndex()}));
        drag->setPixmap(viewport()->grab(visualRect(currentIndex())));
        drag->setHotSpot({-kBesidePointer, -kBesidePointer});  // the row below the pointer stays to be seen
        drag->exec(actions, Qt::MoveAction);
    }
    void dropEvent(QDropEvent* event) override { QAbstractItemView::dropEvent(event); }
};

}  // namespace

ConversationList::ConversationList(ChatController& chat, QWidget* parent)
    : QWidget(parent),
      m_chat(chat),
      m_model(new ConversationListModel(chat.conversations(), this)),
      m_search(new QLineEdit),
      m_archived(new QToolButton),
      m_view(new SectionedView),
      m_empty(new QLabel),
      m_bar(new QWidget),
      m_notice(textLabel()),
      m_undo(new QToolButton),
      m_noticeTime(new QTimer(this)) {
    m_search->setPlaceholderText(tr("Search"));
    describe(*m_search, tr("Search all conversations"));
    m_search->setClearButtonEnabled(true);
    fitSearch();
    m_search->installEventFilter(this);
    m_archived->setText(tr("Archive"));
    m_archived->setCheckable(true);
    m_archived->setAutoRaise(true);
    m_archived->setToolTip(tr("Show the archived conversations"));
    m_archived->setFocusPolicy(Qt::TabFocus);

    m_view->setModel(m_model);
    m_view->setItemDelegate(new ConversationDelegate(m_view));
    m_view->setAccessibleName(tr("Conversations"));
    m_view->setFrameShape(QFrame::NoFrame);
    m_view->setEditTriggers(QAbstractItemView::EditKeyPressed);
    m_view->setContextMenuPolicy(Qt::CustomContextMenu);
    m_view->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_view->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_view->installEventFilter(this);
    m_view->setDragDropMode(QAbstractItemView::DragDrop);
    m_view->setDragDropOverwriteMode(true);  // onto rows, never between them
    m_view->setDefaultDropAction(Qt::MoveAction);
    m_empty->setWordWrap(true);
    m_empty->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
    m_empty->setForegroundRole(QPalette::PlaceholderText);
    m_empty->setContentsMargins(16, 0, 16, 0);
    m_empty->setAttribute(Qt::WA_TransparentForMouseEvents);
    auto* empty = columnOf(m_view->viewport(), {m_empty, Stretch{}}, flush(0));
    empty->insertSpacerItem(0, new QSpacerItem(0, kAboveEmptyText, QSizePolicy::Minimum, QSizePolicy::Maximum));

    m_noticeTime->setSingleShot(true);
    m_noticeTime->setInterval(kListNoticeMs);
    connect(m_noticeTime, &QTimer::timeout, m_bar, &QWidget::hide);
    m_undo->setText(tr("Undo"));
    auto* close = new QToolButton;
    close->setText(QStringLiteral("✕"));
    close->setAutoRaise(true);
    close->setAccessibleName(tr("Close this notice"));
    rowOf(m_bar, {{m_notice, 1}, m_undo, close}, inset(12, 6, 8, 8));
    m_bar->hide();

    columnOf(this, {rowOf({{m_search, 1}, m_archived}, inset(8, 8, 8, 4, 4)), {m_view, 1}}, flush(0));
    // Shown over the list, not below it: nothing moves when it appears or disappears.
    m_bar->setParent(this);
    m_bar->setAutoFillBackground(true);
    m_bar->setBackgroundRole(QPalette::AlternateBase);
    m_bar->hide();

    auto* pause = new QTimer(this);
    pause->setSingleShot(true);
    pause->setInterval(kTypingPauseMs);
    connect(m_search, &QLineEdit::textChanged, pause, qOverload<>(&QTimer::start));
    connect(m_search, &QLineEdit::textChanged, this, &ConversationList::searchChanged);
    connect(pause, &QTimer::timeout, this, [this] { m_model->setQuery(m_search->text()); });
    connect(m_archived, &QToolButton::toggled, m_model, &ConversationListModel::setShowArchived);
    connect(m_view, &QListView::clicked, this, &ConversationList::openIndex);
    connect(m_view, &QWidget::customContextMenuRequested, this, &ConversationList::showMenu);
    connect(m_undo, &QToolButton::clicked, this, &ConversationList::undoRemove);
    connect(close, &QToolButton::clicked, m_bar, &QWidget::hide);
    connect(&m_chat, &ChatController::currentChanged, this, &ConversationList::showCurrent);
    connect(&m_chat, &ChatController::queueChanged, this, &ConversationList::refreshActivities);
    connect(&m_chat, &ChatController::waitingChanged, this, &ConversationList::refreshActivities);
    for (const auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved}) {
        connect(m_model, signal, this, [this] {
            refreshEmptyText();
            refreshSelection();
        });
    }
    connect(m_model, &QAbstractItemModel::modelReset, this, [this] {
        refreshEmptyText();
        refreshSelection();
    });
    auto* view = static_cast<SectionedView*>(m_view);
    // A row may become the first of its section, and so higher, when its neighbours
    // change.
    for (const auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved}) {
        connect(m_model, signal, view, [view] { view->layOutSoon(); });
    }
    connect(m_model, &QAbstractItemModel::rowsMoved, view, [view] { view->layOutSoon(); });
    connect(m_model, &QAbstractItemModel::dataChanged, view,
            [view](const QModelIndex&, const QModelIndex&, const QList<int>& roles) {
                if (roles.isEmpty()) {
                    view->layOutSoon();
                }
            });
    refreshEmptyText();
    refreshSelection();
}

QString ConversationList::notice() const {
    return m_bar->isHidden() ? QString() : m_notice->text();
}

void ConversationList::say(const QString& text, bool offerUndo) {
    m_notice->setText(text);
    m_undo->setVisible(offerUndo);
    m_bar->show();
    if (offerUndo) {
        m_noticeTime->stop();
    } else {
        m_noticeTime->start();
    }
    placeNotice();
}

void ConversationList::placeNotice() {
    const int height =
        m_bar->layout()->hasHeightForWidth() ? m_bar->layout()->heightForWidth(width()) : m_bar->sizeHint().height();
    m_bar->setGeometry(0, this->height() - height, width(), height);
    m_bar->raise();
}

void ConversationList::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    placeNotice();
}

ConversationId ConversationList::currentId() const {
    return m_view->currentIndex().data(ConversationListModel::ConversationRole).toULongLong();
}

// A search that does not list the conversation that is shown now ends.
void ConversationList::showCurrent() {
    if (m_model->isSearching() && currentId() != m_chat.current()) {
        const int row = m_model->rowOf(m_chat.current());
        if (row < 0) {
            m_search->clear();
            m_model->setQuery({});
        } else {
            m_view->setCurrentIndex(m_model->index(row));
        }
    }
    refreshSelection();
}

void ConversationList::refreshSelection() {
    if (m_model->isSearching() || m_view->indexWidget(m_view->currentIndex()) != nullptr) {
        return;  // the user is moving through the hits, or typing a name
    }
    const int row = m_model->rowOf(m_chat.current());
    if (row >= 0) {
        m_view->setCurrentIndex(m_model->index(row));
    } else {
        m_view->clearSelection();
        m_view->setCurrentIndex({});
    }
}

void ConversationList::refreshActivities() {
    QHash<ConversationId, QString> activities;
    int place = 0;
    for (const ChatController::Queued& each : m_chat.queue()) {
        ++place;
        activities.insert(each.conversation, each.running ? tr("Answering…") : tr("Number %1 in the queue").arg(place));
    }
    m_model->setActivities(activities);
}

void ConversationList::refreshEmptyText() {
    m_empty->setVisible(m_model->rowCount() == 0);
    m_empty->setText(m_model->isSearching()     ? tr("Nothing was found.")
                     : m_model->showsArchived() ? tr("No conversation is archived.")
                                                : tr("Your conversations will be listed here."));
}

void ConversationList::openIndex(const QModelIndex& index) {
    if (toggleFolder(index)) {
        return;
    }
    const ConversationId id = index.data(ConversationListModel::ConversationRole).toULongLong();
    const MessageId message = index.data(ConversationListModel::MessageRole).toULongLong();
    const bool isHit = m_model->isSearching();
    if (id != 0 && (id != m_chat.current() || isHit) && m_chat.openConversation(id, message)) {
        const auto place = static_cast<SearchHit::Place>(index.data(ConversationListModel::HitRole).toInt());
        Q_EMIT opened();
        if (place == SearchHit::Place::Thought) {
            Q_EMIT thoughtFound(message);
        } else if (place == SearchHit::Place::File) {
            Q_EMIT fileFound(message, m_search->text());
        } else if (isHit) {
            Q_EMIT messageFound(message, m_search->text());
        }
    }
}

void ConversationList::openNext(int step) {
    const int now = m_model->rowOf(m_chat.current());
    int next = now < 0 ? (step > 0 ? 0 : m_model->rowCount() - 1) : now + step;
    while (next >= 0 && next < m_model->rowCount() && !folderAt(m_model->index(next)).isEmpty()) {
        next += step;
    }
    if (next >= 0 && next < m_model->rowCount()) {
        openIndex(m_model->index(next));
    }
}

// False: the row is no folder.
bool ConversationList::toggleFolder(const QModelIndex& index, std::optional<bool> closed) {
    const QString folder = folderAt(index);
    if (folder.isEmpty()) {
        return false;
    }
    m_model->folders().setClosed(folder, closed.value_or(!m_model->folders().isClosed(folder)));
    m_view->setCurrentIndex(m_model->index(m_model->rowOfFolder(folder)));
    return true;
}

void ConversationList::showMenu(const QPoint& at) {
    const QModelIndex index = m_view->indexAt(at);
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    m_view->setCurrentIndex(index);
    const ConversationId id = currentId();
    if (id != 0) {
        const ConversationInfo info = m_chat.conversations().info(id);
        menu->addAction(tr("&Rename"), this, [this, id] { rename(id); });
        menu->addAction(info.pinned ? tr("Un&pin") : tr("&Pin"), this, [this, id] { togglePinned(id); });
        menu->addAction(info.archived ? tr("Take out of the &archive") : tr("&Archive"), this,
                        [this, id] { toggleArchived(id); });
        fillFolderMenu(*menu->addMenu(tr("Move to &folder")), id);
        menu->addAction(tr("&Export…"), this, [this, id] { chooseExport(id); });
        menu->addAction(tr("&Delete"), this, [this, id] { remove(id); });
        menu->addSeparator();
    } else if (index.isValid()) {
        const QString folder = folderAt(index);
        menu->addAction(tr("&Rename"), this, [this, folder] { renameFolder(folder); });
        menu->addAction(tr("&Export…"), this, [this, folder] { chooseFolderExport(folder); });
        menu->addAction(tr("&Delete the folder"), this, [this, folder] { removeFolder(folder); });
        menu->addSeparator();
    }
    menu->addAction(tr("&New conversation"), this, &ConversationList::newRequested);
    menu->addAction(tr("New f&older"), this, [this] { newFolder(); });
    menu->addAction(tr("&Import…"), this, &ConversationList::chooseImport);
    // Then the mark is at the conversation that is shown, also for the main menu.
    connect(menu, &QMenu::aboutToHide, this, &ConversationList::refreshSelection, Qt::QueuedConnection);
    menu->popup(m_view->viewport()->mapToGlobal(at));
}

ConversationId ConversationList::chosen() const {
    if (!chosenFolder().isEmpty()) {
        return 0;
    }
    const ConversationId picked = m_view->hasFocus() ? currentId() : 0;
    const ConversationId id = picked != 0 ? picked : m_chat.current();
    const QList<ConversationInfo> listed = m_chat.conversations().conversations();
    return std::any_of(listed.begin(), listed.end(), [id](const ConversationInfo& info) { return info.id == id; }) ? id
                                                                                                                   : 0;
}

void ConversationList::rename(ConversationId id) {
    // Clears the filter that hides it in the list.
    m_search->clear();
    m_model->setQuery({});
    m_archived->setChecked(m_chat.conversations().info(id).archived);
    const QString folder = m_chat.conversations().info(id).folder;
    if (!folder.isEmpty()) {
        m_model->folders().setClosed(folder, false);
    }
    edit(m_model->rowOf(id));
}

void ConversationList::edit(int row) {
    if (row >= 0) {
        m_view->setCurrentIndex(m_model->index(row));
        m_view->edit(m_model->index(row));
    }
}

QString ConversationList::chosenFolder() const {
    return m_view->hasFocus() ? folderAt(m_view->currentIndex()) : QString();
}

void ConversationList::newFolder(ConversationId first) {
    const QString name = m_model->folders().create();
    if (first != 0) {
        m_model->folders().put(first, name);
    }
    renameFolder(name);
}

void ConversationList::renameFolder(const QString& folder) {
    m_search->clear();
    m_model->setQuery({});
    m_archived->setChecked(false);
    edit(m_model->rowOfFolder(folder));
}

void ConversationList::removeFolder(const QString& folder) {
    m_removed = 0;
    m_removedFolder = folder;
    m_removedFrom = m_model->folders().conversationsOf(folder);
    m_removedClosed = m_model->folders().isClosed(folder);
    m_model->folders().remove(folder);
    say(tr("“%1” was deleted; its conversations stay").arg(folder), true);
}

void ConversationList::fillFolderMenu(QMenu& menu, ConversationId id) {
    menu.clear();
    const QString now = m_chat.conversations().info(id).folder;
    const auto add = [this, &menu, id, now](const QString& text, const QString& folder) {
        QAction* action = menu.addAction(text, this, [this, id, folder] { m_model->folders().put(id, folder); });
        action->setCheckable(true);
        action->setChecked(folder == now);
    };
    add(tr("&None"), {});
    for (const QString& folder : m_model->folders().names()) {
        add(QString(folder).replace(u'&', QStringLiteral("&&")), folder);
    }
    menu.addSeparator();
    menu.addAction(tr("New f&older"), this, [this, id] { newFolder(id); });
}

void ConversationList::togglePinned(ConversationId id) {
    History& history = m_chat.conversations();
    history.setPinned(id, !history.info(id).pinned);
}

void ConversationList::toggleArchived(ConversationId id) {
    History& history = m_chat.conversations();
    history.setArchived(id, !history.info(id).archived);
}

void ConversationList::remove(ConversationId id) {
    if (id == 0) {
        return;
    }
    m_removed = id;
    m_removedFolder.clear();
    const QString title = m_chat.conversations().info(id).title;
    m_chat.conversations().remove(id);
    say(tr("“%1” was deleted").arg(title), true);
}

void ConversationList::undoRemove() {
    if (!m_removedFolder.isEmpty()) {
        m_model->folders().restore(std::exchange(m_removedFolder, {}), m_removedFrom, m_removedClosed);
        m_bar->hide();
    }
    if (m_removed != 0) {
        const ConversationId id = std::exchange(m_removed, 0);
        m_chat.conversations().undoRemove(id);
        m_bar->hide();
        m_chat.openConversation(id);
    }
}

namespace {

QString fileNameOf(const QString& title) {
    static const QRegularExpression notInNames(QStringLiteral("[\\x00-\\x1f/\\\\:*?\"<>|]+|^[.\\s]+|[.\\s]+$"));
    return title.left(60).replace(notInNames, QStringLiteral(" ")).trimmed();
}

}  // namespace

void ConversationList::chooseExport(ConversationId id) {
    const QString title = id != 0 ? m_chat.conversations().info(id).title : tr("Conversations");
    const QStringList filters =
        id != 0 ? QStringList{tr("Markdown: as it is shown (*.md)"), tr("JSON: the whole conversation (*.json)")}
                : QStringList{tr("JSON: whole conversations (*.json)")};
    openSaveDialog(this, id != 0 ? tr("Export the conversation") : tr("Export all conversations"), filters,
                   fileNameOf(title), [this, id](const QString& file) { exportTo(file, id); });
}

void ConversationList::chooseFolderExport(const QString& folder) {
    openSaveDialog(
        this, tr("Export the folder “%1”").arg(folder), {tr("JSON: whole conversations (*.json)")}, fileNameOf(folder),
        [this, folder](const QString& file) { exportAll(file, m_model->folders().conversationsOf(folder)); });
}

void ConversationList::chooseImport() {
    openFileDialog(this, tr("Import conversations"), {tr("Conversations (*.json)")}, settings::kLastExportFolder,
                   [this](const QString& file) { importFrom(file); });
}

void ConversationList::exportTo(const QString& file, ConversationId id) {
    QList<ConversationId> ids;
    for (const ConversationInfo& info : m_chat.conversations().conversations()) {
        if (id == 0 || info.id == id) {
            ids << info.id;
        }
    }
    exportAll(file, ids);
}

void ConversationList::exportAll(const QString& file, const QList<ConversationId>& ids) {
    History& history = m_chat.conversations();
    QList<StoredConversation> chosen;
    QStringList unreadable;
    for (const ConversationId id : ids) {
        if (std::optional<StoredConversation> read = history.stored(id)) {
            read->info.draft.clear();  // not sent yet
            chosen.append(*read);
        } else {
            unreadable.append(tr("“%1”").arg(history.info(id).title));
        }
    }
    if (chosen.isEmpty()) {
        say(unreadable.isEmpty() ? tr("There is nothing to export.")
                                 : tr("Nothing was exported: %1 cannot be read.").arg(unreadable.join(u' ')));
        return;
    }
    const bool markdown = file.endsWith(QStringLiteral(".md"), Qt::CaseInsensitive);
    QByteArray content;
    if (markdown) {
        for (const StoredConversation& each : std::as_const(chosen)) {
            content += conversationToMarkdown(each).toUtf8();
        }
    } else {
        content = conversationsToJson(chosen);
    }
    const QString error = writeFile(file, content);
    if (!error.isEmpty()) {
        say(error);
        return;
    }
    const QString saved = tr("Saved as %1").arg(QDir::toNativeSeparators(file));
    say(unreadable.isEmpty() ? saved
                             : tr("%1. Not in it, because they cannot be read: %2").arg(saved, unreadable.join(u' ')));
}

void ConversationList::importFrom(const QString& file) {
    const ImportedConversations read = readConversations(file);
    if (!read.error.isEmpty()) {
        say(read.error);
        return;
    }
    ConversationId last = 0;
    for (const StoredConversation& conversation : read.conversations) {
        last = m_chat.conversations().insert(conversation);
    }
    say(tr("%n conversation(s) imported", nullptr, static_cast<int>(read.conversations.size())));
    if (last != 0 && m_chat.openConversation(last)) {
        Q_EMIT opened();
    }
}

// Whatever column is widened: what the field is for can be read.
void ConversationList::fitSearch() {
    m_search->setMinimumWidth(m_search->fontMetrics().horizontalAdvance(m_search->placeholderText()) + kAroundSearch);
}

void ConversationList::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        fitSearch();
    }
}

bool ConversationList::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride && watched == m_search && !m_search->text().isEmpty() &&
        static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        event->accept();  // ends the search, not the answer
        return true;
    }
    if (watched == m_view && event->type() == QEvent::InputMethod && qobject_cast<QMainWindow*>(window()) != nullptr) {
        Q_EMIT composed(static_cast<QInputMethodEvent*>(event));  // the list would mark another conversation
        return true;
    }
    if (event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (watched == m_search && key->key() == Qt::Key_Escape) {
            m_search->clear();
            return true;
        }
        const bool isEnter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
        if (watched == m_search && (key->key() == Qt::Key_Down || isEnter)) {
            m_model->setQuery(m_search->text());  // what was typed just now
            const bool isSearch = isEnter && m_model->isSearching();
            if (isSearch || !m_view->currentIndex().isValid()) {
                m_view->setCurrentIndex(m_model->index(0));
            }
            if (isSearch) {
                openIndex(m_view->currentIndex());
            } else {
                m_view->setFocus();
            }
            return true;
        }
        // A line edit passes Return on after handling it: while a title is edited, Return
        // ends that and opens no conversation.
        if (watched == m_view && isEnter) {
            if (m_view->indexWidget(m_view->currentIndex())) {
                return true;
            }
            openIndex(m_view->currentIndex());
            return true;
        }
        if (watched == m_view && beginsMessage(*key) && qobject_cast<QMainWindow*>(window()) != nullptr) {
            event->ignore();  // a message, which the main window takes; the list would mark another conversation
            return true;
        }
        if (watched == m_view && key->key() == Qt::Key_Delete) {
            if (const QString folder = folderAt(m_view->currentIndex()); !folder.isEmpty()) {
                removeFolder(folder);
            } else {
                remove(currentId());
            }
            return true;
        }
        if (watched == m_view && (key->key() == Qt::Key_Left || key->key() == Qt::Key_Right) &&
            toggleFolder(m_view->currentIndex(), key->key() == Qt::Key_Left)) {
            return true;
        }
        if (watched == m_view && key->matches(QKeySequence::Undo)) {
            undoRemove();
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace offstage::ui
