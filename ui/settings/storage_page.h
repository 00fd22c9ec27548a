#pragma once

#include <functional>

#include <QList>
#include <QString>
#include <QWidget>

class QGridLayout;
class QLabel;
class QPushButton;
class QVBoxLayout;

namespace offstage::ui {

// A file or folder of the program, as the storage page shows it.
struct StoredThing {
    QString name;         // "Quantized copies"
    QString explanation;  // a sentence
    QString path;
    bool deletable = false;  // a folder whose files can be made again
};

// Conversations, settings, token and caches: the path and disk space of each, a button
// that opens the folder, and for caches one that deletes them, after one question. The
// disk is read on another thread. GUI thread only.
class StoragePage : public QWidget {
    Q_OBJECT

  public:
    // `conversations`: the folder; empty: they are in memory only.
    explicit StoragePage(const QString& conversations, QWidget* parent = nullptr);

    // The folders that are searched for models: the user's own, which can be removed from
    // the list, and those of other programs.
    void setModelFolders(const QStringList& added, const QStringList& others);
    QPushButton& addModelsButton() const { return *m_addModels; }
    // The action of cacheButton(): from the next start on, caches are kept in this
    // folder; empty: in the usual one.
    void chooseCache(const QString& folder);

    // Looks at the disk anew.
    void refresh();

  Q_SIGNALS:
    // Requests to show a folder in the desktop's file manager.
    void folderRequested(const QString& folder);
    void modelFolderAdded(const QString& folder);
    void modelFolderRemoved(const QString& folder);  // from the list; its files stay
    void measured();                                 // sizes are those of the disk

  protected:
    void showEvent(QShowEvent* event) override;

  private:
    struct Row {
        QLabel* size = nullptr;
        QPushButton* remove = nullptr;
        quint64 bytes = 0;  // of the last count
    };

    void addHeading(QGridLayout& grid, const QString& text);
    void addKept(QGridLayout& grid, const QString& conversations);
    void addCachePlace(QGridLayout& grid);
    void refreshCachePlace();
    QPushButton* folderButton(const QString& folder, const QString& what);
    void add(QGridLayout& grid, const StoredThing& thing);
    void ask(qsizetype index);
    void remove();
    void endQuestion(const QString& notice);
    void take(const QList<quint64>& bytes);

    QList<StoredThing> m_things;
    QList<Row> m_rows;  // beside m_things
    QLabel* m_cachePlace;
    QPushButton* m_changeCache;
    QPushButton* m_usualCache;
    QPushButton* m_addModels;
    QVBoxLayout* m_modelRows;
    QWidget* m_modelFolders = nullptr;  // made anew with each list
    QLabel* m_notice;
    QPushButton* m_confirm;
    QPushButton* m_keep;
    qsizetype m_asked = -1;  // in m_things; -1: no question is open
    bool m_busy = false;     // the other thread is at work
    bool m_again = false;    // and has to look once more
};

}  // namespace offstage::ui
