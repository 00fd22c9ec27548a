#pragma once
// The list of operations. Each has a header here, with its contract, its arguments and
// its cost; compute() of that header computes it. On the device's compute queue;
// activations are float32, rows contiguous; pointers are the device's.

#include <type_traits>
#include <utility>
#include <variant>

#include "kernels/ops/activate.h"
#include "kernels/ops/add.h"
#include "kernels/ops/add_bias.h"
#include "kernels/ops/add_gated.h"
#include "kernels/ops/attend.h"
#include "kernels/ops/attend_pooled.h"
#include "kernels/ops/choose_keys.h"
#include "kernels/ops/choose_token.h"
#include "kernels/ops/chosen_experts.h"
#include "kernels/ops/clamp.h"
#include "kernels/ops/clear.h"
#include "kernels/ops/combine.h"
#include "kernels/ops/copy_kv_block.h"
#include "kernels/ops/decode_experts.h"
#include "kernels/ops/delta_net.h"
#include "kernels/ops/embed.h"
#include "kernels/ops/experts.h"
#include "kernels/ops/gated_convolution.h"
#include "kernels/ops/grouped_attention.h"
#include "kernels/ops/grouped_experts.h"
#include "kernels/ops/mamba2.h"
#include "kernels/ops/multiply.h"
#include "kernels/ops/multiply_heads.h"
#include "kernels/ops/multiply_sigmoid.h"
#include "kernels/ops/norm.h"
#include "kernels/ops/norm_pieces.h"
#include "kernels/ops/pool_keys.h"
#include "kernels/ops/read_gated_streams.h"
#include "kernels/ops/read_streams.h"
#include "kernels/ops/rotate_and_store.h"
#include "kernels/ops/rotate_and_store_latent.h"
#include "kernels/ops/rotate_pairs.h"
#include "kernels/ops/route.h"
#include "kernels/ops/scale.h"
#include "kernels/ops/sinkhorn_coefficients.h"
#include "kernels/ops/soft_cap.h"
#include "kernels/ops/weigh_inputs.h"
#include "kernels/ops/write_streams.h"

namespace offstage::kernels::ops {

// Any of them, as a value.
struct Operation {
    template <typename Op>
    Operation(const Op& op) : value(std::in_place_type<Op>, op) {}

    // body(op): the operation by its own type.
    template <typename Body>
    void visit(const Body& body) const {
        std::visit(body, value);
    }
    // The same for the operations that it stands for, if it stands for others.
    template <typename Body>
    void visit_parts(const Body& body) const {
        visit([&body](const auto& op) {
            using Op = std::decay_t<decltype(op)>;
            if constexpr (std::is_same_v<Op, GroupedAttention> || std::is_same_v<Op, DecodeExperts>) {
                op.for_each(body);
            } else {
                body(op);
            }
        });
    }

    std::variant<Embed, Norm, NormPieces, AddBias, Multiply, Add, AddGated, Scale, MultiplySigmoid, Clamp, SoftCap,
                 Clear, MultiplyHeads, RotateAndStore, RotateAndStoreLatent, RotatePairs, PoolKeys, ChooseKeys, Attend,
                 AttendPooled, DeltaNet, Mamba2, GatedConvolution, CopyKvBlock, Route, WeighInputs, Experts,
                 ChosenExperts, GroupedExperts, Combine, GroupedAttention, DecodeExperts, ChooseToken, Activate,
                 ReadStreams, ReadGatedStreams, WriteStreams, SinkhornCoefficients>
        value;
};

}  // namespace offstage::kernels::ops
