#include "ui/panels/page_tabs.h"

#include <QLayout>

namespace offstage::ui {

PageTabs::PageTabs(QWidget* parent) : QTabWidget(parent) {
    setDocumentMode(true);
    connect(this, &QTabWidget::currentChanged, this, &PageTabs::fit);
}

int PageTabs::heightForWidth(int width) const {
    const QWidget* page = currentWidget();
    if (page == nullptr || page->layout() == nullptr) {
        return QTabWidget::heightForWidth(width);
    }
    const int around = QTabWidget::minimumSizeHint().height() - page->minimumSizeHint().height();
    return around + (page->layout()->hasHeightForWidth() ? page->layout()->minimumHeightForWidth(width)
                                                         : page->minimumSizeHint().height());
}

void PageTabs::tabInserted(int index) {
    QTabWidget::tabInserted(index);
    fit();
}

void PageTabs::fit() {
    for (int page = 0; page < count(); ++page) {
        const bool shows = page == currentIndex();
        widget(page)->setSizePolicy(QSizePolicy::Preferred, shows ? QSizePolicy::Preferred : QSizePolicy::Ignored);
    }
}

}  // namespace offstage::ui
