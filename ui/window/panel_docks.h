#pragma once

#include <QList>
#include <QMainWindow>
#include <QMap>
#include <QSet>
#include <QTimer>

class QDockWidget;
class QSettings;

namespace offstage::ui {

class PanelRail;
class SideColumns;
struct Core;
struct PanelEntry;

// The window's panels in their docks: the first places, the places that the user gave
// them, and their return to the first ones. GUI thread only.
class PanelDocks : public QObject {
    Q_OBJECT

  public:
    PanelDocks(QMainWindow& window, Core& core);

    const QList<QDockWidget*>& all() const { return m_docks; }  // in the View menu's order
    // Docks at the left are opened from the left; all others have a tab, or a place in
    // the menu of panels.
    QList<QDockWidget*> tabbed() const;
    QDockWidget* dock(const QString& name) const;  // "experts", "budget" ...; nullptr: no such panel
    SideColumns& columns() const { return *m_columns; }
    template <typename Panel>
    Panel& panel() const {
        return *m_window.findChild<Panel*>();
    }

    // Brings it to the front.
    void show(const QString& name);
    void refreshIcons();
    // The user's layout of the last time, if there is one.
    void restore();
    void save(QSettings& settings);

  public Q_SLOTS:
    void reset();

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void add(const PanelEntry& entry, QWidget* panel);
    QList<QDockWidget*> sideDocks() const;  // that are shown, in a place
    // Those in sight of an area, one above the other. None if some are side by side: these
    // have widths of their own.
    QList<QDockWidget*> column(Qt::DockWidgetArea area) const;
    int wantedWidth(Qt::DockWidgetArea area) const;
    // Gives columns the user's widths, or the first ones, and leaves the conversation its
    // own; `narrows`: also where they are wider.
    void resizeColumns(bool narrows);
    void beginDrag(int x);
    void keepWidths();
    void bringToFront(QDockWidget& dock);
    void giveRoom(QDockWidget& dock);
    void settle();  // once docks have followed the window

    QMainWindow& m_window;
    QList<QDockWidget*> m_docks;
    SideColumns* m_columns;
    PanelRail* m_rail;  // the tabs; hidden where the window is narrow
    int m_nTabs = 0;
    QSet<QDockWidget*> m_roomy;  // shown before, at our size or the user's
    bool m_hasLayout = false;    // the user's own
    bool m_wasShown = false;     // columns have their first widths
    // By the user, who dragged the edge; 0: not yet. What a narrow window leaves does not
    // count.
    int m_listWidth = 0, m_inspectorWidth = 0;
    int m_neededWidth = 0;                   // of the inspector, by its panels
    QMap<QDockWidget*, int> m_widthsBefore;  // when the mouse was pressed between docks
    int m_lowerHeight = 0;                   // preferred for the docks below; a low window gives less
    int m_laidOutHeight = 0;                 // of the window when its docks last followed it; 0: not yet
    QTimer m_settles;                        // runs until they have
};

}  // namespace offstage::ui
