#pragma once

#include <QList>
#include <QObject>
#include <QSize>

class QDockWidget;
class QMainWindow;

namespace offstage::ui {

// The columns beside the conversation (the list of conversations at the left, the
// inspector at the right) as the window's width allows: the conversation keeps a readable
// width, and the columns close. If no column has room beside it, one that the user opens
// covers the conversation until it is closed. The same holds for the docks below and the
// window's height. Closed ones reopen when the window grows. Floating docks do not count.
// GUI thread only.
class SideColumns : public QObject {
    Q_OBJECT

  public:
    enum class Room { One, Two, Three };  // columns that fit side by side

    static constexpr int kConversationWidth = 380;  // is left to it
    static constexpr int kReadableWidth = 520;      // that it has where columns can give way
    static constexpr int kListWidth = 200;          // the narrowest that is of use

    // The docks and the rail, which are the inspector's tabs, must be the window's.
    SideColumns(QMainWindow& window, const QList<QDockWidget*>& docks, const QWidget& rail, QObject* parent);

    Room room() const { return m_room; }
    int inspectorWidth() const;  // in which each of its panels has room
    // The window's size is now this, or inspectorWidth() is another.
    void fit(const QSize& window);
    // The user opened this one: columns without room beside it close. In the inspector
    // one panel shows at a time.
    void opened(QDockWidget& dock);
    // Closes every dock that covers the conversation.
    void showMiddle();
    bool coversMiddle() const { return !covering().isEmpty(); }
    // Reopens closed docks: before a layout is saved, which must be that of a large
    // window.
    void bringBack();
    // Forgets the closed docks, and begins with the present ones.
    void reset(const QSize& window);

  Q_SIGNALS:
    // Columns that came back have no sizes yet. Otherwise the height alone changed.
    void roomChanged(bool alsoInWidth);

  private:
    QList<QDockWidget*> shownAt(Qt::DockWidgetArea area) const;
    QList<QDockWidget*> shown() const { return shownAt(Qt::LeftDockWidgetArea) + shownAt(Qt::RightDockWidgetArea); }
    QList<QDockWidget*> covering() const;
    Room roomOf(int width) const;
    void giveWay(const QList<QDockWidget*>& docks);
    void takeBack();
    void cover();

    QMainWindow& m_window;
    const QWidget& m_rail;
    QList<QDockWidget*> m_docks;
    QList<QDockWidget*> m_gaveWay;
    Room m_room = Room::Three;
    bool m_low = false;  // no room for a dock below the conversation
    bool m_arranging = false;
};

}  // namespace offstage::ui
