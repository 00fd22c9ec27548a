#pragma once

#include <QString>

#include "engine/run/session.h"

namespace offstage::ui {

// How a person wants a model on a device: VRAM, RAM, context, format of the KV cache, quality,
// cache policy and neuron cache, as chosen when it was opened or changed while it ran. Kept in the settings, so that
// the model opens with it the next time.
class KeptBudget {
  public:
    // What was chosen for this load, in the place of all that was kept for its model and device.
    // What it leaves to the program (0) is kept as that.
    static void keep(const engine::LoadRequest& chosen);
    // What this re-plan asked for; what it left as it was stays as it was kept.
    static void keep(const QString& model, const QString& device, const engine::ReplanRequest& change);
    static void forget(const QString& model, const QString& device);
    // Of the request's model and device.
    static void applyTo(engine::LoadRequest& request);
    // engine::LoadRequest::chat_template, which a model has on every device. It is kept
    // with the rest, and not forgotten.
    static QString chatTemplate(const QString& model);
};

}  // namespace offstage::ui
