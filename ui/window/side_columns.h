#pragma once

#include <QList>
#include <QObject>

class QDockWidget;
class QMainWindow;

namespace offstage::ui {

// What stands beside the conversation - the list of conversations at the left, the inspector at the right - as the
// window's width allows: the conversation keeps the width that it needs to be read, and the columns give way. Where no
// column has room beside it, one that is opened all the same takes the conversation's place until it is closed. What
// gave way comes back when the window grows. Docks that float or stand below are none of these columns. GUI thread
// only.
class SideColumns : public QObject {
    Q_OBJECT

  public:
    enum class Room { One, Two, Three };  // columns that fit side by side

    static constexpr int kConversationWidth = 380;                 // is left to it
    static constexpr int kInspectorWidth = 320, kListWidth = 200;  // the narrowest that are of use

    // The docks must be the window's.
    SideColumns(QMainWindow& window, const QList<QDockWidget*>& docks, QObject* parent);

    Room room() const { return m_room; }
    // The window has got this width.
    void fit(int width);
    // A person opened this one: what has no room beside it closes. In the inspector one panel shows at a time.
    void opened(QDockWidget& dock);
    // Closes whatever takes the conversation's place.
    void showMiddle();
    bool coversMiddle() const;
    // What gave way is open again: before a layout is saved, which is to be that of a window with room.
    void bringBack();
    // Forgets what gave way, and begins with the docks as they are now.
    void reset(int width);

  Q_SIGNALS:
    void roomChanged();
    void cameBack();  // columns that had given way: they have no sizes yet

  private:
    QList<QDockWidget*> shownAt(Qt::DockWidgetArea area) const;
    QList<QDockWidget*> shown() const { return shownAt(Qt::LeftDockWidgetArea) + shownAt(Qt::RightDockWidgetArea); }
    void giveWay(const QList<QDockWidget*>& docks);
    void takeBack();
    void cover();

    QMainWindow& m_window;
    QList<QDockWidget*> m_docks;
    QList<QDockWidget*> m_gaveWay;
    Room m_room = Room::Three;
    bool m_arranging = false;
};

}  // namespace offstage::ui
