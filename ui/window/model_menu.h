#pragma once

#include <QMenu>

class QToolButton;

namespace offstage::ui {

class EngineController;
class ModelOpener;

// The models at hand: those opened lately, those found on this computer, and the ways to
// others; and the button with the name of the open one. GUI thread only.
class ModelMenu : public QMenu {
    Q_OBJECT

  public:
    ModelMenu(EngineController& engine, ModelOpener& opener, QWidget* parent);

    QToolButton& button() const { return *m_button; }  // for a tool bar
    // Below the button, or where the window has no room for it at its upper left corner.
    void open();

  private:
    void list();
    void listAgain();
    void listRecent();
    void listFound();
    QAction* add(const QString& name, const QString& path, bool missing);
    void refreshButton();

    EngineController& m_engine;
    ModelOpener& m_opener;
    QToolButton* m_button;
};

}  // namespace offstage::ui
