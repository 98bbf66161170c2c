package harness

import "math/rand/v2"

// order gives, for each round, the contenders by index in the order in which they
// run. Every round has each of them once, so that all meet the same weather; who is
// first changes, so that none always runs behind the same other.
func order(rounds, contenders int, seed uint64) [][]int {
	r := rand.New(rand.NewPCG(seed, 0))
	all := make([][]int, rounds)
	for i := range all {
		all[i] = r.Perm(contenders)
	}
	return all
}
