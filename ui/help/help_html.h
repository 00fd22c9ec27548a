#pragma once

#include <QString>

namespace offstage::ui {

// A page of the manual as HTML: GitHub's Markdown, with an anchor for links before each
// heading ("kv-cache"), as on forges.
QString helpHtml(const QString& markdown);

}  // namespace offstage::ui
