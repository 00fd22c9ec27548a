#pragma once

#include <QString>

namespace offstage::ui {

// The folder that the person chose for what Offstage makes again where it is missing (engine::cache_directory()). Kept
// in the settings; a start goes by it.
class CachePlace {
  public:
    static QString chosen();  // empty: the usual one
    // The folder "offstage" in this one, so that nothing else's files are ever deleted with it. Empty: the usual one
    // again. Returns a sentence where that cannot be written to; the choice stays as it was then.
    static QString choose(const QString& folder);
    // What is in force in this program; empty: nothing is kept.
    static QString inForce();
    // What the next start will go by.
    static QString next();
    // Before anything of the engine: the environment's OFFSTAGE_CACHE goes before what was chosen.
    static void apply();
};

}  // namespace offstage::ui
