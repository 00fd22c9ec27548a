#pragma once

#include "engine/text/template_evaluator.h"

namespace offstage::engine::jinja {

// Python's text formatting; arguments keep their origin. Both throw Failure.
PromptText format_braces(const PromptText& format, const Arguments& arguments, Budget& budget);  // str.format()
PromptText format_percent(const PromptText& format, const Value& values, Budget& budget);        // format % values

}  // namespace offstage::engine::jinja
