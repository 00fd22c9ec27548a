#include "engine/eval/csv.h"

#include <utility>

#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

class CsvReader {
  public:
    CsvReader(std::string_view text, const std::string& source) : text_(text), source_(source) {}

    std::vector<CsvRow> rows() {
        std::vector<CsvRow> rows;
        while (at_ < text_.size()) {
            if (ends_line()) {
                skip_line_end();
                continue;
            }
            CsvRow row{line_, {}};
            row.fields.push_back(field());
            while (at_ < text_.size() && text_[at_] == ',') {
                ++at_;
                row.fields.push_back(field());
            }
            if (at_ < text_.size()) skip_line_end();
            rows.push_back(std::move(row));
        }
        return rows;
    }

  private:
    bool ends_line() const { return text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n"; }
    void skip_line_end() {
        at_ += text_[at_] == '\n' ? 1 : 2;
        ++line_;
    }

    std::string field() {
        if (at_ < text_.size() && text_[at_] == '"') return quoted();
        const std::size_t begin = at_;
        while (at_ < text_.size() && text_[at_] != ',' && !ends_line()) {
            if (text_[at_] == '"') {
                fail(line_, messages::csv_quote_inside);
            }
            ++at_;
        }
        return std::string(text_.substr(begin, at_ - begin));
    }

    std::string quoted() {
        const std::int64_t begins = line_;
        std::string field;
        for (++at_; at_ < text_.size(); ++at_) {
            if (text_[at_] != '"') {
                if (text_[at_] == '\n') ++line_;
                field += text_[at_];
            } else if (text_.substr(at_, 2) == "\"\"") {
                field += '"';
                ++at_;
            } else {
                ++at_;
                if (at_ < text_.size() && text_[at_] != ',' && !ends_line()) {
                    fail(line_, messages::csv_text_behind_quote);
                }
                return field;
            }
        }
        fail(begins, messages::csv_quote_open);
    }

    [[noreturn]] void fail(std::int64_t line, const MessageCode<0>& what) const {
        throw Error(ErrorKind::kInvalidModel, messages::csv_line_has(source_, line, what));
    }

    std::string_view text_;
    const std::string& source_;
    std::size_t at_ = 0;
    std::int64_t line_ = 1;
};

}  // namespace

std::vector<CsvRow> parse_csv(std::string_view text, const std::string& source) {
    const std::size_t invalid = find_invalid_utf8(text);
    if (invalid != std::string_view::npos) {
        throw Error(ErrorKind::kInvalidModel, messages::csv_not_utf8(source, invalid + 1));
    }
    return CsvReader(text, source).rows();
}

}  // namespace offstage::engine
