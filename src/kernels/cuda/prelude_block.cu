// SPDX-License-Identifier: Apache-2.0
// Activations, and sums over the threads of a block.

// ---- Activations behind products and convolutions: the numbers are those of conv_activation --------

#ifdef ACTIVATION
DEVICE float activate(float x, float first, float second)
{
    (void)first;
    (void)second;
#if ACTIVATION == 1
    return relu_f32(x);
#elif ACTIVATION == 2
    return leaky_relu_f32(x, first);
#elif ACTIVATION == 3
    return clip_f32(x, first, second);
#elif ACTIVATION == 4
    return hard_sigmoid_f32(x, first, second);
#elif ACTIVATION == 5
    return hard_swish_f32(x);
#elif ACTIVATION == 6
    return sigmoid_f32(x);
#elif ACTIVATION == 7
    return tanh_f32(x);
#elif ACTIVATION == 8
    return sizeof(Y) <= 2 ? short_silu_f32(x) : silu_f32(x);
#elif ACTIVATION == 9
    return sizeof(Y) <= 2 ? short_gelu_f32(x) : gelu_f32(x);
#elif ACTIVATION == 10
    return fast_gelu_f32(x);
#else
    return x;
#endif
}
#endif

// ---- Sums over the threads of a block --------------------------------------------------------------

#ifdef THREADS
DEVICE float pick_sum(float x, float y) { return x + y; }
DEVICE float pick_product(float x, float y) { return x * y; }

// Every thread gets the result; the order is fixed by the number of threads. `room` holds a number
// for each warp and may be used again after the call.
#define BLOCK_FOLD(name, pick)                                                \
    DEVICE float name(float x, float *room)                                   \
    {                                                                         \
        UNROLL for (int lanes = 16; lanes; lanes /= 2) x = pick(x, SHUFFLE_XOR(x, lanes)); \
        if (THREAD % 32 == 0) room[THREAD / 32] = x;                          \
        BARRIER();                                                            \
        x = room[0];                                                          \
        UNROLL for (int i = 1; i < THREADS / 32; i++) x = pick(x, room[i]);   \
        BARRIER();                                                            \
        return x;                                                             \
    }
BLOCK_FOLD(block_sum, pick_sum)
BLOCK_FOLD(block_product, pick_product)
BLOCK_FOLD(block_max, max_f32)
BLOCK_FOLD(block_min, min_f32)
#endif
