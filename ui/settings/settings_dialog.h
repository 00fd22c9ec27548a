#pragma once

#include <QDialog>
#include <QStringList>

class QComboBox;
class QListWidget;
class QStackedWidget;

namespace offstage::ui {

class Appearance;
class AppearancePage;
class KeyBindings;
class KeysPage;
class EngineController;
class LocalServerPage;
class LocalServerSwitch;
class MemoryPage;
class StoragePage;

// The program's settings, a page for each subject. Every change applies at once and is
// stored; there is nothing to confirm. The window stays usable.
class SettingsDialog : public QDialog {
    Q_OBJECT

  public:
    enum class Page { Appearance, Conversations, Keys, Memory, Server, Storage };

    struct Subjects {
        Appearance& appearance;
        KeyBindings& keys;
        LocalServerSwitch& server;
        EngineController& engine;
        QString conversations;     // their folder; empty: in memory only
        QStringList addedModels;   // the user's folders that are searched for models
        QStringList othersModels;  // and those of other programs
    };

    explicit SettingsDialog(const Subjects& subjects, QWidget* parent = nullptr);

    void showPage(Page page);
    Page page() const;
    QListWidget& pages() const { return *m_list; }
    QComboBox& choice() const { return *m_choice; }  // in place of the list where there is little room
    StoragePage& storagePage() const { return *m_storage; }

  protected:
    void resizeEvent(QResizeEvent* event) override;

  private:
    void add(const QString& name, QWidget* page);
    void placeList();

    QComboBox* m_choice;
    QListWidget* m_list;
    QStackedWidget* m_stack;
    AppearancePage* m_appearance;
    KeysPage* m_keys;
    LocalServerPage* m_server;
    MemoryPage* m_memory;
    StoragePage* m_storage;
};

}  // namespace offstage::ui
