// Experts with few rows straight from files' blocks: activations, neuron by neuron, and
// w2, whose rows are outputs, with all calls of a layer in one launch.
#include "kernels/cuda/block_dots.cuh"
#include "kernels/cuda/expert_job.cuh"

namespace offstage::kernels::cuda {
namespace {

void start(Worker& worker, WeightType type, int n_inputs, const ExpertJob& job) {
    with_block_inputs(n_inputs, [&](auto number) {
        start_block_products<decltype(number)::value>(worker, type, dim3(1, static_cast<unsigned>(job.list.n)), job);
    });
}

}  // namespace

void block_up(Worker& worker, const ExpertLayout& layout, const UpRows& rows, WeightType type, int n_inputs,
              const FewCalls& list, const float* inputs, const std::int32_t* row_token, float* activations) {
    ExpertJob job = ExpertJob::up(list, layout, rows, activations);
    job.inputs = inputs;
    job.row_token = row_token;
    start(worker, row_type(worker, layout, rows, type), n_inputs, job);
}

void block_down(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list,
                const float* activations, float* out, const TokenSum& token) {
    ExpertJob job = ExpertJob::of_w2(list, layout, out);
    job.token = token;
    job.activations = const_cast<float*>(activations);  // read alone
    start(worker, row_type(worker, any_expert(layout).down()), n_inputs, job);
}

}  // namespace offstage::kernels::cuda
