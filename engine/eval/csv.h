#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace offstage::engine {

// One record of a CSV file.
struct CsvRow {
    std::int64_t line = 1;  // on which it begins, from 1
    std::vector<std::string> fields;
};

// All records of a text in the format of RFC 4180: fields separated by commas; a field in
// double quotes may contain commas, line ends, and quotes written twice. Lines end with
// LF or CR LF; empty lines are skipped. Throws Error (kInvalidModel) with `source` and
// the line: a quote that is never closed, text after a closing quote, a quote inside a
// field that does not begin with one, bytes that are not UTF-8.
std::vector<CsvRow> parse_csv(std::string_view text, const std::string& source);

}  // namespace offstage::engine
