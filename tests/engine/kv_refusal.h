#pragma once

#include <QString>

#include "engine/error.h"
#include "engine/run/kv_pool.h"

namespace offstage::test {

// The error of resize(); kInternal: none.
inline engine::ErrorKind refusal(engine::KvPool& pool, engine::KvRoom room, QString* text = nullptr) {
    try {
        pool.resize(room);
    } catch (const engine::Error& error) {
        if (text != nullptr) *text = QString::fromUtf8(error.what());
        return error.kind();
    }
    return engine::ErrorKind::kInternal;
}

}  // namespace offstage::test
