#include "engine/device/cuda_messages.h"

#include "engine/device/device_messages.h"

namespace offstage::engine {

Message message_of(const kernels::CudaFailure& failure) {
    using kernels::CudaFault;
    switch (failure.fault) {
        case CudaFault::kNone:
            return {};
        case CudaFault::kPartNotInstalled:
            return messages::cuda_part_not_installed;
        case CudaFault::kPartDoesNotLoad:
            return messages::cuda_part_does_not_load(failure.text);
        case CudaFault::kPartOfOtherBuild:
            return messages::cuda_part_of_other_build(failure.text, failure.detail);
        case CudaFault::kNoDriver:
            return messages::no_nvidia_driver;
        case CudaFault::kDriverTooOld:
            return messages::nvidia_driver_too_old(failure.text, failure.detail);
        case CudaFault::kNoGpu:
            return messages::nvidia_driver_shows_no_gpu;
        case CudaFault::kDriverReports:
            return messages::nvidia_driver_reports(failure.text);
        case CudaFault::kNoGpuDescribed:
            return messages::nvidia_driver_describes_nothing;
        case CudaFault::kNoSuchOrdinal:
            return messages::machine_has_gpus(failure.first);
        case CudaFault::kGpuNotDescribed:
            return messages::gpu_not_described(failure.text);
        case CudaFault::kGpuTooOld:
            return messages::gpu_too_old(failure.text, failure.first, failure.second);
        case CudaFault::kGpuDoesNotOpen:
            return messages::gpu_does_not_open(failure.text, failure.detail);
        case CudaFault::kCannotBeSelected:
            return messages::gpu_cannot_be_selected;
        case CudaFault::kAnswersNoMore:
            return messages::gpu_answers_no_more(failure.text);
        case CudaFault::kAttentionTooWide:
            return messages::attention_too_wide_for_gpu(failure.first, failure.second);
        case CudaFault::kRouterTooLarge:
            return messages::router_too_large_for_gpu;
        case CudaFault::kOther:
            break;
    }
    return from_outside(failure.text);
}

}  // namespace offstage::engine
