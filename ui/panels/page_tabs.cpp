#include "ui/panels/page_tabs.h"

#include <QLayout>

#include "ui/widgets/panel_area.h"

namespace offstage::ui {

namespace {

constexpr int kAbovePage = 8, kBesideBar = 12;

}  // namespace

PageTabs::PageTabs(QWidget* parent) : QTabWidget(parent) {
    setDocumentMode(true);
}

void PageTabs::addPage(QLayout* contents, const QString& title) {
    contents->setContentsMargins(0, kAbovePage, kBesideBar, 0);
    auto* page = new PanelContent;
    page->setLayout(contents);
    addTab(new PanelArea(page), title);
}

}  // namespace offstage::ui
