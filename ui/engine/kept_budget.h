#pragma once

#include <QString>

#include "engine/run/session.h"

namespace offstage::ui {

// The budget that a person gave a model on a device while it ran (VRAM, RAM, context,
// format of the KV cache, quality), kept in the settings, so that the model opens with it
// the next time.
class KeptBudget {
  public:
    // What this re-plan asked for; what it left as it was stays as it was kept.
    static void keep(const QString& model, const QString& device, const engine::ReplanRequest& change);
    static void forget(const QString& model, const QString& device);
    // Of the request's model and device.
    static void applyTo(engine::LoadRequest& request);
};

}  // namespace offstage::ui
