#pragma once

#include <QWidget>

class QAction;
class QComboBox;
class QLineEdit;
class QMenu;
class QStackedLayout;
class QToolButton;

namespace offstage::ui {

// A choice of presets: none, the built-in ones, the user's own; and a menu to save,
// rename and delete those. Names are entered in place: Return accepts, Esc leaves all
// unchanged. Knows only names; the owner knows their contents, and the menu's further
// entries.
class PresetBar : public QWidget {
    Q_OBJECT

  public:
    explicit PresetBar(QWidget* parent = nullptr);

    // For a choice of something other than presets, which the owner makes and changes:
    // the menu has Delete alone, and what the owner adds.
    void setForOthers(const QString& menu);
    // `none`: shown when no preset fits; comes first.
    void setNames(const QStringList& builtIn, const QStringList& own, const QString& none);
    void setCurrent(qsizetype index);  // among all names, the built-in ones first; -1: none fits
    qsizetype current() const;
    // The form of the current name, with a place for it: "%1, changed"; empty: unchanged.
    void setMark(const QString& mark);
    QMenu& menu() const;
    QComboBox& box() const { return *m_box; }
    QAction& deleteAction() const { return *m_delete; }

  Q_SIGNALS:
    void chosen(qsizetype index);  // as of setCurrent()
    // Saves the user's own preset; it replaces one of this name.
    void saved(const QString& name);
    void renamed(int ownIndex, const QString& name);
    void deleted(int ownIndex);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void askForName(const QString& suggestion, bool renaming);
    void takeName();
    void refresh();

    QStackedLayout* m_stack;
    QComboBox* m_box;
    QLineEdit* m_name;
    QToolButton* m_menu;
    QAction* m_save;
    QAction* m_rename;
    QAction* m_delete;
    QStringList m_names;
    qsizetype m_nBuiltIn = 0;
    bool m_renaming = false;
};

}  // namespace offstage::ui
