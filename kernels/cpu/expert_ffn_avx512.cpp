#include "kernels/cpu/packed_avx512.h"
// The names above are what the templates below are written in.
#include "kernels/cpu/expert_ffn_simd.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels::avx512 {

void expert_ffn(const ExpertView& expert, const float* x, const float* scale, int n_tokens, std::int64_t neuron_begin,
                std::int64_t neuron_end, float* out) {
    run_expert_any(expert, cpu_kernels(InstructionSet::kAvx512), x, scale, n_tokens, neuron_begin, neuron_end, out);
}

}  // namespace offstage::kernels::avx512
