#pragma once

#include <span>

#include <QString>

class QWidget;

namespace offstage::ui {

struct Core;

// One of the window's panels: everything about it outside its own files.
struct PanelEntry {
    enum class Place {
        Left,       // beside the conversation
        Inspector,  // a tab at the right
        Below,      // for wide panels
    };

    const char* name;  // of its dock, its shortcut, its page of help, and in View > Reset layout
    const char* icon;  // resources/icons
    Place place;
    bool shownAtFirst;  // the others are hidden until the user opens them
    QString (*title)();
    QString (*tip)();
    QWidget* (*make)(Core& core);
};

// All panels, in the order of the View menu and of the tabs. A new panel needs a row
// here.
std::span<const PanelEntry> panelList();

}  // namespace offstage::ui
