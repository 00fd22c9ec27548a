#include <cuda_runtime.h>

#include "kernels/cuda/handles.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/quantizing_queue.cuh"

namespace offstage::kernels::cuda {
namespace {

class QuantizingQueue final : public CudaQuantizer {
  public:
    explicit QuantizingQueue(int ordinal) : ordinal_(ordinal) {}
    ~QuantizingQueue() override;
    bool open(int compute_major);

    bool start(int slot, const WeightView& host_rows, WeightType format, void* device_rows, void* device_out,
               void* host_out) override;
    bool finish(int slot) override;
    CudaFailure failure() const override { return worker_.failure.for_host(); }

  private:
    bool use_device() {
        if (cudaSetDevice(ordinal_) == cudaSuccess) return true;
        (void)cudaGetLastError();
        worker_.failure.set("The GPU cannot be selected any more.");
        return false;
    }

    const int ordinal_;
    Stream stream_;
    Event done_[kSlots];
    Worker worker_;
};

QuantizingQueue::~QuantizingQueue() {
    if (stream_.get() == nullptr || cudaSetDevice(ordinal_) != cudaSuccess) return;
    (void)cudaStreamSynchronize(stream_.get());
    (void)cudaGetLastError();
}

bool QuantizingQueue::open(int compute_major) {
    if (!use_device()) return false;
    cudaError_t status = create_stream(stream_, false);
    for (Event& event : done_) {
        // A waiting host thread sleeps: the CPU's experts run meanwhile.
        constexpr unsigned kFlags = cudaEventBlockingSync | cudaEventDisableTiming;
        if (status == cudaSuccess) status = cudaEventCreateWithFlags(event.out(), kFlags);
    }
    worker_.stream = stream_.get();
    worker_.compute_major = compute_major;
    if (status != cudaSuccess) (void)cudaGetLastError();
    return status == cudaSuccess;
}

bool QuantizingQueue::start(int slot, const WeightView& host_rows, WeightType format, void* device_rows,
                            void* device_out, void* host_out) {
    if (!worker_.failure.none() || !is_plain(host_rows.type) || !is_packed(format) || !use_device()) return false;
    const auto plain_bytes =
        static_cast<std::size_t>(host_rows.n_rows * host_rows.n_cols) * bytes_per_weight(host_rows.type);
    const auto packed_bytes = static_cast<std::size_t>(host_rows.n_rows) * row_bytes(format, host_rows.n_cols);
    const WeightView rows{device_rows, host_rows.type, host_rows.n_rows, host_rows.n_cols};
    const auto check = [&](cudaError_t status) { return worker_.failure.check(status, "Quantizing on the GPU"); };
    if (!can_quantize(rows, format, device_out)) return false;
    if (!check(cudaMemcpyAsync(device_rows, host_rows.data, plain_bytes, cudaMemcpyHostToDevice, stream_.get()))) {
        return false;
    }
    cuda::quantize(worker_, rows, format, device_out);
    return worker_.failure.none() &&
           check(cudaMemcpyAsync(host_out, device_out, packed_bytes, cudaMemcpyDeviceToHost, stream_.get())) &&
           check(cudaEventRecord(done_[slot].get(), stream_.get()));
}

bool QuantizingQueue::finish(int slot) {
    return worker_.failure.none() && use_device() &&
           worker_.failure.check(cudaEventSynchronize(done_[slot].get()), "Quantizing on the GPU");
}

}  // namespace

std::unique_ptr<CudaQuantizer> open_quantizing_queue(int ordinal, int compute_major) {
    auto queue = std::make_unique<QuantizingQueue>(ordinal);
    if (!queue->open(compute_major)) return nullptr;
    return queue;
}

}  // namespace offstage::kernels::cuda
