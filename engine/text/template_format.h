#pragma once

#include "engine/text/template_evaluator.h"

namespace offstage::engine::jinja {

// Python's text formatting; arguments keep their origin, and are escaped where `format`
// is marked up. Both throw Failure.
Value format_braces(const Value& format, const Arguments& arguments, Budget& budget);  // str.format()
Value format_percent(const Value& format, const Value& values, Budget& budget);        // format % values

// The text of a value, with &, <, >, " and ' as HTML writes them; unchanged where the
// value is marked up, as markupsafe's escape().
PromptText escaped(const Value& value, Budget& budget);

}  // namespace offstage::engine::jinja
