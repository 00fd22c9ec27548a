#pragma once

#include <QString>

namespace offstage::ui {

// The user's folder for files that Offstage can make again (engine::cache_directory()).
// Stored in the settings; used at the start.
class CachePlace {
  public:
    static QString chosen();  // empty: the usual one
    // Uses the folder "offstage" in this one, so that no other program's files are
    // deleted with it. Empty: the default again. Returns a sentence if it is not
    // writable; the choice then stays unchanged.
    static QString choose(const QString& folder);
    // The present folder; empty: nothing is stored.
    static QString inForce();
    // The folder from the next start on.
    static QString next();
    // Before the engine is used: the environment's OFFSTAGE_CACHE overrides the choice.
    static void apply();
};

}  // namespace offstage::ui
