#!/usr/bin/env python3
"""Makes mixtral-8x7b-fiddler.json: a SYNTHETIC expert popularity profile of Mixtral-8x7B.

Nobody measured these counts. Fiddler (ICLR 2025, appendix C) publishes statistics of its heat map, not the map itself:
256 experts, the most popular = 1, mean 0.71, standard deviation 0.08, quartiles 0.67 and 0.76, minimum 0.22, 15 experts
below 0.6, 27 above 0.8; and expected hit rates of 25.2 / 21.9 / 18.7 % with 56 experts (most popular, any, least popular)
and 53.0 / 48.8 / 44.6 % with 125. This script draws a curve through those figures, deals its 256 values out to 32 layers
so that each layer's sum is the same (every layer routes every token), and checks the result against each figure.

Deterministic, standard library only:  python3 make_fiddler_profile.py > mixtral-8x7b-fiddler.json
"""
import json
import statistics
import sys

N_LAYERS, N_EXPERTS, N_ACTIVE = 32, 8, 2
SCALE = 20000  # count of the most popular expert

# Corners of the curve: (rank from the most popular, value). Between them it is straight.
CORNERS = [(1, 1.0), (3, 0.93), (10, 0.8765), (27, 0.804), (28, 0.798), (56, 0.765), (64, 0.7560), (65, 0.7551),
           (80, 0.740), (124, 0.7222), (132, 0.720), (160, 0.686), (192, 0.6655), (200, 0.662), (225, 0.6425),
           (241, 0.602), (242, 0.598), (252, 0.56), (255, 0.45), (256, 0.22)]


def curve():
    values = []
    for (r0, v0), (r1, v1) in zip(CORNERS, CORNERS[1:]):
        values += [v0 + (v1 - v0) * (r - r0) / (r1 - r0) for r in range(r0, r1)]
    return [round(v * SCALE) for v in values + [CORNERS[-1][1]]]


def deal(counts):
    """Layers of equal sums: largest first to the emptiest layer, then exchanges while they help, then the last units."""
    layers = [[] for _ in range(N_LAYERS)]
    for count in counts:
        open_layers = [layer for layer in layers if len(layer) < N_EXPERTS]
        min(open_layers, key=sum).append(count)
    for _ in range(2000):
        high, low = max(layers, key=sum), min(layers, key=sum)
        gap = sum(high) - sum(low)
        pairs = [(abs(gap - 2 * (a - b)), i, j) for i, a in enumerate(high) for j, b in enumerate(low)]
        best, i, j = min(pairs)
        if best >= gap:
            break
        high[i], low[j] = low[j], high[i]
    target = round(sum(counts) / N_LAYERS / N_ACTIVE) * N_ACTIVE
    for layer in layers:
        rest = target - sum(layer)  # a few units of 20000: spread over the middle, far from every threshold
        middle = sorted(range(N_EXPERTS), key=lambda k: abs(layer[k] - 0.705 * SCALE))
        while rest:
            for k in middle[:3]:
                step = (rest > 0) - (rest < 0)
                layer[k] += step
                rest -= step
        # No order inside a layer means anything; a fixed shuffle keeps expert 0 from being always the most popular.
    state = 1
    for layer in layers:
        for k in range(N_EXPERTS - 1, 0, -1):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            other = (state >> 33) % (k + 1)
            layer[k], layer[other] = layer[other], layer[k]
    return layers


def check(layers):
    counts = sorted((c for layer in layers for c in layer), reverse=True)
    values = [c / counts[0] for c in counts]
    total = sum(counts)
    quartiles = statistics.quantiles(values, n=4, method="inclusive")
    assert len({sum(layer) for layer in layers}) == 1
    expected = [("mean", statistics.mean(values), 0.71, 0.005), ("sd", statistics.pstdev(values), 0.08, 0.005),
                ("q1", quartiles[0], 0.67, 0.005), ("q3", quartiles[2], 0.76, 0.005), ("min", values[-1], 0.22, 0.005),
                ("below 0.6", sum(v < 0.6 for v in values), 15, 0), ("above 0.8", sum(v > 0.8 for v in values), 27, 0)]
    for n, best, worst in ((56, 0.252, 0.187), (125, 0.530, 0.446)):
        expected.append((f"best {n}", sum(counts[:n]) / total, best, 0.0005))
        expected.append((f"worst {n}", sum(counts[-n:]) / total, worst, 0.0005))
    bad = False
    for name, found, wanted, tolerance in expected:
        ok = abs(found - wanted) <= tolerance + 1e-12
        bad |= not ok
        print(f"{name:12} {found:9.4f}  published {wanted}{'' if ok else '  <-- off'}", file=sys.stderr)
    if bad:
        sys.exit("the profile misses a published figure")


def main():
    layers = deal(curve())
    check(layers)
    print("{")
    print('  "format": "offstage-popularity",\n  "version": 1,\n  "model": "mixtral-8x7b",')
    print('  "source": "synthetic, made to the statistics that Fiddler (appendix C) publishes; not measured",')
    print(f'  "n_layers": {N_LAYERS},\n  "n_experts": {N_EXPERTS},\n  "n_active": {N_ACTIVE},')
    print(f'  "n_tokens": {sum(layers[0]) // N_ACTIVE},\n  "counts": [')
    print(",\n".join("    " + json.dumps(layer) for layer in layers))
    print("  ]\n}")


if __name__ == "__main__":
    main()
