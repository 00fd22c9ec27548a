#pragma once

#include <optional>

#include <QWidget>

#include "ui/chat/chat_controller.h"

class QInputMethodEvent;
class QLabel;
class QLineEdit;
class QListView;
class QMenu;
class QTimer;
class QToolButton;

namespace offstage::ui {

class ConversationListModel;

// The list of conversations beside the chat: open, search in all, rename, pin, archive,
// delete (with undo), export, import, and folders of them. Keyboard: Return opens, F2
// renames, Del deletes, Left and Right close and open a folder, Ctrl+Z in the list undoes
// the last deletion.
class ConversationList : public QWidget {
    Q_OBJECT

  public:
    explicit ConversationList(ChatController& chat, QWidget* parent = nullptr);

    QListView& view() const { return *m_view; }
    ConversationListModel& model() const { return *m_model; }
    QString notice() const;

    // Exports the conversation, or all listed ones if it is 0. By the file's suffix:
    // Markdown (.md, one only) or JSON. Unreadable ones are named; if none is readable,
    // nothing is written.
    void exportTo(const QString& file, ConversationId id);
    void importFrom(const QString& file);

    // The one selected in the list while that has the focus, else the one that is shown;
    // 0: not listed yet.
    ConversationId chosen() const;
    void rename(ConversationId id);  // in its place in the list
    void togglePinned(ConversationId id);
    void toggleArchived(ConversationId id);
    void remove(ConversationId id);
    void openNext(int step);               // in the list's order, from the one that is shown
    void chooseExport(ConversationId id);  // 0: all

    // The folder selected in the list while that has the focus; empty: none.
    QString chosenFolder() const;
    void newFolder(ConversationId first = 0);  // with this conversation; its name is edited in the list
    void renameFolder(const QString& folder);
    void removeFolder(const QString& folder);  // its conversations stay
    void chooseFolderExport(const QString& folder);
    // The choice of the conversation's folder.
    void fillFolderMenu(QMenu& menu, ConversationId id);

  public Q_SLOTS:
    void undoRemove();
    void chooseImport();

  Q_SIGNALS:
    void newRequested();
    // The chat shows it now.
    void opened();
    // After opened(): the search found these words in the text of this message; 0: in the
    // conversation's title.
    void messageFound(offstage::ui::MessageId message, const QString& words);
    // After opened(): the hit is in the model's thinking before this answer.
    void thoughtFound(offstage::ui::MessageId message);
    // The same, in a file of this prompt.
    void fileFound(offstage::ui::MessageId message, const QString& words);
    void searchChanged();
    // An input method wrote this while the list had the focus.
    void composed(QInputMethodEvent* event);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    void fitSearch();
    void placeNotice();
    ConversationId currentId() const;
    void openIndex(const QModelIndex& index);
    void showMenu(const QPoint& at);
    bool toggleFolder(const QModelIndex& index, std::optional<bool> closed = std::nullopt);
    void edit(int row);
    void exportAll(const QString& file, const QList<ConversationId>& ids);
    void showCurrent();
    void refreshSelection();
    void refreshActivities();
    void refreshEmptyText();
    void say(const QString& text, bool offerUndo = false);

    ChatController& m_chat;
    ConversationListModel* m_model;
    QLineEdit* m_search;
    QToolButton* m_archived;
    QListView* m_view;
    QLabel* m_empty;
    QWidget* m_bar;
    QLabel* m_notice;
    QToolButton* m_undo;
    QTimer* m_noticeTime;
    ConversationId m_removed = 0;
    QString m_removedFolder;              // the last removal was of this folder,
    QList<ConversationId> m_removedFrom;  // which had these
    bool m_removedClosed = false;
};

}  // namespace offstage::ui
