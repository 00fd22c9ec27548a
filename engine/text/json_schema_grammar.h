#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/text/json_grammar.h"

namespace offstage::engine {

// JSON that a schema allows (draft 2020-12), for grammars. Each text of the grammar is
// valid; the reverse is not so: properties come in the schema's order, objects have no
// others unless "additionalProperties" says so, "oneOf" is read as "anyOf", and numbers
// have 16 digits at most. Keywords that are not supported are refused by name, and so are
// unknown ones.
class JsonSchemaGrammar {
  public:
    using Json = nlohmann::ordered_json;
    using Node = GrammarBuilder::Node;

    // `schema` is the root of its references. Both must outlive this object.
    JsonSchemaGrammar(JsonGrammar& values, const Json& schema)
        : json_(values), builder_(values.builder()), root_(schema) {}

    // Throw Error (kInvalidInput) with the keyword and its place. The second: of a part of
    // the root, which lies `at` its place.
    Node value();
    Node value(const Json& schema, const std::string& at);

  private:
    Node in_rule(const Json& schema, const std::string& at);
    Node reference(const std::string& name, const std::string& at);
    const Json& target_of(const std::string& reference, const std::string& at) const;
    // The schema with what "allOf", and "$ref" beside other keywords, say.
    Json merged(const Json& schema, const std::string& at, int depth = 0);
    void merge(Json& to, const Json& from, const std::string& at, int depth);
    Node alternatives(const Json& schema, const std::string& keyword, const std::string& at);
    Node values(const Json& schema, const Json& list, const std::string& at);
    Node of_type(const Json& schema, const std::string& type, const std::string& at);
    Node string(const Json& schema, const std::string& at);
    Node number(const Json& schema, bool is_integer, const std::string& at);
    Node array(const Json& schema, const std::string& at);
    Node object(const Json& schema, const std::string& at);

    JsonGrammar& json_;
    GrammarBuilder& builder_;
    const Json& root_;
    std::map<std::string, GrammarBuilder::Rule> references_;
    int depth_ = 0, n_merged_ = 0;
};

// The grammar of one value.
Grammar json_schema_grammar(const nlohmann::ordered_json& schema);

}  // namespace offstage::engine
