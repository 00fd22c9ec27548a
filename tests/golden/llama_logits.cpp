// Logits of llama.cpp, for compare_llama.py: float32, one row for each token.
//
//   g++ -O2 -std=c++17 -I LLAMA_CPP/include -I LLAMA_CPP/ggml/include llama_logits.cpp
//       -L BUILD/bin -lllama -lggml -lggml-base -lggml-cpu -Wl,-rpath,BUILD/bin -o llama_logits
//   llama_logits MODEL.gguf OUT.bin ID ID ...
//
// Made with llama.cpp 3f545becc of August 2026. Not part of the build.

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "llama.h"

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    llama_backend_init();
    llama_model* const model = llama_model_load_from_file(argv[1], llama_model_default_params());
    if (model == nullptr) return 1;
    const int n = argc - 3;
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = static_cast<unsigned>(n);
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    llama_context* const context = llama_init_from_model(model, params);
    llama_batch batch = llama_batch_init(n, 0, 1);
    batch.n_tokens = n;
    for (int i = 0; i < n; ++i) {
        batch.token[i] = std::atoi(argv[3 + i]);
        batch.pos[i] = i;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = 1;
    }
    if (context == nullptr || llama_decode(context, batch) != 0) return 1;
    const auto n_vocab = static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model)));
    std::FILE* const out = std::fopen(argv[2], "wb");
    if (out == nullptr) return 1;
    for (int i = 0; i < n; ++i) std::fwrite(llama_get_logits_ith(context, i), sizeof(float), n_vocab, out);
    return std::fclose(out) == 0 ? 0 : 1;
}
