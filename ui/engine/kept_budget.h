#pragma once

#include <QString>

#include "engine/run/session.h"

namespace offstage::ui {

// A user's budget for a model on a device: VRAM, RAM, context, format of the KV cache,
// quality, cache policy and neuron cache, as chosen when it was opened or changed while
// it ran. Stored in the settings, so that the model opens with it the next time.
class KeptBudget {
  public:
    // Stores the choices for this load, replacing all stored ones for its model and
    // device. Fields left to the program (0) are stored as such.
    static void keep(const engine::LoadRequest& chosen);
    // Stores the changes of this re-plan; unset fields keep their stored values.
    static void keep(const QString& model, const QString& device, const engine::ReplanRequest& change);
    static void forget(const QString& model, const QString& device);
    // For the request's model and device.
    static void applyTo(engine::LoadRequest& request);
    // engine::LoadRequest::chat_template, which belongs to the model on every device. It
    // is stored with the rest and is not removed.
    static QString chatTemplate(const QString& model);
    // engine::LoadRequest::draft_model, likewise; empty once there is no such file.
    static QString draftModel(const QString& model);
};

}  // namespace offstage::ui
