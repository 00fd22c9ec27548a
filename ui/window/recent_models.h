#pragma once

#include <QObject>
#include <QStringList>

namespace offstage::ui {

// The models opened lately, the latest first, kept in QSettings. A missing one stays: its
// disk may be connected again.
class RecentModels : public QObject {
    Q_OBJECT

  public:
    static constexpr int kMost = 10;

    explicit RecentModels(QObject* parent = nullptr);

    const QStringList& models() const { return m_models; }
    static bool isMissing(const QString& model);

    void add(const QString& model);
    void clear();

  Q_SIGNALS:
    void changed();

  private:
    void save();

    QStringList m_models;
};

}  // namespace offstage::ui
