#pragma once
// One test body for every device: each operation of Backend against the same operation
// written in double precision. A test opens its backend and runs each of all_checks() on
// it; see tst_backend.cpp.

#include <initializer_list>
#include <vector>

#include "tests/engine/parity/parity_values.h"

namespace offstage::engine::parity {

struct Check {
    const char* name;
    void (*run)(Backend&, const Promise&);
};

const std::vector<Check>& all_checks();

// Reserves scratch memory and runs one check on a newly opened device. 256 MiB are enough
// for every check.
void run_check(const Check& check, Backend& backend, const Promise& promise);

// Each file's.
std::vector<Check> dense_checks();
std::vector<Check> attention_checks();
std::vector<Check> kv_checks();
std::vector<Check> recurrent_checks();
std::vector<Check> router_checks();
std::vector<Check> experts_checks();
std::vector<Check> queues_checks();
std::vector<Check> blocks_checks();
std::vector<Check> choice_checks();

// Products with the weight of each number of rows.
void check_product(Backend& backend, const Promise& promise, const TestWeight& weight,
                   std::initializer_list<std::int64_t> all_n);

}  // namespace offstage::engine::parity
