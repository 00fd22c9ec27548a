// Tables of reports as text, Markdown and CSV, and JSON made of a struct's fields.

#include <QTest>

#include "engine/report_table.h"

using namespace offstage::engine;

namespace {

struct Row {
    std::string name;
    double gain = 0;
    std::int64_t n = 0;
};

Table table() {
    Table table({{"", -8}, {"gain", 7, 2}, {"hits", 6, 0, 100, "%"}, {"n", 6}});
    table.add({"plain", 1, 0.5, 7});
    table.add({"+ a longer name", 12.25, Cell(), "many"});
    return table;
}

}  // namespace

class TestReportTable : public QObject {
    Q_OBJECT

  private slots:
    void text_alignsNumbersAndWidensNames() {
        QCOMPARE(QString::fromStdString(table().text()), QStringLiteral("                    gain  hits     n\n"
                                                                        "plain               1.00   50%     7\n"
                                                                        "+ a longer name    12.25     -  many\n"));
    }

    // A row that ends early: its last text may be longer than its column.
    void text_ofAShortRow_endsThere() {
        Table table({{"n", 3}, {"load", 8, 3}, {"time", 8, 3}});
        table.add({1, "  does not fit anywhere"});
        table.add({2, 0.0625});
        QCOMPARE(QString::fromStdString(table.text()), QStringLiteral("  n    load    time\n"
                                                                      "  1  does not fit anywhere\n"
                                                                      "  2   0.062\n"));
    }

    void markdown_hasNamesToTheLeft() {
        QCOMPARE(QString::fromStdString(table().markdown()),
                 QStringLiteral("|  | gain | hits | n |\n"
                                "|---|---:|---:|---:|\n"
                                "| plain | 1.00 | 50% | 7 |\n"
                                "| + a longer name | 12.25 | - | many |\n"));
    }

    void csv_leavesUnknownNumbersEmpty() {
        Table table({{"theta"}, {"active", 0, 6}, {"n_tasks"}});
        table.add({"0.1", if_known(0.25), 3});
        table.add({"0.2", if_known(-1)});
        QCOMPARE(QString::fromStdString(table.csv()), QStringLiteral("theta,active,n_tasks\n0.1,0.250000,3\n0.2,,\n"));
    }

    void fields_comeUnderTheirNamesInOrder() {
        const Row row{"x", 1.5, 3};
        nlohmann::ordered_json json = {{"first", 1}};
        ADD_FIELDS(json, row, n, name, gain);
        QCOMPARE(json.dump(), std::string(R"({"first":1,"n":3,"name":"x","gain":1.5})"));
    }
};

QTEST_GUILESS_MAIN(TestReportTable)
#include "tst_report_table.moc"
