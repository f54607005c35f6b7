package report

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is the exact (Clopper-Pearson) two-sided interval for a share of k in n at the given
// confidence, 0 < confidence < 1, with 0 <= k <= n and n > 0. It holds for repetitions of one cell;
// cells are no sample, so there is none over cells.
func Interval(k, n int, confidence float64) (low, high float64) {
	tail := (1 - confidence) / 2
	low, high = 0, 1
	if k > 0 {
		low = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(tail)
	}
	if k < n {
		high = distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(1 - tail)
	}
	return low, high
}

// Share prints k of n with its 95 % interval: "0 of 20 (<= 16.8 %)", "3 of 20 (3.2 to 37.9 %)". A single
// trial has no interval worth printing.
func Share(k, n int) string {
	if n < 2 {
		return fmt.Sprintf("%d of %d", k, n)
	}
	low, high := Interval(k, n, 0.95)
	switch k {
	case 0:
		return fmt.Sprintf("0 of %d (<= %.1f %%)", n, 100*high)
	case n:
		return fmt.Sprintf("%d of %d (>= %.1f %%)", n, n, 100*low)
	}
	return fmt.Sprintf("%d of %d (%.1f to %.1f %%)", k, n, 100*low, 100*high)
}
