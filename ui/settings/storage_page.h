#pragma once

#include <QList>
#include <QString>
#include <QWidget>

class QGridLayout;
class QLabel;
class QPushButton;

namespace offstage::ui {

// A file or folder of the program, as the storage page shows it.
struct StoredThing {
    QString id;           // "quantized"
    QString name;         // "Quantized copies"
    QString explanation;  // a sentence
    QString path;
    bool deletable = false;  // a folder whose files are made again where they are missing
    bool counted = true;     // its bytes are looked up
};

// Conversations, settings, token and caches: where each is and what it takes of the disk, a button that opens the
// folder, and for caches one that deletes them, after one question. The disk is looked at on another thread.
// GUI thread only.
class StoragePage : public QWidget {
    Q_OBJECT

  public:
    // `conversations`: the folder; empty: they are in memory only. `models`: where models are looked for.
    StoragePage(const QString& conversations, const QStringList& models, QWidget* parent = nullptr);

    const QList<StoredThing>& things() const { return m_things; }
    QPushButton* deleteButton(const QString& id) const;  // nullptr: none
    QPushButton* openButton(const QString& id) const;
    QString sizeText(const QString& id) const;  // "1.3 GiB"; "…" while it is looked up
    QPushButton& confirmButton() const { return *m_confirm; }
    QPushButton& keepButton() const { return *m_keep; }
    QString notice() const;
    // Looks at the disk anew.
    void refresh();

  Q_SIGNALS:
    // A folder is to be shown in the desktop's file manager.
    void folderRequested(const QString& folder);
    void measured();  // sizeText() is that of the disk

  protected:
    void showEvent(QShowEvent* event) override;

  private:
    struct Row {
        QLabel* size = nullptr;
        QPushButton* open = nullptr;
        QPushButton* remove = nullptr;
        quint64 bytes = 0;  // of what was looked up last
    };

    void addHeading(QGridLayout& grid, const QString& text);
    void add(QGridLayout& grid, const StoredThing& thing);
    qsizetype indexOf(const QString& id) const;
    void ask(qsizetype index);
    void remove();
    void endQuestion(const QString& notice);
    void take(const QList<quint64>& bytes);

    QList<StoredThing> m_things;
    QList<Row> m_rows;  // beside m_things
    QLabel* m_notice;
    QPushButton* m_confirm;
    QPushButton* m_keep;
    qsizetype m_asked = -1;  // of m_things; -1: nothing is asked
    bool m_busy = false;     // the other thread is at work
    bool m_again = false;    // and has to look once more
};

}  // namespace offstage::ui
