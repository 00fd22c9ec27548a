#pragma once

#include <QTabWidget>

class QLayout;

namespace offstage::ui {

// A panel's pages, each of which scrolls by itself where it has too little height: the
// tabs stay in sight, and no page has room for the highest one.
class PageTabs : public QTabWidget {
    Q_OBJECT

  public:
    explicit PageTabs(QWidget* parent = nullptr);

    void addPage(QLayout* contents, const QString& title);
};

}  // namespace offstage::ui
