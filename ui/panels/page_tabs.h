#pragma once

#include <QTabWidget>

namespace offstage::ui {

// Tabs that are no higher than the page that is shown needs to be: otherwise a panel
// would scroll for its highest page, and for the height that a page would like to have.
class PageTabs : public QTabWidget {
    Q_OBJECT

  public:
    explicit PageTabs(QWidget* parent = nullptr);

    int heightForWidth(int width) const override;

  protected:
    void tabInserted(int index) override;

  private:
    void fit();
};

}  // namespace offstage::ui
