#pragma once

#include <atomic>
#include <stop_token>

#include <QObject>
#include <QThreadPool>

namespace offstage::ui {

// A thread for a QObject's work, one piece after another, of which only the newest
// counts. A member that is declared behind all that the work uses: its destructor waits.
// The owner's thread only.
class BackgroundThread {
  public:
    // What a piece of work has to say to its owner.
    class Reply {
      public:
        Reply(BackgroundThread& thread, quint64 id) : m_thread(&thread), m_id(id) {}
        // Calls on the owner's thread, unless a later piece has been started until then.
        template <typename Call>
        void operator()(Call call) const {
            QMetaObject::invokeMethod(
                m_thread->m_owner,
                [reply = *this, call = std::move(call)] {
                    if (reply.isWanted()) {
                        call();
                    }
                },
                Qt::QueuedConnection);
        }
        bool isWanted() const { return m_thread->m_newest == m_id; }  // any thread

      private:
        BackgroundThread* m_thread;
        quint64 m_id;
    };

    explicit BackgroundThread(QObject* owner) : m_owner(owner) { m_pool.setMaxThreadCount(1); }
    ~BackgroundThread() {
        giveUp();
        m_pool.waitForDone();
    }

    // work(reply, stop). What was started before is given up.
    template <typename Work>
    void start(Work work) {
        giveUp();
        m_stop = std::stop_source();
        m_pool.start([work = std::move(work), reply = Reply(*this, m_newest), stop = m_stop.get_token()]() mutable {
            work(reply, stop);
        });
    }
    void stop() { m_stop.request_stop(); }  // replies still come
    void giveUp() {
        stop();
        ++m_newest;
    }

  private:
    QObject* const m_owner;
    std::atomic<quint64> m_newest = 0;
    std::stop_source m_stop;
    QThreadPool m_pool;
};

}  // namespace offstage::ui
