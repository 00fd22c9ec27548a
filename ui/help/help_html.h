#pragma once

#include <QString>

namespace offstage::ui {

// A page of the manual as HTML: GitHub's Markdown, and before each heading the anchor that links name it by
// ("kv-cache"), as forges do.
QString helpHtml(const QString& markdown);

}  // namespace offstage::ui
